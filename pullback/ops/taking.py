"""Entries at integer indices along an axis: the same for all other positions, or each its own."""

from __future__ import annotations

from typing import Any

from ..arrays.batched import counted
from ..arrays.batched_index import Each
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import PositionError, ShapeError
from ..kinds.shapes import axes_of, shape_of
from ..kinds.symbols import whole
from .declaring import face_of, op
from .indexing import batch_getitem, getitem, position_error, read_by
from .indices import plain

__all__ = ["take", "take_along_axis"]


@op(name="take", dtype="x")
def _take(xp: Any, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    try:
        return xp.take(x, indices, axis=axis)
    except IndexError as error:
        raise position_error("take", x, error) from None


@_take.pullback("x")
def pullback_take(g: Any, indices: Any, shape: Any, *, axis: int) -> Any:
    return read_by(g, (*(slice(None),) * axis, plain(indices)), shape)


@_take.pushforward("x")
def pushforward_take(t: Any, indices: Any, *, axis: int) -> Any:
    return _take(t, indices, axis=axis)


@_take.batching
def batch_take(x: Any, indices: Any, *, axis: int, hidden: tuple[bool, ...]) -> Any:
    if not hidden[1]:
        return _take(x, indices, axis=axis + 1)
    index = (*(slice(None),) * axis, Each(indices))
    return batch_getitem(x, index=index, hidden=hidden[:1])


@_take.shaping
def shape_take(x: Any, indices: Any, *, axis: int) -> Any:
    own = shape_of(x)
    (axis,) = axes_of(axis, len(own), "take")
    return (*own[:axis], *shape_of(indices), *own[axis + 1 :])


@face_of(_take)
@whole
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The entries of x at integer indices along an axis, which is optional for 1-D x.

    Entries taken more than once receive the sum of their cotangents.
    Raises `PositionError` for an index out of range, `ShapeError` where the axis is missing.

    >>> import numpy as np
    >>> take(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]))
    array([3., 1., 3.])
    """
    ndim = len(x.shape)
    if axis is None and ndim != 1:
        raise ShapeError("`take`", "an axis", f"none for shape {tuple(x.shape)}", "pass axis=0")
    return _take(x, indices, axis=positive_axis(axis or 0, ndim, "take"))


def positive_axis(axis: int, ndim: int, subject: str) -> int:
    """An axis counted from the front, in [0, ndim).

    Raises `PositionError` for an axis outside [-ndim, ndim).
    """
    if not -ndim <= axis < ndim:
        raise PositionError(
            f"argument `axis` of `{subject}`", f"an axis in [-{ndim}, {ndim})", str(axis)
        )
    return axis + ndim if axis < 0 else axis


@whole
def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """x[…, indices[…, k, …], …]: entries along one axis, with its own indices per other position.

    `indices` has as many axes as x and broadcasts against it, except along the axis.
    Raises `ShapeError` for another number of axes, `PositionError` for an index out of range.

    >>> import numpy as np
    >>> take_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]))
    array([[2.],
           [3.]])
    """
    if isinstance(indices, Tensor) and not isinstance(x, Tensor):
        x = wrap(indices._out, x)
    return getitem(x, along(indices, x.shape, axis))


def along(indices: Any, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """The index that selects `indices` along an axis, and every position of the other axes."""
    positions = raw(to_array(indices))
    ndim = len(shape)
    if len(positions.shape) != ndim:
        raise ShapeError(
            "`take_along_axis`", f"indices of {ndim} axes, as the array has",
            f"shape {tuple(positions.shape)}",
        )
    index = [
        counted(n, positions)[(slice(None), *(None,) * (ndim - i - 1))]
        for i, n in enumerate(shape)
    ]
    index[positive_axis(axis, ndim, "take_along_axis")] = indices
    return tuple(index)
