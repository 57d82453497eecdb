"""Sums and spreads that leave out NaN, differences, integrals, covariances; methods too."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..errors import ShapeError
from .dtypes import cast
from .errors import guarded
from .reductions import axes, mean, std, sum, var
from .tensor import tensor_of

__all__ = [
    "corrcoef", "cov", "cumulative_trapezoid", "diff", "gradient", "nanmean", "nansum", "std_mean",
    "trapezoid", "trapz", "vander", "var_mean",
]


@guarded
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the entries that are no NaN."""
    return sum(ops.where(ops.isnan(input), 0.0, input), dim, keepdim, dtype=dtype)


@guarded
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the entries that are no NaN."""
    there = ops.astype(~ops.isnan(input.detach()), input.dtype)
    count = ops.sum(there, axis=axes(dim), keepdims=keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: float = 1,
) -> tuple[Any, Any]:
    """The standard deviation and the mean; see `std`."""
    spread = std(input, dim, unbiased, keepdim, correction=correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
    correction: float = 1,
) -> tuple[Any, Any]:
    """The variance and the mean; see `var`."""
    spread = var(input, dim, unbiased, keepdim, correction=correction)
    return spread, mean(input, None if isinstance(dim, bool) else dim, keepdim)


@guarded
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, n times.

    >>> import pullback.torch as torch
    >>> torch.tensor([1, 3, 6]).diff()
    tensor([2, 3])
    """
    return ops.diff(input, axis=dim, n=n, prepend=prepend, append=append)


def _strips(y: Any, x: Any, dx: Any, dim: int) -> Any:
    n = y.shape[dim]
    lead = (slice(None),) * (dim % len(y.shape))
    heights = (y[(*lead, slice(1, n))] + y[(*lead, slice(0, n - 1))]) * 0.5
    if x is None:
        return heights * dx
    steps = ops.diff(x, axis=-1 if len(x.shape) == 1 else dim)
    if len(x.shape) == 1:
        steps = ops.reshape(steps, (-1,) + (1,) * (len(y.shape) - dim % len(y.shape) - 1))
    return heights * steps


@guarded
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral of values along an axis by straight lines, at places x or dx apart.

    >>> import pullback.torch as torch
    >>> torch.trapezoid(torch.tensor([0.0, 1.0, 2.0]))
    tensor(2.)
    """
    return ops.sum(_strips(y, x, dx, dim), axis=dim)


trapz = trapezoid


@guarded
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integrals up to each place after the first."""
    return ops.cumulative_sum(_strips(y, x, dx, dim), axis=dim)


@guarded
def gradient(
    input: Any, *, spacing: Any = 1.0, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """The slopes along axes: differences over two steps, over one at the ends.

    spacing  how far apart entries are: one number, or one an axis
    """
    along = range(len(input.shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    steps = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(tuple(along))
    if edge_order != 1:
        raise ShapeError("argument `edge_order` of `gradient`", "1", f"{edge_order}")
    found = []
    for axis, step in zip(along, steps, strict=True):
        x = ops.moveaxis(input, axis, 0)
        inner = (x[2:] - x[:-2]) / (2 * step)
        slopes = ops.concat([(x[1:2] - x[:1]) / step, inner, (x[-1:] - x[-2:-1]) / step], axis=0)
        found.append(ops.moveaxis(slopes, 0, axis))
    return tuple(found)


@guarded
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each entry, falling to 0, a row for each."""
    count = x.shape[-1] if N is None else N
    powers = [ops.ones_like(x), *[x**i for i in range(1, count)]][:count]
    return ops.stack(powers if increasing else powers[::-1], axis=-1)


@guarded
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of variables, a row each, from observations, a column each."""
    x = input if len(input.shape) > 1 else ops.reshape(input, (1, -1))
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            w = cast(tensor_of(w), x.dtype)
            weights = w if weights is None else weights * w
    if weights is None:
        gap = x - ops.mean(x, axis=1, keepdims=True)
        total: Any = x.shape[1] - correction
        found = (gap @ ops.conj(gap.T)) / total
    else:
        size = ops.sum(weights)
        gap = x - ops.sum(x * weights, axis=1, keepdims=True) / size
        if aweights is None:
            total = size - correction
        else:
            total = size - correction * ops.sum(weights * aweights) / size
        found = ((gap * weights) @ ops.conj(gap.T)) / total
    return found if len(input.shape) > 1 else ops.reshape(found, ())


@guarded
def corrcoef(input: Any) -> Any:
    """The correlations of variables, a row each."""
    found = cov(input)
    if not found.shape:
        return found / found
    scale = ops.sqrt(ops.real(found.diagonal()))
    return found / ops.expand_dims(scale, axis=0) / ops.expand_dims(scale, axis=1)
