"""Logarithms with weights that may be zero: xlogy, entropies, divergences, logit.

A zero weight makes the product 0 even where the logarithm is infinite, and a zero cotangent stays
zero. Where both arguments are 0, the derivatives of xlogy and rel_entr are 0; those of kl_div are
0 and 1, because its value along x = 0 is y. Where only x is 0, the derivatives of entr, rel_entr
and kl_div in x are infinite. Outside the domain, where the entropies are infinite, they are NaN.
"""

from __future__ import annotations

from typing import Any

from .arithmetic import quotient
from .declaring import op
from .selecting import where

__all__ = ["entr", "kl_div", "logit", "rel_entr", "xlog1py", "xlogy"]


@op(native="xlogy", elementwise=True)
def xlogy(x: Any, y: Any, /) -> Any:
    """x log(y), and 0 where x = 0. The derivatives are log(y) and x / y.

    >>> import pullback as pb
    >>> pb.special.xlogy(pb.tensor([0.0, 2.0]), pb.tensor([0.0, 1.0]))
    Tensor([0., 0.])
    """


@xlogy.pullback("x")
def pullback_xlogy_x(g: Any, x: Any, y: Any) -> Any:
    return xlogy(g, where((x == 0) & (y <= 0), 1, y))


@xlogy.pullback("y")
def pullback_xlogy_y(g: Any, x: Any, y: Any) -> Any:
    return quotient(g * x, y)


@op(native="xlog1py", elementwise=True)
def xlog1py(x: Any, y: Any, /) -> Any:
    """x log(1 + y), and 0 where x = 0. The derivatives are log(1 + y) and x / (1 + y).

    >>> import pullback as pb
    >>> pb.special.xlog1py(pb.tensor([0.0, 2.0]), pb.tensor([-1.0, 0.0]))
    Tensor([0., 0.])
    """


@xlog1py.pullback("x")
def pullback_xlog1py_x(g: Any, x: Any, y: Any) -> Any:
    return xlog1py(g, where((x == 0) & (y <= -1), 0, y))


@xlog1py.pullback("y")
def pullback_xlog1py_y(g: Any, x: Any, y: Any) -> Any:
    return quotient(g * x, 1 + y)


@op(native="entr", elementwise=True)
def entr(x: Any, /) -> Any:
    """-x log(x), 0 at 0 and -∞ below. The derivative is -log(x) - 1, infinite at 0.

    >>> import pullback as pb
    >>> pb.special.entr(pb.tensor([0.0, 0.5, -1.0]))
    Tensor([0.        , 0.34657359,       -inf])
    """


@entr.pullback("x")
def pullback_entr(g: Any, x: Any) -> Any:
    return -xlogy(g, x) - g


@op(native="rel_entr", elementwise=True)
def rel_entr(x: Any, y: Any, /) -> Any:
    """x log(x / y) for positive x and y, 0 at x = 0 ≤ y, else ∞.

    The derivatives are log(x / y) + 1 and -x / y.

    >>> import pullback as pb
    >>> pb.special.rel_entr(pb.tensor([0.0, 1.0]), pb.tensor([0.0, 0.5]))
    Tensor([0.        , 0.69314718])
    """


@rel_entr.pullback("x")
def pullback_rel_entr_x(g: Any, x: Any, y: Any) -> Any:
    return _log_ratio(g, x, y) + where((x == 0) & (y == 0), 0, g)


@rel_entr.pullback("y")
def pullback_rel_entr_y(g: Any, x: Any, y: Any) -> Any:
    return -quotient(g * x, y)


@op(native="kl_div", elementwise=True)
def kl_div(x: Any, y: Any, /) -> Any:
    """x log(x / y) - x + y for positive x and y, y at x = 0 ≤ y, else ∞.

    The derivatives are log(x / y) and 1 - x / y.

    >>> import pullback as pb
    >>> pb.special.kl_div(pb.tensor([0.0, 1.0]), pb.tensor([2.0, 0.5]))
    Tensor([2.        , 0.19314718])
    """


@kl_div.pullback("x")
def pullback_kl_div_x(g: Any, x: Any, y: Any) -> Any:
    return _log_ratio(g, x, y)


@kl_div.pullback("y")
def pullback_kl_div_y(g: Any, x: Any, y: Any) -> Any:
    return g - quotient(g * x, y)


def _log_ratio(g: Any, x: Any, y: Any) -> Any:
    """g log(x / y), and 0 where both are 0."""
    nothing = (x == 0) & (y == 0)
    return xlogy(g, where(nothing, 1, x)) - xlogy(g, where(nothing, 1, y))


@op(native="logit", elementwise=True)
def logit(x: Any, /) -> Any:
    """log(x / (1 - x)), for x in [0, 1]. The derivative is 1 / (x (1 - x)).

    >>> import pullback as pb
    >>> pb.special.logit(pb.tensor([0.0, 0.5, 1.0]))
    Tensor([-inf,   0.,  inf])
    """


@logit.pullback("x")
def pullback_logit(g: Any, x: Any) -> Any:
    return quotient(quotient(g, x), 1 - x)
