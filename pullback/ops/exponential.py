"""Exponentials, logarithms, powers and roots, elementwise.

Where a derivative is infinite at the end of a domain (`sqrt`, `cbrt` and the logarithms at 0,
`x ** y` for y < 1 at x = 0) a zero cotangent stays zero; see `quotient`. Overflow is not hidden:
the derivative of `exp` at 100 in float32 is infinite, and times 0 that is NaN.

Powers: x ** 0 has derivative 0 in x, also at 0; at x = 0 the derivative in y is 0 for y ≥ 0; for
negative real x the derivative in y does not exist (NaN).
"""

from __future__ import annotations

from math import log as _log
from typing import Any

from ..core.cotangent import is_complex
from ..core.op import OPS
from .arithmetic import negative, quotient, reciprocal
from .comparing import isinf
from .complex_ import real
from .declaring import known_as, op
from .selecting import where

__all__ = [
    "cbrt", "exp", "exp2", "expm1", "hypot", "log", "log1p", "log2", "log10", "logaddexp", "pow",
    "rsqrt", "sqrt", "square",
]

_LN_2, _LN_10 = _log(2), _log(10)

# Exponentials -------------------------------------------------------------------------------


@op(native="exp", elementwise=True)
def exp(x: Any, /) -> Any:
    """eˣ. The derivative is eˣ.

    >>> import pullback as pb
    >>> pb.exp(pb.tensor([0.0, 1.0]))
    Tensor([1.        , 2.71828183])
    """


@exp.partial("x")
def partial_exp(out: Any) -> Any:
    return out


@op(native="exp2", elementwise=True)
def exp2(x: Any, /) -> Any:
    """2ˣ. The derivative is 2ˣ ln 2.

    >>> import pullback as pb
    >>> pb.exp2(pb.tensor([0.0, 3.0]))
    Tensor([1., 8.])
    """


@exp2.partial("x")
def partial_exp2(out: Any) -> Any:
    return out * _LN_2


@op(native="expm1", elementwise=True)
def expm1(x: Any, /) -> Any:
    """eˣ - 1, accurate near 0. The derivative is eˣ.

    >>> import pullback as pb
    >>> pb.expm1(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 1.71828183])
    """


@expm1.partial("x")
def partial_expm1(x: Any) -> Any:
    return exp(x)  # `out + 1` loses all digits for very negative x


# Logarithms ---------------------------------------------------------------------------------


@op(native="log", elementwise=True)
def log(x: Any, /) -> Any:
    """The natural logarithm. The derivative is 1 / x.

    >>> import pullback as pb
    >>> pb.log(pb.tensor([1.0, 2.0]))
    Tensor([0.        , 0.69314718])
    """


@log.pullback("x")
def pullback_log(g: Any, x: Any) -> Any:
    return quotient(g, x)


@op(native="log1p", elementwise=True)
def log1p(x: Any, /) -> Any:
    """The natural logarithm of 1 + x, accurate near 0. The derivative is 1 / (1 + x).

    >>> import pullback as pb
    >>> pb.log1p(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.69314718])
    """


@log1p.pullback("x")
def pullback_log1p(g: Any, x: Any) -> Any:
    return quotient(g, 1 + x)


@op(native="log2", elementwise=True)
def log2(x: Any, /) -> Any:
    """The logarithm to base 2. The derivative is 1 / (x ln 2).

    >>> import pullback as pb
    >>> pb.log2(pb.tensor([1.0, 8.0]))
    Tensor([0., 3.])
    """


@log2.pullback("x")
def pullback_log2(g: Any, x: Any) -> Any:
    return quotient(g * (1 / _LN_2), x)


@op(native="log10", elementwise=True)
def log10(x: Any, /) -> Any:
    """The logarithm to base 10. The derivative is 1 / (x ln 10).

    >>> import pullback as pb
    >>> pb.log10(pb.tensor([1.0, 100.0]))
    Tensor([0., 2.])
    """


@log10.pullback("x")
def pullback_log10(g: Any, x: Any) -> Any:
    return quotient(g * (1 / _LN_10), x)


@op(native="logaddexp", elementwise=True)
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """The logarithm of exp(x1) + exp(x2), without overflow.

    The derivatives are softmax weights: exp(x - out), and 1/2 each where both are -∞ (or both ∞).

    >>> import pullback as pb
    >>> pb.logaddexp(pb.tensor([0.0, 1000.0]), 0.0)
    Tensor([6.93147181e-01, 1.00000000e+03])
    """


@logaddexp.partial("x1")
def partial_logaddexp_x1(x1: Any, x2: Any) -> Any:
    return _share(x1, x2)


