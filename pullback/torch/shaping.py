"""Views, reshaping, joining and rearranging; also tensor methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from math import prod
from typing import Any

import numpy

from .. import ops
from ..arrays.symbol import Symbol
from ..composed.diagonals import on_diagonal, places
from ..errors import ArgumentError, ShapeError
from .aliases import alias
from .dtypes import adapts, cast, promote_types
from .errors import as_runtime, guarded
from .scalars import of_scalars
from .sharing import copies, is_contiguous
from .tensor import Size, tensor_of

__all__ = [
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "cat",
    "chunk",
    "concat",
    "contiguous",
    "diag",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "meshgrid",
    "moveaxis",
    "movedim",
    "narrow",
    "permute",
    "ravel",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "roll",
    "select",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "t",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unbind",
    "unflatten",
    "unsqueeze",
    "view",
    "view_as",
]


def lengths(given: Sequence[Any]) -> tuple[int, ...]:
    """Sizes passed as separate arguments or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple([int(n) for n in given])


def _or_named(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for functions of numbers: as arguments, as one sequence, or by keyword."""
    def named(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(input: Any, *given: Any, **keywords: Any) -> Any:
            if keywords and name in keywords:
                given = (*given, keywords.pop(name))
            return function(input, *given, **keywords)

        return call

    return named


@guarded
@_or_named("shape")
def reshape(input: Any, *shape: Any) -> Any:
    """Reshapes a tensor; one length may be -1."""
    return ops.reshape(input, lengths(shape))


@guarded
@_or_named("size")
def view(input: Any, *shape: Any) -> Any:
    """A view with another shape; given a dtype, reinterprets the bytes.

    Raises a RuntimeError subclass if the memory layout does not allow a view.

    >>> import pullback.torch as torch
    >>> torch.arange(4.0).view(2, -1)
    tensor([[0., 1.],
            [2., 3.]])
    """
    if len(shape) == 1 and isinstance(shape[0], numpy.dtype):
        return _read_as(input, shape[0])
    return ops.reshape(input, lengths(shape), copy=False)


def _read_as(input: Any, dtype: Any) -> Any:
    return tensor_of(numpy.asarray(input._data).view(dtype))


def view_as(input: Any, other: Any) -> Any:
    """A view with the shape of another tensor."""
    return view(input, tuple(other.shape))


def reshape_as(input: Any, other: Any) -> Any:
    """Reshapes a tensor to the shape of another."""
    return reshape(input, tuple(other.shape))


@guarded
def t(input: Any) -> Any:
    """Transposes a matrix; vectors are unchanged."""
    if len(input.shape) > 2:
        raise ShapeError("`t`", "at most two axes", f"shape {tuple(input.shape)}",
                         "use transpose(-2, -1)")
    return ops.matrix_transpose(input) if len(input.shape) == 2 else input


swapaxes = transpose = of_scalars(alias("transpose"))
moveaxis = movedim = alias("movedim")
roll, unbind = alias("roll"), alias("unbind")
tril, triu = alias("tril"), alias("triu")


@guarded
@_or_named("dims")
def permute(input: Any, *dims: Any) -> Any:
    """Permutes the axes."""
    order = lengths(dims)
    return ops.permute_dims(input, tuple([d % len(order) for d in order]))


@guarded
def squeeze(input: Any, dim: Any = None) -> Any:
    """Removes axes of length 1: all, or the given ones."""
    shape = tuple(input.shape)
    named = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    out = tuple([d for d in named if shape and shape[d] == 1])
    return ops.squeeze(input, axis=out) if out else ops.reshape(input, shape)


@guarded
def unsqueeze(input: Any, dim: int) -> Any:
    """Inserts an axis of length 1."""
    return ops.expand_dims(input, axis=dim)


@guarded
@_or_named("size")
def expand(input: Any, *sizes: Any) -> Any:
    """Expands axes of length 1 without copying; -1 keeps a length."""
    wanted = lengths(sizes)
    shape = (1,) * (len(wanted) - len(input.shape)) + tuple(input.shape)
    full = tuple([m if n == -1 else n for n, m in zip(wanted, shape, strict=True)])
    # If no entry is repeated, the result is writable.
    return ops.reshape(input, full) if full == shape else ops.broadcast_to(input, full)


def expand_as(input: Any, other: Any) -> Any:
    """Expands to the shape of another tensor."""
    return expand(input, tuple(other.shape))


def broadcast_to(input: Any, size: Any) -> Any:
    """Broadcasts to a shape."""
    return expand(input, tuple(size))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which the given shapes broadcast.

    >>> broadcast_shapes((3, 1), (4,))
    torch.Size([3, 4])
    """
    try:
        return Size(numpy.broadcast_shapes(*shapes))
    except ValueError as error:
        raise as_runtime(error, "broadcast_shapes") from None


@guarded
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Broadcasts tensors to their common shape."""
    shape = broadcast_shapes(*[tuple(x.shape) for x in tensors])
    return tuple([expand(x, shape) for x in tensors])


@guarded
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Flattens adjacent axes into one."""
    shape = tuple(input.shape) or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    return ops.reshape(
        input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :])
    )


