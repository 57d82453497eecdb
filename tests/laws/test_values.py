"""Values: those of the NumPy reference, for every dtype, shape and memory layout."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pullback import Tensor
from tests.laws.cases import ROWS, every_row, few_rows, rows
from tests.laws.checks import outputs, plain
from tests.loops import each, noted
from tests.table import Row

TOLERANCE = {"float64": 1e-12, "complex128": 1e-12}


def assert_close(row: Row, got: Any, wanted: Any, dtype: str) -> None:
    got, wanted = outputs(got), outputs(wanted)
    assert len(got) == len(wanted)
    tolerance = TOLERANCE.get(dtype, row.float32_tolerance)
    for g, w in zip(got, wanted, strict=True):
        g, w = plain(g), np.asarray(w)
        assert g.shape == w.shape
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=1) if w.dtype.kind in "fc" else 1
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * scale)


@every_row()
def test_equal_the_reference(row: Row) -> None:
    def law(dtype: str) -> None:
        for salt in range(2):
            arrays = row.draw(dtype, salt)
            assert_close(row, row.call(*arrays), row.reference(*arrays), dtype)

    each(row.dtypes, law)


@rows()
def test_have_the_dtype_of_the_reference(row: Row) -> None:
    def law(dtype: str) -> None:
        arrays = row.draw(dtype)
        wanted = [np.asarray(w).dtype for w in outputs(row.reference(*arrays))]
        assert [plain(g).dtype for g in outputs(row.call(*arrays))] == wanted
        tensors = [Tensor(a) for a in arrays]
        assert [g.dtype for g in outputs(row.call(*tensors))] == wanted

    each(row.dtypes, law)


@rows()
def test_are_raw_for_raw_arrays_and_tensors_for_any_tensor(row: Row) -> None:
    arrays = row.draw()
    raw = outputs(row.call(*arrays))
    assert all(isinstance(r, (np.ndarray, np.generic)) for r in raw), [type(r) for r in raw]
    for i in range(-1, len(arrays)):
        mixed = [Tensor(a) if i in (-1, j) else a for j, a in enumerate(arrays)]
        found = outputs(row.call(*mixed))
        assert all(type(f) is Tensor for f in found), (i, [type(f) for f in found])
        assert all(f.node is None for f in found)
        for f, r in zip(found, raw, strict=True):
            np.testing.assert_array_equal(f.data, r)


@few_rows()
def test_leave_their_inputs_as_they_were(row: Row) -> None:
    arrays = [np.array(a) for a in row.draw()]  # writable, so that writing would succeed
    before = [a.tobytes() for a in arrays]
    row.call(*arrays)
    row.call(*(Tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays))
    assert [a.tobytes() for a in arrays] == before


@rows(lambda row: row.elementwise and row.empty)
def test_of_nothing_are_nothing(row: Row) -> None:
    def law(shape: tuple[int, ...]) -> None:
        arrays = row.draw(shapes=[shape] * len(row.args))
        assert_close(row, row.call(*arrays), row.reference(*arrays), "float64")

    each([(0,), (2, 0, 3)], law)


@rows(lambda row: row.elementwise)
def test_of_arrays_without_axes(row: Row) -> None:
    arrays = row.draw(shapes=[()] * len(row.args))
    assert_close(row, row.call(*arrays), row.reference(*arrays), "float64")
    scalars = [a[()] for a in arrays]
    assert_close(row, row.call(*scalars), row.reference(*arrays), "float64")


def strided(array: np.ndarray) -> np.ndarray:
    """Every second entry of a larger array."""
    wide = np.zeros([2 * n for n in array.shape], array.dtype)
    view = wide[(..., *(slice(None, None, 2) for _ in array.shape))]
    view[...] = array
    return view


def reversed_(array: np.ndarray) -> np.ndarray:
    """Negative strides along every axis."""
    back = tuple(slice(None, None, -1) for _ in array.shape)
    return np.array(array[back])[(..., *back)]


LAYOUTS = {
    "strided": strided, "reversed": reversed_, "columns first": partial(np.array, order="F"),
}


@few_rows()
def test_do_not_depend_on_the_layout(row: Row) -> None:
    arrays = row.draw()
    wanted = outputs(row.call(*arrays))
    for layout, laid in LAYOUTS.items():
        with noted(layout):
            for g, w in zip(outputs(row.call(*map(laid, arrays))), wanted, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)


@few_rows(lambda row: row.elementwise)
def test_of_one_entry_repeated_without_memory(row: Row) -> None:
    stretched = [
        np.broadcast_to(a, s.shape)
        for a, s in zip(row.draw(shapes=[()] * len(row.args)), row.args, strict=True)
    ]
    copies = [np.array(a) for a in stretched]
    assert_close(row, row.call(*stretched), row.reference(*copies), "float64")


def test_rows_have_names_of_their_own() -> None:
    ids = [row.id for row in ROWS]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)
