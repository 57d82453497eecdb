"""NumPy's functions on Tensors, where the table does not reach: dtypes, edges, odd arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from tests.loops import each
from tests.protocols_table import CASES, Case

Call = Callable[..., Any]
inf, nan = math.inf, math.nan


def parts(value: Any) -> list[Any]:
    """The arrays in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in parts(part)]
    return [value]


def assert_numpys(call: Call, *arrays: Any) -> None:
    """A call on Tensors answers what it answers on arrays: values, shapes and dtypes."""
    arrays = tuple(np.asarray(a) for a in arrays)
    wanted, got = parts(call(*arrays)), parts(call(*[pb.tensor(a) for a in arrays]))
    for g, w in zip(got, wanted, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        tolerance = 1e-5 if g.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


# Dtypes -----------------------------------------------------------------------------------------

NEEDS_FLOATS = {
    "corrcoef": "rows that are constant, of which it warns",
    "ediff1d": "the ends that are given are no integers",
}


OF_FLOATS = [pytest.param(case, id=case.name) for case in CASES if case.kind == "float"]


@pytest.mark.parametrize("case", OF_FLOATS)
def test_dtypes_are_numpys(case: Case, rng: np.random.Generator) -> None:
    def law(dtype: str) -> None:
        if dtype == "float32":
            arrays = [np.abs(rng.standard_normal(s)) + 0.5 for s in case.shapes]
        else:
            arrays = [1 + rng.permutation(math.prod(s)).reshape(s) for s in case.shapes]  # no ties
        arrays = [a.astype(dtype) for a in arrays]
        tensors = [pb.tensor(a) for a in arrays]
        with np.errstate(all="ignore"):
            wanted, got = parts(case.call(*arrays)), parts(case.call(*tensors))
        for g, w in zip(got, wanted, strict=True):
            g, w = np.asarray(g), np.asarray(w)
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-4)

    each(["float32"] if case.name in NEEDS_FLOATS else ["float32", "int64"], law)


