"""The digamma function near its negative poles, for every library with SciPy's formula.

The formula, ψ(x) = ψ(1 - x) - π cot(πx), rounds πx before the cotangent removes the pole at the
nearest integer, so that the result is up to 40 % off beside a pole. Here the integer is subtracted
first, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def mended_digamma(xp: Any, digamma: Callable[[Any], Any], x: Any) -> Any:
    """A library's digamma, with the right values beside negative integers."""
    low = xp.where((x < 0) & xp.isfinite(x), x, 0.25)
    found, off = digamma(x), low - xp.round(low)
    near = (x < 0) & (xp.abs(off) < 0.25) & (off != 0)
    if not xp.any(near):
        return found
    rest = digamma(1 - xp.where(near, x, -1.0))
    return xp.where(near, rest - math.pi / xp.tan(xp.where(near, off, 0.25) * math.pi), found)
