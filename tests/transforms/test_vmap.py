"""`vmap`: axes, nesting, closures, keywords, chunks, random numbers, per-example gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors

RNG = np.random.default_rng(3)
A = RNG.standard_normal((2, 3, 4))
B = RNG.standard_normal((3, 4))
W = RNG.standard_normal((4, 5))


def close(got: Any, wanted: Any) -> None:
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got.data, wanted, rtol=1e-13, atol=1e-13)


# Axes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, 2, -1, -2, -3])
def test_every_axis_in_and_out(axis: int, out: int) -> None:
    close(pb.vmap(lambda x: 2.0 * x, axis, out)(A), np.moveaxis(2 * A, axis, out))


def test_one_for_all() -> None:
    close(pb.vmap(lambda a, b: a @ b, (0, None))(A, W), A @ W)
    close(pb.vmap(lambda a, b: a * b, (None, 1))(B[:, 0], B), (B[:, 0] * B.T))
    close(pb.vmap(lambda a: pb.tensor(B), out_axes=1)(A), np.stack([B, B], axis=1))
    close(pb.vmap(lambda a: pb.tensor(B), out_axes=None)(A), B)
    both = pb.vmap(lambda a: (a * 2, pb.tensor(B)), out_axes=(-1, None))(A)
    close(both[0], np.moveaxis(2 * A, 0, -1))
    close(both[1], B)


def test_axes_of_structures() -> None:
    def f(p: Any, y: Any) -> Any:
        return {"sum": p["a"] + y, "both": (p["b"][0], p["b"][1])}

    p = {"a": A, "b": [np.moveaxis(A, 0, 1), 3.0]}
    got = pb.vmap(f, ({"a": 0, "b": [1, None]}, None), {"sum": -1, "both": (0, None)})(p, B)
    close(got["sum"], np.moveaxis(A + B, 0, -1))
    close(got["both"][0], A)
    assert float(got["both"][1].data) == 3.0
    one_for_a_part = pb.vmap(f, ({"a": 0, "b": None}, None))({"a": A, "b": [B, 1.0]}, B)
    close(one_for_a_part["both"][0], np.stack([B, B]))
    assert one_for_a_part["both"][1].shape == (2,)


def test_keyword_arguments_are_mapped_in_front() -> None:
    close(pb.vmap(lambda x, *, scale: x * scale)(A, scale=np.array([2.0, 3.0])),
          A * np.array([2.0, 3.0])[:, None, None])
    close(pb.vmap(lambda x, scale=1.0: x * scale)(A), A)


def test_no_mapped_argument_but_a_size() -> None:
    close(pb.vmap(lambda x: x * 2.0, None, axis_size=3)(B), np.stack([2 * B] * 3))
    close(pb.vmap(lambda: pb.tensor(B), axis_size=2)(), np.stack([B, B]))
    close(pb.vmap(lambda x: x, axis_size=2)(A), A)


def test_no_examples() -> None:
    got = pb.vmap(lambda x: pb.sum(x, axis=0) @ pb.tensor(W))(np.zeros((0, 3, 4)))
    assert got.shape == (0, 5)
    assert pb.vmap(pb.grad(lambda x: pb.sum(x * x)))(np.zeros((0, 3))).shape == (0, 3)


def test_shapes_inside_are_those_of_one_example() -> None:
    def f(x: Any) -> Any:
        assert x.shape == (3, 4)
        assert (x.ndim, x.size, len(x)) == (2, 12, 3)
        assert x.dtype == np.float64
        return x[1, -1] + pb.zeros_like(x)[0, 0]

    close(pb.vmap(f)(A), A[:, 1, -1])


def test_numbers_and_lists_may_come_out() -> None:
    got = pb.vmap(lambda x: [x, 1, (2.5,)])(A)
    close(got[0], A)
    assert got[1].data.tolist() == [1, 1]
    assert got[2][0].data.tolist() == [2.5, 2.5]


# Nesting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outer", "inner", "out", "inner_out"),
    [(0, 0, 0, 0), (1, 0, 0, -1), (-1, 1, -1, 0), (2, -1, 1, 1), (-2, 0, -1, -1)],
)
def test_a_map_in_a_map(outer: int, inner: int, out: int, inner_out: int) -> None:
    def f(x: Any) -> Any:
        return pb.cumulative_sum(x) * 2.0

    got = pb.vmap(pb.vmap(f, inner, inner_out), outer, out)(A)
    rows = [
        np.stack([2 * np.cumsum(x) for x in np.moveaxis(part, inner, 0)], inner_out)
        for part in np.moveaxis(A, outer, 0)
    ]
    close(got, np.stack(rows, out))


def test_a_table_of_all_pairs() -> None:
    x, y = A[0], A[1]
    pairs = pb.vmap(lambda a: pb.vmap(lambda b: a @ b)(y))(x)
    close(pairs, x @ y.T)
    close(pb.vmap(pb.vmap(pb.vecdot, (None, 0)), (0, None))(x, y), x @ y.T)
    close(pb.vmap(pb.vmap(pb.vecdot, (0, None)), (None, 0))(x, y), y @ x.T)


def test_three_levels_with_one_not_mapped_at_each() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    a, b, c = RNG.standard_normal(2), RNG.standard_normal(3), RNG.standard_normal(4)
    one = pb.vmap(f, (None, None, 0))
    two = pb.vmap(one, (None, 0, None))
    close(pb.vmap(two, (0, None, None))(a, b, c), a[:, None, None] * b[:, None] + c)


def test_closures_over_tensors() -> None:
    w = pb.tensor(W, requires_grad=True)
    out = pb.vmap(lambda x: x @ w)(B)
    close(out, B @ W)
    pb.sum(out * out).backward()
    close(w.grad, 2 * B.T @ (B @ W))
    inner = pb.vmap(lambda x: pb.vmap(lambda y: pb.sum(x * y))(pb.tensor(B)))(B)
    close(inner, B @ B.T)


def test_a_tape_around() -> None:
    w = pb.Variable(W)
    with pb.GradientTape() as tape:
        loss = pb.sum(pb.vmap(lambda x: pb.sum(pb.tanh(x @ w)))(B))
    close(tape.gradient(loss, w), B.T @ (1 - np.tanh(B @ W) ** 2))


def test_a_tape_inside() -> None:
    def slope(x: Any) -> Any:
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = pb.sum(x * x * x)
        return tape.gradient(y, x)

    close(pb.vmap(slope)(B), 3 * B**2)


# Chunks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_chunks_change_nothing(size: int, axis: int) -> None:
    seen: list[int] = []

    def f(x: Any, y: Any) -> Any:
        seen.append(1)
        return pb.cumulative_sum(x) + y, pb.tensor(2.0)

    got = pb.vmap(f, (axis, None), (-1, None), chunk_size=size)(B, 1.0)
    close(got[0], np.stack([np.cumsum(x) + 1 for x in np.moveaxis(B, axis, 0)], -1))
    assert got[1].shape == ()
    assert len(seen) == -(-B.shape[axis] // size)
    close(pb.jacrev(lambda x: pb.sin(x), chunk_size=size)(B[0]), np.diag(np.cos(B[0])))
    close(pb.jacfwd(lambda x: pb.sin(x), chunk_size=size)(B[0]), np.diag(np.cos(B[0])))
    close(pb.hessian(lambda x: pb.sum(pb.sin(x)), chunk_size=size)(B[0]), np.diag(-np.sin(B[0])))


def test_chunks_are_differentiated() -> None:
    g = pb.grad(lambda w: pb.sum(pb.vmap(lambda x: x @ w, chunk_size=2)(B)))(W)
    close(g, np.repeat(B.sum(0)[:, None], 5, axis=1))


# Random numbers --------------------------------------------------------------------------------


def test_random_numbers_for_each_example() -> None:
    def noisy(x: Any) -> Any:
        return x + pb.random.normal((4,))

    pb.random.seed(5)
    different = pb.vmap(noisy)(np.zeros((3, 4))).data
    assert len(np.unique(different)) == 12
    same = pb.vmap(noisy, randomness="same")(np.zeros((3, 4))).data
    assert len(np.unique(same)) == 4
    with pytest.raises(errors.BatchedValueError, match="randomness"):
        pb.vmap(noisy, randomness="error")(np.zeros((3, 4)))
    nested = pb.vmap(pb.vmap(noisy, randomness="same"))(np.zeros((2, 3, 4))).data
    assert len(np.unique(nested)) == 8


def test_dropout_for_each_example() -> None:
    x = np.ones((50, 40))
    kept = pb.vmap(lambda x: pb.dropout(x, 0.5))(x).data
    assert 0 < np.mean(kept == 0) < 1
    assert not np.all(kept == kept[0])
    held = pb.vmap(lambda x: pb.dropout(x, 0.5), randomness="same")(x).data
    assert np.all(held == held[0])


# Gradients of examples -------------------------------------------------------------------------


class Net:
    """Two layers and their parameters."""

    def __init__(self) -> None:
        rng = np.random.default_rng(8)
        self.parameters = {
            "w1": rng.standard_normal((4, 6)), "b1": rng.standard_normal(6),
            "w2": rng.standard_normal((6, 3)), "b2": rng.standard_normal(3),
        }
        self.x, self.y = rng.standard_normal((5, 4)), rng.integers(0, 3, 5)

    @staticmethod
    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = pb.relu(x @ p["w1"] + p["b1"])
        return pb.cross_entropy(hidden @ p["w2"] + p["b2"], y)


def one_by_one(net: Net, f: Any) -> list[Any]:
    return [f(net.parameters, x, y) for x, y in zip(net.x, net.y, strict=True)]


def test_gradients_of_each_example_of_a_network() -> None:
    net = Net()
    gradient = pb.grad(lambda p, x, y: Net.loss(p, x, y))
    wanted = one_by_one(net, gradient)
    got = pb.vmap(gradient, (None, 0, 0))(net.parameters, net.x, net.y)
    summed = pb.grad(
        lambda p: pb.sum(pb.vmap(Net.loss, (None, 0, 0))(p, net.x, net.y))
    )(net.parameters)
    for name in net.parameters:
        loop = np.stack([w[name].data for w in wanted])
        close(got[name], loop)
        close(summed[name], loop.sum(0))


def test_gradients_of_each_example_in_a_weight_closed_over() -> None:
    """Inside the vmap a gradient is one for each example, whatever it is with respect to."""
    w = pb.tensor(W)

    def per_example(x: Any) -> Any:
        return pb.grad(lambda w: pb.sum(pb.tanh(x @ w)))(w)

    wanted = [x[:, None] * (1 - np.tanh(x @ W) ** 2) for x in B]
    close(pb.vmap(per_example)(B), np.stack(wanted))


def test_a_norm_of_each_gradient_is_differentiated() -> None:
    """A penalty on per-example gradients, in the weight."""
    def penalty(w: Any) -> Any:
        def norm(x: Any) -> Any:
            g = pb.grad(lambda x: pb.sum(pb.tanh(x @ w)))(x)
            return pb.sum(g * g)

        return pb.sum(pb.vmap(norm)(B))

    def looped(w: np.ndarray) -> float:
        return float(sum(np.sum(((1 - np.tanh(x @ w) ** 2) @ w.T) ** 2) for x in B))

    t = RNG.standard_normal(W.shape)
    h = 1e-3
    wanted = (
        8 * (looped(W + h * t) - looped(W - h * t)) - looped(W + 2 * h * t) + looped(W - 2 * h * t)
    ) / (12 * h)
    np.testing.assert_allclose(np.sum(pb.grad(penalty)(W).data * t), wanted, rtol=1e-7)
    np.testing.assert_allclose(pb.jvp(penalty, (W,), (t,))[1].data, wanted, rtol=1e-7)


def test_hessians_of_each_example() -> None:
    h = pb.vmap(pb.hessian(lambda x: pb.sum(x) * pb.sum(x * x)))(B)
    wanted = [
        2 * x[:, None] + 2 * x[None, :] + 2 * np.sum(x) * np.eye(4) for x in B
    ]
    close(h, np.stack(wanted))


def test_backward_inside_adds_up_as_a_loop_would() -> None:
    """`.grad` of a leaf from outside is one array of its shape, the sum over the examples."""
    w = pb.tensor(W[:, 0], requires_grad=True)

    def step(x: Any) -> Any:
        loss = pb.sum(w * w * x)
        loss.backward()
        return loss

    pb.vmap(step)(B)
    close(w.grad, 2 * W[:, 0] * B.sum(0))
    pb.vmap(pb.vmap(step))(A)
    close(w.grad, 2 * W[:, 0] * (B.sum(0) + A.sum((0, 1))))
    w.grad = None
    pb.vmap(lambda x: pb.sum(w * w).backward() or x)(B)  # the same for all three examples
    close(w.grad, 3 * 2 * W[:, 0])


def test_backward_inside_into_a_leaf_made_inside_is_one_for_each() -> None:
    def step(x: Any) -> Any:
        u = pb.tensor(W[:, 0], requires_grad=True)
        pb.sum(u * u * x).backward()
        return u.grad

    close(pb.vmap(step)(B), 2 * W[:, 0] * B)


def test_in_place_writes_inside() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1] = x[0] * 10.0
        y += 1.0
        return y

    wanted = B + 1
    wanted[:, 1] = 10 * B[:, 0] + 1
    close(pb.vmap(f)(B), wanted)
    slopes = np.ones(4)
    slopes[0], slopes[1] = 11.0, 0.0
    close(pb.vmap(pb.grad(lambda x: pb.sum(f(x))))(B), np.stack([slopes] * 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x, lambda x: x[1:], lambda x: x * 2.0, lambda x: pb.tensor(2.0),
        pb.grad(pb.sum), pb.hessian(pb.sum), pb.jacrev(lambda x: pb.tensor(W[0])),
        lambda x: pb.grad(lambda w: pb.sum(w))(W), lambda x: pb.jvp(pb.sum, (x,), (x * 0 + 1,))[1],
    ],
)
@pytest.mark.parametrize("out", [0, -1])
def test_results_may_be_written_to(f: Any, out: int) -> None:
    x = pb.tensor(B)
    y = pb.vmap(f, out_axes=out)(x)
    before = np.array(y.data)
    y += 1.0
    close(y, before + 1)
    y[0] = 7.0
    assert np.all(y.data[0] == 7)
    np.testing.assert_array_equal(x.data, B)


def test_the_arguments_are_not_written_to() -> None:
    x = np.array(B)

    def f(x: Any) -> Any:
        x[0] = 7.0
        return x

    with pytest.raises((errors.PullbackError, ValueError)):
        pb.vmap(f)(x)
    np.testing.assert_array_equal(x, B)


def test_variables_are_mapped_and_closed_over() -> None:
    v = pb.Variable(B)
    close(pb.vmap(lambda x: x * 2.0)(v), 2 * B)
    close(pb.vmap(lambda x: pb.sum(x * v))(A), np.sum(A * B, axis=(1, 2)))
    close(pb.grad(lambda v: pb.sum(pb.vmap(lambda x: pb.sum(x * v))(A)))(v), A.sum(0))
