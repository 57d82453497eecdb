"""NumPy: special functions, which are SciPy's; loaded on use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

_WIDENING = ("beta", "betaln", "gammainc", "gammaincc", "xlog1py", "xlogy")
"""Of SciPy's, those that take a Python number beside float32 for a float64."""

LAZY: dict[str, str] = {
    **dict.fromkeys(
        (
            "betainc", "digamma", "entr", "erfcinv", "erfinv", "gamma",
            "gammaln", "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1",
            "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kv", "kve", "log_ndtr", "logit", "ndtr",
            "ndtri", "rel_entr", "y0", "y1", "yv",
        ),
        "scipy.special",
    ),
    **dict.fromkeys((*_WIDENING, "hazard", "polygamma", "spherical_jn", "zeta"), __name__),
    **dict.fromkeys(
        ("betainc_by_a", "betainc_by_b", "gammainc_by_a"),
        __name__.replace("special", "incomplete"),
    ),
}
"""Kernels -> the module that has them."""


def __getattr__(name: str) -> Callable[..., Any]:
    """The kernel of a function that widens."""
    if name not in _WIDENING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special

    function = getattr(special, name)

    def kernel(x1: Any, x2: Any) -> Any:
        dtype = numpy.result_type(x1, x2)
        return function(x1, x2, dtype=dtype) if dtype == numpy.float32 else function(x1, x2)

    return kernel


def hazard(x: Any) -> Any:
    """φ(x) / Φ(x), by the scaled error function, of which neither tail underflows to 0 / 0."""
    from scipy.special import erfcx

    with numpy.errstate(divide="ignore"):
        return math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma; SciPy's widens float32."""
    from scipy.special import polygamma

    return polygamma(n, x).astype(_dtype_of(x))[()]


def spherical_jn(n: Any, x: Any) -> Any:
    """The spherical Bessel function of order n; SciPy's widens float32."""
    from scipy.special import spherical_jn

    return numpy.asarray(spherical_jn(n, x)).astype(_dtype_of(x))[()]


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function; for the number 1 as q, Riemann's, which reaches below x = 1."""
    from scipy.special import zeta

    return zeta(x) if q.__class__ is int and q == 1 else zeta(x, q)


def _dtype_of(x: Any) -> Any:
    """Of a result for x: its order has no say, it is a whole number."""
    dtype = numpy.asarray(x).dtype
    return dtype if dtype.kind in "fc" else numpy.float64
