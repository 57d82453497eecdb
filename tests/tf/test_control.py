"""Branches, loops and `TensorArray`, eagerly and inside functions, on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import tf as door


@pytest.fixture(params=["eager", "function"])
def run(request: pytest.FixtureRequest, tf: Any) -> Any:
    """How a function is run: as it is, or traced."""
    return tf.function if request.param == "function" else lambda f: f


def close(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-5, atol=1e-6)


def slope(tf: Any, f: Any, *xs: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return y, tape.gradient(y, xs)


def test_cond(tf: Any, run: Any) -> None:
    f = run(lambda x, k: tf.cond(x > 0.0, lambda: x * x * k, lambda: -x))
    for x, value, dx, dk in ((3.0, 18.0, 12.0, 9.0), (-2.0, 2.0, -1.0, None)):
        y, (gx, gk) = slope(tf, f, tf.constant(x), tf.constant(2.0))
        close(y, value)
        close(gx, dx)
        assert (0.0 if gk is None else float(gk)) == (dk or 0.0)
    assert float(tf.cond(True, lambda: tf.constant(1.0), lambda: tf.constant(2.0))) == 1.0
    with pytest.raises(TypeError):
        tf.cond(tf.constant(True), 1.0, lambda: 2.0)


def test_case_and_switch_case(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        return tf.case([(x < 1.0, lambda: x), (x < 5.0, lambda: x * x)], default=lambda: -x)

    for x, value, dx in ((0.5, 0.5, 1.0), (3.0, 9.0, 6.0), (7.0, -7.0, -1.0)):
        y, (g,) = slope(tf, run(f), tf.constant(x))
        close(y, value)
        close(g, dx)

    def h(n: Any, x: Any) -> Any:
        return tf.switch_case(n, {0: lambda: x, 1: lambda: 2.0 * x}, default=lambda: 9.0 * x)

    for n, k in ((0, 1.0), (1, 2.0), (2, 9.0), (-4, 9.0)):
        close(run(h)(tf.constant(n), tf.constant(1.5)), 1.5 * k)


def test_case_without_a_default(tf: Any) -> None:
    x = tf.constant(9.0)
    pairs = [(x < 1.0, lambda: x), (x < 5.0, lambda: -x)]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.case(pairs)


def test_exclusive_cases() -> None:
    """TensorFlow says so too, and does not look."""
    x = door.constant(9.0)
    with pytest.raises(door.errors.InvalidArgumentError):
        door.case([(x > 1.0, lambda: x), (x > 5.0, lambda: -x)], exclusive=True)


def test_while_loop(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        return tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), tf.ones([])]
        )[1]

    y, (g,) = slope(tf, run(f), tf.constant(2.0))
    close(y, 8.0)
    close(g, 12.0)


def test_a_loop_that_depends_on_values_and_has_a_limit(tf: Any, run: Any) -> None:
    def f(x: Any, most: Any) -> Any:
        return tf.while_loop(lambda y, n: y < 100.0, lambda y, n: (y * y, n + 1), (x, 0),
                             maximum_iterations=most)

    y, n = run(f)(tf.constant(3.0), 10)
    assert (float(y), int(n)) == (6561.0, 3)
    y, n = run(f)(tf.constant(3.0), 2)
    assert (float(y), int(n)) == (81.0, 2)


def test_a_loop_whose_results_are_constants() -> None:
    """TensorFlow 2 takes the argument and has a gradient all the same."""
    x = door.constant(2.0)
    _, (g,) = slope(door, lambda x: door.while_loop(
        lambda y: y < 9.0, lambda y: (y * x,), (x,), back_prop=False)[0], x)
    assert g is None


def test_a_growing_loop_variable(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        return tf.while_loop(
            lambda i, rows: i < 3, lambda i, rows: (i + 1, tf.concat([rows, rows[:1] * x], 0)),
            [tf.constant(0), tf.reshape(x, [1])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )[1]

    y, (g,) = slope(tf, run(f), tf.constant(3.0))
    close(y, [3.0, 9.0, 9.0, 9.0])
    close(g, 1.0 + 3 * 6.0)


def test_map_fn(tf: Any, run: Any) -> None:
    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([5.0, 6.0])
    f = run(lambda x, y: tf.map_fn(lambda r: tf.reduce_sum(r[0] * r[0]) * r[1], (x, y),
                                   fn_output_signature=tf.float32))
    out, (gx, gy) = slope(tf, f, x, y)
    close(out, [25.0, 150.0])
    close(gx, [[10.0, 20.0], [36.0, 48.0]])
    close(gy, [5.0, 25.0])


def test_scans_and_folds(tf: Any, run: Any) -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    cases = (
        (lambda x: tf.scan(lambda a, v: a * v, x), [1.0, 2.0, 6.0], [9.0, 4.0, 2.0]),
        (lambda x: tf.scan(lambda a, v: a * v, x, 2.0, reverse=True), [12.0, 12.0, 6.0],
         [12.0, 12.0, 10.0]),
        (lambda x: tf.foldl(lambda a, v: 2.0 * a + v, x), 11.0, [4.0, 2.0, 1.0]),
        (lambda x: tf.foldr(lambda a, v: 2.0 * a + v, x, initializer=1.0), 25.0,
         [1.0, 2.0, 4.0]),
    )
    for f, value, gradient in cases:
        y, (g,) = slope(tf, run(f), x)
        close(y, value)
        close(g, gradient)


def test_a_scan_over_nested_structures(tf: Any, run: Any) -> None:
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 2.0, 2.0])
    f = run(lambda x, y: tf.scan(
        lambda a, v: (a[0] + v[0], a[1] * v[1]), (x, y), initializer=(0.0, 1.0)))
    sums, products = f(x, y)
    close(sums, [1.0, 3.0, 6.0])
    close(products, [2.0, 4.0, 8.0])


def test_an_array_in_a_loop(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        made = tf.TensorArray(tf.float32, size=3)
        _, made = tf.while_loop(
            lambda i, t: i < 3,
            lambda i, t: (i + 1, t.write(i, x * x[i])), [0, made])
        return made.stack()

    y, (g,) = slope(tf, run(f), tf.constant([1.0, 2.0, 3.0]))
    close(y, np.outer([1, 2, 3], [1, 2, 3]))
    close(g, [12.0, 12.0, 12.0])


def test_an_array_that_grows(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        made = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
        _, made = tf.while_loop(lambda i, t: i < 4, lambda i, t: (
            i + 1, t.write(i, x * tf.cast(i, tf.float32))), [tf.constant(0), made])
        return made.stack(), made.read(2), made.gather([3, 1]), made.concat(), made.size()

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        whole, one, some, flat, size = run(f)(x)
        y = tf.reduce_sum(whole) + tf.reduce_sum(one) + tf.reduce_sum(some) + tf.reduce_sum(flat)
    close(whole, np.outer([0, 1, 2, 3], [1, 2]))
    close(one, [2.0, 4.0])
    close(some, [[3.0, 6.0], [1.0, 2.0]])
    close(flat, [0, 0, 1, 2, 2, 4, 3, 6])
    assert int(size) == 4
    close(tape.gradient(y, x), [18.0, 18.0])


def test_an_array_is_read_in_a_loop(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
        return tf.while_loop(lambda i, total: i < 3, lambda i, total: (
            i + 1, total * 2.0 + rows.read(i)), [tf.constant(0), tf.zeros([])])[1]

    y, (g,) = slope(tf, run(f), tf.constant([1.0, 2.0, 3.0]))
    close(y, 11.0)
    close(g, [4.0, 2.0, 1.0])


def test_arrays_by_hand(tf: Any, run: Any) -> None:
    def f(x: Any) -> Any:
        made = tf.TensorArray(tf.float32, size=3, element_shape=[2])
        made = made.write(0, x).write(2, x * x)
        pieces = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(
            tf.range(5.0), [2, 3])
        spread = tf.TensorArray(tf.float32, size=3).scatter([2, 0, 1], tf.stack([x, -x, 2.0 * x]))
        return made.stack(), pieces.read(1), spread.stack()

    x = tf.constant([1.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        whole, piece, spread = run(f)(x)
        y = tf.reduce_sum(whole) + tf.reduce_sum(spread)
    close(whole, [[1.0, 3.0], [0.0, 0.0], [1.0, 9.0]])
    close(piece, [2.0, 3.0, 4.0])
    close(spread, [[-1.0, -3.0], [2.0, 6.0], [1.0, 3.0]])
    close(tape.gradient(y, x), [5.0, 9.0])


def test_what_an_array_refuses(tf: Any) -> None:
    made = tf.TensorArray(tf.float32, size=2)
    made = made.write(0, [1.0, 2.0])
    assert made.dtype == tf.float32
    assert not made.dynamic_size
    assert made.element_shape.as_list() == [2]
    close(made.read(0), [1.0, 2.0])
    for wrong in (lambda: made.write(5, [1.0, 2.0]), lambda: made.read(5), lambda: made.read(0),
                  lambda: made.write(1, tf.constant([1, 2])), lambda: made.write(1, [1.0])):
        with pytest.raises((tf.errors.OpError, ValueError)):
            wrong()
    made.close()
