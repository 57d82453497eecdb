"""Reductions: sums, means, products, extremes, spreads, and running sums and products.

Kinks and edges: entries that tie for `max` or `min` share the cotangent equally, and a NaN counts
as the extreme, as in the value. `prod` and `cumulative_prod` divide by nothing, so any number of
zeros is right. `std` has derivative 0 where it is 0.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.op import op
from .complex_ import conj
from .dtypes import astype
from .joining import concat
from .selecting import where
from .shaping import axes_of, broadcast_to, flip, moveaxis, permute_dims, reshape

__all__ = [
    "all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
    "min", "prod", "std", "sum", "var",
]

Axis = int | tuple[int, ...] | None


def kept(g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """What a reduction returned, or its cotangent, as if the reduced axes had been kept.

    After a reduction over everything it has no axes, and broadcasts as it is.
    """
    if axis is None or keepdims or not shape:
        return g
    axes = axes_of(axis, len(shape), "reduction")
    return reshape(g, tuple([1 if i in axes else n for i, n in enumerate(shape)]))


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """How many entries go into each result of a reduction.

    >>> count((2, 3, 4), (0, -1))
    8
    """
    if axis is None or not shape:
        return math.prod(shape)
    return math.prod([shape[a] for a in axes_of(axis, len(shape), "reduction")])


# Sums and means -----------------------------------------------------------------------------


@op(native="sum")
def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Σ x over an axis, several, or all.

    Small integers and booleans are summed in the default integer; floats keep their dtype.

    >>> import pullback as pb
    >>> pb.sum(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Tensor([4., 6.])
    """


@sum.pullback("x")
def pullback_sum(g: Any, shape: Any, *, axis: Axis, keepdims: bool) -> Any:
    return broadcast_to(kept(g, shape, axis, keepdims), shape)


@op(native="mean")
def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Σ x / n over an axis, several, or all; NaN, with NumPy's warning, of no entries.

    >>> import pullback as pb
    >>> pb.mean(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=-1)
    Tensor([1.5, 3.5])
    """


@mean.pullback("x")
def pullback_mean(g: Any, shape: Any, *, axis: Axis, keepdims: bool) -> Any:
    n = count(shape, axis) or 1  # of no entries nobody gets anything
    return broadcast_to(kept(g / n, shape, axis, keepdims), shape)


# Extremes -----------------------------------------------------------------------------------


@op(native="max")
def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest entry over an axis, several, or all; entries that tie share the cotangent.

    NaN where there is one. Of no entries it is an error.

    >>> import pullback as pb
    >>> pb.max(pb.tensor([[1.0, 2.0], [4.0, 3.0]]), axis=1)
    Tensor([2., 4.])
    """


@op(native="min")
def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest entry over an axis, several, or all; entries that tie share the cotangent.

    NaN where there is one. Of no entries it is an error.

    >>> import pullback as pb
    >>> pb.min(pb.tensor([[1.0, 2.0], [4.0, 3.0]]), axis=1)
    Tensor([1., 3.])
    """


@max.pullback("x")
def pullback_max(g: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool) -> Any:
    return shared(g, x, out, axis, keepdims)


@min.pullback("x")
def pullback_min(g: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool) -> Any:
    return shared(g, x, out, axis, keepdims)


def shared(g: Any, x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """A cotangent in equal parts to the entries that are what a reduction chose."""
    shape = tuple(x.shape)
    chosen = (x == kept(out, shape, axis, keepdims)) | (x != x)
    ties = astype(sum(chosen, axis=axis, keepdims=True), g.dtype)
    return where(chosen, kept(g, shape, axis, keepdims) / ties, 0)


# Products -----------------------------------------------------------------------------------


@op(native="prod")
def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Π x over an axis, several, or all; 1 of no entries.

    Each entry's derivative is the product of all others, also where some are 0.

    >>> import pullback as pb
    >>> pb.prod(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Tensor([3., 8.])
    """


@prod.pullback("x")
def pullback_prod(g: Any, x: Any, *, axis: Axis, keepdims: bool) -> Any:
    shape = tuple(x.shape)
    reduced = axes_of(axis, len(shape), "prod") if shape else ()
    order = (*(i for i in range(len(shape)) if i not in reduced), *reduced)
    moved = tuple(shape[i] for i in order)
    lead = moved[: len(shape) - len(reduced)]
    rows = reshape(permute_dims(x, order), (*lead, count(shape, reduced)))
    others = _before(rows) * flip(_before(flip(rows, axis=-1)), axis=-1)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return kept(g, shape, axis, keepdims) * permute_dims(reshape(others, moved), back)


def _before(x: Any) -> Any:
    """For each entry of the last axis the product of those before it."""
    return cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


# Spread -------------------------------------------------------------------------------------


