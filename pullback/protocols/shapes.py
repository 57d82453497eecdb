"""Rules of NumPy's functions that reshape, join, split and pad, and of the `…_like` functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..arrays.batched import Batched
from ..composed.padding import pad_with_entries
from ..errors import ArgumentError
from .leaving import is_followed, plain, tensors_in
from .table import array, cast, cast_if_it_fits, entries, is_integer, pb, rule

# Rearranging --------------------------------------------------------------------------------


@rule("reshape")
def reshape_of(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """The entries in another shape."""
    if order not in ("C", "A"):
        return NotImplemented
    return pb.reshape(array(a), entries(shape), copy=copy)


@rule("ravel")
def ravel_of(a: Any, order: str = "C") -> Any:
    """The entries as one axis."""
    return pb.ravel(a) if order in ("C", "A", "K") else NotImplemented


@rule("resize")
def resize_of(a: Any, new_shape: Any) -> Any:
    """The entries in another shape, repeated from the start if there are too few."""
    flat = pb.ravel(a)
    shape = entries(new_shape)
    places = numpy.resize(numpy.arange(flat.shape[0]), shape)
    return pb.reshape(pb.take(flat, numpy.ravel(places)), shape)


@rule("transpose")
def transpose_of(a: Any, axes: Any = None) -> Any:
    """The axes in another order, reversed by default."""
    a = array(a)
    order = range(len(a.shape))[::-1] if axes is None else axes
    return pb.permute_dims(a, tuple(order))


@rule("squeeze")
def squeeze_of(a: Any, axis: Any = None) -> Any:
    """a without axes of length 1."""
    if axis is None:
        axis = tuple(i for i, n in enumerate(a.shape) if n == 1)
    return pb.squeeze(a, axis)


@rule("rollaxis")
def rollaxis_of(a: Any, axis: int, start: int = 0) -> Any:
    """a with one axis moved in front of another."""
    rank = len(a.shape)
    axis, start = axis % rank, start + rank if start < 0 else start
    return pb.moveaxis(a, axis, start - (axis < start))


@rule("rot90")
def rot90_of(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """m rotated by k quarter turns in the plane of two axes."""
    first, second = axes
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return pb.flip(m, axis=(first, second))
    if k == 1:
        return pb.swapaxes(pb.flip(m, axis=second), first, second)
    return pb.flip(pb.swapaxes(m, first, second), axis=second)


@rule("expand_dims")
def expand_dims_of(a: Any, axis: Any) -> Any:
    """a with axes of length 1 inserted."""
    if is_integer(axis):
        return pb.expand_dims(a, int(axis))
    rank = len(a.shape) + len(axis)
    places = {i % rank for i in axis}
    lengths = iter(a.shape)
    return pb.reshape(a, tuple(1 if i in places else next(lengths) for i in range(rank)))


@rule("fliplr")
def fliplr_of(m: Any) -> Any:
    """The entries reversed along axis 1."""
    return pb.flip(m, axis=1)


@rule("flipud")
def flipud_of(m: Any) -> Any:
    """The entries reversed along axis 0."""
    return pb.flip(m, axis=0)


@rule("tile")
def tile_of(A: Any, reps: Any) -> Any:  # noqa: N803  # NumPy's name
    """A repeated `reps` times along each axis."""
    return pb.tile(A, entries(reps))


@rule("broadcast_to")
def broadcast_to_of(array: Any, shape: Any) -> Any:
    """The array broadcast to a shape."""
    return pb.broadcast_to(array, entries(shape))


@rule("broadcast_arrays")
def broadcast_arrays_of(*args: Any) -> Any:
    """The arrays broadcast to their common shape."""
    return pb.broadcast_arrays(*[array(a) for a in args])


@rule("meshgrid")
def meshgrid_of(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> Any:
    """The coordinate arrays of a grid."""
    if sparse:
        return NotImplemented
    found = pb.meshgrid(*[array(x) for x in xi], indexing=indexing)
    return tuple([pb.identity(x) for x in found]) if copy else found


def _at_least(name: str, raised: Callable[[Any], Any]) -> None:
    """Add the rule of `atleast_1d`, `atleast_2d` or `atleast_3d`.

    Libraries also use these functions to convert arguments to arrays for compiled code, so the
    result consists of plain arrays if no Tensor is tracked.
    """

    def at_least(*arys: Any) -> Any:
        if not any(is_followed(x) or x._data.__class__ is Batched for x in tensors_in(arys)):
            arys = plain(arys, f"numpy.{name}")
        found = tuple([raised(a if hasattr(a, "shape") else numpy.asarray(a)) for a in arys])
        return found[0] if len(found) == 1 else found

    rule(name)(at_least)


def _one(a: Any) -> Any:
    return a if len(a.shape) else pb.reshape(a, (1,))


def _two(a: Any) -> Any:
    return a if len(a.shape) > 1 else pb.expand_dims(_one(a), 0)


def _three(a: Any) -> Any:
    return a if len(a.shape) > 2 else pb.expand_dims(_two(a), -1)


for _name, _function in (("atleast_1d", _one), ("atleast_2d", _two), ("atleast_3d", _three)):
    _at_least(_name, _function)


# Joining ------------------------------------------------------------------------------------


def _arrays(arrays: Any) -> list[Any]:
    if hasattr(arrays, "shape"):  # a single array is split along axis 0
        return list(pb.unstack(arrays))
    return [array(a) for a in arrays]


@rule("concatenate")
def concatenate_of(
    arrays: Any, /, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays joined along an axis."""
    return cast_if_it_fits("concatenate", pb.concat(_arrays(arrays), axis=axis), dtype, casting)


