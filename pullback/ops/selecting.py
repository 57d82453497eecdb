"""Elementwise selection: `where`, `maximum`, `minimum` and `clip`.

Kinks: where the arguments of `maximum` and `minimum` tie, each receives half of the cotangent; a
NaN is propagated, and both receive the whole cotangent. `clip` has derivative 1 in `x` at its
bounds, too.
"""

from __future__ import annotations

from math import inf
from typing import Any

from ..arrays import namespace
from ..core.tensor import is_inexact, raw, to_array
from .declaring import face_of, op
from .operands import stacked

__all__ = ["clip", "maximum", "minimum", "where"]


@op(native="where", elementwise=True)
def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """x1 where the condition holds, x2 elsewhere.

    >>> import numpy as np
    >>> where(np.array([True, False]), 1.0, 2.0)
    array([1., 2.])
    """


@where.pullback("x1")
def pullback_where_x1(g: Any, condition: Any) -> Any:
    return where(condition, g, 0)


@where.pullback("x2")
def pullback_where_x2(g: Any, condition: Any) -> Any:
    return where(condition, 0, g)


@op(native="maximum", elementwise=True)
def maximum(x1: Any, x2: Any, /) -> Any:
    """The larger of x1 and x2, elementwise; NaN where either is.

    >>> import numpy as np
    >>> maximum(np.array([1.0, 2.0]), np.array([3.0, 2.0]))
    array([3., 2.])
    """


@maximum.pullback("x1")
def pullback_maximum_x1(g: Any, x1: Any, x2: Any) -> Any:
    return larger_share(g, x1, x2)


@maximum.pullback("x2")
def pullback_maximum_x2(g: Any, x1: Any, x2: Any) -> Any:
    return larger_share(g, x2, x1)


@op(native="minimum", elementwise=True)
def minimum(x1: Any, x2: Any, /) -> Any:
    """The smaller of x1 and x2, elementwise; NaN where either is.

    >>> import numpy as np
    >>> minimum(np.array([1.0, 2.0]), np.array([3.0, 2.0]))
    array([1., 2.])
    """


@minimum.pullback("x1")
def pullback_minimum_x1(g: Any, x1: Any, x2: Any) -> Any:
    return larger_share(g, x2, x1)


@minimum.pullback("x2")
def pullback_minimum_x2(g: Any, x1: Any, x2: Any) -> Any:
    return larger_share(g, x1, x2)


@op(elementwise=True)
def larger_share(xp: Any, x: Any, x1: Any, x2: Any, /) -> Any:
    """x where x1 > x2 or either is NaN, x / 2 where they tie, else 0.

    The pullback of `maximum` and `minimum`; linear in x, with no derivative in the others.

    >>> import numpy as np
    >>> larger_share(np.ones(3), np.array([1.0, 2.0, 3.0]), 2.0)
    array([0. , 0.5, 1. ])
    """
    return xp.where(x1 < x2, xp.zeros_like(x), xp.where(x1 == x2, x / 2, x))


@larger_share.pullback("x")
def pullback_larger_share(g: Any, x1: Any, x2: Any) -> Any:
    return larger_share(g, x1, x2)


@op(name="clip", elementwise=True)
def _clip(xp: Any, x: Any, min: Any, max: Any, /) -> Any:
    return xp.clip(x, min, max)


@_clip.pullback("x")
def pullback_clip_x(g: Any, x: Any, min: Any, max: Any) -> Any:
    return where((x >= min) & (x <= max), g, 0)


@_clip.pullback("min")
def pullback_clip_min(g: Any, x: Any, min: Any, max: Any) -> Any:
    return where((x < min) & (min <= max), g, 0)


@_clip.pullback("max")
def pullback_clip_max(g: Any, x: Any, min: Any, max: Any) -> Any:
    return where((x > max) | (min > max), g, 0)


@face_of(_clip)
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """x clamped to [min, max].

    The bounds are numbers or arrays that broadcast with x; None is no bound. Where `min` exceeds
    `max` the result is `max`. The derivative in x is 1 between the bounds and at them, 0 outside
    and for NaN; the derivative in a bound is 1 where the result is that bound and not x.

    >>> import numpy as np
    >>> clip(np.array([-2.0, 0.5, 2.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    if min is None or max is None:
        x = stacked(x)
        lowest, highest = _range(raw(to_array(x)))
        min, max = lowest if min is None else min, highest if max is None else max
    return _clip(x, min, max)


def _range(data: Any) -> tuple[Any, Any]:
    """Bounds that have no effect."""
    if not hasattr(data, "dtype") or is_inexact(data):
        return -inf, inf
    limits = namespace(data).iinfo(data.dtype)
    return int(limits.min), int(limits.max)
