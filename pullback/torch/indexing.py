"""Gather and scatter, sorting, and matrix products; also tensor methods."""

from __future__ import annotations

from typing import Any

import numpy

from .. import ops
from ..composed import positions
from ..composed.diagonals import places
from ..core.tensor import raw, wrap
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..ops.strides import lattice
from ..ops.subscripts import parse
from .aliases import alias
from .creation import full_like
from .errors import guarded, written
from .reductions import ValuesIndices
from .scalars import of_scalars
from .tensor import Tensor

__all__ = [
    "addmm", "argsort", "baddbmm", "bmm", "dot", "einsum", "gather", "index_add", "index_select",
    "inner", "masked_select", "matmul", "mm", "mv", "nonzero", "outer", "scatter", "scatter_add",
    "sort", "take", "take_along_dim", "tensordot", "topk", "trace", "unique",
]


# Gather and scatter -------------------------------------------------------------------------


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """An index tuple: `index` along one axis, positions along the others."""
    shape = tuple(index.shape)
    parts: list[Any] = [positions.along(n, i, len(shape)) for i, n in enumerate(shape)]
    parts[dim] = index
    return tuple(parts)


@guarded
def gather(input: Any, dim: int, index: Any) -> Any:
    """out[i][j][k] = input[i][index[i][j][k]][k], here for dim = 1.

    >>> import pullback.torch as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).gather(1, torch.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    if 0 in index.shape or not (input.shape and index.shape):  # of any rank
        taken = ops.take(ops.reshape(input, (-1,)), ops.reshape(index, (-1,)), axis=0)
        return ops.reshape(taken, tuple(index.shape))
    covered = [slice(0, n) for n in index.shape]
    covered[dim] = slice(None)
    return ops.take_along_axis(ops.getitem(input, tuple(covered)), index, axis=dim)


@guarded
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The entries at indices along one axis, or in the flattened tensor; other axes broadcast."""
    if dim is None:
        input, indices, dim = ops.reshape(input, (-1,)), ops.reshape(indices, (-1,)), 0
    return ops.take_along_axis(input, indices, axis=dim)


def _source(src: Any, index: Any) -> Any:
    """The part of src that the index covers."""
    if not getattr(src, "shape", ()) or tuple(src.shape) == tuple(index.shape):
        return src
    return ops.getitem(src, tuple([slice(0, n) for n in index.shape]))


@guarded
@of_scalars
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Any:
    """A copy with entries of src written at the index, the inverse of `gather`.

    value   a number instead of src
    reduce  "add" or "multiply": combine with the existing entry

    >>> import pullback.torch as torch
    >>> torch.zeros(1, 3).scatter(1, torch.tensor([[2]]), value=1.0)
    tensor([[0., 0., 1.]])
    """
    src = value if src is None else src
    if src is None:
        raise ArgumentTypeError("`scatter`", "src or value", "neither")
    if reduce is not None:
        return _combined(input, dim, index, src, reduce)
    return ops.set_at(input, _source(src, index), _along(index, dim))


def _combined(input: Any, dim: int, index: Any, src: Any, how: str) -> Any:
    ways = {"add": "sum", "multiply": "prod"}
    if how not in ways:
        raise ArgumentError("argument `reduce` of `scatter`", "'add' or 'multiply'", repr(how))
    if not isinstance(src, Tensor):
        src = full_like(index, src, dtype=input.dtype)
    return input.scatter_reduce(dim, index, src, ways[how])


@guarded
@of_scalars
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy with entries of src added at the index, the inverse of `gather`."""
    return ops.add_at(input, _source(src, index), _along(index, dim))


@guarded
@of_scalars
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices at the given indices along an axis."""
    return ops.take(input, index, axis=dim)


@guarded
@of_scalars
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """A copy with slices added at the given indices along an axis."""
    at = (slice(None),) * (dim % len(input.shape)) + (index,)
    return ops.add_at(input, source if alpha == 1 else source * alpha, at)


@guarded
def take(input: Any, index: Any) -> Any:
    """The entries at indices into the flattened tensor."""
    return ops.getitem(ops.reshape(input, (-1,)), index)


@guarded
def masked_select(input: Any, mask: Any) -> Any:
    """The entries where a mask is true, as a vector."""
    x, m = ops.broadcast_arrays(input, mask)
    return ops.getitem(x, m)


