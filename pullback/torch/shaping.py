"""Views, joins and rearrangements, in PyTorch's names and argument orders; methods too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from math import prod
from typing import Any

import numpy

from .. import ops
from ..errors import ArgumentError, ShapeError
from .dtypes import cast, promote_types
from .errors import as_runtime, guarded
from .scalars import of_scalars
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
    """Sizes given one by one, or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple([int(n) for n in given])


def _or_named(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Functions whose numbers are given one by one, or as one sequence by the name of it."""
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
    """The same entries in another shape; one length may be -1."""
    return ops.reshape(input, lengths(shape))


@guarded
@_or_named("size")
def view(input: Any, *shape: Any) -> Any:
    """The same memory in another shape; or, given a dtype, read as another type of entries.

    Raises an error of the RuntimeError family where the memory does not lie so.

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
    """The same memory in the shape of another tensor."""
    return view(input, tuple(other.shape))


def reshape_as(input: Any, other: Any) -> Any:
    """The same entries in the shape of another tensor."""
    return reshape(input, tuple(other.shape))


@guarded
def t(input: Any) -> Any:
    """The transpose of a matrix; vectors are left as they are."""
    if len(input.shape) > 2:
        raise ShapeError("`t`", "at most two axes", f"shape {tuple(input.shape)}",
                         "use transpose(-2, -1)")
    return ops.matrix_transpose(input) if len(input.shape) == 2 else input


@guarded
@of_scalars
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


swapaxes = transpose


@guarded
@_or_named("dims")
def permute(input: Any, *dims: Any) -> Any:
    """The axes in another order."""
    order = lengths(dims)
    return ops.permute_dims(input, tuple([d % len(order) for d in order]))


@guarded
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    return ops.moveaxis(input, source, destination)


moveaxis = movedim


@guarded
def squeeze(input: Any, dim: Any = None) -> Any:
    """Axes of length 1 taken out: all, or those named that are such."""
    shape = tuple(input.shape)
    named = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    out = tuple([d for d in named if shape and shape[d] == 1])
    return ops.squeeze(input, axis=out) if out else ops.reshape(input, shape)


@guarded
def unsqueeze(input: Any, dim: int) -> Any:
    """An axis of length 1 put in."""
    return ops.expand_dims(input, axis=dim)


@guarded
@_or_named("size")
def expand(input: Any, *sizes: Any) -> Any:
    """Axes of length 1 stretched, without copying; -1 leaves one as it is."""
    wanted = lengths(sizes)
    shape = (1,) * (len(wanted) - len(input.shape)) + tuple(input.shape)
    full = tuple([m if n == -1 else n for n, m in zip(wanted, shape, strict=True)])
    # Where nothing is repeated, it may be written to.
    return ops.reshape(input, full) if full == shape else ops.broadcast_to(input, full)


def expand_as(input: Any, other: Any) -> Any:
    """Stretched to the shape of another tensor."""
    return expand(input, tuple(other.shape))


def broadcast_to(input: Any, size: Any) -> Any:
    """Stretched to a shape."""
    return expand(input, tuple(size))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that some shapes broadcast to.

    >>> broadcast_shapes((3, 1), (4,))
    torch.Size([3, 4])
    """
    try:
        return Size(numpy.broadcast_shapes(*shapes))
    except ValueError as error:
        raise as_runtime(error, "broadcast_shapes") from None


@guarded
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All stretched to the shape that they broadcast to."""
    return ops.broadcast_arrays(*tensors)


@guarded
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Some neighbouring axes as one."""
    shape = tuple(input.shape) or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    return ops.reshape(
        input, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :])
    )


def ravel(input: Any) -> Any:
    """All axes as one."""
    return flatten(input)


@guarded
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One axis as several."""
    shape = tuple(input.shape)
    dim %= len(shape)
    return ops.reshape(input, (*shape[:dim], *_known(tuple(sizes), shape[dim]), *shape[dim + 1 :]))


def _known(sizes: tuple[int, ...], length: int) -> tuple[int, ...]:
    rest = prod(n for n in sizes if n != -1)
    return tuple([length // rest if n == -1 else n for n in sizes])


@guarded
@_or_named("repeats")
def repeat(input: Any, *repeats: Any) -> Any:
    """Laid side by side, so many times along each axis."""
    times = lengths(repeats)
    if len(times) < len(input.shape):
        raise ShapeError("`repeat`", f"at least {len(input.shape)} numbers", f"{len(times)}")
    return ops.tile(input, times)


@guarded
@_or_named("dims")
def tile(input: Any, *dims: Any) -> Any:
    """Laid side by side, so many times along the last axes."""
    return ops.tile(input, lengths(dims))


@guarded
def repeat_interleave(
    input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each entry so many times, along an axis or flattened.

    output_size  accepted, with no effect: the length that comes out
    """
    return ops.repeat(input, repeats, axis=dim)


@guarded
def contiguous(input: Any) -> Any:
    """The tensor itself if its memory is in row-major order, else a copy that is."""
    if numpy.asarray(input._data).flags.c_contiguous:
        return input
    return ops.reshape(ops.reshape(input, (-1,)), tuple(input.shape))


def _alike(tensors: Any) -> list[Any]:
    """Tensors in the dtype of them all."""
    given = list(tensors)
    dtypes = {x.dtype for x in given}
    return [cast(x, reduce(promote_types, dtypes)) for x in given] if len(dtypes) > 1 else given


@guarded
def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one behind the other along an axis; those of shape (0,) fit everywhere.

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
    """Tensors side by side along a new axis."""
    return ops.stack(_alike(tensors), axis=dim)


@guarded
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of a length along an axis (the last may be shorter), or of the lengths listed.

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
    """At most so many pieces along an axis, of one length but for the last."""
    if chunks < 1:
        raise as_runtime(ArgumentError("argument `chunks` of `chunk`", "a number > 0", f"{chunks}"))
    return split(input, max(1, -(-input.shape[dim] // chunks)), dim)


@guarded
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, without it."""
    return ops.unstack(input, axis=dim)


@guarded
@_or_named("dims")
def flip(input: Any, *dims: Any) -> Any:
    """The entries in reverse order along axes."""
    return ops.flip(input, axis=lengths(dims))


@guarded
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The entries moved on along axes, those at the end coming in at the start."""
    return ops.roll(input, shifts, axis=dims)


@guarded
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A stretch along an axis."""
    index = (slice(None),) * (dim % len(input.shape)) + (slice(start, start + length),)
    return ops.getitem(input, index)


@guarded
def select(input: Any, dim: int, index: int) -> Any:
    """One slice along an axis, without it."""
    return ops.getitem(input, (slice(None),) * (dim % len(input.shape)) + (index,))


@guarded
def tril(input: Any, diagonal: int = 0) -> Any:
    """The matrix with zeros above a diagonal."""
    return ops.tril(input, k=diagonal)


@guarded
def triu(input: Any, diagonal: int = 0) -> Any:
    """The matrix with zeros below a diagonal."""
    return ops.triu(input, k=diagonal)


@guarded
def diag(input: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix that has a vector on its diagonal."""
    down, right = max(0, -diagonal), max(0, diagonal)
    if len(input.shape) == 2:
        rows, columns = input.shape
        steps = numpy.arange(max(0, min(rows - down, columns - right)))
        return ops.getitem(input, (steps + down, steps + right))
    n = input.shape[0]
    steps = numpy.arange(n)
    zeros = tensor_of(numpy.zeros((n + down + right,) * 2, input.dtype))
    return ops.set_at(zeros, input, (steps + down, steps + right))


@guarded
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """A grid of coordinates, a tensor for each axis."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return ops.meshgrid(*given, indexing=indexing)
