"""Trigonometric and hyperbolic functions and their inverses, elementwise.

At the ends of a domain (`asin` at ±1, `acosh` at 1, `atanh` at ±1) the derivative is infinite, and
a zero cotangent stays zero; see `quotient`. `atan2` has derivative 0 at (0, 0). The formulas also
hold for complex numbers, with the branch cuts of the functions themselves: where 1 - x² would
overflow or cancel, they use its factors, in `_below` and `_above`.
"""

from __future__ import annotations

from typing import Any

from ..core.cotangent import is_complex
from .arithmetic import quotient
from .complex_ import imag
from .declaring import known_as, op
from .exponential import hypot, sqrt
from .selecting import where

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh",
    "tan", "tanh",
]


def _below(x: Any) -> Any:
    """1 - x. Unlike `1 - x`, it keeps the sign of an imaginary 0, which tells sides of a cut."""
    return -(x - 1)


def _above(x: Any) -> Any:
    """1 + x, as `_below`."""
    return -(-x - 1)


def _turned(x: Any) -> Any:
    """i · x for complex x, by the product that keeps the sign of a real 0."""
    return where(imag(x) > 0, -(x * -1j), x * 1j)


def _by_roots(g: Any, x: Any) -> Any:
    """g / √(1 - x²) for complex x: the square would overflow, and has other branch cuts."""
    return quotient(quotient(g, sqrt(_below(x))), sqrt(_above(x)))


# Trigonometric ------------------------------------------------------------------------------


@op(native="sin", elementwise=True)
def sin(x: Any, /) -> Any:
    """sin x. The derivative is cos x.

    >>> import pullback as pb
    >>> pb.sin(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.84147098])
    """


@sin.partial("x")
def partial_sin(x: Any) -> Any:
    return cos(x)


@op(native="cos", elementwise=True)
def cos(x: Any, /) -> Any:
    """cos x. The derivative is -sin x.

    >>> import pullback as pb
    >>> pb.cos(pb.tensor([0.0, 1.0]))
    Tensor([1.        , 0.54030231])
    """


@cos.partial("x")
def partial_cos(x: Any) -> Any:
    return -sin(x)


@op(native="tan", elementwise=True)
def tan(x: Any, /) -> Any:
    """tan x. The derivative is 1 + tan² x.

    >>> import pullback as pb
    >>> pb.tan(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 1.55740772])
    """


@tan.partial("x")
def partial_tan(out: Any) -> Any:
    return 1 + out * out


@known_as(numpy="arcsin", torch="arcsin")
@op(native="asin", elementwise=True)
def asin(x: Any, /) -> Any:
    """The inverse sine of x, in [-π/2, π/2]. The derivative is 1 / √(1 - x²).

    >>> import pullback as pb
    >>> pb.asin(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 1.57079633])
    """


@asin.pullback("x")
def pullback_asin(g: Any, x: Any) -> Any:
    if is_complex(x):
        return _by_roots(g, x)
    return quotient(g, sqrt((1 - x) * (1 + x)))


@known_as(numpy="arccos", torch="arccos")
@op(native="acos", elementwise=True)
def acos(x: Any, /) -> Any:
    """The inverse cosine of x, in [0, π]. The derivative is -1 / √(1 - x²).

    >>> import pullback as pb
    >>> pb.acos(pb.tensor([0.0, 1.0]))
    Tensor([1.57079633, 0.        ])
    """


@acos.pullback("x")
def pullback_acos(g: Any, x: Any) -> Any:
    if is_complex(x):
        return -_by_roots(g, x)
    return -quotient(g, sqrt((1 - x) * (1 + x)))


@known_as(numpy="arctan", torch="arctan")
@op(native="atan", elementwise=True)
def atan(x: Any, /) -> Any:
    """The inverse tangent of x, in [-π/2, π/2]. The derivative is 1 / (1 + x²).

    >>> import pullback as pb
    >>> pb.atan(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.78539816])
    """


