"""Indices of NumPy on arrays of the standard, which has integers, slices, `take` and one mask.

An index with arrays is a number for each entry that it names: positions in the array laid flat. So
reading is one `take`, and adding at positions a product with rows of zeros and ones, or, where
positions are known not to repeat, a `take` of the values by the inverse of the positions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from ...errors import ArgumentTypeError
from .. import adapters


def _parts(index: Any) -> tuple[Any, ...]:
    return index if index.__class__ is tuple else (index,)


def is_plain(index: Any) -> bool:
    """Whether an index has integers, slices, None and `...` only."""
    return all(
        p is None or p is Ellipsis or (isinstance(p, (int, slice)) and not isinstance(p, bool))
        for p in _parts(index)
    )


def _number(part: Any) -> Any:
    """An array part of an index as NumPy's: it says which entries there are."""
    if hasattr(part, "shape") and not isinstance(part, (numpy.ndarray, numpy.generic)):
        return adapters[part.__class__].numpy(part)
    return part


def _whole(array: Any, index: Any) -> Any:
    """For each axis of an array: an integer or slice, from a plain index without None."""
    given = [p for p in _parts(index) if p is not None]
    at = given.index(Ellipsis) if Ellipsis in given else len(given)
    rest = [p for p in given if p is not Ellipsis]
    if len(rest) > array.ndim:
        raise IndexError(f"too many indices: array has {array.ndim} axes, {len(rest)} were given")
    axes = [i + (array.ndim - len(rest) if i >= at else 0) for i in range(len(rest))]
    rest = [_bounded(p, array.shape[axis]) for p, axis in zip(rest, axes, strict=True)]
    missing = [slice(None)] * (array.ndim - len(rest))
    return (*rest[:at], *missing, *rest[at:])


def _bounded(part: Any, length: int) -> Any:
    """A slice that ends where the axis does, as the standard has it."""
    if part.__class__ is not slice:
        return part
    start, stop, step = part.indices(length)
    return slice(start, None if stop < 0 else stop, step)


def read(adapter: Any, array: Any, index: Any) -> Any:
    """`array[index]`."""
    if not is_plain(index):
        return _gathered(adapter, array, index)
    numbers = _empty(array.shape)[index]  # NumPy checks the index, and knows the shape
    found = array[_whole(array, index)] if array.ndim else array
    if tuple(found.shape) == numbers.shape:
        return found
    return adapter.namespace.reshape(found, numbers.shape)


def _empty(shape: Any) -> Any:
    """An array of a shape without memory, to try an index on."""
    return numpy.broadcast_to(numpy.zeros((), numpy.int8), tuple(shape))


def _positions(shape: tuple[int, ...], index: Any) -> Any:
    """The positions that an index names, in an array of a shape that is laid flat."""
    index = tuple(map(_number, index)) if index.__class__ is tuple else _number(index)
    return numpy.arange(math.prod(shape)).reshape(shape)[index]


def _rows(adapter: Any, array: Any, index: Any) -> Any:
    """The integers of an index that names rows, one vector or array of them; else None."""
    (part, *rest) = _parts(index)
    if rest or getattr(part, "ndim", 0) == 0 or "int" not in str(part.dtype):
        return None
    return adapter.asarray(part)


def _gathered(adapter: Any, array: Any, index: Any) -> Any:
    """The entries at an index with arrays."""
    xp = adapter.namespace
    rows = _rows(adapter, array, index)
    if rows is not None:
        length = array.shape[0]
        flat = xp.reshape(xp.where(rows < 0, rows + length, rows), (-1,))
        return xp.reshape(xp.take(array, flat, axis=0), (*rows.shape, *array.shape[1:]))
    at = _positions(tuple(array.shape), index)
    flat = xp.reshape(array, (-1,))
    return xp.reshape(xp.take(flat, adapter.asarray(at.reshape(-1)), axis=0), at.shape)


def written(adapter: Any, array: Any, index: Any, value: Any, *, add: bool) -> Any:
    """A new array with a value put, or added, at an index."""
    xp = adapter.namespace
    value = adapter.asarray(value, array.dtype)
    rows = None if is_plain(index) else _rows(adapter, array, index)
    if add and rows is not None:
        return array + _summed(adapter, array, rows, value)
    shape = tuple(array.shape)
    at = _positions(shape, index)
    value = xp.reshape(xp.broadcast_to(_fitting(xp, value, at.shape), at.shape), (-1,))
    flat, count = xp.reshape(array, (-1,)), math.prod(shape)
    at = at.reshape(-1)
    if add and len(numpy.unique(at)) < len(at):
        return xp.reshape(flat + _one_hot(adapter, at, count, value), shape)
    if not at.size:
        return array
    source = numpy.zeros(count, numpy.int64)
    source[at] = numpy.arange(at.size)  # of a repeated entry, the last one
    hit = numpy.zeros(count, bool)
    hit[at] = True
    found = xp.take(value, adapter.asarray(source), axis=0)
    found = flat + found if add else found
    return xp.reshape(xp.where(adapter.asarray(hit), found, flat), shape)


def _fitting(xp: Any, value: Any, shape: tuple[int, ...]) -> Any:
    """A value without axes of length 1 that the entries lack."""
    extra = value.ndim - len(shape)
    if extra > 0 and tuple(value.shape[:extra]) == (1,) * extra:
        return xp.reshape(value, value.shape[extra:])
    return value


def _summed(adapter: Any, array: Any, rows: Any, value: Any) -> Any:
    """An array with values added to some of its rows, as a product with rows of zeros and ones."""
    xp, length = adapter.namespace, array.shape[0]
    flat = xp.reshape(xp.where(rows < 0, rows + length, rows), (-1,))
    whole = (*rows.shape, *array.shape[1:])
    value = xp.reshape(xp.broadcast_to(_fitting(xp, value, whole), whole),
                       (flat.shape[0], math.prod(array.shape[1:])))
    return xp.reshape(_product(adapter, flat, length, value), array.shape)


def _one_hot(adapter: Any, at: Any, count: int, value: Any) -> Any:
    xp = adapter.namespace
    column = xp.reshape(value, (-1, 1))
    return xp.reshape(_product(adapter, adapter.asarray(at), count, column), (count,))


def _product(adapter: Any, at: Any, count: int, value: Any) -> Any:
    """For each of so many rows, the sum of the rows of `value` that name it."""
    xp = adapter.namespace
    if "float" not in str(value.dtype) and "complex" not in str(value.dtype):
        raise ArgumentTypeError(
            f"adding integers at repeated positions of an array of {adapter.name}",
            "floating-point numbers", f"dtype {value.dtype}",
            "convert the array with numpy.asarray",
        )
    hot = xp.reshape(xp.arange(count), (-1, 1)) == xp.reshape(at, (1, -1))
    return xp.matmul(xp.astype(hot, value.dtype), value)