@logaddexp.partial("x2")
def partial_logaddexp_x2(x1: Any, x2: Any) -> Any:
    return _share(x2, x1)


def _share(x: Any, other: Any) -> Any:
    """exp(x) / (exp(x) + exp(other)), without overflow and without ∞ - ∞."""
    both = isinf(x) & (x == other)
    difference = where(both, 0, other) - where(both, 0, x)
    return exp(negative(logaddexp(difference, 0)))


# Powers and roots ---------------------------------------------------------------------------


@known_as(numpy="power")
@op(native="pow", elementwise=True)
def pow(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2. The derivatives are x2 x1^(x2 - 1) and x1^x2 ln x1.

    >>> import pullback as pb
    >>> pb.pow(pb.tensor([2.0, 3.0]), 2.0)
    Tensor([4., 9.])
    """


@pow.pullback("x1")
def pullback_pow_x1(g: Any, x1: Any, x2: Any) -> Any:
    # Multiply by the remaining power where its exponent is ≥ 0 and divide where it is < 0, so that
    # x1 = 0 gives no 0 · ∞. For a Python number only one of the two is needed.
    if isinstance(x2, (int, float, complex)):
        if x2 == 0:
            return OPS["zeros_like"](g)
        return g * (x2 * x1 ** (x2 - 1)) if x2.real >= 1 else quotient(g * x2, x1 ** (1 - x2))
    x1 = where((x1 == 0) & (x2 == 0), 1, x1)  # x ** 0 is constant, also at 0
    up = real(x2) >= 1
    return quotient(g * x2 * x1 ** where(up, x2 - 1, 0), x1 ** where(up, 0, 1 - x2))


@pow.pullback("x2")
def pullback_pow_x2(g: Any, x1: Any, x2: Any) -> Any:
    if isinstance(x1, (int, float)) and x1 > 0:
        return g * (x1**x2 * _log(x1))
    if is_complex(x2):  # a negative real base has a complex logarithm
        x1 = OPS["astype"](x1, x2.dtype) if hasattr(x1, "dtype") else complex(x1)
    # 1 ** x2 does not depend on x2, which is the derivative wanted for 0 ** x2.
    x1 = where((x1 == 0) & ((real(x2) >= 0) | (g == 0)), 1, x1)
    return g * (x1**x2 * log(x1))


@op(native="square", elementwise=True)
def square(x: Any, /) -> Any:
    """x². The derivative is 2 x.

    >>> import pullback as pb
    >>> pb.square(pb.tensor([2.0, -3.0]))
    Tensor([4., 9.])
    """


@square.partial("x")
def partial_square(x: Any) -> Any:
    return x + x


@op(native="sqrt", elementwise=True)
def sqrt(x: Any, /) -> Any:
    """√x. The derivative is 1 / (2 √x).

    >>> import pullback as pb
    >>> pb.sqrt(pb.tensor([4.0, 9.0]))
    Tensor([2., 3.])
    """


@sqrt.pullback("x")
def pullback_sqrt(g: Any, out: Any) -> Any:
    return quotient(g, out + out)


def rsqrt(x: Any, /) -> Any:
    """1 / √x.

    >>> import pullback as pb
    >>> pb.rsqrt(pb.tensor([4.0, 0.25]))
    Tensor([0.5, 2. ])
    """
    return reciprocal(sqrt(x))


@op(elementwise=True)
def cbrt(xp: Any, x: Any, /) -> Any:
    """The real cube root, negative for negative x. The derivative is 1 / (3 ∛x²).

    >>> import pullback as pb
    >>> pb.cbrt(pb.tensor([8.0, -27.0]))
    Tensor([ 2., -3.])
    """
    return xp.sign(x) * xp.abs(x) ** (1 / 3)


@cbrt.pullback("x")
def pullback_cbrt(g: Any, out: Any) -> Any:
    return quotient(quotient(g, out * 3), out)  # so that a zero stays one to any order


@op(native="hypot", elementwise=True)
def hypot(x1: Any, x2: Any, /) -> Any:
    """√(x1² + x2²), without overflow. The derivatives are x1 / out and x2 / out, or 0 at 0.

    >>> import pullback as pb
    >>> pb.hypot(pb.tensor([3.0, 0.0]), pb.tensor([4.0, 0.0]))
    Tensor([5., 0.])
    """


@hypot.partial("x1")
def partial_hypot_x1(x1: Any, out: Any) -> Any:
    return quotient(x1, out)


@hypot.partial("x2")
def partial_hypot_x2(x2: Any, out: Any) -> Any:
    return quotient(x2, out)
