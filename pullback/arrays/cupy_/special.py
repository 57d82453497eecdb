"""CuPy: special functions, from `cupyx.scipy.special` and derived from it.

It has Bessel functions of the orders 0 and 1 only. Other integer orders up to 8 are computed from
these and by power series; other orders raise an error, and so do the derivatives of the incomplete
gamma and beta functions with respect to their parameters.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import cupy

from ...errors import ArgumentError
from ..reflection import mended_digamma

_NAMES = (
    "beta", "betainc", "betaln", "entr", "erf", "erfc", "erfcinv", "erfinv", "gamma",
    "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1",
    "k1e", "kl_div", "log_ndtr", "logit", "ndtr", "ndtri", "rel_entr", "xlog1py", "xlogy", "y0",
    "y1", "zeta",
)
_LAST, _TERMS = 8, 20
"""The highest order of a Bessel function; terms of its series, enough up to |x| = order + 1."""


def _special(name: str) -> Any:
    return getattr(importlib.import_module("cupyx.scipy.special"), name)


def _later(name: str) -> Callable[..., Any]:
    """A function of `cupyx.scipy.special`, imported at the first call."""

    def kernel(*args: Any) -> Any:
        return _special(name)(*args)

    return kernel


def digamma(x: Any) -> Any:
    """CuPy's digamma, corrected near its negative poles."""
    return mended_digamma(cupy, _special("digamma"), cupy.asarray(x))


def hazard(x: Any) -> Any:
    """φ(x) / Φ(x), by the scaled error function, so that no tail becomes 0 / 0."""
    return math.sqrt(2 / math.pi) / _special("erfcx")(x * -math.sqrt(0.5))


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma, in the dtype of x."""
    x = cupy.asarray(x)
    found = _special("polygamma")(cupy.asarray(n), x)
    return found.astype(x.dtype, copy=False) if x.dtype.kind == "f" else found


def _order(v: Any, name: str, least: int = -_LAST) -> int:
    """An integer order between `least` and 8.

    Raises `ArgumentError` for other orders, and for arrays of several orders.
    """
    if getattr(v, "size", 1) == 1 and float(v).is_integer() and least <= float(v) <= _LAST:
        return int(v)
    raise ArgumentError(
        f"the order of `{name}` on CuPy's arrays", f"one whole number from {least} to {_LAST}",
        f"{v!r}"[:60], "convert the arrays, as with pullback.asarray(x, like=numpy.ones(1))",
    )


def _upwards(n: int, x: Any, zero: str, one: str, signs: tuple[int, int]) -> Any:
    """The function of order n, by the recurrence f(k + 1) = ± f(k - 1) ± 2 k / x · f(k).

    https://dlmf.nist.gov/10.6.E1 and https://dlmf.nist.gov/10.29.E1
    """
    below, found = _special(zero)(x), _special(one)(x)
    for k in range(1, n):
        below, found = found, signs[0] * below + signs[1] * (2 * k) / x * found
    return found if n else below


def _series(n: int, x: Any, sign: int) -> Any:
    """J of order n for a sign of -1, I for 1: https://dlmf.nist.gov/10.2.E2 and /10.25.E2."""
    total = term = (x / 2) ** n / math.factorial(n)
    for k in range(1, _TERMS):
        term = term * (x * x) * (sign / (4 * k * (n + k)))
        total = total + term
    return total


def _first_kind(n: int, x: Any, zero: str, one: str, signs: tuple[int, int]) -> Any:
    """J or I: the series up to |x| = n + 1, then the upward recurrence, which is stable there."""
    if n < 2:
        return _special(one if n else zero)(x)
    near = abs(x) <= n + 1
    small, large = cupy.where(near, x, 0), cupy.where(near, 1, x)
    series = _series(n, small, signs[0])
    if zero.endswith("e"):
        series = series * cupy.exp(-abs(small))
    return cupy.where(near, series, _upwards(n, large, zero, one, signs))


def _bessel(name: str, scaled: str = "") -> Callable[[Any, Any], Any]:
    """The Bessel function of a letter, for every supported integer order."""
    letter = name[0]
    signs = {"j": (-1, 1), "y": (-1, 1), "i": (1, -1), "k": (1, 1)}[letter]
    function = _first_kind if letter in "ij" else _upwards
    zero, one = f"{letter}0{scaled}", f"{letter}1{scaled}"

    def kernel(v: Any, x: Any) -> Any:
        n = _order(v, name)
        found = function(abs(n), _floating(x), zero, one, signs)
        return -found if letter in "jy" and n < 0 and n % 2 else found

    return kernel


def _floating(x: Any) -> Any:
    x = cupy.asarray(x)
    return x if x.dtype.kind == "f" else x.astype("d")


def spherical_jn(n: Any, x: Any) -> Any:
    """The spherical Bessel function of an integer order, in the dtype of x.

    By its power series, and by recurrence, as above:
    https://dlmf.nist.gov/10.53.E1 and https://dlmf.nist.gov/10.51.E1
    """
    n = _order(n, "spherical_jn", 0)
    x = _floating(x)
    near = abs(x) <= n + 1
    small, large = cupy.where(near, x, 0), cupy.where(near, 1, x)
    series = term = small**n / math.prod(range(1, 2 * n + 2, 2))
    for k in range(1, _TERMS):
        term = term * (small * small) * (-0.5 / (k * (2 * n + 2 * k + 1)))
        series = series + term
    below, found = cupy.cos(large) / large, cupy.sin(large) / large
    for k in range(n):
        below, found = found, found * (2 * k + 1) / large - below
    return cupy.where(near, series, cupy.where(cupy.isinf(x), 0, found))


KERNELS: dict[str, Callable[..., Any]] = {
    **{name: _later(name) for name in _NAMES},
    **{f.__name__: f for f in (digamma, hazard, polygamma, spherical_jn)},
    **{name: _bessel(name) for name in ("iv", "jv", "kv", "yv")},
    **{name: _bessel(name, "e") for name in ("ive", "kve")},
}
