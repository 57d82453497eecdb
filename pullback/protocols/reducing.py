"""Rules of NumPy's reductions: sums, extremes, means, quantiles, cumulative sums, NaN versions.

Entries that `where` leaves out are replaced by the neutral value of the reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from math import inf
from typing import Any

import numpy

from ..composed.statistics import INTERPOLATIONS, quantile
from ..core.cotangent import is_complex
from ..core.tensor import raw
from ..errors import ArgumentError
from .table import array, cast, entries, is_floating, is_integer, pb, rule

Axis = int | tuple[int, ...] | None


def _masked(x: Any, where: Any, neutral: Any) -> Any:
    """x with a neutral value where a mask is False."""
    return x if where is True else pb.where(where, x, neutral)


def _extreme_of(x: Any, sign: int) -> Any:
    """The largest value of a dtype, or for sign -1 the smallest."""
    if is_floating(x):
        return sign * inf
    if x.dtype == pb.bool:
        return sign > 0
    limits = pb.iinfo(x.dtype)
    return int(limits.max if sign > 0 else limits.min)


@rule("sum")
def sum_of(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:
    """Σ a + initial."""
    found = pb.sum(_masked(array(a), where, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return found if initial is None else cast(found + initial, found.dtype)


@rule("prod")
def prod_of(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:
    """Π a · initial."""
    found = pb.prod(_masked(array(a), where, 1), axis=axis, dtype=dtype, keepdims=keepdims)
    return found if initial is None else cast(found * initial, found.dtype)


def _extreme(
    reduce: Callable[..., Any], pair: Callable[..., Any], a: Any, axis: Axis, keepdims: bool,
    initial: Any, where: Any, neutral: Any,
) -> Any:
    if where is not True and initial is None:
        return NotImplemented  # as in NumPy: no entries have no largest one
    x = _masked(a, where, neutral)
    if initial is not None and not _count(x, axis):
        full = pb.sum(x, axis=axis, keepdims=keepdims)  # without entries: zeros of the right shape
        return cast(full * 0 + initial, x.dtype)
    found = reduce(x, axis=axis, keepdims=keepdims)
    return found if initial is None else cast(pair(found, initial), x.dtype)


def _count(x: Any, axis: Axis) -> int:
    """The number of entries per result."""
    axes = range(len(x.shape)) if axis is None else entries(axis)
    total = 1
    for i in axes:
        total *= x.shape[i]
    return total


@rule("max")
def max_of(
    a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest entry; entries that tie share the cotangent equally."""
    a = array(a)
    return _extreme(pb.max, pb.maximum, a, axis, keepdims, initial, where, _extreme_of(a, -1))


