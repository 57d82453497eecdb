"""Bessel functions of the first kind, with SciPy's names and values, and sinc, which is one.

Derivatives come from the neighbouring orders; their mean has no singularity at 0. The scaled
functions (`i0e`, `ive`) have the factor exp(-|x|), whose derivative at 0 is taken to be 0. There is
no rule for derivatives in the order: requesting one raises `NotDifferentiableError`.
"""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import sign
from .declaring import known_as, op
from .selecting import where
from .special_gamma import refuse_derivative

__all__ = [
    "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jv", "sinc", "spherical_jn",
]


@known_as(torch="special.modified_bessel_i0")
@op(native="i0", elementwise=True)
def i0(x: Any, /) -> Any:
    """The modified Bessel function I₀(x), for real x. The derivative is I₁(x).

    >>> import pullback as pb
    >>> pb.special.i0(pb.tensor([0.0, 1.0]))
    Tensor([1.        , 1.26606588])
    """


@i0.partial("x")
def partial_i0(x: Any) -> Any:
    return i1(x)


@known_as(torch="special.modified_bessel_i1")
@op(native="i1", elementwise=True)
def i1(x: Any, /) -> Any:
    """The modified Bessel function I₁(x), for real x. The derivative is (I₀(x) + I₂(x)) / 2.

    >>> import pullback as pb
    >>> pb.special.i1(pb.tensor([0.0, 1.0]))
    Tensor([0.       , 0.5651591])
    """


@i1.partial("x")
def partial_i1(x: Any) -> Any:
    return (i0(x) + iv(2, x)) / 2


@op(native="i0e", elementwise=True)
def i0e(x: Any, /) -> Any:
    """I₀(x) exp(-|x|), which does not overflow. The derivative at 0 is 0.

    >>> import pullback as pb
    >>> pb.special.i0e(pb.tensor([0.0, 1000.0]))
    Tensor([1.        , 0.01261724])
    """


@i0e.partial("x")
def partial_i0e(x: Any, out: Any) -> Any:
    return i1e(x) - sign(x) * out


@op(native="i1e", elementwise=True)
def i1e(x: Any, /) -> Any:
    """I₁(x) exp(-|x|), which does not overflow.

    >>> import pullback as pb
    >>> pb.special.i1e(pb.tensor([0.0, 1000.0]))
    Tensor([0.        , 0.01261093])
    """


@i1e.partial("x")
def partial_i1e(x: Any, out: Any) -> Any:
    return (i0e(x) + ive(2, x)) / 2 - sign(x) * out


@op(native="iv", elementwise=True)
def iv(v: Any, x: Any, /) -> Any:
    """The modified Bessel function of the first kind of order v; x < 0 needs an integer order.

    The derivative in x is (I(v - 1, x) + I(v + 1, x)) / 2. Raises `NotDifferentiableError` if the
    derivative in v is requested.

    >>> import pullback as pb
    >>> pb.special.iv(2, pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.13574767])
    """


@iv.pullback("v")
def pullback_iv_v(g: Any) -> Any:
    refuse_derivative("iv", "v")


@iv.partial("x")
def partial_iv_x(v: Any, x: Any) -> Any:
    return (iv(v - 1, x) + iv(v + 1, x)) / 2


@op(native="ive", elementwise=True)
def ive(v: Any, x: Any, /) -> Any:
    """iv(v, x) exp(-|x|), which does not overflow; v as in `iv`.

    >>> import pullback as pb
    >>> pb.special.ive(2, pb.tensor([0.0, 1000.0]))
    Tensor([0.        , 0.01259202])
    """


@ive.pullback("v")
def pullback_ive_v(g: Any) -> Any:
    refuse_derivative("ive", "v")


@ive.partial("x")
def partial_ive_x(v: Any, x: Any, out: Any) -> Any:
    return (ive(v - 1, x) + ive(v + 1, x)) / 2 - sign(x) * out


@known_as(torch="special.bessel_j0")
@op(native="j0", elementwise=True)
def j0(x: Any, /) -> Any:
    """The Bessel function J₀(x), for real x. The derivative is -J₁(x).

    >>> import pullback as pb
    >>> pb.special.j0(pb.tensor([0.0, 1.0]))
    Tensor([1.        , 0.76519769])
    """


@j0.partial("x")
def partial_j0(x: Any) -> Any:
    return -j1(x)


@known_as(torch="special.bessel_j1")
@op(native="j1", elementwise=True)
def j1(x: Any, /) -> Any:
    """The Bessel function J₁(x), for real x. The derivative is (J₀(x) - J₂(x)) / 2.

    >>> import pullback as pb
    >>> pb.special.j1(pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.44005059])
    """


@j1.partial("x")
def partial_j1(x: Any) -> Any:
    return (j0(x) - jv(2, x)) / 2


@op(native="jv", elementwise=True)
def jv(v: Any, x: Any, /) -> Any:
    """The Bessel function of the first kind of order v; x < 0 as in `iv`. Alias: `jn`.

    The derivative in x is (J(v - 1, x) - J(v + 1, x)) / 2. Raises `NotDifferentiableError` if the
    derivative in v is requested.

    >>> import pullback as pb
    >>> pb.special.jv(2, pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.11490348])
    """


@jv.pullback("v")
def pullback_jv_v(g: Any) -> Any:
    refuse_derivative("jv", "v")


@jv.partial("x")
def partial_jv_x(v: Any, x: Any) -> Any:
    return (jv(v - 1, x) - jv(v + 1, x)) / 2


@op(native="spherical_jn", elementwise=True)
def spherical_jn(n: Any, x: Any, /) -> Any:
    """The spherical Bessel function of integer order n ≥ 0, √(π / 2x) J(n + 1/2, x), for real x.

    The derivative in x is (n j(n - 1, x) - (n + 1) j(n + 1, x)) / (2n + 1). The result has the
    dtype of x. Raises `NotDifferentiableError` if the derivative in n is requested.

    >>> import pullback as pb
    >>> pb.special.spherical_jn(1, pb.tensor([0.0, 1.0]))
    Tensor([0.        , 0.30116868])
    """


@spherical_jn.pullback("n")
def pullback_spherical_jn_n(g: Any) -> Any:
    refuse_derivative("spherical_jn", "n")


@spherical_jn.partial("x")
def partial_spherical_jn_x(n: Any, x: Any) -> Any:
    below = spherical_jn(n - where(n > 0, 1, 0), x)  # has weight 0 where n is 0
    return (below * n - spherical_jn(n + 1, x) * (n + 1)) / (2 * n + 1)


def sinc(x: Any, /) -> Any:
    """sin(πx) / (πx), and 1 at 0. The derivative -π j(1, πx) is accurate near 0, and 0 at 0.

    >>> import pullback as pb
    >>> pb.special.sinc(pb.tensor([0.0, 0.5]))
    Tensor([1.        , 0.63661977])
    """
    return spherical_jn(0, x * math.pi)
