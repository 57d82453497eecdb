"""Quantiles and covariances."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.tensor import is_inexact
from ..lost_paths import held_fixed

__all__ = ["INTERPOLATIONS", "correlation", "covariance", "quantile"]

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(x: Any, q: Any, interpolation: str = "linear", ignore: bool = False) -> Any:
    """The quantiles of the last axis of x at the numbers of a vector q in [0, 1], as a last axis.

    interpolation  between neighbours in sorted order: one of `INTERPOLATIONS`
    ignore         leave NaN out; else a row with NaN gives NaN

    Sources of the gradient are the entries between which a quantile lies.

    >>> import numpy as np
    >>> quantile(np.array([0.0, 10.0]), np.array([0.25]))
    array([2.5])
    """
    last, order = x.shape[-1] - 1, ops.argsort(x, axis=-1, stable=True)
    lost = ops.sum(ops.astype(ops.isnan(x), q.dtype), axis=-1, keepdims=True)
    at = (ops.clip(last - lost, 0, None) if ignore else last + 0 * lost) * q
    low, high = (held_fixed(f(at)) for f in (ops.floor, ops.ceil))
    lower, higher = (
        ops.take_along_axis(
            x, ops.take_along_axis(order, ops.astype(places, ops.int64), axis=-1), axis=-1
        ) for places in (low, high)
    )
    if interpolation == "linear":
        found = _between(lower, higher, at - low)
    elif interpolation == "midpoint":
        found = _between(lower, higher, (high - low) * 0.5)
    else:
        nearest = ops.equal(held_fixed(ops.round(at)), high)
        upper = {"lower": ops.zeros_like(nearest), "higher": ops.ones_like(nearest)}
        found = ops.where(upper.get(interpolation, nearest), higher, lower)
    return found if ignore or not is_inexact(x) else ops.where(lost > 0, ops.nan, found)


def _between(low: Any, high: Any, share: Any) -> Any:
    """low + share (high - low), also for infinities, unless their signs differ."""
    endless = ops.isinf(low)
    equal = ops.logical_and(endless, low == high)
    gap = ops.where(equal, 0, high) - ops.where(equal, 0, low)
    return ops.where(endless, high, low) + gap * ops.where(endless, share - 1, share)


def covariance(
    x: Any, correction: float = 1, repeats: Any = None, weights: Any = None
) -> Any:
    """The covariance matrix of the rows of x, each a variable; one column per observation.

    repeats  how often each observation counts
    weights  how much each observation counts

    >>> import numpy as np
    >>> covariance(np.array([[0.0, 2.0]]))
    array([[2.]])
    """
    every = repeats if weights is None else weights if repeats is None else repeats * weights
    if every is None:
        gap = x - ops.mean(x, axis=1, keepdims=True)
        return _products(gap, gap) / (x.shape[1] - correction)
    size = ops.sum(every)
    gap = x - ops.sum(x * every, axis=1, keepdims=True) / size
    share: Any = 1 if weights is None else ops.sum(every * weights) / size
    return _products(gap * every, gap) / (size - correction * share)


def _products(x: Any, y: Any) -> Any:
    return ops.matmul(x, ops.matrix_transpose(ops.conj(y)))


def correlation(covariances: Any) -> Any:
    """The correlation coefficients of a covariance matrix, or 1 of a variance.

    >>> import numpy as np
    >>> correlation(np.array([[4.0, 2.0], [2.0, 4.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    if not covariances.shape:
        return covariances / covariances
    places = ops.arange(covariances.shape[0])
    scale = ops.sqrt(ops.real(ops.getitem(covariances, (places, places))))
    return covariances / ops.expand_dims(scale, 1) / ops.expand_dims(scale, 0)
