"""Reductions: sums, means, products, extremes, variances, and any/all.

Kinks and edges: entries that tie for `max` or `min` share the cotangent equally, and a NaN counts
as the extreme, as in the value. `prod` does not divide, so its derivative is right for any number
of zeros. `std` has derivative 0 where it is 0.
"""

from __future__ import annotations

import math
from typing import Any

from ..kinds.shapes import axes_of
from .complex_ import conj
from .cumulative import products_before
from .declaring import known_as, op
from .dtypes import astype
from .selecting import where
from .shaping import broadcast_to, flip, permute_dims, reshape

__all__ = [
    "all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var",
]

Axis = int | tuple[int, ...] | None


def kept(g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """The result of a reduction, or its cotangent, reshaped as with keepdims=True.

    A reduction over everything has no axes, and broadcasts without reshaping.
    """
    if axis is None or keepdims or not shape:
        return g
    axes = axes_of(axis, len(shape), "reduction")
    return reshape(g, tuple([1 if i in axes else n for i, n in enumerate(shape)]))


def count(shape: tuple[int, ...], axis: Axis) -> int:
    """The number of entries that go into each result of a reduction.

    >>> count((2, 3, 4), (0, -1))
    8
    """
    if axis is None or not shape:
        return math.prod(shape)
    return math.prod([shape[a] for a in axes_of(axis, len(shape), "reduction")])


# Sums and means -----------------------------------------------------------------------------


@op(native="sum", linear=True, reduction=True)
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


@op(native="mean", linear=True, reduction=True)
def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Σ x / n over an axis, several, or all; NaN, with NumPy's warning, for no entries.

    >>> import pullback as pb
    >>> pb.mean(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=-1)
    Tensor([1.5, 3.5])
    """


@mean.pullback("x")
def pullback_mean(g: Any, shape: Any, *, axis: Axis, keepdims: bool) -> Any:
    n = count(shape, axis) or 1  # without entries there is no cotangent to divide
    return broadcast_to(kept(g / n, shape, axis, keepdims), shape)


# Extremes -----------------------------------------------------------------------------------


@op(native="max", reduction=True)
def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest entry over an axis, several, or all; entries that tie share the cotangent.

    NaN if any entry is NaN. For no entries the array library raises an error.

    >>> import pullback as pb
    >>> pb.max(pb.tensor([[1.0, 2.0], [4.0, 3.0]]), axis=1)
    Tensor([2., 4.])
    """


@op(native="min", reduction=True)
def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest entry over an axis, several, or all; entries that tie share the cotangent.

    NaN if any entry is NaN. For no entries the array library raises an error.

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


@max.pushforward("x")
def pushforward_max(t: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool) -> Any:
    return averaged(t, x, out, axis, keepdims)


@min.pushforward("x")
def pushforward_min(t: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool) -> Any:
    return averaged(t, x, out, axis, keepdims)


def shared(g: Any, x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """A cotangent shared equally among the entries that attain a reduction's result."""
    chosen = _chosen(x, out, axis, keepdims)
    ties = astype(sum(chosen, axis=axis, keepdims=True), g.dtype)
    return where(chosen, kept(g, tuple(x.shape), axis, keepdims) / ties, 0)


def averaged(t: Any, x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """The mean tangent of the entries that attain a reduction's result."""
    chosen = _chosen(x, out, axis, keepdims)
    ties = astype(sum(chosen, axis=axis, keepdims=keepdims), t.dtype)
    return sum(where(chosen, t, 0), axis=axis, keepdims=keepdims) / ties


def _chosen(x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    return (x == kept(out, tuple(x.shape), axis, keepdims)) | (x != x)


# Products -----------------------------------------------------------------------------------


@op(native="prod", reduction=True)
def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Π x over an axis, several, or all; 1 for no entries.

    The derivative in each entry is the product of all others, also where some are 0.

    >>> import pullback as pb
    >>> pb.prod(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Tensor([3., 8.])
    """


@prod.pullback("x")
def pullback_prod(g: Any, x: Any, *, axis: Axis, keepdims: bool) -> Any:
    return kept(g, tuple(x.shape), axis, keepdims) * _others(x, axis)


@prod.pushforward("x")
def pushforward_prod(t: Any, x: Any, *, axis: Axis, keepdims: bool) -> Any:
    return sum(t * _others(x, axis), axis=axis, keepdims=keepdims)


def _others(x: Any, axis: Axis) -> Any:
    """For each entry the product of the other entries in its reduction."""
    shape = tuple(x.shape)
    reduced = axes_of(axis, len(shape), "prod") if shape else ()
    order = (*(i for i in range(len(shape)) if i not in reduced), *reduced)
    moved = tuple(shape[i] for i in order)
    lead = moved[: len(shape) - len(reduced)]
    rows = reshape(permute_dims(x, order), (*lead, count(shape, reduced)))
    others = products_before(rows) * flip(products_before(flip(rows, axis=-1)), axis=-1)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return permute_dims(reshape(others, moved), back)


# Variance -----------------------------------------------------------------------------------


@op(reduction=True)
def var(
    xp: Any, x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    """Σ |x - mean|² / (n - correction) over an axis, several, or all; real, also for complex x.

    NaN or infinite, with NumPy's warning, for n ≤ correction.

    >>> import pullback as pb
    >>> pb.var(pb.tensor([1.0, 3.0]), correction=1)
    Tensor(2.)
    """
    return xp.var(x, axis=axis, correction=correction, keepdims=keepdims)


@var.pullback("x")
def pullback_var(g: Any, x: Any, *, axis: Axis, correction: float, keepdims: bool) -> Any:
    shape = tuple(x.shape)
    factor = _over(2, count(shape, axis) - correction)
    return kept(g * factor, shape, axis, keepdims) * conj(_centred(x, axis))


@var.pushforward("x")
def pushforward_var(t: Any, x: Any, *, axis: Axis, correction: float, keepdims: bool) -> Any:
    factor = _over(2, count(tuple(x.shape), axis) - correction)
    return sum(conj(_centred(x, axis)) * t, axis=axis, keepdims=keepdims) * factor


def _centred(x: Any, axis: Axis) -> Any:
    return x - mean(x, axis=axis, keepdims=True) if count(tuple(x.shape), axis) else x


def _over(x: float, n: float) -> float:
    """x / n; NaN for n ≤ 0 degrees of freedom, as the value is."""
    return x / n if n > 0 else math.nan


@op(reduction=True)
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
    slope = _std_slope(g, out, count(tuple(x.shape), axis) - correction)
    return kept(slope, tuple(x.shape), axis, keepdims) * conj(_well_centred(x, axis))


@std.pushforward("x")
def pushforward_std(
    t: Any, x: Any, out: Any, *, axis: Axis, correction: float, keepdims: bool
) -> Any:
    along = sum(conj(_well_centred(x, axis)) * t, axis=axis, keepdims=keepdims)
    return _std_slope(along, out, count(tuple(x.shape), axis) - correction)


def _std_slope(g: Any, out: Any, n: float) -> Any:
    """g / (n · out), and 0 where out is 0."""
    flat = out == 0
    return where(flat, 0, g * _over(1, n) / where(flat, 1, out))


def _well_centred(x: Any, axis: Axis) -> Any:
    """Whether the spread exceeds rounding error: equal entries may differ from their mean by it."""
    return _centred(_centred(x, axis), axis)


# All and any --------------------------------------------------------------------------------


@op(native="all", differentiable=False, reduction=True)
def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all entries over an axis, several, or all, are nonzero; True for no entries.

    >>> import pullback as pb
    >>> pb.all(pb.tensor([[1.0, 0.0], [2.0, 3.0]]), axis=1)
    Tensor([False,  True])
    """


@op(native="any", differentiable=False, reduction=True)
def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether any entry over an axis, several, or all, is nonzero; False for no entries.

    >>> import pullback as pb
    >>> pb.any(pb.tensor([[0.0, 0.0], [2.0, 0.0]]), axis=1)
    Tensor([False,  True])
    """


@known_as(numpy="count_nonzero")
@op(differentiable=False, reduction=True)
def count_nonzero(xp: Any, x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """The number of nonzero entries over an axis, several, or all.

    >>> import pullback as pb
    >>> pb.count_nonzero(pb.tensor([[1.0, 0.0], [2.0, 3.0]]), axis=1)
    Tensor([1, 2])
    """
    return xp.asarray(xp.count_nonzero(x, axis=axis, keepdims=keepdims))
