"""CuPy: writes at positions, where the index may name an entry more than once."""

from __future__ import annotations

from typing import Any

import cupy
import cupyx
import numpy


def _positions(array: Any, index: Any) -> Any:
    """The positions, in the flattened array, of the entries at an index."""
    return cupy.arange(array.size).reshape(array.shape)[index]


def fitting(array: Any, index: Any, value: Any) -> Any:
    """A value without its leading axes of length 1 that the indexed entries lack."""
    if value.ndim > 1 and value.shape[0] == 1:
        extra = value.ndim - _positions(array, index).ndim
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            return value.reshape(value.shape[extra:])
    return value


def _repeats(index: Any) -> bool:
    """Whether an index has integer arrays, which may name an entry more than once."""
    parts = index if index.__class__ is tuple else (index,)
    return any(
        getattr(p, "shape", ()) and p.dtype.kind in "iu" and p.size > 1 for p in parts
    )


def last_ones(array: Any, index: Any, value: Any) -> Any:
    """The value for each indexed entry; a repeated entry gets its last value everywhere.

    CuPy writes repeated entries in any order, so all their values must be equal.
    """
    if not _repeats(index) or not value.ndim:
        return value
    at = _positions(array, index)
    value = cupy.broadcast_to(fitting(array, index, value), at.shape)
    last = cupy.zeros(array.size, numpy.uint64)
    cupyx.scatter_max(last, at.reshape(-1), cupy.arange(at.size, dtype=numpy.uint64))
    return value.reshape(-1)[last[at].astype(numpy.int64)]


_ADDABLE = {numpy.dtype(name) for name in "efdiIQ"}
"""Dtypes that a GPU can add to in place atomically."""


def accumulate(array: Any, index: Any, value: Any) -> None:
    """`array[index] += value`, for a value of the array's dtype."""
    if array.dtype.kind == "c":
        accumulate(array.real, index, value.real)
        accumulate(array.imag, index, value.imag)
    elif array.dtype in _ADDABLE:
        cupyx.scatter_add(array, index, value)
    elif array.dtype == numpy.int64:  # the sum has the same bits
        cupyx.scatter_add(array.view(numpy.uint64), index, value.astype(numpy.uint64))
    else:
        wide = array.astype(numpy.int32)
        cupyx.scatter_add(wide, index, value.astype(numpy.int32))
        array[...] = wide.astype(array.dtype)