@rule("min")
def min_of(
    a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest entry; entries that tie share the cotangent equally."""
    a = array(a)
    return _extreme(pb.min, pb.minimum, a, axis, keepdims, initial, where, _extreme_of(a, 1))


@rule("all")
def all_of(a: Any, axis: Axis = None, *, keepdims: bool = False, where: Any = True) -> Any:
    """Whether all entries are nonzero."""
    return pb.all(_masked(array(a), where, True), axis=axis, keepdims=keepdims)


@rule("any")
def any_of(a: Any, axis: Axis = None, *, keepdims: bool = False, where: Any = True) -> Any:
    """Whether any entry is nonzero."""
    return pb.any(_masked(array(a), where, False), axis=axis, keepdims=keepdims)


def logsumexp_of(
    a: Any, axis: Axis = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """log Σ exp(a), as `numpy.logaddexp.reduce`."""
    return pb.logsumexp(_masked(array(a), where, -inf), axis=axis, keepdims=keepdims)


# Means --------------------------------------------------------------------------------------


def _number(x: Any, axis: Axis, where: Any) -> Any:
    """The number of entries per mean, with the axes kept."""
    if where is True:
        return _count(x, axis)
    spread = pb.broadcast_to(where, tuple(x.shape))
    return pb.sum(cast(spread, pb.int64), axis=axis, keepdims=True)


def _drop_axes(x: Any, axis: Axis, keepdims: bool) -> Any:
    """x without the reduced axes, which have length 1."""
    if keepdims:
        return x
    return pb.squeeze(x, tuple(range(len(x.shape))) if axis is None else axis)


def _floating(x: Any, dtype: Any) -> Any:
    return cast(x, pb.float64 if dtype is None and not is_floating(x) else dtype)


@rule("mean")
def mean_of(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """The mean Σ a / n."""
    x = _floating(array(a), dtype)
    if where is True:
        return pb.mean(x, axis=axis, keepdims=keepdims)
    total = sum_of(x, axis, keepdims=True, where=where)
    return _drop_axes(total / cast(_number(x, axis, where), total.dtype), axis, keepdims)


@rule("var")
def var_of(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: float = 0, *, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: float | None = None,
) -> Any:
    """The variance Σ |a - mean|² / (n - ddof)."""
    ddof = ddof if correction is None else correction
    x = _floating(array(a), dtype)
    if where is True and mean is None and not is_complex(x):
        return pb.var(x, axis=axis, correction=ddof, keepdims=keepdims)
    x = _masked(x, where, 0)  # keeps NaN and infinite derivatives away from excluded entries
    if mean is None:
        mean = mean_of(x, axis, keepdims=True, where=where)
    apart = x - mean
    squares = pb.real(pb.conj(apart) * apart)
    total = sum_of(squares, axis, keepdims=True, where=where)
    freedom = pb.maximum(pb.asarray(_number(x, axis, where) - ddof), 0)
    return _drop_axes(total / cast(freedom, total.dtype), axis, keepdims)


@rule("std")
def std_of(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: float = 0, *, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: float | None = None,
) -> Any:
    """√var, whose derivative is 0 where it is 0."""
    ddof = ddof if correction is None else correction
    x = _floating(array(a), dtype)
    if where is True and mean is None and not is_complex(x):
        return pb.std(x, axis=axis, correction=ddof, keepdims=keepdims)
    v = var_of(x, axis, None, ddof, keepdims=keepdims, where=where, mean=mean)
    return pb.where(v == 0, 0, pb.sqrt(pb.where(v == 0, 1, v)))


@rule("average")
def average_of(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Any:
    """The weighted mean Σ w a / Σ w."""
    x = array(a)
    if weights is None:
        found = mean_of(x, axis, keepdims=keepdims)
        total: Any = pb.zeros_like(found) + _count(x, axis)
    else:
        w = array(weights)
        if len(w.shape) != len(x.shape):  # one weight per position along the axis
            if not is_integer(axis) or len(w.shape) != 1:
                return NotImplemented
            w = pb.reshape(w, (-1, *(1,) * (len(x.shape) - 1 - axis % len(x.shape))))
        w = pb.broadcast_to(w, tuple(x.shape))
        total = pb.sum(w, axis=axis, keepdims=keepdims)
        found = pb.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (found, cast(total, found.dtype)) if returned else found


# Quantiles ----------------------------------------------------------------------------------


def _last(x: Any, axis: Axis) -> Any:
    """x with the reduced axes merged into a last one."""
    rank = len(x.shape)
    axes = range(rank) if axis is None else entries(axis)
    gone = [i % rank for i in axes]
    rest = [i for i in range(rank) if i not in gone]
    moved = pb.permute_dims(x, (*rest, *gone))
    return pb.reshape(moved, (*[x.shape[i] for i in rest], -1))


@rule("quantile")
def quantile_of(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """The q-quantile, interpolated between sorted entries; NaN if any entry is NaN."""
    return _quantile(a, q, axis, method, keepdims, ignore=False)


@rule("nanquantile")
def nanquantile_of(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """The q-quantile of the entries that are not NaN; NaN if there is none."""
    return _quantile(a, q, axis, method, keepdims, ignore=True)


def _quantile(a: Any, q: Any, axis: Axis, method: str, keepdims: bool, ignore: bool) -> Any:
    if method not in INTERPOLATIONS:
        return NotImplemented
    x, q = array(a), array(q)
    if not numpy.all((raw(q) >= 0) & (raw(q) <= 1)):
        raise ArgumentError("argument `q` of numpy.quantile", "numbers in [0, 1]", str(raw(q)))
    if method in ("linear", "midpoint"):  # the others return entries as they are
        x = _floating(x, None)
        if len(q.shape):  # a Python number takes on the precision of the entries
            x = cast(x, pb.result_type(x.dtype, q.dtype))
        q = cast(q, x.dtype)
    flat = _last(x, axis)
    found = quantile(flat, pb.reshape(q, (-1,)), method, ignore)
    shape = tuple(flat.shape[:-1])
    if keepdims:
        rank = len(x.shape)
        axes = range(rank) if axis is None else entries(axis)
        gone = {i % rank for i in axes}
        shape = tuple(1 if i in gone else x.shape[i] for i in range(rank))
    return pb.reshape(pb.moveaxis(found, -1, 0), (*q.shape, *shape))


@rule("percentile")
def percentile_of(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """The q-th percentile: the quantile at q / 100."""
    return quantile_of(a, array(q) / 100, axis, method=method, keepdims=keepdims)


@rule("nanpercentile")
def nanpercentile_of(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """The q-th percentile of the entries that are not NaN."""
    return nanquantile_of(a, array(q) / 100, axis, method=method, keepdims=keepdims)


@rule("median")
def median_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The middle entry, or the mean of the two middle ones."""
    return quantile_of(a, 0.5, axis, keepdims=keepdims)


@rule("nanmedian")
def nanmedian_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The median of the entries that are not NaN."""
    return nanquantile_of(a, 0.5, axis, keepdims=keepdims)


@rule("ptp")
def ptp_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest entry minus the smallest."""
    a = array(a)
    return pb.max(a, axis=axis, keepdims=keepdims) - pb.min(a, axis=axis, keepdims=keepdims)


# Indices, and cumulative sums ---------------------------------------------------------------


@rule("cumsum")
def cumsum_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The cumulative sum; of the flattened array if no axis is given."""
    a, axis = (pb.ravel(a), 0) if axis is None else (a, axis)
    return pb.cumulative_sum(a, axis=axis, dtype=dtype)


@rule("cumprod")
def cumprod_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The cumulative product; of the flattened array if no axis is given."""
    a, axis = (pb.ravel(a), 0) if axis is None else (a, axis)
    return pb.cumulative_prod(a, axis=axis, dtype=dtype)


# Ignoring NaN -------------------------------------------------------------------------------


def _numbers(a: Any, where: Any) -> Any:
    """The mask of entries that are not NaN, within a mask."""
    return ~pb.isnan(a) if where is True else pb.logical_and(where, ~pb.isnan(a))


def _skipping(name: str, reduction: Callable[..., Any]) -> None:
    """Add the rule of a reduction that ignores NaN: the reduction with a mask."""

    def skipping(a: Any, *args: Any, where: Any = True, **how: Any) -> Any:
        a = array(a)
        return reduction(a, *args, where=_numbers(a, where), **how)

    rule(name)(update_wrapper(skipping, reduction))  # keeps the reduction's signature


for _name, _reduction in {
    "nansum": sum_of, "nanprod": prod_of, "nanmean": mean_of, "nanvar": var_of, "nanstd": std_of,
}.items():
    _skipping(_name, _reduction)


def _nan_extreme(rule_of: Any, far: float, a: Any, axis: Axis, how: dict[str, Any]) -> Any:
    a = array(a)
    if not is_floating(a):
        return rule_of(a, axis, **how)
    numbers = _numbers(a, True)
    found = rule_of(pb.where(numbers, a, far), axis, **how)
    return pb.where(pb.any(numbers, axis=axis, keepdims=how["keepdims"]), found, numpy.nan)


@rule("nanmax")
def nanmax_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest entry that is not NaN; NaN if there is none."""
    return _nan_extreme(max_of, -inf, a, axis, {"keepdims": keepdims})


@rule("nanmin")
def nanmin_of(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The smallest entry that is not NaN; NaN if there is none."""
    return _nan_extreme(min_of, inf, a, axis, {"keepdims": keepdims})


@rule("nancumsum")
def nancumsum_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """`cumsum` with NaN treated as 0."""
    return cumsum_of(_masked(a, _numbers(a, True), 0), axis, dtype)


@rule("nancumprod")
def nancumprod_of(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """`cumprod` with NaN treated as 1."""
    return cumprod_of(_masked(a, _numbers(a, True), 1), axis, dtype)