@rule("stack")
def stack_of(
    arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """The arrays stacked along a new axis."""
    return cast_if_it_fits("stack", pb.stack(_arrays(arrays), axis=axis), dtype, casting)


@rule("vstack")
def vstack_of(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays joined along axis 0, vectors as rows."""
    found = pb.concat([_two(a) for a in _arrays(tup)], axis=0)
    return cast_if_it_fits("vstack", found, dtype, casting)


@rule("hstack")
def hstack_of(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """The arrays joined along axis 1; vectors along axis 0."""
    parts = [_one(a) for a in _arrays(tup)]
    found = pb.concat(parts, axis=0 if len(parts[0].shape) == 1 else 1)
    return cast_if_it_fits("hstack", found, dtype, casting)


@rule("dstack")
def dstack_of(tup: Any) -> Any:
    """The arrays joined along axis 2."""
    return pb.concat([_three(a) for a in _arrays(tup)], axis=2)


@rule("column_stack")
def column_stack_of(tup: Any) -> Any:
    """A matrix with the vectors as columns."""
    parts = [a if len(a.shape) > 1 else pb.reshape(a, (-1, 1)) for a in _arrays(tup)]
    return pb.concat(parts, axis=1)


@rule("append")
def append_of(arr: Any, values: Any, axis: int | None = None) -> Any:
    """The values appended along an axis; both flattened if none is given."""
    return pb.concat([array(arr), array(values)], axis=axis)


@rule("block")
def block_of(arrays: Any) -> Any:
    """Nested lists of blocks: inner lists join along the last axis, outer ones along others."""
    depth, inner = 0, arrays
    while isinstance(inner, list):
        depth, inner = depth + 1, inner[0]
    rank = max(depth, *[len(array(a).shape) for a in _leaves(arrays)])
    return _joined(arrays, rank, depth)


def _leaves(arrays: Any) -> list[Any]:
    return [x for a in arrays for x in _leaves(a)] if isinstance(arrays, list) else [arrays, 0.0]


def _joined(arrays: Any, rank: int, depth: int) -> Any:
    if isinstance(arrays, list):
        return pb.concat([_joined(a, rank, depth - 1) for a in arrays], axis=rank - depth)
    x = array(arrays)
    return pb.reshape(x, (*(1,) * (rank - len(x.shape)), *x.shape))


@rule("pad")
def pad_of(
    array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0
) -> Any:
    """The array padded with a constant, or with its own entries ("edge", "wrap", "reflect", …)."""
    if isinstance(pad_width, dict):
        return NotImplemented
    rank = len(array.shape)
    widths = numpy.broadcast_to(numpy.asarray(pad_width), (rank, 2)).tolist()
    if mode == "constant" and not numpy.ndim(constant_values):
        return pb.pad(array, tuple(tuple(w) for w in widths), constant_values=constant_values)
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        return NotImplemented
    return pad_with_entries(array, widths, mode)


# Splitting ----------------------------------------------------------------------------------


def _pieces(x: Any, at: Any, axis: int, equal: bool) -> Any:
    n = x.shape[axis]
    if not is_integer(at):
        ends = [slice(*cut).indices(n) for cut in zip([0, *at], [*at, None], strict=True)]
        sizes = [max(stop - start, 0) for start, stop, _ in ends]
    elif at < 1 or (equal and n % at):
        raise ArgumentError(
            "argument `indices_or_sections` of numpy.split", f"a divisor of {n}", str(at),
            "use numpy.array_split for parts of different lengths",
        )
    else:
        ends, sizes = [], [n // at + (i < n % at) for i in range(at)]
    if sum(sizes) == n:
        return list(pb.split(x, tuple(sizes), axis=axis))
    before = (slice(None),) * (axis % len(x.shape))
    return [x[(*before, slice(start, stop))] for start, stop, _ in ends]


@rule("split")
def split_of(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of equal parts (for an int), or of parts cut at indices."""
    return _pieces(ary, indices_or_sections, axis, equal=True)


@rule("array_split")
def array_split_of(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of parts of nearly equal length (for an int), or of parts cut at indices."""
    return _pieces(ary, indices_or_sections, axis, equal=False)


@rule("hsplit")
def hsplit_of(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 1; for vectors along axis 0."""
    return _pieces(ary, indices_or_sections, 1 if len(ary.shape) > 1 else 0, equal=True)


@rule("vsplit")
def vsplit_of(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 0."""
    return _pieces(ary, indices_or_sections, 0, equal=True)


@rule("dsplit")
def dsplit_of(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along axis 2."""
    return _pieces(ary, indices_or_sections, 2, equal=True)


# Like another array -------------------------------------------------------------------------


@rule("empty_like")
def empty_like_of(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True
) -> Any:
    """An uninitialised array of the same shape."""
    return pb.empty_like(prototype, dtype=dtype)


@rule("full_like")
def full_like_of(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True
) -> Any:
    """An array of the same shape filled with one value, which receives a gradient."""
    filled = pb.broadcast_to(pb.asarray(fill_value), tuple(a.shape))
    return cast(filled, array(a).dtype if dtype is None else dtype)


@rule("array")
def array_like(object: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0) -> Any:
    """A new Tensor of nested sequences, which may hold Tensors: `numpy.array(…, like=t)`."""
    made = asarray_like(object, dtype)
    missing = ndmin - len(made.shape)
    made = pb.reshape(made, (1,) * missing + tuple(made.shape)) if missing > 0 else made
    return pb.identity(made) if copy and made is object else made


@rule("asarray", "asanyarray")
def asarray_like(a: Any, dtype: Any = None) -> Any:
    """A Tensor of nested sequences, which may hold Tensors: `numpy.asarray(…, like=t)`."""
    return cast_if_it_fits("asarray", pb.asarray(a), dtype, _casting(a))


def _casting(value: Any) -> str:
    """NumPy casts as it is told to; a float with a history cannot become an integer."""
    tracked = any(is_followed(t) for t in tensors_in(value))
    return "same_kind" if tracked else "unsafe"


@rule("full")
def full_of(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A Tensor filled with one value, which receives a gradient: `numpy.full(…, like=t)`."""
    filled = pb.broadcast_to(pb.asarray(fill_value), entries(shape))
    return cast_if_it_fits("full", filled, dtype, _casting(fill_value))


@rule("shape")
def shape_of(a: Any) -> Any:
    """The shape, as a tuple of ints."""
    return tuple(array(a).shape)


@rule("ndim")
def ndim_of(a: Any) -> Any:
    """The number of axes."""
    return len(array(a).shape)


@rule("size")
def size_of(a: Any, axis: Any = None) -> Any:
    """The number of entries, of all or along axes."""
    return int(numpy.size(numpy.broadcast_to(0, tuple(array(a).shape)), axis))
