"""Arithmetic: sums, products, quotients, remainders, signs and powers, elementwise.

Kinks: `abs` at 0 has derivative 0; `x ** 0` has derivative 0 in x, at 0 too; in `x ** y` the
derivative in y is 0 where x is 0. A zero cotangent stays zero whatever it meets in a quotient.
"""

from __future__ import annotations

from typing import Any

from ..core.op import op

__all__ = ["add", "multiply", "negative", "subtract"]

# One elementwise operation a block: signature and meaning, then its partial derivatives.


@op(native="add", elementwise=True)
def add(x1: Any, x2: Any, /) -> Any:
    """x1 + x2.

    >>> add(2.0, 3.0)
    5.0
    """


@add.pullback("x1", "x2")
def pullback_add(g: Any) -> Any:
    return g


@op(native="subtract", elementwise=True)
def subtract(x1: Any, x2: Any, /) -> Any:
    """x1 - x2.

    >>> subtract(2.0, 3.0)
    -1.0
    """


@subtract.pullback("x1")
def pullback_subtract_x1(g: Any) -> Any:
    return g


@subtract.pullback("x2")
def pullback_subtract_x2(g: Any) -> Any:
    return -g


@op(native="multiply", elementwise=True)
def multiply(x1: Any, x2: Any, /) -> Any:
    """x1 * x2.

    >>> multiply(2.0, 3.0)
    6.0
    """


@multiply.partial("x1")
def partial_multiply_x1(x2: Any) -> Any:
    return x2


@multiply.partial("x2")
def partial_multiply_x2(x1: Any) -> Any:
    return x1


@op(native="negative", elementwise=True)
def negative(x: Any, /) -> Any:
    """-x.

    >>> negative(2.0)
    -2.0
    """


@negative.pullback("x")
def pullback_negative(g: Any) -> Any:
    return -g
