"""Elementwise functions that are short compositions of operations."""

from __future__ import annotations

from math import inf, log
from typing import Any

from .. import ops

__all__ = ["fmod", "logaddexp2", "nan_to_num"]


def fmod(x: Any, y: Any) -> Any:
    """The remainder with the sign of x; its derivatives are 1 and -trunc(x / y).

    >>> import pullback as pb
    >>> fmod(pb.tensor(-3.0), 2.0)
    Tensor(-1.)
    """
    rest = ops.remainder(x, y)
    return ops.where((rest != 0) & ((rest < 0) != (x < 0)), rest - y, rest)


def logaddexp2(x: Any, y: Any) -> Any:
    """log₂(2ˣ + 2ʸ), without overflow.

    >>> import pullback as pb
    >>> logaddexp2(pb.tensor(1.0), 1.0)
    Tensor(2.)
    """
    two = log(2)
    return ops.logaddexp(x * two, y * two) / two


def nan_to_num(x: Any, nan: Any = 0.0, high: Any = None, low: Any = None) -> Any:
    """x with NaN and infinities replaced by numbers, where the derivative is 0.

    high, low  for ±∞, by default the dtype's extreme numbers

    >>> import numpy as np
    >>> nan_to_num(np.array([1.0, np.nan, np.inf]), high=9.0)
    array([1., 0., 9.])
    """
    limits = ops.finfo(x.dtype)
    found = ops.where(ops.isnan(x), nan, x)
    found = ops.where(x == inf, float(limits.max) if high is None else high, found)
    return ops.where(x == -inf, float(limits.min) if low is None else low, found)