def ravel(input: Any) -> Any:
    """Flattens all axes: a view of a contiguous tensor, a copy of another one."""
    return flatten(contiguous(input))


@guarded
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """Unflattens one axis into several."""
    shape = tuple(input.shape)
    dim %= len(shape)
    return ops.reshape(input, (*shape[:dim], *_known(tuple(sizes), shape[dim]), *shape[dim + 1 :]))


def _known(sizes: tuple[int, ...], length: int) -> tuple[int, ...]:
    rest = prod(n for n in sizes if n != -1)
    return tuple([length // rest if n == -1 else n for n in sizes])


@guarded
@_or_named("repeats")
def repeat(input: Any, *repeats: Any) -> Any:
    """Repeats a tensor along each axis."""
    times = lengths(repeats)
    if len(times) < len(input.shape):
        raise ShapeError(
            "`repeat`", f"at least {len(input.shape)} numbers", f"{len(times)} numbers"
        )
    return ops.tile(input, times)


@guarded
@_or_named("dims")
def tile(input: Any, *dims: Any) -> Any:
    """Repeats a tensor along the last axes."""
    return ops.tile(input, lengths(dims))


@guarded
def repeat_interleave(
    input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Repeats each entry, along an axis or of the flattened tensor.

    output_size  accepted and ignored: the length of the result
    """
    return ops.repeat(input, repeats, axis=dim)


@guarded
def contiguous(input: Any) -> Any:
    """The tensor itself if its memory is contiguous (row-major), else a contiguous copy."""
    if input._data.__class__ is Symbol:
        from ..graphs.layouts import contiguous as in_graph

        return in_graph(input)
    return input if is_contiguous(input._data) else ops.reshape(input, input.shape, copy=True)


def _alike(tensors: Any) -> list[Any]:
    """Convert tensors to their common dtype."""
    given = list(tensors)
    dtypes = {x.dtype for x in given}
    if len(dtypes) == 1 or not adapts():
        return given
    return [cast(x, reduce(promote_types, dtypes)) for x in given]


@guarded
def cat(tensors: Any, dim: int = 0) -> Any:
    """Concatenates tensors along an axis; those of shape (0,) are skipped.

    >>> import pullback.torch as torch
    >>> torch.cat([torch.tensor([]), torch.ones(1, 2)])
    tensor([[1., 1.]])
    """
    given = _alike(tensors)
    filled = [x for x in given if tuple(x.shape) != (0,)]
    return ops.concat(filled or given, axis=dim)


concat = cat


@guarded
def stack(tensors: Any, dim: int = 0) -> Any:
    """Stacks tensors along a new axis."""
    return ops.stack(_alike(tensors), axis=dim)


@guarded
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Splits along an axis into pieces of one length (the last may be shorter) or given lengths.

    >>> import pullback.torch as torch
    >>> torch.arange(3).split(2)
    (tensor([0, 1]), tensor([2]))
    """
    length = tensor.shape[dim]
    size = split_size_or_sections
    if isinstance(size, int):
        if size < 1 and length:
            raise ArgumentError("argument `split_size` of `split`", "a number > 0", f"{size}")
        full, rest = divmod(length, size) if size else (1, 0)
        size = [size] * full + [rest] * bool(rest) or [0]
    return ops.split(tensor, list(size), axis=dim)


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Splits along an axis into at most `chunks` pieces of one length, except the last."""
    if chunks < 1:
        raise as_runtime(ArgumentError("argument `chunks` of `chunk`", "a number > 0", f"{chunks}"))
    return split(input, max(1, -(-input.shape[dim] // chunks)), dim)


@guarded
@copies
@_or_named("dims")
def flip(input: Any, *dims: Any) -> Any:
    """Reverses the entries along the given axes; a copy."""
    return ops.flip(input, axis=lengths(dims) if input.shape else ())


@guarded
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A range of entries along an axis."""
    index = (slice(None),) * (dim % len(input.shape)) + (slice(start, start + length),)
    return ops.getitem(input, index)


@guarded
def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis; the axis is removed."""
    return ops.getitem(input, (slice(None),) * (dim % len(input.shape)) + (index,))


@guarded
def diag(input: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if len(input.shape) == 2:
        rows, columns = input.shape
        return ops.getitem(input, places(rows, columns, diagonal))
    return on_diagonal(input, diagonal)


@guarded
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinate grids, one tensor per axis."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if indexing not in ("ij", "xy"):
        raise ArgumentError("argument `indexing` of `meshgrid`", "'ij' or 'xy'", repr(indexing))
    rank = len(given)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    shape = [0] * rank
    for x, place in zip(given, order, strict=True):
        shape[place] = prod(x.shape)
    return tuple([
        expand(ops.reshape(x, [-1 if i == place else 1 for i in range(rank)]), shape)
        for x, place in zip(given, order, strict=True)
    ])
