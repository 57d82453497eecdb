"""Tapes and custom gradients in full, and small names; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def close(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-5, atol=1e-6)


# Tapes ------------------------------------------------------------------------------------------


def test_variables_that_are_not_watched(tf: Any) -> None:
    v, w, idle = tf.Variable(2.0), tf.Variable(3.0), tf.Variable(4.0, trainable=False)
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(v)
        y = v * w * idle
    close(tape.gradient(y, v), 12.0)
    assert tape.gradient(y, w) is None
    assert [x is v for x in tape.watched_variables()] == [True]
    with tf.GradientTape() as tape:
        y = v * w * idle
    assert tape.gradient(y, idle) is None


def test_recording_stops_and_starts_again(tf: Any) -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            z = y * y
        u = x * y
    close(tape.gradient(y, x), 4.0)
    assert tape.gradient(z, x) is None
    close(tape.gradient(u, x), 12.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * x * x
    assert tape.gradient(y, x) is None


def test_a_tape_is_asked_once(tf: Any) -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_targets_sources_and_cotangents_are_nested(tf: Any) -> None:
    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        targets = [a * b, b * b]
    g = tape.gradient(targets, {"b": b, "rest": [a, tf.Variable(1.0)]},
                      output_gradients=[tf.constant([10.0, 1.0]), tf.constant(2.0)])
    close(g["b"], 10.0 + 2.0 + 12.0)
    close(g["rest"][0], [30.0, 3.0])
    assert g["rest"][1] is None


def test_what_stands_for_no_gradient(tf: Any) -> None:
    x, y = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        z = y * y
    for zero in (tf.UnconnectedGradients.ZERO, "zero"):
        close(tape.gradient(z, x, unconnected_gradients=zero), [0.0, 0.0])
    close(tape.jacobian(z, x, unconnected_gradients="zero"), [0.0, 0.0])
    assert tape.jacobian(z, x) is None
    with pytest.raises(ValueError):  # noqa: PT011
        tape.gradient(z, x, unconnected_gradients="nonsense")


@pytest.mark.parametrize("arguments", [
    {}, {"parallel_iterations": 2}, {"experimental_use_pfor": False},
])
def test_jacobians(tf: Any, arguments: dict[str, Any]) -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    w = tf.Variable([[1.0, -1.0], [0.5, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.matmul(x, w) ** 2
    full = tape.jacobian(y, [x, w], **arguments)
    assert [tuple(j.shape) for j in full] == [(2, 2, 2, 2), (2, 2, 2, 2)]
    batch = tape.batch_jacobian(y, x, **arguments)
    out = x.numpy() @ w.numpy()
    expected = 2 * out[:, :, None] * w.numpy().T[None]
    close(batch, expected)
    close(full[0], np.einsum("bij,bc->bicj", expected, np.eye(2)))
    with pytest.raises((ValueError, tf.errors.OpError)):
        tape.batch_jacobian(y, tf.ones([3, 2]))


# Gradients of one's own ---------------------------------------------------------------------------


def test_structures_go_in_and_come_out(tf: Any) -> None:
    @tf.custom_gradient
    def swapped(pair: Any, scale: Any) -> Any:
        def grad(*gs: Any) -> Any:
            return {"a": gs[1] * 10.0, "b": gs[0] * 100.0}, None

        return {"x": pair["b"] * scale, "y": pair["a"] * scale}, grad

    a, b = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        out = swapped({"a": a, "b": b}, tf.constant(2.0))
        z = 2.0 * out["x"] + 3.0 * out["y"]
    ga, gb = tape.gradient(z, [a, b])
    close(ga, 30.0)
    close(gb, 200.0)


def test_variables_are_handed_to_the_gradient(tf: Any) -> None:
    v = tf.Variable([2.0, 3.0])

    @tf.custom_gradient
    def f(x: Any, offset: float = 0.0) -> Any:
        def grad(g: Any, variables: Any = None) -> Any:
            assert [w is v for w in variables] == [True]
            return g * 5.0, [g * 7.0 for _ in variables]

        return x * v + offset, grad

    x = tf.constant([1.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, offset=1.0)
    close(y, [3.0, 4.0])
    gx, gv = tape.gradient(y, [x, v])
    close(gx, [5.0, 5.0])
    close(gv, [7.0, 7.0])


def test_variables_without_a_place_for_them(tf: Any) -> None:
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda g: g

    with pytest.raises(TypeError, match="variables"), tf.GradientTape() as tape:  # noqa: PT012
        x = tf.constant(1.0)
        tape.watch(x)
        f(x)


def test_functions_with_the_gradient_of_the_identity(tf: Any) -> None:
    x = tf.Variable([0.2, 1.7])
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(tf.round)(x) * [3.0, 4.0]
    close(y, [0.0, 8.0])
    close(tape.gradient(y, x), [3.0, 4.0])


def test_what_is_computed_again(tf: Any) -> None:
    runs = []
    w = tf.Variable([2.0, 3.0])

    @tf.recompute_grad
    def f(x: Any, k: Any) -> Any:
        runs.append(1)
        return tf.sin(x * w) * k

    x = tf.constant([0.5, 0.25])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(2.0))
    assert len(runs) == 1
    gx, gw = tape.gradient(y, [x, w])
    assert len(runs) == 2
    slope = 2 * np.cos(x.numpy() * w.numpy())
    close(gx, slope * w.numpy())
    close(gw, slope * x.numpy())


def test_the_same_tensor_twice_is_computed_again(tf: Any) -> None:
    f = tf.recompute_grad(lambda a, b: a * b * b)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, x)
    close(tape.gradient(y, x), 27.0)


def test_initializers(tf: Any) -> None:
    tf.random.set_seed(1)
    assert tf.zeros_initializer()([2, 1]).numpy().tolist() == [[0.0], [0.0]]
    assert tf.ones_initializer()([2], tf.int32).numpy().tolist() == [1, 1]
    assert tf.constant_initializer(3.0)([2]).numpy().tolist() == [3.0, 3.0]
    assert tf.constant_initializer([1.0, 2.0])([2, 1]).shape == (2, 1)
    x = tf.random_normal_initializer(2.0, 0.5)([4000]).numpy()
    assert abs(x.mean() - 2.0) < 0.05
    assert abs(x.std() - 0.5) < 0.05
    y = tf.random_uniform_initializer(1.0, 2.0)([4000]).numpy()
    assert y.min() >= 1.0
    assert y.max() < 2.0
    assert abs(y.mean() - 1.5) < 0.05


# Errors, checks, shapes ---------------------------------------------------------------------------


def test_families_of_errors(tf: Any) -> None:
    for name in ("Aborted", "AlreadyExists", "Cancelled", "DataLoss", "DeadlineExceeded",
                 "FailedPrecondition", "Internal", "InvalidArgument", "NotFound", "OutOfRange",
                 "PermissionDenied", "ResourceExhausted", "Unauthenticated", "Unavailable",
                 "Unimplemented", "Unknown"):
        error = getattr(tf.errors, f"{name}Error")(None, None, "why")
        assert isinstance(error, tf.errors.OpError)
        assert error.message == "why"
        code = "".join(f"_{c}" if c.isupper() else c for c in name).upper().strip("_")
        assert error.error_code == getattr(tf.errors, code)


def test_assertions(tf: Any) -> None:
    d, x = tf.debugging, tf.constant([1.0, 2.0])
    n = tf.constant([1, 2])
    d.assert_greater_equal(x, 1.0)
    d.assert_less_equal(x, 2.0)
    d.assert_none_equal(x, 3.0)
    d.assert_positive(x)
    d.assert_non_negative(x)
    d.assert_negative(-x)
    d.assert_non_positive(-x)
    d.assert_rank(x, 1)
    d.assert_rank_at_least(x, 1)
    d.assert_rank_in(x, [0, 1])
    d.assert_scalar(x[0])
    d.assert_type(x, tf.float32)
    d.assert_integer(n)
    d.assert_shapes([(x, ("n",)), (tf.ones([2, 3]), ("n", 3))])
    d.assert_proper_iterable([x])
    assert d.assert_same_float_dtype([x, x]) == tf.float32
    assert d.is_numeric_tensor(x)
    for wrong in (
        lambda: d.assert_greater_equal(x, 1.5), lambda: d.assert_less_equal(x, 1.5),
        lambda: d.assert_none_equal(x, 1.0), lambda: d.assert_positive(x - 1.0),
        lambda: d.assert_non_negative(-x), lambda: d.assert_negative(x),
        lambda: d.assert_non_positive(x), lambda: d.assert_rank(x, 2),
        lambda: d.assert_rank_at_least(x, 2), lambda: d.assert_rank_in(x, [0, 2]),
        lambda: d.assert_scalar(x), lambda: d.assert_type(x, tf.int32),
        lambda: d.assert_integer(x), lambda: d.assert_same_float_dtype([x, n]),
        lambda: d.assert_shapes([(x, ("n",)), (tf.ones([3, 3]), ("n", 3))]),
        lambda: d.assert_proper_iterable(x),
    ):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
            wrong()


def test_shapes_are_checked(tf: Any) -> None:
    x = tf.ones([2, 3])
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.ensure_shape(x, [2, 2])
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])) == [2, 3]
    assert float(tf.get_static_value(tf.constant(3.0))) == 3.0
    assert not tf.is_symbolic_tensor(x)
    s = tf.TensorShape([2, None])
    assert s.with_rank_at_least(2).as_list() == s.with_rank_at_most(2).as_list() == [2, None]
    s.assert_same_rank([None, 5])
    for wrong in (lambda: s.with_rank_at_least(3), lambda: s.with_rank_at_most(1),
                  lambda: s.assert_same_rank([1])):
        with pytest.raises(ValueError):  # noqa: PT011
            wrong()
    assert tf.uint8.limits == (0, 255)
    assert tf.float32.is_numeric
    assert not tf.string.is_numeric