def test_a_variance_of_fewer_entries_than_are_taken_off_is_not_negative() -> None:
    x = np.array([[1.0, 4.0, nan], [1.0, 2.0, 4.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nanvar(pb.tensor(x), axis=1, ddof=2.5)
        masked = np.var(pb.tensor(x[:, :2]), axis=1, ddof=3, where=[True, False])
    assert not np.isfinite(found.numpy()[0])
    assert found.numpy()[1] == pytest.approx(np.nanvar(x[1], ddof=2.5))
    assert not np.any(np.isfinite(masked.numpy()))


# Which triangle, which tolerance ----------------------------------------------------------------


@pytest.mark.parametrize("triangle", ["l", "L", "u", "U"])
@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_the_triangle_that_is_named_is_read(
    name: str, triangle: str, rng: np.random.Generator
) -> None:
    a = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    function = getattr(np.linalg, name)
    assert_numpys(lambda a: parts(function(a, UPLO=triangle))[0], a)
    whole = a + np.conj(a.T)
    of_numpy = pb.grad(lambda a: pb.sum(parts(function(a, UPLO=triangle))[0] ** 3))(whole)
    own = pb.grad(lambda a: pb.sum(pb.linalg.eigvalsh(a) ** 3))(whole)
    there = np.asarray(of_numpy)
    np.testing.assert_allclose((there + np.conj(there.T)) / 2, own, atol=1e-11)
    assert not np.any(np.triu(there, 1) if triangle in "lL" else np.tril(there, -1))
    with pytest.raises(errors.ArgumentError, match=f"UPLO.*{name}"):
        function(pb.tensor(a), UPLO="X")


def test_the_pseudo_inverse_has_numpys_tolerance() -> None:
    a = np.diag([1.0, 3e-16, 1.5e-15])
    assert_numpys(np.linalg.pinv, a)
    assert_numpys(lambda a: np.linalg.pinv(a, 1e-3), a)
    assert_numpys(lambda a: np.linalg.pinv(a, rtol=None), np.diag([1.0, 5e-16]))
    with pytest.raises(errors.ArgumentError, match="both"):
        np.linalg.pinv(pb.tensor(a), 1e-3, rtol=1e-3)


@pytest.mark.parametrize("p", [None, 2, -2])
def test_condition_numbers(p: Any, rng: np.random.Generator) -> None:
    for a in (rng.standard_normal((2, 3, 4)), np.zeros((2, 2)), np.diag([2.0, 0.0])):
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = np.linalg.cond(a, p)
        x = pb.tensor(a, requires_grad=True)
        found = np.linalg.cond(x, p)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
        pb.sum(found).backward()
        assert x.grad is not None
        assert np.all(np.isfinite(x.grad.numpy()))


# Quantiles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [-0.1, 1.1, nan, [0.5, -0.5]])
def test_shares_are_from_0_to_1(q: Any) -> None:
    for call, times in ((np.quantile, 1), (np.percentile, 100)):
        with pytest.raises(errors.ArgumentError, match="`q`"):
            call(pb.tensor([1.0, 2.0]), np.multiply(q, times))


def test_quantiles_of_infinite_entries() -> None:
    """What lies between two equal infinities, or next to one, is infinite; NaN only between two."""
    for a, q, wanted in (
        ([1.0, inf, inf], 0.75, inf), ([-inf, 1.0, 2.0], 0.25, -inf), ([-inf, 1.0, inf], 0.5, 1.0),
        ([1.0, inf], 0.0, 1.0), ([1.0, inf], 0.5, inf), ([-inf, 1.0], 0.5, -inf),
        ([-inf, -inf], 0.3, -inf), ([-inf, 1.0], 1.0, 1.0), ([1.0, 3.0], 0.25, 1.5),
    ):
        assert np.quantile(pb.tensor(a), q).item() == wanted
    assert np.median(pb.tensor([inf, 1.0, inf])).item() == inf
    got = pb.grad(lambda a: np.quantile(a, 0.25))(np.array([3.0, 1.0, 3.0, 1.0, inf]))
    assert got.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


# Integers of NumPy ------------------------------------------------------------------------------

ONE, TWO = np.int64(1), np.int64(2)
BY_INTEGERS: list[Call] = [
    lambda a: np.linalg.norm(a, axis=ONE), lambda a: np.linalg.norm(a, 1, axis=ONE),
    lambda a: np.average(a, axis=ONE, weights=[1.0, 2.0, 3.0, 4.0]), lambda a: np.tile(a, TWO),
    lambda a: np.expand_dims(a, ONE), lambda a: np.fft.fftshift(a, ONE),
    lambda a: np.reshape(a, np.int64(12)), lambda a: np.broadcast_to(a[0], np.int64(4)),
    lambda a: np.resize(a, np.int64(5)), lambda a: np.tensordot(a, a, axes=TWO),
    lambda a: np.tensordot(a, a, axes=(ONE, ONE)), lambda a: np.median(a, axis=ONE),
    lambda a: np.tensordot(a, a, axes=np.array([[0], [0]])),
]


@pytest.mark.parametrize("i", range(len(BY_INTEGERS)))
def test_integers_of_numpy_are_axes_and_lengths(i: int, rng: np.random.Generator) -> None:
    assert_numpys(BY_INTEGERS[i], rng.standard_normal((3, 4)))


# Norms, powers of two, lines --------------------------------------------------------------------


@pytest.mark.parametrize("ord", [1, -2, inf, "nuc", "fro", None])
@pytest.mark.parametrize("axis", [(0, 2), (2, 0), (-1, 1)])
def test_matrix_norms_along_any_axes(ord: Any, axis: Any, rng: np.random.Generator) -> None:
    for keepdims in (False, True):
        assert_numpys(
            lambda a, keep=keepdims: np.linalg.norm(a, ord, axis=axis, keepdims=keep),
            rng.standard_normal((2, 3, 4)),
        )


def test_norms_are_of_vectors_or_matrices() -> None:
    x = pb.tensor(np.ones((2, 3, 4)), requires_grad=True)
    with pytest.raises(errors.ArgumentTypeError, match="norm"):
        np.linalg.norm(x, axis=(0, 1, 2))
    with pytest.raises(errors.ArgumentTypeError, match="cov"):
        np.cov(x)


def test_powers_of_two_beyond_the_largest_number() -> None:
    a, k = np.array([1e-300, 1.0, 1e300, 1.5]), [1100, 5, -1100, 1023]
    assert_numpys(lambda a: np.ldexp(a, k), a)
    got = pb.grad(lambda a: np.sum(np.ldexp(a, [5, -3, 1023])))(np.array([1.0, 2.0, 0.5]))
    np.testing.assert_array_equal(got, [32.0, 0.125, 2.0**1023])


def test_the_last_point_of_a_line_named_twice() -> None:
    assert_numpys(lambda a: np.interp(a, [1.0, 2.0, 2.0], [4.0, 5.0, 7.0]), [1.5, 2.0, 3.0])
    got = pb.grad(lambda a: np.sum(np.interp(a, [1.0, 2.0, 2.0], [4.0, 5.0, 7.0])))(
        np.array([1.5, 3.0])
    )
    assert got.tolist() == [1.0, 0.0]


# Casts that lose, and positions that are not there ----------------------------------------------


@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.vstack, np.hstack])
def test_a_join_does_not_make_integers_of_floats_in_silence(join: Any) -> None:
    x = pb.tensor([0.5, 1.5], requires_grad=True)
    with pytest.raises(errors.DtypeError, match=join.__name__):
        join([x, x], dtype=int)
    assert join([x, x], dtype=np.float32).dtype == np.float32
    assert join([x, x], dtype=int, casting="unsafe").dtype == np.int64


def test_positions_that_are_not_there() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for position in (-1, 2):
        with pytest.raises(errors.PositionError, match="choose"):
            np.choose([0, position], [x, x])
    with pytest.raises(errors.ArgumentError, match="bincount"):
        np.bincount([1, -2], weights=x)
