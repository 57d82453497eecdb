"""`safe_where`: each function sees what is selected for it, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentTypeError, ShapeError, SymbolError

X = np.array([[4.0, 0.0, -1.0], [0.25, np.inf, -0.0]])


def near(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12, atol=1e-12)


def root(x: Any) -> Any:
    return pb.safe_where(x > 0, pb.sqrt, 0.0, x)


def length(row: Any) -> Any:
    return pb.safe_where(pb.any(row != 0), pb.linalg.vector_norm, 0.0, row)


def spied(f: Any, seen: list[np.ndarray]) -> Any:
    def spy(*xs: Any) -> Any:
        seen.append(np.array([np.asarray(pb.stop_gradient(x)) for x in xs]))
        return f(*xs)

    return spy


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 1, 3), (1,)])
def test_values_are_those_of_where(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    found = pb.safe_where(x > y, lambda a, b: a * b, lambda a, b: a - b, x, y)
    np.testing.assert_array_equal(np.asarray(found), np.where(x > y, x * y, x - y))


def test_each_function_sees_only_its_entries() -> None:
    positive: list[np.ndarray] = []
    others: list[np.ndarray] = []
    pb.safe_where(X > 0, spied(pb.sqrt, positive), spied(pb.exp, others), X)
    np.testing.assert_array_equal(positive, [[[4.0, 0.25, np.inf]]])
    np.testing.assert_array_equal(others, [[[0.0, -1.0, -0.0]]])


@pytest.mark.parametrize("every", [True, False])
def test_a_function_that_nothing_is_selected_for_is_not_called(every: bool) -> None:
    def never(x: Any) -> Any:
        raise AssertionError("called")

    f, g = (pb.exp, never) if every else (never, pb.exp)
    near(pb.safe_where(np.full(3, every), f, g, np.arange(3.0)), np.exp(np.arange(3.0)))


def test_gradients_at_the_classic_places() -> None:
    """A root, a logarithm and a quotient, each next to where it has no derivative."""
    cases = [
        (lambda x: pb.safe_where(x > 0, pb.sqrt, 0.0, x), lambda x: 0.5 / np.sqrt(x)),
        (lambda x: pb.safe_where(x > 0, pb.log, -1.0, x), lambda x: 1 / x),
        (lambda x: pb.safe_where(x > 0, lambda v: pb.sin(v) / v, 1.0, x),
         lambda x: np.cos(x) / x - np.sin(x) / x**2),
    ]
    x = np.array([0.5, 0.0, 2.0, -0.0])
    g = np.array([0.3, -1.2, 0.7, 2.0])
    for f, slope in cases:
        with np.errstate(all="raise"):
            found = pb.grad(lambda v, f=f: pb.sum(f(v) * g))(x)
        wanted = np.zeros(4)
        wanted[[0, 2]] = g[[0, 2]] * slope(x[[0, 2]])
        near(found, wanted)


def test_second_order_and_forward_mode() -> None:
    x = pb.tensor([4.0, 0.0, 0.25])
    curved = np.diag([-0.25 * 4**-1.5, 0, -0.25 * 0.25**-1.5])
    near(pb.hessian(lambda x: pb.sum(root(x)))(x), curved)
    t = np.array([0.3, 5.0, -2.0])
    value, tangent = pb.jvp(root, (x,), (t,))
    near(value, [2, 0, 0.5])
    near(tangent, [0.3 / 4, 0, -2.0])


def test_a_condition_of_one_entry_selects_whole_arrays() -> None:
    near(length(pb.tensor([3.0, 4.0])), 5)
    near(pb.grad(length)(pb.tensor([3.0, 4.0])), [0.6, 0.8])
    near(pb.grad(length)(pb.zeros(2)), [0, 0])


def test_rows_in_a_vmap() -> None:
    rows = pb.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    seen: list[tuple[int, ...]] = []

    def norm(row: Any) -> Any:
        seen.append(row.shape)
        return pb.linalg.vector_norm(row)

    each = pb.vmap(lambda r: pb.safe_where(pb.any(r != 0), norm, 0.0, r))
    near(each(rows), [5, 0, 2])
    assert seen == [(2,)]  # as for one example
    near(pb.vmap(pb.grad(length))(rows), [[0.6, 0.8], [0, 0], [0, -1]])
    near(pb.vmap(pb.vmap(length))(pb.stack([rows, 2 * rows])), [[5, 0, 2], [10, 0, 4]])
    near(pb.jacfwd(pb.vmap(length))(rows)[0, 0], [0.6, 0.8])


def test_entries_in_a_vmap_some_of_it_the_same_for_all() -> None:
    rows, scale = pb.tensor([[4.0, 0.0], [0.0, 9.0]]), pb.tensor([2.0, 3.0])
    each = pb.vmap(
        lambda r, s: pb.safe_where(r > 0, lambda a, b: pb.sqrt(a) * b, -1.0, r, s), (0, None)
    )
    near(each(rows, scale), [[4, -1], [-1, 9]])
    near(pb.grad(lambda s: pb.sum(each(rows, s)))(scale), [2, 3])


def test_operands_are_broadcast_with_the_condition() -> None:
    a, b = pb.tensor([[1.0], [0.0]]), pb.tensor([2.0, 0.0, 4.0])
    ratio = pb.safe_where(b != 0, pb.divide, 0.0, a, b)
    near(ratio, [[0.5, 0, 0.25], [0, 0, 0]])
    near(pb.grad(lambda b: pb.sum(pb.safe_where(b != 0, pb.divide, 0.0, a, b)))(b),
         [-0.25, 0, -0.0625])


def test_arrays_are_branches_and_have_gradients() -> None:
    x, y = pb.tensor([4.0, -1.0]), pb.tensor([10.0, 20.0])
    f = lambda x, y: pb.safe_where(x > 0, pb.sqrt, y, x)  # noqa: E731
    near(f(x, y), [2, 20])
    near(pb.grad(lambda y: pb.sum(f(x, y)))(y), [0, 1])
    near(pb.safe_where(x > 0, y, x, x), [10, -1])


def test_narrow_numbers_stay_narrow() -> None:
    x = pb.astype(pb.tensor([4.0, 0.0]), pb.float32)
    assert root(x).dtype == np.float32
    assert pb.grad(lambda x: pb.sum(root(x)))(x).dtype == np.float32


def test_nothing_is_selected_of_nothing() -> None:
    assert root(pb.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("static", [True, False])
def test_in_a_traced_function(static: bool) -> None:
    signature = [pb.TensorSpec([3 if static else None])]
    slope = pb.function(
        lambda x: pb.grad(lambda x: pb.sum(root(x)))(x), input_signature=signature
    )
    near(slope(pb.tensor([4.0, 0.0, -1.0])), [0.25, 0, 0])


def test_a_condition_that_is_not_known_and_of_one_entry_is_refused() -> None:
    with pytest.raises(SymbolError, match=r"pullback\.graphs\.cond"):
        pb.function(length)(pb.tensor([3.0, 4.0]))


def test_under_jit() -> None:
    jax = pytest.importorskip("jax")

    def slope(a: Any) -> Any:
        return pb.grad(lambda x: pb.sum(root(x)))(pb.Tensor(a)).data

    def slopes(a: Any) -> Any:
        return pb.vmap(pb.grad(length))(pb.Tensor(a)).data

    a = jax.numpy.array([4.0, 0.0, -1.0])
    near(jax.jit(slope)(a), [0.25, 0, 0])
    rows = jax.numpy.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(jax.jit(slopes)(rows), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_pytorchs_arrays() -> None:
    torch = pytest.importorskip("torch")
    x = pb.Tensor(torch.tensor([4.0, 0.0, -1.0], dtype=torch.float64), requires_grad=True)
    pb.sum(root(x)).backward()
    assert isinstance(x.grad.data, torch.Tensor)
    near(x.grad.data, [0.25, 0, 0])


def test_misuse_is_named() -> None:
    x = pb.ones(3)
    with pytest.raises(ArgumentTypeError, match="booleans"):
        pb.safe_where(x, pb.exp, 0.0, x)
    with pytest.raises(ArgumentTypeError, match="operand"):
        pb.safe_where(x > 0, pb.exp, 0.0)
    with pytest.raises(ArgumentTypeError, match="a function, a number or an array"):
        pb.safe_where(x > 0, "exp", 0.0, x)
    with pytest.raises(ShapeError, match=r"`f` of safe_where[\s\S]*elementwise"):
        pb.safe_where(x > 0, pb.sum, 0.0, x)
