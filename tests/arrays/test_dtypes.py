"""The operation table in half precision: float16, and bfloat16, on NumPy's arrays.

What is computed is rounded once an operation, so values, gradients and tangents are those of the
same numbers in float64 up to a few units in the last place, and have the dtype of their source.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_.narrow import AS_THEY_ARE, Narrow, is_narrow
from pullback.core.op import OPS
from tests.laws.cases import ROWS
from tests.laws.checks import grads, outputs, plain, random_like
from tests.table import Row
from tests.tier import chosen

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
WITHOUT = {
    "hide_axis": "its result is a batched array, which is no array of numbers",
    "show_axis": "its argument is one",
}
UNITS = {"values": 2, "derivatives": 8}
"""Roundings: each is off by half a unit, eps / 2, of the largest number that takes part."""
INSIDE = {"matrix_norm": 40.0}
"""Operations whose rows add numbers of this size to their arguments, and round that."""


def cases() -> Any:
    held = [
        (row, name) for row in ROWS for name in DTYPES
        if row.name not in WITHOUT and not (row.name == "clip_gradient" and name == "float16")
    ]  # the row clips at 1e6, which is not in float16
    some = chosen(held, group=lambda case: (case[0].name, case[1]))
    return pytest.mark.parametrize(
        ("row", "dtype"), [(row, DTYPES[name]) for row, name in some],
        ids=[f"{row.id}-{name}" for row, name in some],
    )


def drawn(row: Row, dtype: np.dtype[Any]) -> list[np.ndarray]:
    with np.errstate(over="ignore"):  # numbers of the rows for what is infinite
        return [a.astype(dtype) if a.dtype.kind == "f" else a for a in row.draw("float64")]


def in_dtype(arrays: list[np.ndarray], dtype: Any) -> list[np.ndarray]:
    """The narrow ones among some arrays, in another dtype."""
    return [np.asarray(a).astype(dtype) if is_narrow(a.dtype) else np.asarray(a) for a in arrays]


def leaves(arrays: list[np.ndarray]) -> list[pb.Tensor]:
    return [pb.Tensor(a, requires_grad=a.dtype.kind not in "biu") for a in arrays]


def assert_close(got: Any, wanted: Any, dtype: np.dtype[Any], row: Row, what: str) -> None:
    got, wanted = plain(got), plain(wanted)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted, err_msg=what)
        return
    eps = float(ml_dtypes.finfo(dtype).eps)
    finite = np.isfinite(wanted)
    size = np.max(np.abs(wanted[finite]), initial=INSIDE.get(row.name, 1.0))
    np.testing.assert_allclose(
        got.astype(wanted.dtype), wanted, rtol=0, atol=UNITS[what] * eps / 2 * size, err_msg=what
    )


@cases()
def test_values_have_the_dtype_that_float32_would_have(row: Row, dtype: np.dtype[Any]) -> None:
    """Where float32 gives float32: the narrow dtype. Where it gives another: that one."""
    arrays = drawn(row, dtype)
    got = outputs(row.call(*[pb.Tensor(a) for a in arrays]))
    single = outputs(row.call(*[pb.Tensor(a) for a in in_dtype(arrays, "float32")]))
    double = outputs(row.call(*[pb.Tensor(a) for a in in_dtype(arrays, "float64")]))
    asked = "float32" in row.label
    for g, s, d in zip(got, single, double, strict=True):
        of_single = plain(s).dtype
        wanted = dtype if of_single == np.float32 and not asked else of_single
        assert plain(g).dtype == wanted
        assert_close(g, d, dtype, row, "values")


def differentiable_cases() -> Any:
    mark = cases()
    differentiable = [
        (case, name) for case, name in zip(mark.args[1], mark.kwargs["ids"], strict=True)
        if case[0].differentiable
    ]
    return pytest.mark.parametrize(
        ("row", "dtype"), [c for c, _ in differentiable], ids=[name for _, name in differentiable]
    )


@differentiable_cases()
def test_gradients_have_the_dtype_of_their_source(row: Row, dtype: np.dtype[Any]) -> None:
    arrays = drawn(row, dtype)
    results = outputs(row.call(*leaves(arrays)))
    rng = row.rng(41)
    cotangents = [
        random_like(plain(r), rng) if plain(r).dtype.kind not in "biu" else None for r in results
    ]

    def pulled(arrays: list[np.ndarray], wide: bool) -> tuple[list[Any], list[Any]]:
        args = leaves(arrays)
        found = outputs(row.call(*args))
        seeds = [
            None if c is None else np.asarray(c).astype(plain(r).dtype) if wide else c
            for c, r in zip(cotangents, found, strict=True)
        ]
        sources = [x for x in args if x.requires_grad]
        return sources, grads(found, sources, seeds)

    sources, got = pulled(arrays, wide=False)
    _, wanted = pulled(in_dtype(arrays, "float64"), wide=True)
    for x, g, w in zip(sources, got, wanted, strict=True):
        assert g.dtype == x.dtype
        assert_close(g, w, dtype, row, "derivatives")


@differentiable_cases()
def test_tangents_have_the_dtype_of_their_value(row: Row, dtype: np.dtype[Any]) -> None:
    arrays = drawn(row, dtype)
    rng = row.rng(42)
    tangents = [random_like(a, rng) if a.dtype.kind not in "biu" else None for a in arrays]

    def pushed(dtype: Any) -> tuple[list[Any], list[Any]]:
        along = [t if t is None else np.asarray(t).astype(dtype) for t in tangents]
        value, tangent = pb.jvp(row.call, tuple(in_dtype(arrays, dtype)), tuple(along))
        return outputs(value), outputs(tangent)

    values, got = pushed(dtype)
    _, wanted = pushed("float64")
    for v, g, w in zip(values, got, wanted, strict=True):
        assert (g is None) == (w is None)
        if g is not None:
            assert g.dtype == plain(v).dtype
            assert_close(g, w, dtype, row, "derivatives")


def test_views_are_not_computed_in_another_precision() -> None:
    """Or they would share no memory."""
    views = {name for name, function in OPS.items() if function.op.view}
    without = {"view_as_complex"}  # no complex numbers have half precision
    assert views - without == AS_THEY_ARE - {"nextafter"}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=list(DTYPES))
def test_the_kind_of_array_is_nobody_elses_affair(dtype: np.dtype[Any]) -> None:
    """Users hand in and get plain arrays, which share memory with what they handed in."""
    mine = np.ones((2, 3), dtype)
    x = pb.tensor(mine)
    assert type(x.data) is type(x.numpy()) is np.ndarray
    x[0, 1] = 5
    assert float(mine[0, 1]) == 5
    assert type(pb.astype(x, pb.float64).data) is np.ndarray
    assert not isinstance(pb.astype(x, pb.float64)._data, Narrow)
