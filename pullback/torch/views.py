"""More views, splits, and copies with a part replaced; also tensor methods.

A view is a view here where PyTorch has one; one that contains an entry twice is read-only.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from .. import ops
from ..composed.diagonals import on_diagonal, with_diagonal
from ..core.tensor import wrap
from ..errors import ArgumentError, ShapeError
from ..ops.strides import lattice
from ..ops.views import conjugate_view
from ..protocols.shapes import rot90_of
from .errors import as_runtime, guarded
from .shaping import diag, narrow, split, transpose
from .sharing import copies, is_contiguous, shares
from .storage import offset_of, steps_of
from .tensor import Tensor

__all__ = [
    "adjoint", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "diag_embed", "diagflat",
    "diagonal", "diagonal_scatter", "dsplit", "fliplr", "flipud", "hsplit", "narrow_copy",
    "rot90", "select_scatter", "slice_scatter", "split_with_sizes", "swapdims", "tensor_split",
    "tril_indices", "triu_indices", "unfold", "unravel_index", "unsafe_chunk", "unsafe_split",
    "vsplit",
]

swapdims = transpose
split_with_sizes = unsafe_split = split


def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """Same as `chunk`."""
    return input.chunk(chunks, dim)


@guarded
def adjoint(input: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return conjugate_view(ops.matrix_transpose(input))


@guarded
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal of two axes, as the last axis: a writable view.

    >>> import pullback.torch as torch
    >>> x = torch.zeros(2, 2)
    >>> x.diagonal().fill_(1)
    tensor([1., 1.])
    >>> x
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = tuple(input.shape)
    dim1, dim2 = dim1 % len(shape), dim2 % len(shape)
    down, right = max(0, -offset), max(0, offset)
    length = max(0, min(shape[dim1] - down, shape[dim2] - right))
    start = [0] * len(shape)
    if length:
        start[dim1], start[dim2] = down, right
    others = [axis for axis in range(len(shape)) if axis not in (dim1, dim2)]
    return lattice(
        input, shape=(*[shape[axis] for axis in others], length), start=tuple(start),
        steps=(*[_along(len(shape), axis) for axis in others], _along(len(shape), dim1, dim2)),
    )


def _along(rank: int, *axes: int, by: int = 1) -> tuple[int, ...]:
    """A step along some axes."""
    return tuple([by if axis in axes else 0 for axis in range(rank)])


@guarded
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Sliding windows of `size` entries along an axis, `step` entries apart, as a new last axis.

    A view; read-only where windows overlap.

    >>> import pullback.torch as torch
    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    if not input.shape:
        return unfold(ops.reshape(input, (1,)), dimension, size, step)[0]
    shape = tuple(input.shape)
    axis = dimension % len(shape)
    if not 0 <= size <= shape[axis] or step < 1:
        raise as_runtime(ArgumentError(
            "`unfold`", f"a size up to {shape[axis]} and a step > 0", f"{size} and {step}"
        ))
    rank = len(shape)
    count = (shape[axis] - size) // step + 1
    return lattice(
        input, shape=(*shape[:axis], count, *shape[axis + 1 :], size), start=(0,) * rank,
        steps=(
            *[_along(rank, a, by=step if a == axis else 1) for a in range(rank)],
            _along(rank, axis),
        ),
    )


@guarded
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A view of the tensor's storage with given strides; read-only where entries are repeated.

    >>> import pullback.torch as torch
    >>> torch.arange(6).as_strided((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    base, first = input, storage_offset
    if isinstance(input._data, numpy.ndarray):
        base = (getattr(input, "_view_of", None) or (input,))[0]
        base = base if base.dtype == input.dtype and shares(base.detach(), input) else input
        if not is_contiguous(base._data) or offset_of(base._data):
            raise as_runtime(ArgumentError(
                "`as_strided`", "a contiguous tensor, or a view of one",
                f"strides {steps_of(base._data)} and offset {offset_of(base._data)}",
                "call x.contiguous() first",
            ))
        first = offset_of(input._data) if first is None else first
    first = first or 0
    flat = ops.reshape(base, (-1,))
    last = first + sum((n - 1) * by for n, by in zip(size, stride, strict=True))
    if all(size) and not 0 <= last < flat.shape[0]:
        raise ShapeError("`as_strided`", f"positions below {flat.shape[0]}", f"{last}")
    return lattice(
        flat, shape=tuple(size), start=(first,), steps=tuple([(by,) for by in stride])
    )


def _atleast(tensors: Any, of: Any) -> Any:
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    found = tuple([of(t) for t in several])
    return found[0] if len(tensors) == 1 and several is tensors else found


@guarded
def atleast_1d(*tensors: Any) -> Any:
    """Adds axes so that each tensor has at least one."""
    return _atleast(tensors, lambda t: t if t.shape else ops.reshape(t, (1,)))


@guarded
def atleast_2d(*tensors: Any) -> Any:
    """Adds leading axes so that each tensor has at least two."""
    return _atleast(tensors, _matrix)


def _matrix(t: Any) -> Any:
    shape = tuple(t.shape)
    return t if len(shape) > 1 else ops.reshape(t, (1,) * (2 - len(shape)) + shape)


@guarded
def atleast_3d(*tensors: Any) -> Any:
    """Adds axes so that each tensor has at least three; a matrix gets a trailing one."""
    def three(t: Any) -> Any:
        return t if len(t.shape) > 2 else ops.expand_dims(_matrix(t), axis=-1)

    return _atleast(tensors, three)


# Splits ---------------------------------------------------------------------------------------


@guarded
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Splits along an axis into pieces of nearly equal length, or at indices.

    >>> import pullback.torch as torch
    >>> torch.arange(3).tensor_split(2)
    (tensor([0, 1]), tensor([2]))
    """
    length = input.shape[dim]
    given = indices_or_sections
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, int):
        some, rest = divmod(length, given)
        sizes = [some + 1] * rest + [some] * (given - rest)
        given = [sum(sizes[:i]) for i in range(1, given)]
    cuts = [0, *[min(length, max(0, n + length if n < 0 else n)) for n in given], length]
    if cuts == sorted(cuts):
        return split(input, [b - a for a, b in pairwise(cuts)], dim)
    return tuple([narrow(input, dim, a, max(0, b - a)) for a, b in pairwise(cuts)])


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the second axis (of a vector, along its only one)."""
    return tensor_split(input, indices_or_sections, 1 if len(input.shape) > 1 else 0)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the first axis."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the third axis."""
    return tensor_split(input, indices_or_sections, 2)


