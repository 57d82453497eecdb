"""Rules of NumPy's functions that select entries: by index, by mask, sorted, on diagonals."""

from __future__ import annotations

from typing import Any

import numpy

from ..composed.diagonals import on_diagonal, places
from ..core.tensor import raw
from ..errors import PositionError
from .table import array, pb, rule


@rule("take")
def take_of(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """The entries at indices along an axis."""
    a, indices = array(a), array(indices)
    if axis is None:
        a, axis = pb.ravel(a), 0
    n, at = a.shape[axis], raw(indices)
    if mode == "wrap":
        indices = at % n
    elif mode == "clip":
        indices = numpy.clip(at, 0, n - 1)
    found = pb.take(a, pb.reshape(indices, (-1,)), axis=axis)
    axis %= len(a.shape)
    return pb.reshape(found, (*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))


@rule("take_along_axis")
def take_along_axis_of(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """The entries at indices along one axis, given for each position of the others."""
    if axis is None:
        return pb.take(pb.ravel(arr), indices)
    return pb.take_along_axis(arr, indices, axis=axis)


@rule("compress")
def compress_of(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The slices where a condition holds."""
    return take_of(a, numpy.flatnonzero(raw(array(condition))), axis)


@rule("extract")
def extract_of(condition: Any, arr: Any) -> Any:
    """The entries where a condition holds."""
    return take_of(arr, numpy.flatnonzero(raw(array(condition))))


@rule("delete")
def delete_of(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """a without the entries at indices."""
    if axis is None:
        arr, axis = pb.ravel(arr), 0
    return pb.take(arr, numpy.delete(numpy.arange(arr.shape[axis]), raw(obj)), axis=axis)


@rule("choose")
def choose_of(a: Any, choices: Any) -> Any:
    """For each entry, the value of the choice that it is the index of."""
    at = raw(array(a))
    if numpy.any((at < 0) | (at >= len(choices))):
        raise PositionError(
            "argument `a` of numpy.choose", f"indices in [0, {len(choices)})", str(at)
        )
    spread = pb.broadcast_arrays(array(a), *[array(c) for c in choices])
    picked = pb.take_along_axis(pb.stack(spread[1:]), spread[0][None], axis=0)
    return picked[0]


@rule("argwhere")
def argwhere_of(a: Any) -> Any:
    """The indices of nonzero entries: one row per entry."""
    return pb.stack(pb.nonzero(a), axis=1)


@rule("flatnonzero")
def flatnonzero_of(a: Any) -> Any:
    """The indices of nonzero entries of the flattened array."""
    return pb.nonzero(pb.ravel(a))[0]


@rule("searchsorted")
def searchsorted_of(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """The indices at which to insert values so that the array stays sorted."""
    return pb.searchsorted(array(a), array(v), side=side, sorter=sorter)


@rule("isin")
def isin_of(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Any:
    """Whether each entry is among others."""
    return pb.isin(array(element), array(test_elements), invert=invert)


@rule("sort")
def sort_of(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """The entries in ascending order."""
    a, axis = (pb.ravel(a), 0) if axis is None else (a, axis)
    return pb.sort(a, axis=axis)


@rule("partition")
def partition_of(
    a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect"
) -> Any:
    """The entries in ascending order, which is a valid partition for every kth."""
    return sort_of(a, axis)


@rule("argsort")
def argsort_of(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """The indices that sort the entries in ascending order; stable."""
    a, axis = (pb.ravel(a), 0) if axis is None else (a, axis)
    return pb.argsort(a, axis=axis)


# Diagonals and triangles --------------------------------------------------------------------


@rule("diagonal")
def diagonal_of(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices on two axes, as the last axis."""
    x = pb.moveaxis(a, (axis1, axis2), (-2, -1))
    return x[(..., *places(x.shape[-2], x.shape[-1], offset))]


@rule("trace")
def trace_of(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum over a diagonal."""
    return pb.sum(diagonal_of(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@rule("diag")
def diag_of(v: Any, k: int = 0) -> Any:
    """A matrix with a vector on a diagonal, or a diagonal of a matrix."""
    return diagonal_of(v, k) if len(v.shape) != 1 else on_diagonal(v, k)


@rule("diagflat")
def diagflat_of(v: Any, k: int = 0) -> Any:
    """A matrix with the flattened entries on a diagonal."""
    return diag_of(pb.ravel(array(v)), k)
