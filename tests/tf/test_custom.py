"""Custom gradients as TensorFlow has them; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_the_gradient_function_is_what_counts(tf: Any) -> None:
    seen = []

    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            seen.append(dy)
            return tf.clip_by_norm(dy, 0.5)

        return tf.identity(x), grad

    v = tf.Variable([2.0, 1.0])
    with tf.GradientTape() as tape:
        y = clipped(v * v)
    g = tape.gradient(y, v, output_gradients=tf.constant([3.0, 4.0]))
    assert isinstance(seen[0], tf.Tensor)
    assert isinstance(y, tf.Tensor)
    np.testing.assert_allclose(g.numpy(), [1.2, 0.8], rtol=1e-6)


def test_several_outputs(tf: Any) -> None:
    @tf.custom_gradient
    def both(x: Any) -> Any:
        def grad(da: Any, db: Any) -> Any:
            return 10.0 * da + 100.0 * db

        return (x + 1.0, x + 2.0), grad

    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a, b = both(x)
        y = 2.0 * a + 3.0 * b
    assert float(tape.gradient(y, x)) == 320.0
    assert float(tape.gradient(a, x)) == 10.0


def test_none_is_no_gradient(tf: Any) -> None:
    @tf.custom_gradient
    def first(x: Any, y: Any) -> Any:
        return x + y, lambda g: (g, None)

    x, y = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = first(x, y)
    gx, gy = tape.gradient(z, [x, y])
    assert float(gx) == 1.0
    assert gy is None


def test_a_variable_as_argument(tf: Any) -> None:
    @tf.custom_gradient
    def doubled(v: Any) -> Any:
        return v * 2.0, lambda g: g * 7.0

    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = doubled(v)
    assert np.array_equal(tape.gradient(y, v).numpy(), [7.0, 7.0])


def test_too_few_gradients(tf: Any) -> None:
    @tf.custom_gradient
    def product(x: Any, y: Any) -> Any:
        return x * y, lambda g: g

    x, y = tf.constant(1.0), tf.constant(2.0)
    with pytest.raises(ValueError, match="2"), tf.GradientTape() as tape:  # noqa: PT012
        tape.watch([x, y])
        z = product(x, y)
        tape.gradient(z, [x, y])


def test_second_derivative_through_the_gradient_function(tf: Any) -> None:
    @tf.custom_gradient
    def cube(x: Any) -> Any:
        return x**3, lambda g: g * 3.0 * x**2

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    assert float(first) == 12.0
    assert float(outer.gradient(first, x)) == 12.0


def test_no_gradient_goes_through_shuffle(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.random.shuffle(x)
    assert tape.gradient(y, x) is None