def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    """A copy of a range of entries along an axis."""
    return ops.identity(narrow(input, dim, start, length))


@guarded
@copies
def fliplr(input: Any) -> Any:
    """Reverses the second axis."""
    return ops.flip(input, axis=1)


@guarded
@copies
def flipud(input: Any) -> Any:
    """Reverses the first axis."""
    return ops.flip(input, axis=0)


@guarded
@copies
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Rotates by k · 90°, from the first of two axes towards the second."""
    return rot90_of(input, k, dims)


# Copies with a part replaced ------------------------------------------------------------------


@guarded
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """A copy with one slice along an axis replaced."""
    return ops.set_at(input, src, (slice(None),) * (dim % len(input.shape)) + (index,))


@guarded
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """A copy with a range of slices along an axis replaced."""
    at = (slice(None),) * (dim % len(input.shape)) + (slice(start, end, step),)
    return ops.set_at(input, src, at)


@guarded
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy with a diagonal of two axes replaced."""
    moved = ops.moveaxis(input, (dim1, dim2), (-2, -1))
    return ops.moveaxis(with_diagonal(moved, src, offset), (-2, -1), (dim1, dim2))


@guarded
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the entries of the last axis on a diagonal."""
    made, rank = on_diagonal(input, offset), len(input.shape) + 1
    same = (dim1 % rank, dim2 % rank) == (rank - 2, rank - 1)
    return made if same else ops.moveaxis(made, (-2, -1), (dim1, dim2))


@guarded
def diagflat(input: Any, offset: int = 0) -> Any:
    """A matrix with all entries on a diagonal."""
    return diag(ops.reshape(input, (-1,)), offset)


def _triangle(of: Any, name: str) -> Any:
    def call(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
        found = numpy.stack(of(row, offset, col))
        return wrap(Tensor, found.astype(dtype or numpy.int64))

    call.__name__ = name
    call.__doc__ = f"The row and column indices of the entries that `{name[:4]}` keeps."
    return call


tril_indices = _triangle(numpy.tril_indices, "tril_indices")
triu_indices = _triangle(numpy.triu_indices, "triu_indices")


@guarded
def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Indices into a flattened tensor as one index tensor per axis."""
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    return tuple([wrap(Tensor, part) for part in numpy.unravel_index(indices._data, lengths)])
