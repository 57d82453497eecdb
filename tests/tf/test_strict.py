"""What TensorFlow refuses is refused, with its errors; each test runs on TensorFlow too."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt,
    operator.ge, operator.eq, operator.ne, operator.mod, operator.floordiv,
]


@pytest.mark.parametrize("of", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_dtypes_do_not_mix(tf: Any, of: Any, dtype: str) -> None:
    x, y, v = tf.constant([1.0]), tf.constant([1], dtype=dtype), tf.Variable([1.0])
    for a, b in ((x, y), (y, x), (v, y), (y, v)):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
            of(a, b)


def test_a_mismatch_is_of_both_families() -> None:
    from pullback import tf

    with pytest.raises(TypeError) as caught:
        tf.constant(1.0) + tf.constant(1)
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)
    assert isinstance(caught.value, tf.errors.OpError)
    assert "tf.cast" in str(caught.value)


@pytest.mark.parametrize("name", ["maximum", "math.atan2", "matmul", "less", "equal", "concat",
                                  "stack", "where", "pow"])
def test_functions_do_not_mix_dtypes(tf: Any, name: str) -> None:
    x, y = tf.ones([2, 2]), tf.ones([2, 2], tf.int32)
    function = operator.attrgetter(name)(tf)
    args = {"concat": ([x, y], 0), "stack": ([x, y],), "where": (x > 0, x, y)}.get(name, (x, y))
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
        function(*args)


def test_numbers_and_arrays_take_the_tensors_dtype(tf: Any) -> None:
    x, n = tf.constant([1.0, 2.0]), tf.constant([1, 2])
    array = np.array([1.0, 2.0])
    for y in (x + 1, 1 + x, x + True, x + array, array + x, np.array([1, 2]) * x, x - [1, 2],
              x * np.float64(2), x**2, 2**x, x - np.int64(1)):
        assert y.dtype == tf.float32
        assert isinstance(y, tf.Tensor)
    for y in (n + 1, 2 * n, n // 2, n % 2, n**2, n + array, n * np.float64(2.0)):
        assert y.dtype == tf.int32
    assert np.array_equal((array - x).numpy(), [0.0, 0.0])
    assert np.array_equal((3 - n).numpy(), [2, 1])


def test_operators_of_arrays_and_tensors(tf: Any) -> None:
    x, array = tf.constant([1.0, 2.0]), np.array([2.0, 2.0])
    for of in (operator.sub, operator.truediv, operator.pow, operator.lt, operator.eq):
        y = of(array, x)
        assert isinstance(y, tf.Tensor)
        assert np.array_equal(y.numpy(), of(array, x.numpy()))
    assert np.array_equal(np.asarray(np.sin(x)), np.sin(x.numpy()))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = np.float64(3.0) * x
    assert np.array_equal(tape.gradient(y, x).numpy(), [3.0, 3.0])


def test_augmented_assignment_makes_a_new_tensor(tf: Any) -> None:
    x = y = tf.constant([1.0, 2.0])
    y += 1.0
    y *= 2.0
    assert np.array_equal(x.numpy(), [1.0, 2.0])
    assert np.array_equal(y.numpy(), [4.0, 6.0])


def test_numbers_that_do_not_fit(tf: Any) -> None:
    n = tf.constant([1, 2])
    for wrong in (lambda: n + 1.5, lambda: 1.5 * n, lambda: tf.add(1, 2.0),
                  lambda: tf.add(np.ones(2), tf.ones(2))):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
            wrong()
    with pytest.raises(ValueError, match="None"):
        tf.constant([1.0]) + None


def test_quotients_of_integers(tf: Any) -> None:
    n = tf.constant([3, 4])
    assert (n / n).dtype == (n / 2).dtype == tf.float64
    assert np.array_equal((n / 2).numpy(), [1.5, 2.0])
    assert np.array_equal((6 / n).numpy(), [2.0, 1.5])
    assert (tf.cast(n, tf.int8) / tf.constant(2, tf.int8)).dtype == tf.float32


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "math.log", "sigmoid", "nn.softmax"])
def test_integers_have_no_transcendental_functions(tf: Any, name: str) -> None:
    function = operator.attrgetter(name)(tf)
    for wrong in (tf.constant([1, 2]), [1, 2]):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
            function(wrong)


def test_booleans(tf: Any) -> None:
    b, x = tf.constant([True, False]), tf.constant([1.0, 2.0])
    assert np.array_equal((b & True | ~b ^ b).numpy(), [True, True])
    for wrong in (lambda: -b, lambda: b + b, lambda: tf.reduce_sum(b), lambda: tf.reduce_all(x),
                  lambda: tf.where(x, x, x), lambda: x & x):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError)):
            wrong()


def test_shapes_and_positions_that_do_not_fit(tf: Any) -> None:
    x, m = tf.constant([1.0, 2.0]), tf.ones([2, 3])
    for wrong in (
        lambda: x + tf.ones([3]), lambda: tf.matmul(m, m), lambda: m @ x, lambda: x[5],
        lambda: tf.reshape(x, [3]), lambda: tf.gather(x, [0, 5]), lambda: tf.gather(x, [-1]),
        lambda: tf.reduce_sum(x, axis=3), lambda: tf.expand_dims(x, 5), lambda: tf.squeeze(x, 0),
        lambda: tf.split(x, 3), lambda: tf.concat([m, x], 0), lambda: tf.stack([x, m]),
        lambda: tf.tile(m, [2]), lambda: tf.gather_nd(m, [[0, 7]]),
    ):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            wrong()


def test_our_errors_of_position_are_index_errors_too() -> None:
    from pullback import tf

    with pytest.raises(IndexError) as caught:
        tf.constant([1.0])[5]
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)


def test_equality(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert np.array_equal((x == [1.0, 3.0]).numpy(), [True, False])
    assert not bool(x == tf.constant([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="ref"):
        hash(x)


def test_tensors_are_immutable_and_indexed_plainly(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError):
        x[0] = 5.0
    with pytest.raises(TypeError):
        x[tf.constant([0, 1])]
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        x[[0, 1]]
    assert float(x[tf.constant(1)]) == 2.0
    x.numpy()[0] = 7.0
    assert float(x[0]) == 1.0


def test_conversions_to_numbers(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    assert (float(x[0]), int(x[1]), bool(x[0] > 0)) == (1.0, 2, True)
    assert f"{x[1]:.2f}" == "2.00"
    assert [float(v) for v in x] == [1.0, 2.0]
    assert len(x) == 2
    for wrong, error in ((float, TypeError), (bool, ValueError)):
        with pytest.raises(error):
            wrong(x)
    with pytest.raises(TypeError):
        len(x[0])


def test_errors_can_be_raised_as_tensorflow_writes_them(tf: Any) -> None:
    error = tf.errors.InvalidArgumentError(None, None, "too large")
    assert error.message == "too large"
    assert isinstance(error, tf.errors.OpError)
    assert "too large" in str(error)


def test_checks(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    tf.debugging.assert_near(x, x + 1e-7)
    tf.debugging.assert_equal(x, [1.0, 2.0])
    tf.debugging.assert_less(x, 3.0)
    tf.debugging.assert_greater(x, 0.0)
    assert np.array_equal(tf.debugging.check_numerics(x, "x").numpy(), [1.0, 2.0])
    for wrong in (
        lambda: tf.debugging.assert_near(x, x + 0.1), lambda: tf.debugging.assert_less(x, 2.0),
        lambda: tf.debugging.assert_equal(x, x + 1.0), lambda: tf.debugging.assert_greater(x, 1.0),
        lambda: tf.debugging.check_numerics([float("nan")], "x"),
        lambda: tf.debugging.assert_all_finite([float("inf")], "x"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrong()