@atan.pullback("x")
def pullback_atan(g: Any, x: Any) -> Any:
    if is_complex(x):  # the square cancels near ±i
        return quotient(quotient(g, 1 + 1j * x), 1 - 1j * x)
    return g / (1 + x * x)


@known_as(numpy="arctan2", torch="arctan2")
@op(native="atan2", elementwise=True)
def atan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), in [-π, π]: x1 is the y coordinate, x2 the x coordinate.

    The derivatives are x2 / r² and -x1 / r² with r² = x1² + x2², and 0 where r is 0.

    >>> import pullback as pb
    >>> pb.atan2(pb.tensor([0.0, 1.0]), pb.tensor([-1.0, 0.0]))
    Tensor([3.14159265, 1.57079633])
    """


@atan2.partial("x1")
def partial_atan2_x1(x1: Any, x2: Any) -> Any:
    r = hypot(x1, x2)
    return quotient(quotient(x2, r), r)


@atan2.partial("x2")
def partial_atan2_x2(x1: Any, x2: Any) -> Any:
    r = hypot(x1, x2)
    return -quotient(quotient(x1, r), r)


# Hyperbolic ---------------------------------------------------------------------------------


@op(native="sinh", elementwise=True)
def sinh(x: Any, /) -> Any:
    """(eˣ - e⁻ˣ) / 2. The derivative is cosh x.

    >>> import pullback as pb
    >>> pb.sinh(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 1.17520119])
    """


@sinh.partial("x")
def partial_sinh(x: Any) -> Any:
    return cosh(x)


@op(native="cosh", elementwise=True)
def cosh(x: Any, /) -> Any:
    """(eˣ + e⁻ˣ) / 2. The derivative is sinh x.

    >>> import pullback as pb
    >>> pb.cosh(pb.tensor([0.0, 1.0]))
    Tensor([1.        , 1.54308063])
    """


@cosh.partial("x")
def partial_cosh(x: Any) -> Any:
    return sinh(x)


@op(native="tanh", elementwise=True)
def tanh(x: Any, /) -> Any:
    """sinh x / cosh x. The derivative is 1 - tanh² x.

    >>> import pullback as pb
    >>> pb.tanh(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.76159416])
    """


@tanh.partial("x")
def partial_tanh(out: Any) -> Any:
    return 1 - out * out


@known_as(numpy="arcsinh", torch="arcsinh")
@op(native="asinh", elementwise=True)
def asinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine of x. The derivative is 1 / √(1 + x²).

    >>> import pullback as pb
    >>> pb.asinh(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.88137359])
    """


@asinh.pullback("x")
def pullback_asinh(g: Any, x: Any) -> Any:
    return _by_roots(g, _turned(x)) if is_complex(x) else g / hypot(x, 1.0)


@known_as(numpy="arccosh", torch="arccosh")
@op(native="acosh", elementwise=True)
def acosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine (≥ 0) of x ≥ 1. The derivative is 1 / √(x² - 1).

    >>> import pullback as pb
    >>> pb.acosh(pb.tensor([1.0, 2.0]))
    Tensor([0.       , 1.3169579])
    """


@acosh.pullback("x")
def pullback_acosh(g: Any, x: Any) -> Any:
    # Two roots, because for complex x the root of the product has another branch cut.
    return quotient(quotient(g, sqrt(x - 1)), sqrt(_above(x) if is_complex(x) else x + 1))


@known_as(numpy="arctanh", torch="arctanh")
@op(native="atanh", elementwise=True)
def atanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent of x in [-1, 1]. The derivative is 1 / (1 - x²).

    >>> import pullback as pb
    >>> pb.atanh(pb.tensor([0.0, 0.5]))
    Tensor([0.        , 0.54930614])
    """


@atanh.pullback("x")
def pullback_atanh(g: Any, x: Any) -> Any:
    if is_complex(x):  # the product overflows far out
        return quotient(quotient(g, 1 - x), 1 + x)
    return quotient(g, (1 - x) * (1 + x))
