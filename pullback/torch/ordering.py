"""Sorting and counting: medians, quantiles, cumulative extremes, histograms; also methods.

If a value comes with an index, the entry at that index receives the gradient.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from .. import ops
from ..arrays.batched import Batched
from ..composed import counting
from ..composed.statistics import INTERPOLATIONS
from ..composed.statistics import quantile as _quantiles
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, wrap
from ..errors import ArgumentError
from .dtypes import cast, floating, int64
from .errors import as_runtime, guarded
from .indexing import nonzero
from .reductions import ValuesIndices
from .scalars import of_scalars
from .tensor import Tensor, tensor_of

__all__ = [
    "aminmax", "argwhere", "bincount", "bucketize", "cummax", "cummin", "histc", "isin", "kthvalue",
    "logcumsumexp", "median", "mode", "msort", "nanmedian", "nanquantile", "quantile",
    "searchsorted", "unique_consecutive",
]


class MinMax(NamedTuple):
    """The minimum and the maximum."""

    min: Any
    max: Any


def picked(input: Any, indices: Any, dim: int, keepdim: bool) -> Any:
    """Values at indices (with the axis kept), and the indices."""
    values = ops.take_along_axis(input, indices, axis=dim)
    if not keepdim:
        values, indices = ops.squeeze(values, axis=dim), ops.squeeze(indices, axis=dim)
    return ValuesIndices(values, indices)


def _flat_or(input: Any, function: Any, dim: Any, keepdim: bool) -> Any:
    """Apply a function along an axis; a scalar tensor is treated as having one entry."""
    if input.shape:
        return function(input, dim, keepdim)
    values, indices = function(ops.reshape(input, (1,)), 0, False)
    return ValuesIndices(values, indices)


@guarded
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest entry, of the tensor or along an axis."""
    return MinMax(*[f(input, axis=dim, keepdims=keepdim) for f in (ops.min, ops.max)])


@guarded
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest entry along an axis (k counts from 1), and its index.

    >>> import pullback.torch as torch
    >>> torch.tensor([3.0, 1.0, 2.0]).kthvalue(2).values
    tensor(2.)
    """
    if not 1 <= k <= (input.shape[dim] if input.shape else 1):
        raise as_runtime(ArgumentError(
            "argument `k` of `kthvalue`", "a number from 1 to the axis length", f"{k}"
        ))

    def along(x: Any, dim: int, keepdim: bool) -> Any:
        order = ops.argsort(x.detach(), axis=dim, stable=True)
        return picked(x, _at(order, dim, k - 1), dim, keepdim)

    return _flat_or(input, along, dim, keepdim)


def _at(order: Any, dim: int, place: int) -> Any:
    index = (slice(None),) * (dim % len(order.shape)) + (slice(place, place + 1),)
    return ops.getitem(order, index)


def _median(input: Any, dim: Any, keepdim: bool, ignore: bool) -> Any:
    if dim is None:
        flat = ops.reshape(input, (-1,))
        return _median(flat, 0, False, ignore)[0]

    def along(x: Any, dim: int, keepdim: bool) -> Any:
        seen = x.detach()
        order, lost = ops.argsort(seen, axis=dim, stable=True), ops.isnan(floating(seen))
        if ignore:
            count = x.shape[dim] - ops.sum(ops.astype(lost, int64), axis=dim, keepdims=True)
            middle = (ops.clip(count, 1, None) - 1) // 2
            return picked(x, ops.take_along_axis(order, middle, axis=dim), dim, keepdim)
        index = _at(order, dim, (x.shape[dim] - 1) // 2)
        first = ops.argmax(ops.astype(lost, int64), axis=dim, keepdims=True)
        index = ops.where(ops.any(lost, axis=dim, keepdims=True), first, index)
        return picked(x, index, dim, keepdim)

    return _flat_or(input, along, dim, keepdim)


@guarded
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (the lower of two); with `dim`, along an axis, with indices.

    >>> import pullback.torch as torch
    >>> torch.tensor([4.0, 1.0, 3.0, 2.0]).median()
    tensor(2.)
    """
    return _median(input, dim, keepdim, False)


@guarded
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the entries that are not NaN."""
    return _median(input, dim, keepdim, True)


@guarded
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent entry along an axis (the smallest of several), and its last index."""
    def along(x: Any, dim: int, keepdim: bool) -> Any:
        found = counting.most_frequent(raw(ops.moveaxis(x.detach(), dim, -1)))
        return picked(x, ops.expand_dims(wrap(Tensor, found), axis=dim), dim, keepdim)

    return _flat_or(input, along, dim, keepdim)


