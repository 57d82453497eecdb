"""Forward mode, batched Jacobians, maps and recomputation; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def close(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-5, atol=1e-6)


# ForwardAccumulator -------------------------------------------------------------------------


def test_a_tangent_beside_each_value(tf: Any, rng: np.random.Generator) -> None:
    a, t = rng.normal(size=(2, 3, 3)).astype("float32")
    w = tf.Variable(a)
    x = tf.constant(t)
    with tf.autodiff.ForwardAccumulator(w, x) as acc:
        y = tf.reduce_sum(tf.tanh(tf.matmul(w, x)), axis=0)
        inside = acc.jvp(y)
    expected = ((1 - np.tanh(a @ t) ** 2) * (t @ t)).sum(0)
    close(inside, expected)
    close(acc.jvp(y), expected)
    close(acc.jvp(w), t)
    assert acc.jvp(y).dtype == tf.float32
    assert isinstance(acc.jvp(y), tf.Tensor)


def test_targets_keep_their_structure(tf: Any) -> None:
    x, z = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator([x], [np.ones(2)]) as acc:
        y = x * x
    found = acc.jvp({"y": y, "rest": (z, [x])})
    close(found["y"], [2.0, 4.0])
    assert found["rest"][0] is None
    close(found["rest"][1][0], [1.0, 1.0])
    zero = tf.UnconnectedGradients.ZERO
    close(acc.jvp(z, unconnected_gradients=zero), 0.0)
    close(acc.jvp(z, "zero"), 0.0)


def test_only_the_block_is_followed_and_it_may_be_entered_again(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    acc = tf.autodiff.ForwardAccumulator(x, x)
    early = x * x
    with acc:
        y = x * x
    late = y * y
    with acc:
        z = y * y
    assert acc.jvp(early) is None
    assert acc.jvp(late) is None
    close(acc.jvp(z), [4.0, 64.0])
    with pytest.raises(ValueError, match=r"already recording|not recording"), acc, acc:
        pass


def test_forward_over_reverse(tf: Any, rng: np.random.Generator) -> None:
    a, t = rng.normal(size=(2, 4)).astype("float32")
    x = tf.constant(a)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(t)) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.exp(x) * x)
        g = tape.gradient(y, x)
    close(acc.jvp(g), np.exp(a) * (a + 2) * t)


def test_reverse_over_forward(tf: Any, rng: np.random.Generator) -> None:
    a, t = rng.normal(size=(2, 4)).astype("float32")
    x = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(t)) as acc:
            y = tf.reduce_sum(tf.exp(x) * x)
        j = acc.jvp(y)
    close(tape.gradient(j, x), np.exp(a) * (a + 2) * t)


def test_forward_over_forward(tf: Any, rng: np.random.Generator) -> None:
    a, t, s = rng.normal(size=(3, 4)).astype("float32")
    x = tf.constant(a)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(t)) as outer:
        with tf.autodiff.ForwardAccumulator(x, tf.constant(s)) as inner:
            y = x**3
        j = inner.jvp(y)
    close(outer.jvp(j), 6 * a * s * t)
    close(outer.jvp(y), 3 * a * a * t)


def test_assignment_leaves_the_tangent(tf: Any) -> None:
    v = tf.Variable(3.0)
    with tf.autodiff.ForwardAccumulator(v, tf.constant(1.0)) as acc:
        y = v * v
        v.assign(5.0)
        z = v * v
    close(acc.jvp(y), 6.0)
    close(acc.jvp(z), 10.0)


@pytest.mark.parametrize("case", ["dtype", "twice", "structure", "list"])
def test_misuse_is_a_value_error(tf: Any, case: str) -> None:
    x = tf.constant([1.0, 2.0])
    primals, tangents = {
        "dtype": (x, tf.constant([1.0, 2.0], tf.float64)), "twice": ([x, x], [x, x]),
        "structure": ([x], x), "list": (x, [1.0, 2.0]),
    }[case]
    with pytest.raises(ValueError, match=r".+"):
        tf.autodiff.ForwardAccumulator(primals, tangents)


def test_integers_are_not_followed() -> None:
    from pullback import tf

    n, x = tf.constant(3), tf.constant(2.0)
    with pytest.warns(UserWarning, match="int32"):
        acc = tf.autodiff.ForwardAccumulator([n, x], [tf.constant(1), tf.constant(1.0)])
    with acc:
        y, m = x * x, n * n
    close(acc.jvp(y), 4.0)
    assert acc.jvp(m) is None
    with pytest.raises(TypeError, match="tensors or variables"):
        tf.autodiff.ForwardAccumulator(1.0, 1.0)


# Jacobians ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("how", [{}, {"parallel_iterations": 3}, {"experimental_use_pfor": False}])
def test_jacobians(tf: Any, how: dict[str, Any], rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(3, 2)).astype("float32")
    x, w = tf.constant(a), tf.Variable(b)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.nn.softmax(tf.matmul(tf.square(x), w))
    p = np.exp(a**2 @ b)
    p /= p.sum(1, keepdims=True)
    inner = np.einsum("bk,kl->bkl", p, np.eye(2)) - np.einsum("bk,bl->bkl", p, p)
    each = np.einsum("bkl,il,bi->bki", inner, b, 2 * a)
    close(tape.batch_jacobian(y, x, **how), each)
    gx, gw = tape.jacobian(y, [x, w], **how)
    close(gx, np.einsum("bki,bc->bkci", each, np.eye(4)))
    close(gw, np.einsum("bkl,bi->bkil", inner, a**2))


def test_a_jacobian_inside_a_tape(tf: Any, rng: np.random.Generator) -> None:
    a = rng.normal(size=3).astype("float32")
    x = tf.constant(a)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**3)
        g = inner.gradient(y, x)
    close(outer.jacobian(g, x), np.diag(6 * a))


# Maps ---------------------------------------------------------------------------------------


def test_vectorized_map(tf: Any, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 5, 3)).astype("float32")

    def f(pair: Any) -> Any:
        left, right = pair
        return {"dot": tf.tensordot(left, right, 1), "rest": (tf.exp(left), 2.0)}

    found = tf.vectorized_map(f, (tf.constant(a), b))
    close(found["dot"], (a * b).sum(1))
    close(found["rest"][0], np.exp(a))
    close(found["rest"][1], np.full(5, 2.0))
    assert found["rest"][1].dtype == tf.float32


def test_a_first_length_of_one_serves_for_all(tf: Any) -> None:
    x, y = tf.constant([[1.0], [2.0], [3.0]]), tf.constant([[10.0]])
    close(tf.vectorized_map(lambda e: e[0] * e[1], (x, y)), [[10.0], [20.0], [30.0]])
    assert tf.vectorized_map(lambda e: None, x) is None


def test_gradients_of_a_map_and_a_map_of_gradients(tf: Any, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(5, 3)).astype("float32"), rng.normal(size=3).astype("float32")
    x, w = tf.constant(a), tf.Variable(b)

    def loss(example: Any) -> Any:
        return tf.reduce_sum(tf.sin(example * w))

    def per_example(example: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(example)
        return tape.gradient(value, w)

    close(tf.vectorized_map(per_example, x), np.cos(a * b) * a)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.vectorized_map(loss, x))
    close(tape.gradient(total, w), (np.cos(a * b) * a).sum(0))


@pytest.mark.parametrize("elems", [1.0, ([1.0, 2.0, 3.0], [1.0, 2.0])])
def test_lengths_that_do_not_fit(elems: Any) -> None:
    from pullback import tf

    given = tf.constant(elems) if isinstance(elems, float) else tuple(map(tf.constant, elems))
    with pytest.raises(tf.errors.InvalidArgumentError, match="first"):
        tf.vectorized_map(lambda e: e, given)


# Recomputation ------------------------------------------------------------------------------


def test_recompute_grad(tf: Any, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 4)).astype("float32")
    x, w = tf.constant(a), tf.Variable(b)
    runs = []

    @tf.recompute_grad
    def f(x: Any) -> Any:
        runs.append(1)
        return tf.sin(x) * tf.exp(x) * w

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    assert len(runs) == 1
    gx, gw = tape.gradient(y, [x, w])
    assert len(runs) == 2
    close(gx, np.exp(a) * (np.sin(a) + np.cos(a)) * b)
    close(gw, np.sin(a) * np.exp(a))


# Gradients of one's own ---------------------------------------------------------------------


def test_a_custom_gradient_in_every_direction(tf: Any, rng: np.random.Generator) -> None:
    a, t = rng.normal(size=(2, 4)).astype("float32")
    w, x = tf.Variable(2.0), tf.constant(a)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert len(variables) == 1
            return dy * w, [tf.reduce_sum(dy * x)]

        return x * w, grad

    with tf.autodiff.ForwardAccumulator([x, w], [tf.constant(t), tf.constant(3.0)]) as acc:
        y = scaled(x)
    close(acc.jvp(y), 2 * t + 3 * a)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = scaled(x)
    close(tape.jacobian(y, x, experimental_use_pfor=False), 2 * np.eye(4))


def test_an_override_is_transposed(rng: np.random.Generator) -> None:
    from pullback import tf

    a, t = rng.normal(size=(2, 4)).astype("float32")
    x = tf.constant(a)
    acc = tf.autodiff.ForwardAccumulator(x, tf.constant(t))
    with acc, tf.override_gradient({"Sign": lambda op, g: g * op.inputs[0]}):
        y = tf.sign(x)
    close(acc.jvp(y), a * t)
