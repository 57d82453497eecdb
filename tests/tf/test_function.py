"""`tf.function`, with tapes in and around it; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def close(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_function_is_traced_once_for_each_kind_of_arguments(tf: Any) -> None:
    seen = []

    @tf.function
    def double(x: Any) -> Any:
        seen.append(x.shape)
        return x + x

    for value in (tf.constant([1.0]), tf.constant([2.0]), tf.constant([1.0, 2.0]),
                  tf.constant([3]), tf.constant([7.0])):
        assert np.array_equal(double(value).numpy(), 2 * value.numpy())
    assert len(seen) == 3


def test_python_values_are_traced_by_value(tf: Any) -> None:
    seen = []

    @tf.function
    def power(x: Any, n: int) -> Any:
        seen.append(n)
        for _ in range(n - 1):
            x = x * x
        return x

    found = [float(power(tf.constant(2.0), n)) for n in (1, 2, 3, 2, 1)]
    assert found == [2.0, 4.0, 16.0, 4.0, 2.0]
    assert seen == [1, 2, 3]


def test_an_input_signature_serves_all_lengths(tf: Any) -> None:
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def total(x: Any) -> Any:
        seen.append(x.shape.as_list())
        return tf.reduce_sum(x, axis=0)

    for n in (1, 4, 3):
        close(total(tf.ones([n, 2])), [n, n])
    assert seen == [[None, 2]]
    with pytest.raises((TypeError, ValueError)):
        total(tf.ones([2, 3]))


def test_a_concrete_function(tf: Any) -> None:
    @tf.function
    def scaled(x: Any, k: Any) -> Any:
        return {"y": x * k}

    made = scaled.get_concrete_function(tf.TensorSpec([None], tf.float32), tf.constant(2.0))
    close(made(tf.constant([1.0, 2.0, 3.0]), tf.constant(2.0))["y"], [2.0, 4.0, 6.0])


def test_tapes_around_and_inside(tf: Any) -> None:
    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        g = slope(x)
    close(g, [3.0, 12.0])
    close(tape.gradient(g, x), [6.0, 12.0])


def test_a_jacobian_inside(tf: Any) -> None:
    @tf.function
    def jacobian(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * tf.reduce_sum(x)
        return tape.jacobian(y, x)

    close(jacobian(tf.constant([1.0, 2.0])), [[4.0, 1.0], [2.0, 5.0]])


def test_variables_are_read_and_changed_in_order(tf: Any) -> None:
    v = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        before = v * 1.0
        v.assign_add(x)
        middle = v * 1.0
        v.assign(v * 10.0)
        return before, middle, v.read_value()

    assert [float(y) for y in step(tf.constant(2.0))] == [1.0, 3.0, 30.0]
    assert float(v) == 30.0
    assert [float(y) for y in step(tf.constant(1.0))] == [30.0, 31.0, 310.0]


def test_variables_are_made_once(tf: Any) -> None:
    class Layer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(tf.ones([3, 2]) * 2.0)
            return tf.matmul(x, self.w)

    layer = Layer()
    with tf.GradientTape() as tape:
        y = layer(tf.ones([1, 3]))
    close(y, [[6.0, 6.0]])
    close(tape.gradient(y, layer.w), np.ones((3, 2)))
    assert len(layer.trainable_variables) == 1


def test_methods_have_traces_of_their_own(tf: Any) -> None:
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        @tf.function
        def __call__(self, x: Any) -> Any:
            return self.k * x

    one, other = Scaled(2.0), Scaled(3.0)
    assert [float(f(tf.constant(1.0))) for f in (one, other, one)] == [2.0, 3.0, 2.0]
    both = tf.function(lambda x: one(x) + other(x))
    assert float(both(tf.constant(1.0))) == 5.0


def test_a_variable_in_every_trace_is_refused(tf: Any) -> None:
    @tf.function
    def wrong(x: Any) -> Any:
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError):  # noqa: PT011, PT012
        wrong(tf.constant(1.0))
        wrong(tf.constant([1.0, 2.0]))


def test_functions_call_functions(tf: Any) -> None:
    inner = tf.function(lambda x: tf.sin(x) * x)
    outer = tf.function(lambda x: inner(x) + inner(2.0 * x))
    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    close(y, 0.5 * np.sin(0.5) + np.sin(1.0))
    close(tape.gradient(y, x), np.sin(0.5) + 0.5 * np.cos(0.5) + 2 * (np.sin(1.0) + np.cos(1.0)))


def test_a_custom_gradient_inside(tf: Any) -> None:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.identity(x), lambda g: tf.clip_by_value(g, -1.0, 1.0)

    f = tf.function(lambda x: clipped(x) * 5.0)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    close(tape.gradient(y, x), [1.0, 1.0])


def test_gradients_and_hessians(tf: Any) -> None:
    @tf.function
    def both(x: Any) -> Any:
        y = tf.reduce_sum(x**3)
        return tf.gradients(y, x)[0], tf.hessians(y, x)[0], tf.gradients(y, [tf.constant(1.0)])

    first, second, none = both(tf.constant([1.0, 2.0]))
    close(first, [3.0, 12.0])
    close(second, [[6.0, 0.0], [0.0, 12.0]])
    assert none == [None]
    for name in ("gradients", "hessians"):
        with pytest.raises(RuntimeError):
            getattr(tf, name)(tf.constant(1.0), tf.constant(1.0))


def test_errors_come_out(tf: Any) -> None:
    @tf.function
    def checked(x: Any) -> Any:
        tf.debugging.assert_less(x, 5.0)
        return x

    close(checked(tf.constant(1.0)), 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError):
        checked(tf.constant(7.0))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.function(tf.matmul)(tf.ones([2, 3]), tf.ones([2, 3]))


def test_functions_can_be_run_eagerly(tf: Any) -> None:
    seen = []

    @tf.function
    def f(x: Any) -> Any:
        seen.append(float(x))
        return x

    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        f(tf.constant(1.0))
        f(tf.constant(2.0))
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [1.0, 2.0]
    assert not tf.config.functions_run_eagerly()


def test_eagerly_or_not(tf: Any) -> None:
    seen = []

    @tf.function
    def f(x: Any) -> Any:
        seen.append(tf.executing_eagerly())
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        return x

    f(tf.constant(1.0))
    assert seen == [False, True]
    assert tf.executing_eagerly()


def test_python_functions_inside(tf: Any) -> None:
    def eager(x: Any) -> Any:
        return x * 2.0 if float(x) > 1 else x * 7.0

    f = tf.function(lambda x: tf.py_function(eager, [x], tf.float32))
    for value, slope in ((3.0, 2.0), (0.5, 7.0)):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        close(y, slope * value)
        close(tape.gradient(y, x), slope)
    g = tf.function(lambda x: tf.numpy_function(np.sort, [x], tf.float32))
    close(g(tf.constant([2.0, 1.0])), [1.0, 2.0])
    close(tf.numpy_function(np.sort, [tf.constant([2.0, 1.0])], tf.float32), [1.0, 2.0])
    one, two = tf.py_function(lambda x: (x, x + 1), [tf.constant(1)], [tf.int32, tf.int32])
    assert (int(one), int(two)) == (1, 2)


def test_printing(tf: Any, capfd: Any, tmp_path: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.print("x:", x, [x[0], 1], {"a": x[1]}, sep=" | ", end="!\n")
        return x

    f(tf.constant([1.0, 2.5]))
    tf.print(tf.constant([[1, 2], [3, 4]]), 1.5, tf.constant(True), tf.constant(1e-7))
    tf.print(tf.range(10), summarize=2)
    tf.print(tf.range(8))
    tf.print(tf.constant([0.1, 100000.0, 1.0 / 3.0]), summarize=-1)
    assert capfd.readouterr().err == (
        "x: | [1 2.5] | [1, 1] | {'a': 2.5}!\n[[1 2]\n [3 4]] 1.5 1 1e-07\n[0 1 ... 8 9]\n"
        "[0 1 2 ... 5 6 7]\n[0.1 100000 0.333333343]\n"
    )
    tf.print("hello", output_stream=f"file://{tmp_path / 'out'}")
    assert (tmp_path / "out").read_text() == "hello\n"


def test_assertions_show_data(tf: Any) -> None:
    tf.Assert(tf.constant(True), [tf.constant(1)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        tf.Assert(tf.constant(False), ["too large", tf.constant([1.0, 2.0])])


def test_things_that_do_nothing(tf: Any) -> None:
    x = tf.constant(1.0)
    with tf.device("/CPU:0"), tf.control_dependencies([x]):
        y, z = tf.identity_n([x, x * 2.0])
    assert (float(y), float(z)) == (1.0, 2.0)
    assert [float(v) for v in tf.tuple([x, y])] == [1.0, 1.0]
    assert tf.group(x, y) is None
    assert tf.no_op() is None
