"""Indexing, selecting, sorting and products where the rows do not reach: kinks, misuse, views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import pullback as pb
from pullback import Tensor, errors
from pullback.core.observe import Calls, observing
from tests.tier import examples


def slopes(f: Callable[..., Any], *arrays: Any, g: Any) -> list[np.ndarray]:
    leaves = [pb.tensor(np.array(a, float), requires_grad=True) for a in arrays]
    return [s.numpy() for s in pb.autograd.grad(f(*leaves), leaves, pb.tensor(np.array(g, float)))]


# Indexing -----------------------------------------------------------------------------------


@st.composite
def indexed(draw: Any) -> tuple[np.ndarray, Any]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    kind = draw(st.integers(0, 2))
    if kind == 0:
        index = draw(hnp.basic_indices(shape, allow_newaxis=True))
    elif kind == 1:
        index = draw(hnp.integer_array_indices(shape))
    else:
        index = draw(hnp.arrays(bool, shape))
    return x, index


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(indexed(), st.integers(0, 9))
def test_any_index_is_numpy_s_and_its_gradient_its_adjoint(case: Any, seed: int) -> None:
    x, index = case
    t = Tensor(x, requires_grad=True)
    found = t[index]
    np.testing.assert_array_equal(found.data, x[index])
    g = np.random.default_rng(seed).standard_normal(x[index].shape)
    wanted = np.zeros(x.shape)
    np.add.at(wanted, index, g)
    np.testing.assert_allclose(pb.autograd.grad(found, t, g)[0].data, wanted, atol=1e-14)
    assert np.shares_memory(found.data, x) == np.shares_memory(x[index], x) or not found.shape


def test_a_value_is_added_at_all_the_positions_that_it_broadcasts_to() -> None:
    value, at = np.array([1.0, 2.0]), np.array([[1, 0], [1, 0]])
    np.testing.assert_array_equal(pb.add_at(np.zeros(2), value, at), [4.0, 2.0])
    for x in (np.zeros((2, 3)), np.zeros((3, 2)).T):
        np.testing.assert_array_equal(pb.add_at(x, value, (at, 2))[:, 2], [4.0, 2.0])
    with pytest.raises(errors.PositionError, match="too many"):
        pb.add_at(np.zeros((2, 3)), 1.0, (at, at, at))


def test_tensors_index_as_arrays_do() -> None:
    x = pb.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    two, mask = Tensor(np.array([2, 0])), Tensor(np.arange(3) > 0)
    np.testing.assert_array_equal(x[two].data, x.data[[2, 0]])
    np.testing.assert_array_equal(x[mask, 1:].data, x.data[1:, 1:])
    np.testing.assert_array_equal(x[Tensor(np.array(1))].data, x.data[1])
    np.testing.assert_array_equal(x[[two[0], 1]].data, x.data[[2, 1]])
    np.testing.assert_array_equal(x[Tensor(np.array(1)) :].data, x.data[1:])
    assert np.shares_memory(x[Tensor(np.array(1))].data, x.data)


@pytest.mark.parametrize(("index", "error"), [
    (3, IndexError), ((0, 0, 0), IndexError), (np.array([0, 7]), IndexError),
    (np.ones(2, bool), IndexError), (1.5, TypeError), ("a", TypeError), (slice("a"), TypeError),
    (np.array([0.5]), IndexError),
], ids=str)
def test_an_index_that_does_not_fit_is_one_error(index: Any, error: type[Exception]) -> None:
    x = pb.tensor(np.ones((3, 2)), requires_grad=True)
    with pytest.raises(errors.PullbackError) as caught:
        x[index]
    assert isinstance(caught.value, error)


MISUSE: dict[str, Callable[[Any], Any]] = {
    "`take`": lambda x: pb.take(x, [0]),
    "argument `axis` of `take`": lambda x: pb.take(x, np.array([0]), axis=2),
    "an index that fits": lambda x: pb.take(x, np.array([5]), axis=0),
    "`take_along_axis`": lambda x: pb.take_along_axis(x, np.array([0])),
    "`set_at`": lambda x: pb.set_at(x, np.ones(5), 0),
    "a real value": lambda x: pb.add_at(x, 1j, 0),
    "argument `mode`": lambda x: pb.top_k(x, 1, mode="best"),
    "argument `k`": lambda x: pb.top_k(x, 3),
    "argument `x1` of `outer`": lambda x: pb.outer(x, x),
    "argument `axes` of `tensordot`": lambda x: pb.tensordot(x, x, axes=3),
    "two lists of axes of equal length": lambda x: pb.tensordot(x, x, axes=([0], [0, 1])),
    "axis 0 of x2": lambda x: pb.tensordot(x, x, axes=1),
    "2 operands": lambda x: pb.einsum("ij,jk", x),
    "operand 1 of einsum": lambda x: pb.einsum("ij,jk", x, x),
    "axes for 'ijk'": lambda x: pb.einsum("ijk->i", x),
    "along 'i'": lambda x: pb.einsum("ii->i", x),
    "each letter of the result once": lambda x: pb.einsum("ij->iij", x),
    "letters": lambda x: pb.einsum("i1->i", x),
}


@pytest.mark.parametrize("text", MISUSE)
def test_misuse_is_one_error_that_says_where(text: str) -> None:
    with pytest.raises(errors.PullbackError) as caught:
        MISUSE[text](pb.tensor(np.ones((3, 2)), requires_grad=True))
    assert text in str(caught.value)
    assert caught.value.__cause__ is None


# Selecting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [pb.maximum, pb.minimum])
def test_ties_share_the_cotangent(f: Callable[..., Any]) -> None:
    one, two = slopes(f, [1.0, 2.0], [1.0, 2.0], g=[3.0, 5.0])
    np.testing.assert_array_equal(one, [1.5, 2.5])
    np.testing.assert_array_equal(two, [1.5, 2.5])


@pytest.mark.parametrize("f", [pb.maximum, pb.minimum])
def test_nan_is_propagated(f: Callable[..., Any]) -> None:
    out = f(Tensor(np.array([np.nan, 1.0])), Tensor(np.array([1.0, np.nan])))
    assert np.isnan(out.data).all()
    for slope in slopes(f, [np.nan, 1.0], [1.0, np.nan], g=[3.0, 5.0]):
        np.testing.assert_array_equal(slope, [3, 5])


def test_clip_at_its_bounds_passes_the_cotangent_to_x() -> None:
    x, low, high = slopes(pb.clip, [-1.0, 1.0, -2.0, 2.0, np.nan], -1.0, 1.0, g=[1, 2, 3, 4, 5])
    np.testing.assert_array_equal(x, [1, 2, 0, 0, 0])
    assert (low, high) == (3, 4)


def test_clip_without_bounds_and_of_integers() -> None:
    assert slopes(pb.clip, [3.0], g=[2.0]) == [2.0]
    x = Tensor(np.array([-300, 7, 300]))
    np.testing.assert_array_equal(pb.clip(x, min=0).data, [0, 7, 300])
    assert pb.clip(x, max=9).dtype == np.int64
    assert pb.clip(Tensor(np.array([1, 2], np.uint8)), min=2).dtype == np.uint8


def test_where_gives_nothing_to_what_it_left_out() -> None:
    condition = np.array([True, False])
    one, two = slopes(lambda a, b: pb.where(condition, a, b), [1.0, 2.0], 7.0, g=[3.0, np.inf])
    np.testing.assert_array_equal(one, [3, 0])
    assert two == np.inf


# Sorting and sets ---------------------------------------------------------------------------


def test_equal_entries_keep_their_order() -> None:
    x = np.array([2.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(pb.argsort(x), [1, 3, 0, 2])
    np.testing.assert_array_equal(pb.argsort(x, descending=True), [0, 2, 1, 3])
    (g,) = slopes(lambda t: pb.sort(t, descending=True), x, g=[1, 2, 3, 4])
    np.testing.assert_array_equal(g, [1, 3, 2, 4])


def test_the_cotangent_of_a_distinct_value_goes_to_its_first_place() -> None:
    (g,) = slopes(pb.unique_values, [2.0, 1.0, 2.0], g=[3.0, 5.0])
    np.testing.assert_array_equal(g, [5, 3, 0])


def test_a_result_of_einsum_is_never_a_view() -> None:
    x = np.ones((2, 2))
    for subscripts in ("ii->i", "ij->ji", "ij->ij"):
        assert not np.shares_memory(pb.einsum(subscripts, x), x)


def entries_touched(n: int) -> int:
    """How many entries the kernels fill in the backward pass of a loop over a vector."""
    x = pb.tensor(np.linspace(0.5, 2.0, n), requires_grad=True)
    total = pb.tensor(0.0)
    for v in x * 1.0:
        total = total + v * v
    count = 0

    def kernel(op: Any, run: Any, args: Any, attrs: Any) -> Any:
        nonlocal count
        made = run(*args, **attrs)
        count += np.size(made)
        return made

    with observing(Calls(kernel=kernel)):
        total.backward()
    np.testing.assert_allclose(x.grad.data, 2 * x.data)
    return count


def test_reading_entry_by_entry_is_linear_in_the_backward_pass() -> None:
    assert entries_touched(80) < 2.5 * entries_touched(40)


def test_what_is_read_twice_is_added_to_no_array_of_the_user() -> None:
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    seen = []
    y = x * 1.0
    y.register_hook(lambda g: seen.append(g.data.copy()))
    g = np.array([10.0, 20.0, 30.0])
    pb.autograd.backward([y[1:], y[:2], y], [g[1:], g[:2], pb.tensor(g)])
    np.testing.assert_array_equal(x.grad.data, [20.0, 60.0, 60.0])
    np.testing.assert_array_equal(g, [10.0, 20.0, 30.0])
    np.testing.assert_array_equal(seen, [[20.0, 60.0, 60.0]])
