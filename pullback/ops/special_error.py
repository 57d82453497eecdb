"""Inverse error functions; the normal distribution function, its logarithm and its inverse.

At the ends of the domains of the inverses the derivative is infinite, and a zero cotangent stays
zero.
"""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import quotient
from .declaring import op
from .exponential import exp, square
from .selecting import clip, where

__all__ = ["erfcinv", "erfinv", "log_ndtr", "ndtr", "ndtri"]

_HALF_ROOT_PI = math.sqrt(math.pi) / 2
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


@op(native="erfinv", elementwise=True)
def erfinv(x: Any, /) -> Any:
    """The inverse of erf, for x in [-1, 1]. The derivative is √π/2 exp(out²).

    >>> import pullback as pb
    >>> pb.special.erfinv(pb.tensor([-1.0, 0.0, 0.5]))
    Tensor([      -inf, 0.        , 0.47693628])
    """


@erfinv.pullback("x")
def pullback_erfinv(g: Any, x: Any) -> Any:
    out = erfinv(x)  # not saved, so that the result may be written in place
    return quotient(g * _HALF_ROOT_PI, exp(-out * out))


@op(native="erfcinv", elementwise=True)
def erfcinv(x: Any, /) -> Any:
    """The inverse of erfc, for x in [0, 2]. The derivative is -√π/2 exp(out²).

    >>> import pullback as pb
    >>> pb.special.erfcinv(pb.tensor([0.0, 0.5]))
    Tensor([       inf, 0.47693628])
    """


@erfcinv.pullback("x")
def pullback_erfcinv(g: Any, out: Any) -> Any:
    return quotient(g * -_HALF_ROOT_PI, exp(-out * out))


@op(native="ndtr", elementwise=True)
def ndtr(x: Any, /) -> Any:
    """Φ(x), the standard normal distribution function. The derivative is exp(-x²/2) / √(2π).

    >>> import pullback as pb
    >>> pb.special.ndtr(pb.tensor([-1.0, 0.0, float("inf")]))
    Tensor([0.15865525, 0.5       , 1.        ])
    """


@ndtr.partial("x")
def partial_ndtr(x: Any) -> Any:
    return exp(square(clip(x, -40.0, 40.0)) * -0.5) * (1 / _ROOT_TWO_PI)  # 0 beyond


@op(native="ndtri", elementwise=True)
def ndtri(x: Any, /) -> Any:
    """The inverse of ndtr, for x in [0, 1]. The derivative is √(2π) exp(out²/2).

    >>> import pullback as pb
    >>> pb.special.ndtri(pb.tensor([0.0, 0.5, 0.975]))
    Tensor([      -inf, 0.        , 1.95996398])
    """


@ndtri.pullback("x")
def pullback_ndtri(g: Any, out: Any) -> Any:
    return quotient(g * _ROOT_TWO_PI, exp(out * out * -0.5))


@op(native="log_ndtr", elementwise=True)
def log_ndtr(x: Any, /) -> Any:
    """log Φ(x), accurate also for very negative x, where Φ(x) underflows.

    The derivative is φ(x) / Φ(x), about -x for very negative x; it does not overflow.

    >>> import pullback as pb
    >>> pb.special.log_ndtr(pb.tensor([-100.0, 0.0]))
    Tensor([-5.00552421e+03, -6.93147181e-01])
    """


@log_ndtr.partial("x")
def partial_log_ndtr(x: Any) -> Any:
    return hazard(x)


@op(native="hazard", elementwise=True)
def hazard(x: Any, /) -> Any:
    """φ(x) / Φ(x) of the standard normal distribution: the derivative of log_ndtr; h′ = -h (x + h).

    >>> import numpy as np
    >>> hazard(np.array([-1000.0, 0.0, np.inf]))
    array([1.00000100e+03, 7.97884561e-01, 0.00000000e+00])
    """


@hazard.partial("x")
def partial_hazard(x: Any, out: Any) -> Any:
    far = x < -8  # x + out cancels there
    end = x == -math.inf  # where the derivative is -1
    t = where(far, where(end, 8.0, -x), 8.0)
    tail = t  # out = t + 1 / (t + 2 / (t + 3 / …)); 15 levels give full precision from 8 on
    for k in range(15, 1, -1):
        tail = t + k / tail
    h = where(far, 0, out)
    return where(far, where(end, -1.0, -(t + 1 / tail) / tail), -h * (where(h == 0, 0, x) + h))