@guarded
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of nonzero entries: one row per entry; as_tuple: one index tensor per axis."""
    if not input.shape:
        count = int(raw(input) != 0)
        every = wrap(Tensor, numpy.zeros((count, 0), numpy.int64))
        return (wrap(Tensor, numpy.zeros(count, numpy.int64)),) if as_tuple else every
    found = ops.nonzero(input)
    return found if as_tuple else ops.stack(list(found), axis=1)


# Sorting ------------------------------------------------------------------------------------


@guarded
@of_scalars
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The entries sorted along an axis, and their indices.

    >>> import pullback.torch as torch
    >>> torch.tensor([2.0, 1.0]).sort().indices
    tensor([1, 0])
    """
    indices = ops.argsort(input, axis=dim, descending=descending, stable=True)
    return ValuesIndices(ops.take_along_axis(input, indices, axis=dim), indices)


@guarded
@of_scalars
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort the entries along an axis."""
    return ops.argsort(input, axis=dim, descending=descending, stable=True)


@guarded
@of_scalars
def topk(
    input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    """The k largest (or smallest) entries along an axis, best first, and their indices."""
    return ValuesIndices(*ops.top_k(input, k, axis=dim, mode="largest" if largest else "smallest"))


@guarded
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The sorted unique entries; with dim, the unique slices along it.

    return_inverse  also return each entry's index among the unique ones
    return_counts   also return the count of each unique entry

    >>> import pullback.torch as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    of: Any = numpy.unique
    found = of(
        raw(input), return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )
    if isinstance(found, tuple):
        return tuple([wrap(Tensor, part) for part in found])
    return wrap(Tensor, found)


# Products -----------------------------------------------------------------------------------


def _axes(name: str, *given: tuple[Any, int]) -> None:
    for x, count in given:
        if len(x.shape) != count:
            raise ShapeError(f"`{name}`", f"{count} axes", f"shape {tuple(x.shape)}", "use matmul")


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product of vectors, matrices or stacks of matrices."""
    return input @ other if out is None else written(out, input @ other)


@guarded
def mm(input: Any, mat2: Any) -> Any:
    """Matrix product of two matrices."""
    _axes("mm", (input, 2), (mat2, 2))
    return input @ mat2


@guarded
def bmm(input: Any, mat2: Any) -> Any:
    """Matrix products of two stacks of matrices."""
    _axes("bmm", (input, 3), (mat2, 3))
    return input @ mat2


@guarded
def mv(input: Any, vec: Any) -> Any:
    """Matrix-vector product."""
    _axes("mv", (input, 2), (vec, 1))
    return input @ vec


@guarded
def dot(input: Any, tensor: Any) -> Any:
    """Dot product of two vectors."""
    _axes("dot", (input, 1), (tensor, 1))
    return input @ tensor


@guarded
def inner(input: Any, other: Any) -> Any:
    """Inner products along the last axes."""
    if not input.shape or not other.shape:
        return input * other
    return ops.tensordot(input, other, axes=([-1], [-1]))


outer, tensordot = alias("outer"), alias("tensordot")


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · input + alpha · mat1 @ mat2."""
    product = mm(mat1, mat2)
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · input + alpha · batch1 @ batch2, for stacks of matrices."""
    product = bmm(batch1, batch2)
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


@guarded
def einsum(equation: str, *operands: Any) -> Any:
    """Sum of products in Einstein notation.

    >>> import pullback.torch as torch
    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    equation = equation.replace(" ", "")
    found = _rearranged(equation, operands[0]) if len(operands) == 1 else None
    return ops.einsum(equation, *operands) if found is None else found


def _rearranged(equation: str, x: Any) -> Any:
    """The view that `einsum` gives of one operand of which nothing is summed; else None."""
    term, _, out = parse(equation, (tuple(x.shape),)).partition("->")
    if set(term) != set(out):
        return None
    start = (0,) * len(term)
    steps = tuple([tuple([int(a == letter) for a in term]) for letter in out])
    if not term:
        return ops.reshape(x, ())
    return lattice(
        x, shape=tuple([x.shape[term.index(letter)] for letter in out]), start=start, steps=steps
    )


@guarded
def trace(input: Any) -> Any:
    """The sum of the main diagonal of a matrix."""
    _axes("trace", (input, 2))
    return ops.sum(ops.getitem(input, places(*input.shape)))