@op
def var(
    xp: Any, x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """Σ |x - mean|² / (n - correction) over an axis, several, or all; real, of complex x too.

    NaN or infinite, with NumPy's warning, where n ≤ correction.

    >>> import pullback as pb
    >>> pb.var(pb.tensor([1.0, 3.0]), correction=1)
    Tensor(2.)
    """
    return xp.var(x, axis=axis, correction=correction, keepdims=keepdims)


@var.pullback("x")
def pullback_var(g: Any, x: Any, *, axis: Axis, correction: float, keepdims: bool) -> Any:
    shape = tuple(x.shape)
    factor = _over(2, count(shape, axis) - correction)
    off = x - mean(x, axis=axis, keepdims=True) if count(shape, axis) else x
    return kept(g * factor, shape, axis, keepdims) * conj(off)


def _over(x: float, n: float) -> float:
    """x / n; NaN where n is no number of degrees of freedom, as the value is."""
    return x / n if n > 0 else math.nan


@op
def std(
    xp: Any, x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """√var over an axis, several, or all. Its derivative is 0 where it is 0.

    >>> import pullback as pb
    >>> pb.std(pb.tensor([1.0, 3.0]))
    Tensor(1.)
    """
    return xp.std(x, axis=axis, correction=correction, keepdims=keepdims)


@std.pullback("x")
def pullback_std(
    g: Any, x: Any, out: Any, *, axis: Axis, correction: float, keepdims: bool
) -> Any:
    shape = tuple(x.shape)
    n = count(shape, axis)
    flat = out == 0
    slope = where(flat, 0, g * _over(1, n - correction) / where(flat, 1, out))
    off = x - mean(x, axis=axis, keepdims=True) if n else x
    if n:  # equal entries may miss their mean by a rounding error, as large as `out` is then
        off = off - mean(off, axis=axis, keepdims=True)
    return kept(slope, shape, axis, keepdims) * conj(off)


# Running sums and products ------------------------------------------------------------------


@op(native="cumulative_sum")
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of the first 1, 2, … entries along an axis, which 1-d arrays need not name.

    include_initial   begin with the sum of none, 0

    >>> import pullback as pb
    >>> pb.cumulative_sum(pb.tensor([1.0, 2.0, 3.0]))
    Tensor([1., 3., 6.])
    """


@cumulative_sum.pullback("x")
def pullback_cumulative_sum(g: Any, *, axis: int | None, include_initial: bool) -> Any:
    axis = (axis or 0) % len(g.shape)
    if include_initial:
        g = _piece(g, axis, 1, None)
    return flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis)


@op(native="cumulative_prod")
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of the first 1, 2, … entries along an axis, which 1-d arrays need not name.

    include_initial   begin with the product of none, 1

    >>> import pullback as pb
    >>> pb.cumulative_prod(pb.tensor([1.0, 2.0, 3.0]))
    Tensor([1., 2., 6.])
    """


@cumulative_prod.pullback("x")
def pullback_cumulative_prod(
    g: Any, x: Any, *, axis: int | None, include_initial: bool
) -> Any:
    # dx_j = (Π_{i<j} x_i) s_j, where s_j = g_j + x_{j+1} s_{j+1} sums over the outputs from j on.
    if not x.shape:
        return reshape(g[-1:], ())
    axis = (axis or 0) % len(g.shape)
    if include_initial:
        g = _piece(g, axis, 1, None)
    x, g = moveaxis(x, axis, -1), moveaxis(g, axis, -1)
    return moveaxis(_before(x) * _recurrence(g, x[..., 1:]), -1, axis)


def _recurrence(s: Any, factors: Any) -> Any:
    """The solution of s_j = g_j + factors_j s_{j+1} along the last axis, given g, in log n steps.

    After each step, s_j has summed over `step` entries, and factors_j leads from j to j + step.
    """
    n, step = s.shape[-1], 1
    while step < n:
        reached = s[..., :-step] + factors * s[..., step:]
        s = concat([reached, s[..., n - step :]], axis=-1)
        factors = factors[..., :-step] * factors[..., step:]
        step *= 2
    return s


def _piece(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return x[(*(slice(None),) * axis, slice(start, stop))]


def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Any:
    """The differences of neighbours along an axis, taken n times; `prepend`, `append` join first.

    >>> import pullback as pb
    >>> pb.diff(pb.tensor([1.0, 4.0, 9.0, 16.0]), n=2)
    Tensor([2., 2.])
    """
    (axis,) = axes_of(axis, len(x.shape), "diff")
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        x = _piece(x, axis, 1, None) - _piece(x, axis, None, -1)
    return x


# Questions ----------------------------------------------------------------------------------


@op(native="all", differentiable=False)
def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all entries over an axis, several, or all, are true (not zero); true of none.

    >>> import pullback as pb
    >>> pb.all(pb.tensor([[1.0, 0.0], [2.0, 3.0]]), axis=1)
    Tensor([False,  True])
    """


@op(native="any", differentiable=False)
def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether any entry over an axis, several, or all, is true (not zero); false of none.

    >>> import pullback as pb
    >>> pb.any(pb.tensor([[0.0, 0.0], [2.0, 0.0]]), axis=1)
    Tensor([False,  True])
    """


@op(differentiable=False)
def count_nonzero(xp: Any, x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many entries over an axis, several, or all, are not zero.

    >>> import pullback as pb
    >>> pb.count_nonzero(pb.tensor([[1.0, 0.0], [2.0, 3.0]]), axis=1)
    Tensor([1, 2])
    """
    return xp.asarray(xp.count_nonzero(x, axis=axis, keepdims=keepdims))
