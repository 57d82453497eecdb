"""Bessel functions of the second kind: Y, and the modified K, with SciPy's names and values.

They are defined for x > 0, infinite at 0, and NaN for x < 0. Derivatives come from the neighbouring
orders, as in `special_bessel.py`; at 0 they are infinite, and a zero cotangent stays zero. There
is no rule for derivatives in the order.
"""

from __future__ import annotations

from typing import Any

from .comparing import isinf
from .declaring import known_as, op
from .selecting import where
from .special_gamma import refuse_derivative, weighted

__all__ = ["k0", "k0e", "k1", "k1e", "kv", "kve", "y0", "y1", "yv"]


@known_as(torch="special.bessel_y0")
@op(native="y0", elementwise=True)
def y0(x: Any, /) -> Any:
    """The Bessel function of the second kind Y₀(x), for real x ≥ 0. The derivative is -Y₁(x).

    >>> import pullback as pb
    >>> pb.special.y0(pb.tensor([0.0, 1.0]))
    Tensor([      -inf, 0.08825696])
    """


@y0.pullback("x")
def pullback_y0(g: Any, x: Any) -> Any:
    return -weighted(g, y1(x))


@known_as(torch="special.bessel_y1")
@op(native="y1", elementwise=True)
def y1(x: Any, /) -> Any:
    """The Bessel function Y₁(x), for real x ≥ 0. The derivative is (Y₀(x) - Y₂(x)) / 2.

    >>> import pullback as pb
    >>> pb.special.y1(pb.tensor([0.0, 1.0]))
    Tensor([       -inf, -0.78121282])
    """


@y1.pullback("x")
def pullback_y1(g: Any, x: Any) -> Any:
    return weighted(g, _slope(1, y0(x), yv(2, x)))


@op(native="yv", elementwise=True)
def yv(v: Any, x: Any, /) -> Any:
    """The Bessel function of the second kind of order v, for x ≥ 0. Alias: `yn`.

    The derivative in x is (Y(v - 1, x) - Y(v + 1, x)) / 2. Raises `NotDifferentiableError` if the
    derivative in v is requested.

    >>> import pullback as pb
    >>> pb.special.yv(2, pb.tensor([0.0, 1.0]))
    Tensor([       -inf, -1.65068261])
    """


@yv.pullback("v")
def pullback_yv_v(g: Any) -> Any:
    refuse_derivative("yv", "v")


@yv.pullback("x")
def pullback_yv_x(g: Any, v: Any, x: Any) -> Any:
    return weighted(g, _slope(v, yv(v - 1, x), yv(v + 1, x)))


def _slope(v: Any, below: Any, above: Any) -> Any:
    """(below - above) / 2; where both are infinite, the one of the larger order decides."""
    both = isinf(below) & isinf(above)
    return (where(both & (v > 0), 0, below) - where(both & (v < 0), 0, above)) / 2


@known_as(torch="special.modified_bessel_k0")
@op(native="k0", elementwise=True)
def k0(x: Any, /) -> Any:
    """The modified Bessel function K₀(x), for real x ≥ 0. The derivative is -K₁(x).

    >>> import pullback as pb
    >>> pb.special.k0(pb.tensor([0.0, 1.0]))
    Tensor([       inf, 0.42102444])
    """


@k0.pullback("x")
def pullback_k0(g: Any, x: Any) -> Any:
    return -weighted(g, k1(x))


@known_as(torch="special.modified_bessel_k1")
@op(native="k1", elementwise=True)
def k1(x: Any, /) -> Any:
    """The modified Bessel function K₁(x), for real x ≥ 0. The derivative is -(K₀(x) + K₂(x)) / 2.

    >>> import pullback as pb
    >>> pb.special.k1(pb.tensor([0.0, 1.0]))
    Tensor([       inf, 0.60190723])
    """


@k1.pullback("x")
def pullback_k1(g: Any, x: Any) -> Any:
    return -weighted(g, (k0(x) + kv(2, x)) / 2)


@known_as(torch="special.scaled_modified_bessel_k0")
@op(native="k0e", elementwise=True)
def k0e(x: Any, /) -> Any:
    """K₀(x) exp(x), which does not underflow.

    >>> import pullback as pb
    >>> pb.special.k0e(pb.tensor([1.0, 1000.0]))
    Tensor([1.14446308, 0.03962832])
    """


@k0e.pullback("x")
def pullback_k0e(g: Any, x: Any, out: Any) -> Any:
    return weighted(g, _scaled(out, k1e(x)))


@known_as(torch="special.scaled_modified_bessel_k1")
@op(native="k1e", elementwise=True)
def k1e(x: Any, /) -> Any:
    """K₁(x) exp(x), which does not underflow.

    >>> import pullback as pb
    >>> pb.special.k1e(pb.tensor([1.0, 1000.0]))
    Tensor([1.63615349, 0.03964813])
    """


@k1e.pullback("x")
def pullback_k1e(g: Any, x: Any, out: Any) -> Any:
    return weighted(g, _scaled(out, (k0e(x) + kve(2, x)) / 2))


@op(native="kv", elementwise=True)
def kv(v: Any, x: Any, /) -> Any:
    """The modified Bessel function of the second kind of order v, for x ≥ 0. Alias: `kn`.

    The derivative in x is -(K(v - 1, x) + K(v + 1, x)) / 2. Raises `NotDifferentiableError` if the
    derivative in v is requested.

    >>> import pullback as pb
    >>> pb.special.kv(2, pb.tensor([0.0, 1.0]))
    Tensor([      inf, 1.6248389])
    """


@kv.pullback("v")
def pullback_kv_v(g: Any) -> Any:
    refuse_derivative("kv", "v")


@kv.pullback("x")
def pullback_kv_x(g: Any, v: Any, x: Any) -> Any:
    return -weighted(g, (kv(v - 1, x) + kv(v + 1, x)) / 2)


@op(native="kve", elementwise=True)
def kve(v: Any, x: Any, /) -> Any:
    """kv(v, x) exp(x), which does not underflow; v as in `kv`.

    >>> import pullback as pb
    >>> pb.special.kve(2, pb.tensor([1.0, 1000.0]))
    Tensor([4.41677005, 0.03970762])
    """


@kve.pullback("v")
def pullback_kve_v(g: Any) -> Any:
    refuse_derivative("kve", "v")


@kve.pullback("x")
def pullback_kve_x(g: Any, v: Any, x: Any, out: Any) -> Any:
    return weighted(g, _scaled(out, (kve(v - 1, x) + kve(v + 1, x)) / 2))


def _scaled(out: Any, fall: Any) -> Any:
    """out - fall; where both are infinite, fall is the larger."""
    return where(isinf(out), 0, out) - fall
