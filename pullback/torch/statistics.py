"""Statistics that ignore NaN, differences, integrals, covariances; also tensor methods."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..arrays.inexact import kind_of
from ..composed.calculus import slopes, strips
from ..composed.statistics import correlation, covariance
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import is_inexact
from ..errors import ArgumentError, ShapeError
from .creation import full_like
from .dtypes import bool as _bool
from .dtypes import cast, floating, int8
from .errors import guarded
from .reductions import axes, mean, std, sum, var
from .tensor import tensor_of

__all__ = [
    "corrcoef", "cov", "cumulative_trapezoid", "diff", "gradient", "nanmean", "nansum", "std_mean",
    "trapezoid", "trapz", "vander", "var_mean",
]


@guarded
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the entries that are not NaN."""
    if is_inexact(input):
        input = ops.where(ops.isnan(input), 0.0, input)
    return sum(input, dim, keepdim, dtype=dtype)


@guarded
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the entries that are not NaN."""
    there = ops.astype(~ops.isnan(input.detach()), input.dtype)
    count = ops.sum(there, axis=axes(dim), keepdims=keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: float | None = 1,
) -> tuple[Any, Any]:
    """The standard deviation and the mean; see `std`."""
    spread = std(input, dim, unbiased, keepdim, correction=correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: float | None = 1,
) -> tuple[Any, Any]:
    """The variance and the mean; see `var`."""
    spread = var(input, dim, unbiased, keepdim, correction=correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@guarded
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of adjacent entries along an axis; for booleans, whether they differ.

    >>> import pullback.torch as torch
    >>> torch.tensor([1, 3, 6]).diff()
    tensor([2, 3])
    """
    if not n:
        return ops.identity(input)
    if kind_of(input.dtype) != "b":
        return ops.diff(input, axis=dim, n=n, prepend=prepend, append=append)
    whole = [None if v is None else ops.astype(v, int8) for v in (input, prepend, append)]
    for _ in range(n):
        whole[0] = ops.diff(whole[0], axis=dim, prepend=whole[1], append=whole[2]) % 2
        whole[1:] = None, None
    return ops.astype(whole[0], _bool)


@guarded
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """Trapezoidal rule along an axis, at points x or with spacing dx.

    >>> import pullback.torch as torch
    >>> torch.trapezoid(torch.tensor([0.0, 1.0, 2.0]))
    tensor(2.)
    """
    return ops.sum(strips(y, x, dx, dim), axis=dim)


trapz = trapezoid


@guarded
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The cumulative trapezoidal rule: integrals up to each point after the first."""
    return ops.cumulative_sum(strips(y, x, dx, dim), axis=dim)


@guarded
def gradient(
    input: Any, *, spacing: Any = 1.0, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """Numerical gradient along axes: central differences, one-sided at the ends.

    spacing     the distance between entries: one number, one per axis, or one tensor of
                coordinates per axis
    edge_order  1 or 2: the order of accuracy at the ends

    >>> import pullback.torch as torch
    >>> torch.gradient(torch.tensor([0.0, 1.0, 9.0]), spacing=(torch.tensor([0.0, 1.0, 3.0]),))
    (tensor([1., 2., 4.]),)
    """
    along = range(len(input.shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    steps = 1.0 if spacing is None else spacing
    steps = steps if isinstance(steps, (list, tuple)) else [steps] * len(tuple(along))
    if edge_order not in (1, 2):
        raise ArgumentError("argument `edge_order` of `gradient`", "1 or 2", f"{edge_order}")
    if len(steps) != len(tuple(along)):
        raise ShapeError("`gradient`", f"one spacing per axis, for {len(tuple(along))} axes",
                         f"{len(steps)} spacings")
    found = []
    for axis, step in zip(along, steps, strict=True):
        x = ops.moveaxis(floating(input), axis, 0)
        if x.shape[0] <= edge_order:
            raise ShapeError("`gradient`", f"more than {edge_order} entries along an axis",
                             f"shape {tuple(input.shape)}")
        found.append(ops.moveaxis(slopes(x, _gaps(x, step), edge_order), 0, axis))
    return tuple(found)


def _gaps(x: Any, step: Any) -> Any:
    """The distances between adjacent entries along the first axis."""
    n = x.shape[0]
    if isinstance(step, CoreTensor) and step.shape:
        if tuple(step.shape) != (n,):
            raise ShapeError("argument `spacing` of `gradient`", f"{n} entries", f"{step.shape}")
        return ops.reshape(ops.diff(cast(step, x.dtype)), (n - 1,) + (1,) * (len(x.shape) - 1))
    return full_like(x.detach()[:-1], 1) * step


@guarded
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Vandermonde matrix: the powers of each entry, descending to 0, one row per entry."""
    count = x.shape[-1] if N is None else N
    powers = [ops.ones_like(x), *[x**i for i in range(1, count)]][:count]
    return ops.stack(powers if increasing else powers[::-1], axis=-1)


@guarded
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix; one row per variable, one column per observation."""
    input = floating(input)
    x = input if len(input.shape) > 1 else ops.reshape(input, (1, -1))
    counts, shares = (
        None if w is None else cast(tensor_of(w), x.dtype) for w in (fweights, aweights)
    )
    found = covariance(x, correction, counts, shares)
    return ops.reshape(found, ()) if x.shape[0] == 1 else found


@guarded
def corrcoef(input: Any) -> Any:
    """The correlation matrix; one row per variable."""
    return correlation(cov(input))