def _running(name: str, largest: bool) -> Any:
    def call(input: Any, dim: int) -> Any:
        index = wrap(Tensor, counting.running_extremes(raw(input), dim, largest))
        return ValuesIndices(ops.take_along_axis(input, index, axis=dim), index)

    word = "largest" if largest else "smallest"
    call.__doc__ = f"The cumulative {word} along an axis, and its indices."
    return guarded(of_scalars(call), name)


cummax, cummin = _running("cummax", True), _running("cummin", False)


@guarded
@of_scalars
def logcumsumexp(input: Any, dim: int) -> Any:
    """Cumulative log-sum-exp along an axis, computed without overflow."""
    parts = ops.unstack(input, axis=dim)
    return ops.stack(list(accumulate(parts, ops.logaddexp)), axis=dim)


def _quantile(
    input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore: bool
) -> Any:
    if interpolation not in INTERPOLATIONS:
        raise as_runtime(ArgumentError(
            "argument `interpolation`", f"one of {INTERPOLATIONS}", interpolation
        ))
    if not isinstance(q, CoreTensor):  # in the input's precision, not the default one
        q = tensor_of(raw(ops.asarray(q, dtype=ops.float64)))
    points = raw(q)
    if points.__class__ is not Batched and ((points < 0) | (points > 1)).any():
        raise as_runtime(ArgumentError("argument `q`", "numbers in [0, 1]", f"{points.tolist()}"))
    rank = len(input.shape)
    dim = dim if rank else None
    x = ops.reshape(input, (-1,)) if dim is None else ops.moveaxis(input, dim, -1)
    out = _quantiles(x, ops.reshape(cast(q, input.dtype), (-1,)), interpolation, ignore)
    out = ops.moveaxis(out, -1, 0)
    out = ops.reshape(out, (*q.shape, *out.shape[1:]))
    if not keepdim or not rank:
        return out
    lead = len(q.shape)
    axes = tuple(range(lead, lead + rank)) if dim is None else lead + dim % rank
    return ops.expand_dims(out, axis=axes)


@guarded
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:
    """The q-quantile of all entries or along an axis; several q's give a new first axis.

    >>> import pullback.torch as torch
    >>> torch.tensor([0.0, 10.0]).quantile(0.25)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@guarded
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:
    """`quantile` of the entries that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


@guarded
def msort(input: Any) -> Any:
    """The entries sorted along the first axis."""
    return ops.sort(input, axis=0)


# Searching and counting -----------------------------------------------------------------------


@guarded
def argwhere(input: Any) -> Any:
    """The indices of nonzero entries, one row per entry."""
    return nonzero(input)


@guarded
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False,
         invert: bool = False) -> Any:
    """True for each entry that is among test_elements."""
    first = tensor_of(elements).detach()
    return ops.isin(first, tensor_of(test_elements).detach(), invert=invert)


@guarded
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:
    """Insertion indices that keep a sequence, or rows of sequences, sorted.

    sorter  the indices that sort an unsorted sequence
    """
    way: Any = "right" if right or side == "right" else "left"
    order = None if sorter is None else raw(sorter)
    found = counting.insertions(raw(sorted_sequence), raw(tensor_of(input)), way, order)
    return wrap(Tensor, found.astype(ops.int32 if out_int32 else ops.int64))


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The index of the interval between boundaries that contains each entry."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@guarded
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """A histogram: the counts in equal bins in [min, max]; by default the range of the data."""
    found = counting.histogram(raw(input), bins, min, max)
    return wrap(Tensor, found.astype(input.dtype))


@guarded
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Counts each integer from 0 on, or sums the weights that belong to it."""
    given = None if weights is None else raw(weights)
    found = counting.counts(raw(input), given, minlength)
    if weights is not None and weights.dtype.kind == "f":
        found = found.astype(weights.dtype)
    return wrap(Tensor, found)


@guarded
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The entries without consecutive duplicates; with the optional results of `unique`."""
    x = input.detach()
    values = ops.reshape(x, (-1,)) if dim is None else ops.moveaxis(x, dim, 0)
    kept, inverse, runs = (wrap(Tensor, a) for a in counting.consecutive(raw(values)))
    if dim is None:
        inverse = ops.reshape(inverse, tuple(input.shape))
    else:
        kept = ops.moveaxis(kept, 0, dim)
    more = [a for a, wanted in ((inverse, return_inverse), (runs, return_counts)) if wanted]
    return (kept, *more) if more else kept
