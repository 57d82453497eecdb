"""Copies of entries: of a whole array (`tile`), or of each entry (`repeat`)."""

from __future__ import annotations

import math
from typing import Any

from ..arrays import namespace
from ..arrays.batched import counted, moved_to, tags_of
from ..core.cotangent import unbroadcast
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import BatchedValueError, ShapeError
from ..kinds.shapes import axes_of, changed, size_of
from ..kinds.symbols import whole
from .declaring import face_of, known_as, op
from .operands import stacked
from .shaping import flat_examples, ravel, reshape, with_rank
from .taking import take

__all__ = ["repeat", "tile"]


@op(name="tile", linear=True, dtype="x")
def _tile(xp: Any, x: Any, /, repetitions: tuple[int, ...]) -> Any:
    return xp.tile(x, repetitions)


@_tile.pullback("x")
def pullback_tile(g: Any, shape: Any, *, repetitions: tuple[int, ...]) -> Any:
    rank = max(len(shape), len(repetitions))
    times = (1,) * (rank - len(repetitions)) + repetitions
    lengths = (1,) * (rank - len(shape)) + tuple(shape)
    copies: tuple[int, ...] = ()
    one: tuple[int, ...] = ()
    for count, length in zip(times, lengths, strict=True):
        copies += (count, length)
        one += (1, length)
    return reshape(unbroadcast(reshape(g, copies), one), shape)


@_tile.batching
def batch_tile(x: Any, *, repetitions: tuple[int, ...]) -> Any:
    return _tile(with_rank(x, len(repetitions) + 1), repetitions)  # shape padded with ones in front


@_tile.shaping
def shape_tile(x: Any, *, repetitions: tuple[int, ...]) -> Any:
    rank = max(len(x.shape), len(repetitions))
    own, times = ((*(1,) * (rank - len(s)), *s) for s in (x.shape, repetitions))
    return tuple([None if n is None else n * k for n, k in zip(own, times, strict=True)])


@face_of(_tile)
def tile(x: Any, repetitions: Any, /) -> Any:
    """x repeated as a whole, `repetitions[k]` times along axis k.

    The shorter of shape and repetitions is padded with ones in front.

    >>> import numpy as np
    >>> tile(np.array([1.0, 2.0]), (2, 2))
    array([[1., 2., 1., 2.],
           [1., 2., 1., 2.]])
    """
    given = repetitions if isinstance(repetitions, (tuple, list)) else (repetitions,)
    return _tile(x, tuple([int(n) for n in given]))


@op(name="repeat", linear=True, dtype="x")
def _repeat(xp: Any, x: Any, /, repeats: int, *, axis: Any = None) -> Any:
    return xp.repeat(x, repeats, axis=axis)


@_repeat.pullback("x")
def pullback_repeat(g: Any, shape: Any, *, repeats: int, axis: Any) -> Any:
    before, after = (shape, ()) if axis is None else _cut(shape, axis)
    copies = reshape(g, (*before, repeats, *after))
    return reshape(unbroadcast(copies, (*before, 1, *after)), shape)


@_repeat.batching
def batch_repeat(x: Any, *, repeats: int, axis: Any) -> Any:
    if axis is None:
        return _repeat(flat_examples(x), repeats, axis=1)
    return _repeat(x, repeats, axis=axis + 1)


@_repeat.shaping
def shape_repeat(x: Any, *, repeats: int, axis: Any) -> Any:
    if axis is None:
        total = size_of(x.shape)
        return (None if total is None else total * repeats,)
    return changed(x, axis, lambda n: n * repeats, "repeat")


def _cut(shape: tuple[int, ...], axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lengths up to and including an axis, and those after it."""
    end = axis % len(shape) + 1
    return tuple(shape[:end]), tuple(shape[end:])


@known_as(numpy="repeat")
@face_of(_repeat)
@whole
def repeat(x: Any, repeats: Any, /, *, axis: Any = None) -> Any:
    """Each entry along an axis repeated `repeats` times; None flattens first.

    `repeats` is an int, or an array of one int per entry along the axis.

    >>> import numpy as np
    >>> repeat(np.array([1.0, 2.0]), 2)
    array([1., 1., 2., 2.])
    >>> repeat(np.array([1.0, 2.0]), np.array([0, 3]))
    array([2., 2., 2.])
    """
    x = stacked(x)
    data = to_array(x)
    if axis is not None:
        (axis,) = axes_of(axis, len(data.shape), "repeat")
    counts = raw(to_array(repeats))
    if tags_of(getattr(counts, "shape", ())):
        raise BatchedValueError(
            "argument `repeats` of `repeat` inside vmap", "the same for all examples",
            "repeats that differ between examples, which would give results of different lengths",
        )
    if not getattr(counts, "shape", ()):
        return _repeat(x, int(counts), axis=axis)
    shape = tuple(data.shape) if axis is not None else (math.prod(data.shape),)
    xp = namespace(counts)
    length = shape[axis or 0]
    if tuple(counts.shape) not in ((1,), (length,)):
        raise ShapeError(
            "argument `repeats` of `repeat`", f"an integer, or {length} of them",
            f"shape {tuple(counts.shape)}",
        )
    positions = moved_to(xp.repeat(counted(length, counts), counts), data)
    if isinstance(repeats, Tensor) and not isinstance(x, Tensor):
        x = wrap(repeats._out, data)
    return take(x if axis is not None else ravel(x), positions, axis=axis or 0)
