"""Arithmetic: sums, products, quotients, remainders, absolute values and signs, elementwise.

Kinks: `abs` has derivative 0 at 0, and so has `copysign` in its first argument. A zero cotangent
stays zero where a derivative is infinite (`1 / x` at 0), so an entry that a later `where` discarded
contributes nothing; see `quotient`. Overflow is not hidden: 0 times an overflowed ∞ stays NaN.
"""

from __future__ import annotations

from typing import Any

from ..core.cotangent import is_complex
from ..core.op import OPS
from .declaring import known_as, op

__all__ = [
    "abs", "add", "copysign", "divide", "floor_divide", "multiply", "negative", "nextafter",
    "positive", "quotient", "reciprocal", "remainder", "sign", "signbit", "subtract",
]

# Sums and products --------------------------------------------------------------------------


@op(native="add", elementwise=True)
def add(x1: Any, x2: Any, /) -> Any:
    """x1 + x2.

    >>> import pullback as pb
    >>> pb.add(pb.tensor([1.0, 2.0]), 3.0)
    Tensor([4., 5.])
    """


@add.pullback("x1", "x2")
def pullback_add(g: Any) -> Any:
    return g


@op(native="subtract", elementwise=True)
def subtract(x1: Any, x2: Any, /) -> Any:
    """x1 - x2.

    >>> import pullback as pb
    >>> pb.subtract(pb.tensor([1.0, 2.0]), 3.0)
    Tensor([-2., -1.])
    """


@subtract.pullback("x1")
def pullback_subtract_x1(g: Any) -> Any:
    return g


@subtract.pullback("x2")
def pullback_subtract_x2(g: Any) -> Any:
    return -g


@op(native="multiply", elementwise=True)
def multiply(x1: Any, x2: Any, /) -> Any:
    """x1 · x2.

    >>> import pullback as pb
    >>> pb.multiply(pb.tensor([1.0, 2.0]), 3.0)
    Tensor([3., 6.])
    """


@multiply.partial("x1")
def partial_multiply_x1(x2: Any) -> Any:
    return x2


@multiply.partial("x2")
def partial_multiply_x2(x1: Any) -> Any:
    return x1


@known_as(torch="neg")
@op(native="negative", elementwise=True)
def negative(x: Any, /) -> Any:
    """-x.

    >>> import pullback as pb
    >>> pb.negative(pb.tensor([1.0, -2.0]))
    Tensor([-1.,  2.])
    """


@negative.pullback("x")
def pullback_negative(g: Any) -> Any:
    return -g


@op(native="positive", elementwise=True)
def positive(x: Any, /) -> Any:
    """+x: the same values in a new array.

    >>> import pullback as pb
    >>> pb.positive(pb.tensor([1.0, -2.0]))
    Tensor([ 1., -2.])
    """


@positive.pullback("x")
def pullback_positive(g: Any) -> Any:
    return g


# Quotients ----------------------------------------------------------------------------------


@known_as(numpy="true_divide")
@op(native="divide", elementwise=True)
def divide(x1: Any, x2: Any, /) -> Any:
    """x1 / x2.

    Where x2 is 0, a cotangent of 0 stays 0 and any other becomes infinite.

    >>> import pullback as pb
    >>> pb.divide(pb.tensor([1.0, 2.0]), 4.0)
    Tensor([0.25, 0.5 ])
    """


@divide.pullback("x1")
def pullback_divide_x1(g: Any, x2: Any) -> Any:
    return quotient(g, x2)


@divide.pullback("x2")
def pullback_divide_x2(g: Any, x1: Any, x2: Any) -> Any:
    # Not g · x1 / x2²: the square overflows or underflows long before the result does.
    return -quotient(quotient(g, x2) * x1, x2)


