"""Cumulative sums and products, and differences of neighbours.

`cumulative_prod` does not divide, so its derivative is right for any number of zeros.
"""

from __future__ import annotations

from typing import Any

from ..kinds.shapes import UndecidedError, axes_of, changed, is_any
from ..kinds.symbols import whole
from .creation import zeros_like
from .declaring import known_as, op
from .joining import concat, stack
from .shaping import expand_dims, flip, hidden_axes, moveaxis, reshape

__all__ = ["cumulative_prod", "cumulative_sum", "diff"]


@known_as(numpy="cumulative_sum")
@op(native="cumulative_sum", linear=True)
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The cumulative sum along an axis, which is optional for 1-D x.

    include_initial   start with an additional 0, the sum of no entries

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


@cumulative_sum.batching
def batch_cumulative_sum(x: Any, *, axis: int | None, **how: Any) -> Any:
    x, axis = _rows(x, axis, "cumulative_sum")
    return cumulative_sum(x, axis=axis, **how)


@cumulative_sum.shaping
def shape_cumulative_sum(x: Any, *, axis: Any, include_initial: bool, **how: Any) -> Any:
    return cumulated(x, axis, include_initial, "cumulative_sum")


def _rows(x: Any, axis: int | None, subject: str) -> tuple[Any, int | None]:
    """The examples (numbers as rows of one entry), and the axis along which they accumulate."""
    x = x if len(x.shape) > 1 else expand_dims(x, axis=1)
    rank = len(x.shape) - 1
    if axis is None and rank > 1:
        return x, None  # which the library rejects, as it does for one example
    return x, hidden_axes(axis or 0, rank, subject)[0]


@known_as(numpy="cumulative_prod")
@op(native="cumulative_prod")
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The cumulative product along an axis, which is optional for 1-D x.

    include_initial   start with an additional 1, the product of no entries

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
    return moveaxis(products_before(x) * _recurrence(g, x[..., 1:]), -1, axis)


@cumulative_prod.pushforward("x")
def pushforward_cumulative_prod(
    t: Any, x: Any, *, axis: int | None, include_initial: bool
) -> Any:
    # dout_j = (Π_{i<j} x_i) dx_j + x_j dout_{j-1}: the same recurrence from the other end.
    if not x.shape:
        t, x = reshape(t, (1,)), reshape(x, (1,))
    axis = (axis or 0) % len(x.shape)
    x, t = moveaxis(x, axis, -1), moveaxis(t, axis, -1)
    before = cumulative_prod(x, axis=-1, include_initial=True)
    back = flip(before[..., :-1] * t, axis=-1)
    t = flip(_recurrence(back, flip(x, axis=-1)[..., :-1]), axis=-1)
    if include_initial:
        t = concat([zeros_like(before[..., :1]), t], axis=-1)
    return moveaxis(t, -1, axis)


@cumulative_prod.batching
def batch_cumulative_prod(x: Any, *, axis: int | None, **how: Any) -> Any:
    x, axis = _rows(x, axis, "cumulative_prod")
    return cumulative_prod(x, axis=axis, **how)


def cumulated(x: Any, axis: Any, include_initial: bool, subject: str) -> Any:
    """The shape of x, one longer along the axis with the initial entry."""
    if is_any(x) and not include_initial:
        return x.shape
    if axis is None and len(x.shape) != 1:
        raise UndecidedError
    longer = changed(x, axis or 0, lambda n: n + 1, subject)
    return longer if include_initial else x.shape


@cumulative_prod.shaping
def shape_cumulative_prod(x: Any, *, axis: Any, include_initial: bool, **how: Any) -> Any:
    return cumulated(x, axis, include_initial, "cumulative_prod")


def products_before(x: Any) -> Any:
    """For each entry of the last axis, the product of the entries before it."""
    return cumulative_prod(x, axis=-1, include_initial=True)[..., :-1]


_SHORT = 4096
"""The length up to which the steps of `_doubled`, which are fewer, are faster than halving."""


def _recurrence(g: Any, factors: Any) -> Any:
    """The solution of s_j = g_j + factors_j s_{j+1} along the last axis.

    Two neighbours make one: s_j = (g_j + factors_j g_{j+1}) + factors_j factors_{j+1} s_{j+2}.
    Solving for the even places first computes with each entry a bounded number of times.
    """
    n = g.shape[-1]
    if n <= _SHORT:
        return _doubled(g, factors)
    odd = g[..., 1::2]
    to_odd, to_even = factors[..., ::2], factors[..., 1::2]
    pairs = g[..., : n - n % 2 : 2] + to_odd * odd
    if n % 2:
        pairs = concat([pairs, g[..., n - 1 :]], axis=-1)
        inner = to_odd * to_even
    else:
        inner = to_odd[..., :-1] * to_even
    even = _recurrence(pairs, inner)
    between = even[..., 1:]
    reached = odd[..., : between.shape[-1]] + to_even * between
    if not n % 2:
        reached = concat([reached, odd[..., -1:]], axis=-1)
    whole = stack([even[..., : n // 2], reached], axis=-1)
    whole = reshape(whole, (*g.shape[:-1], n - n % 2))
    return concat([whole, even[..., n // 2 :]], axis=-1) if n % 2 else whole


def _doubled(s: Any, factors: Any) -> Any:
    """`_recurrence` of g = s in log n steps, each of which computes with all entries.

    After each step, s_j includes `step` entries, and factors_j leads from j to j + step.
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


@whole
def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Any:
    """The n-th differences of neighbours along an axis, after joining `prepend` and `append` to x.

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
