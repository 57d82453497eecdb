"""Copies in which entries at indices are replaced, added or reduced; also tensor methods."""

from __future__ import annotations

from math import inf
from typing import Any

from .. import ops
from ..composed.counting import combined
from ..composed.segments import limits
from ..core.tensor import raw, wrap
from ..errors import ArgumentError, ShapeError
from .errors import as_runtime, guarded
from .indexing import _along, _source, gather, scatter, scatter_add
from .scalars import of_scalars
from .tensor import Tensor, tensor_of

__all__ = [
    "fill", "index_copy", "index_fill", "index_put", "index_reduce", "masked_scatter", "put",
    "scatter_reduce",
]


@guarded
def fill(input: Any, value: Any) -> Any:
    """A tensor like another, filled with one value."""
    return ops.set_at(input, value, ...)


@guarded
@of_scalars
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """A copy with one value at the given indices along an axis."""
    return ops.set_at(input, value, (slice(None),) * (dim % len(input.shape)) + (index,))


@guarded
@of_scalars
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """A copy with slices replaced at the given indices along an axis."""
    return ops.set_at(input, source, (slice(None),) * (dim % len(input.shape)) + (index,))


@guarded
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with values written, or added, at one index tensor per axis.

    >>> import pullback.torch as torch
    >>> at = (torch.tensor([0, 0]),)
    >>> torch.zeros(2).index_put(at, torch.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0.])
    """
    at = tuple([slice(None) if i is None else i for i in indices])
    return (ops.add_at if accumulate else ops.set_at)(input, values, at)


@guarded
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy with values written, or added, at indices into the flattened tensor."""
    flat, at = ops.reshape(input, (-1,)), ops.reshape(index, (-1,))
    many = (ops.add_at if accumulate else ops.set_at)(flat, ops.reshape(source, (-1,)), at)
    return ops.reshape(many, tuple(input.shape))


@guarded
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """A copy with consecutive entries of source where the mask is true."""
    input, held = ops.broadcast_arrays(input, mask.detach())
    count = int(ops.count_nonzero(held))
    if source.numel() < count:
        raise ShapeError("`masked_scatter`", f"a source of {count} entries", f"{source.numel()}")
    return ops.set_at(input, ops.reshape(source, (-1,))[:count], held)


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@guarded
@of_scalars
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """A copy in which each entry is reduced with the entries of src that `index` sends to it.

    reduce        "sum", "prod", "mean", "amax" or "amin"; tied entries share the gradient
    include_self  whether the original entry takes part

    >>> import pullback.torch as torch
    >>> x, at = torch.tensor([1.0, 5.0]), torch.tensor([0, 0])
    >>> x.scatter_reduce(0, at, torch.tensor([2.0, 3.0]), "amax")
    tensor([3., 5.])
    """
    if reduce not in _REDUCTIONS:
        raise as_runtime(ArgumentError("argument `reduce`", f"one of {_REDUCTIONS}", repr(reduce)))
    src = _source(src, index)
    touched = raw(scatter_add(_zeros(input), dim, index, ops.ones_like(src.detach()))) > 0
    start = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -inf, "amin": inf}[reduce]
    if input.dtype.kind == "b":
        start = reduce in ("prod", "amin")
    elif input.dtype.kind in "iu" and reduce in ("amax", "amin"):
        ends = limits(input.dtype)
        start = ends.min if reduce == "amax" else ends.max
    base = input if include_self else ops.where(touched, ops.astype(
        tensor_of(start), input.dtype), input)
    if reduce == "sum":
        return scatter_add(base, dim, index, src)
    if reduce == "mean":
        ones = ops.ones_like(src.detach())
        count = raw(scatter_add(_zeros(input), dim, index, ones)) + (1 if include_self else 0)
        count = ops.astype(ops.where(touched, count, 1), input.dtype)
        total = scatter_add(base, dim, index, src)
        return total / count if input.dtype.kind == "f" else total // count
    if reduce == "prod":
        return _product(base, dim, index, src)
    return _extreme(base, dim, index, src, reduce == "amax")


def _zeros(like: Any) -> Any:
    return ops.zeros_like(like.detach())


def _product(out: Any, dim: int, index: Any, src: Any) -> Any:
    """Multiply slice by slice of the source, so that the rule never divides by an entry."""
    lead = (slice(None),) * (dim % len(index.shape))
    for k in range(index.shape[dim]):
        at, some = index[(*lead, slice(k, k + 1))], src[(*lead, slice(k, k + 1))]
        out = scatter(out, dim, at, gather(out, dim, at) * some)
    return out


def _extreme(base: Any, dim: int, index: Any, src: Any, largest: bool) -> Any:
    at = tuple([raw(p) for p in _along(index, dim)])
    values = combined(raw(base), raw(src), largest, at)
    best = wrap(Tensor, values)
    mine = raw(base) == values
    theirs = raw(src) == raw(gather(best, dim, index))
    hits = wrap(Tensor, theirs.astype(values.dtype))
    ties = scatter_add(wrap(Tensor, mine.astype(values.dtype)), dim, index, hits)
    if values.dtype.kind != "f":
        return best
    share = ops.where(mine, base, 0.0) / ops.where(raw(ties) > 0, ties, 1.0)
    return scatter_add(share, dim, index, ops.where(theirs, src, 0.0) / gather(ties, dim, index))


@guarded
@of_scalars
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """`scatter_reduce` of whole slices at indices along an axis."""
    shape = [1] * len(source.shape)
    shape[dim] = -1
    every = ops.broadcast_to(ops.reshape(index, tuple(shape)), tuple(source.shape))
    return scatter_reduce(input, dim, every, source, reduce, include_self=include_self)