@op(elementwise=True)
def quotient(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 / x2, and 0 where both are 0.

    For gradients, with a cotangent as x1 and a factor that may be 0 as x2: a zero cotangent stays
    0 even where the derivative is infinite (x2 is 0). At 0 / 0 the derivative in x2 is 0, since
    0 / x2 is 0 everywhere, and the derivative in x1 is infinite.

    >>> import pullback as pb
    >>> pb.quotient(pb.tensor([0.0, 1.0]), pb.tensor([0.0, 4.0]))
    Tensor([0.  , 0.25])
    """
    return x1 / xp.where((x1 == 0) & (x2 == 0), 1, x2)


@quotient.pullback("x1")
def pullback_quotient_x1(g: Any, x2: Any) -> Any:
    return quotient(g, x2)


@quotient.pullback("x2")
def pullback_quotient_x2(g: Any, x1: Any, x2: Any) -> Any:
    return -quotient(quotient(product_or_zero(x1, g), x2), x2)


@op(elementwise=True)
def product_or_zero(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 · x2, and 0 where one factor is 0, even if the other is infinite or NaN.

    In higher derivatives of a quotient, a cotangent may have been divided by 0 before it is
    multiplied by the 0 that discards it. Do not use it elsewhere: it would hide overflow.

    >>> import pullback as pb
    >>> product_or_zero(pb.tensor([0.0, 2.0]), pb.tensor([float("inf"), 3.0]))
    Tensor([0., 6.])
    """
    zero = (x1 == 0) | (x2 == 0)
    return xp.where(zero, 0, x1) * xp.where(zero, 0, x2)


@product_or_zero.pullback("x1")
def pullback_product_or_zero_x1(g: Any, x2: Any) -> Any:
    return product_or_zero(g, x2)


@product_or_zero.pullback("x2")
def pullback_product_or_zero_x2(g: Any, x1: Any) -> Any:
    return product_or_zero(x1, g)


@op(elementwise=True)
def reciprocal(xp: Any, x: Any, /) -> Any:
    """1 / x; where x is 0, derivatives are as in `divide`.

    >>> import pullback as pb
    >>> pb.reciprocal(pb.tensor([1.0, 4.0]))
    Tensor([1.  , 0.25])
    """
    return 1 / x


@reciprocal.pullback("x")
def pullback_reciprocal(g: Any, x: Any) -> Any:
    return -quotient(quotient(g, x), x)


@op(native="floor_divide", elementwise=True, flat=True)
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """⌊x1 / x2⌋: the largest integer not above the quotient. Its derivative is 0.

    >>> import pullback as pb
    >>> pb.floor_divide(pb.tensor([7.0, -7.0]), 2.0)
    Tensor([ 3., -4.])
    """


@op(native="remainder", elementwise=True)
def remainder(x1: Any, x2: Any, /) -> Any:
    """x1 - x2 ⌊x1 / x2⌋, with the sign of x2. The derivatives are 1 and -⌊x1 / x2⌋.

    >>> import pullback as pb
    >>> pb.remainder(pb.tensor([7.0, -7.0]), 4.0)
    Tensor([3., 1.])
    """


@remainder.pullback("x1")
def pullback_remainder_x1(g: Any) -> Any:
    return g


@remainder.partial("x2")
def partial_remainder_x2(x1: Any, x2: Any) -> Any:
    return -floor_divide(x1, x2)


# Magnitudes and signs -----------------------------------------------------------------------


@known_as(numpy="absolute fabs", torch="absolute")
@op(native="abs", elementwise=True)
def abs(x: Any, /) -> Any:
    """|x|; real also for complex x. The derivative is `sign(x)`: 0 at 0.

    >>> import pullback as pb
    >>> pb.abs(pb.tensor([-1.0, 0.0, 2.0]))
    Tensor([1., 0., 2.])
    """


@abs.partial("x")
def partial_abs(x: Any) -> Any:
    return OPS["conj"](sign(x)) if is_complex(x) else sign(x)


@known_as(torch="sgn")
@op(native="sign", elementwise=True)
def sign(x: Any, /) -> Any:
    """x / |x|, and 0 at 0: -1, 0 or 1 for real x, on the unit circle for complex x.

    The derivative is 0 for real x. For complex x it is the change of the angle, and 0 only at 0.

    >>> import pullback as pb
    >>> pb.sign(pb.tensor([-1.5, 0.0, 2.0]))
    Tensor([-1.,  0.,  1.])
    """


@sign.pullback("x")
def pullback_sign(g: Any, x: Any) -> Any:
    # Real x is not needed by this rule, but by rules that overrides substitute for it later.
    if not is_complex(x):
        return OPS["zeros_like"](g)
    unit = sign(x)  # only its angle changes: d unit = i · unit · Im(dx / unit) / |x|
    return quotient(1j * OPS["conj"](unit) * OPS["imag"](g * unit), abs(x))


@sign.pushforward("x")
def pushforward_sign(t: Any, x: Any) -> Any:
    if not is_complex(x):
        return OPS["zeros_like"](t)
    unit = sign(x)
    return quotient(1j * unit * OPS["imag"](OPS["conj"](unit) * t), abs(x))


@op(native="signbit", elementwise=True, differentiable=False)
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: true for negative numbers and for -0.

    >>> import pullback as pb
    >>> pb.signbit(pb.tensor([-0.0, 0.0]))
    Tensor([ True, False])
    """


@op(native="copysign", elementwise=True)
def copysign(x1: Any, x2: Any, /) -> Any:
    """|x1| with the sign of x2. The derivatives are ±1 (0 where x1 is 0) and 0.

    >>> import pullback as pb
    >>> pb.copysign(pb.tensor([1.0, -2.0]), -0.0)
    Tensor([-1., -2.])
    """


@copysign.partial("x1")
def partial_copysign_x1(x1: Any, out: Any) -> Any:
    return sign(x1) * sign(out)


@copysign.pullback("x2")
def pullback_copysign_x2(g: Any) -> Any:
    return OPS["zeros_like"](g)


@op(native="nextafter", elementwise=True)
def nextafter(x1: Any, x2: Any, /) -> Any:
    """The next representable number after x1 in the direction of x2. The derivatives are 1 and 0.

    >>> import pullback as pb
    >>> pb.nextafter(pb.tensor([1.0]), 2.0) > 1.0
    Tensor([ True])
    """


@nextafter.pullback("x1")
def pullback_nextafter_x1(g: Any) -> Any:
    return g


@nextafter.pullback("x2")
def pullback_nextafter_x2(g: Any) -> Any:
    return OPS["zeros_like"](g)
