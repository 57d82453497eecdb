"""NumPy: special functions from SciPy, imported on first use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from ..reflection import mended_digamma

_WIDENING = ("beta", "betaln", "gammainc", "gammaincc", "xlog1py", "xlogy")
"""SciPy functions that turn a float32 array and a Python number into float64."""

LAZY: dict[str, str] = {
    **dict.fromkeys(
        (
            "betainc", "entr", "erfcinv", "erfinv", "gamma",
            "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1",
            "jv", "k0", "k0e", "k1", "k1e", "kv", "log_ndtr", "logit", "ndtr",
            "ndtri", "rel_entr", "y0", "y1", "yv",
        ),
        "scipy.special",
    ),
    **dict.fromkeys(
        (*_WIDENING, "digamma", "hazard", "iv", "ive", "kl_div", "kve", "polygamma",
         "spherical_jn", "zeta"),
        __name__,
    ),
    **dict.fromkeys(
        ("betainc_by_a", "betainc_by_b", "gammainc_by_a"),
        __name__.replace("special", "incomplete"),
    ),
}
"""Kernel -> the module that has it."""


def __getattr__(name: str) -> Callable[..., Any]:
    """The kernel of a function that widens its dtype."""
    if name not in _WIDENING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special

    function = getattr(special, name)

    def kernel(x1: Any, x2: Any) -> Any:
        dtype = numpy.result_type(x1, x2)
        return function(x1, x2, dtype=dtype) if dtype == numpy.float32 else function(x1, x2)

    return kernel


def hazard(x: Any) -> Any:
    """φ(x) / Φ(x), by the scaled error function, so that no tail becomes 0 / 0."""
    from scipy.special import erfcx

    with numpy.errstate(divide="ignore"):
        return math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))


def digamma(x: Any) -> Any:
    """SciPy's `digamma`, corrected near its negative poles, where SciPy is up to 40 % off."""
    from scipy.special import digamma

    return mended_digamma(numpy, digamma, numpy.asarray(x))[()]


def log1p(x: Any) -> Any:
    """NumPy's `log1p`; of complex numbers by Kahan's formula, as NumPy returns 0 for 1e-20 + 0j."""
    if x.dtype.kind != "c":
        return numpy.log1p(x)
    u = -(-x - 1)  # 1 + x, with the sign of an imaginary 0
    off = u - 1
    near, same, far = numpy.abs(x) < 0.5, off == 0, numpy.log(u)
    scaled = numpy.where(near, far, 0) * (x / numpy.where(same | ~near, 1, off))
    return numpy.where(same, x, numpy.where(near, scaled, far))[()]


def kl_div(x: Any, y: Any) -> Any:
    """SciPy's `kl_div`, corrected where x / y underflows and SciPy returns infinity."""
    from scipy.special import kl_div, rel_entr

    found = kl_div(x, y)
    lost = numpy.isinf(found) & (x > 0) & (y > 0) & (y < math.inf) & (x < math.inf)
    if not numpy.any(lost):
        return found
    return numpy.where(lost, rel_entr(x, y) - x + y, found).astype(found.dtype)[()]


def iv(v: Any, x: Any) -> Any:
    """SciPy's `iv`, corrected for subnormal numbers, where SciPy returns NaN."""
    from scipy.special import iv

    return iv(v, _flushed(x))


def ive(v: Any, x: Any) -> Any:
    """SciPy's `ive`, corrected for subnormal and large numbers, where SciPy returns NaN."""
    from scipy.special import ive

    return _or_far(ive(v, _flushed(x)), v, x, -1 / 8, 1 / (2 * math.pi))


def kve(v: Any, x: Any) -> Any:
    """SciPy's `kve`, corrected for large numbers, where SciPy returns NaN."""
    from scipy.special import kve

    return _or_far(kve(v, x), v, x, 1 / 8, math.pi / 2)


def _or_far(near: Any, v: Any, x: Any, slope: float, factor: float) -> Any:
    """Where x > 1e8, the expansion √(factor / x) (1 + slope (4v² - 1) / x); DLMF 10.40."""
    far = numpy.asarray(x) > 1e8
    if not far.any():
        return near
    large = numpy.where(far, x, 1e8)
    series = numpy.sqrt(factor / large) * (1 + slope * (4 * numpy.square(v) - 1) / large)
    dtype = numpy.asarray(near).dtype
    return numpy.where(far & numpy.isnan(near), series, near).astype(dtype)[()]


def _flushed(x: Any) -> Any:
    """x, with 0 for subnormal numbers and the smallest normal one."""
    x = numpy.asarray(x)
    tiny = numpy.abs(x) <= numpy.finfo(numpy.float64).tiny
    return numpy.where(tiny, x.dtype.type(0), x)[()] if tiny.any() else x[()]


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma, in the dtype of x (SciPy widens float32)."""
    from scipy.special import polygamma

    return polygamma(n, x).astype(_dtype_of(x))[()]


def spherical_jn(n: Any, x: Any) -> Any:
    """The spherical Bessel function of order n, in the dtype of x (SciPy widens float32).

    SciPy before 1.15 returns NaN for negative x, so the parity is applied here: functions of odd
    order are odd, the others are even.
    """
    from scipy.special import spherical_jn

    x = _flushed(x)
    found = numpy.asarray(spherical_jn(n, numpy.where(x < 0, -x, x)))
    return numpy.where((x < 0) & (n % 2 == 1), -found, found).astype(_dtype_of(x))[()]


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function; for the number 1 as q, Riemann's, also below x = 1."""
    from scipy.special import zeta

    return zeta(x) if q.__class__ is int and q == 1 else zeta(x, q)


def _dtype_of(x: Any) -> Any:
    """The dtype of a result for x; the order is an integer and does not matter."""
    dtype = numpy.asarray(x).dtype
    return dtype if dtype.kind in "fc" else numpy.float64
