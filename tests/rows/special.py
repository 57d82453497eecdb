"""Rows of `pullback/special.py` and the operations behind it; the references are SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

import pullback as pb
from pullback.ops.special_error import hazard
from pullback.ops.special_incomplete import betainc_by_a, betainc_by_b, gammainc_by_a
from tests.table import Row, Sample, ints, positive, real

special = pb.special


def like(function: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function of an order and x, in the dtype of x."""
    return lambda n, x: np.asarray(function(n, x)).astype(x.dtype)


def one(name: str, *samples: Sample, **keywords: Any) -> Row:
    """A function that both libraries have, elementwise in all arguments."""
    keywords = {"broadcast": len(samples) > 1, **keywords}
    return Row(name, getattr(special, name), getattr(sp, name), samples, **keywords)


def spherical(n: Any, x: Any) -> Any:
    """scipy.special.spherical_jn, which has NaN for negative x before 1.15: odd for odd orders."""
    return sp.spherical_jn(n, np.abs(x)) * np.where((n % 2 == 1) & (x < 0), -1.0, 1.0)


def fixed(name: str, order: Any, sample: Sample, **keywords: Any) -> Row:
    """A function of an order, which is fixed, and x."""
    ours = getattr(special, name)
    theirs = like(spherical if name == "spherical_jn" else getattr(sp, name))
    return Row(
        name, lambda x: ours(order, x), lambda x: theirs(order, x), (sample,), str(order),
        **keywords,
    )


def hazard_of(x: Any) -> Any:
    return np.exp(-x * x / 2 - sp.log_ndtr(x)) / np.sqrt(2 * np.pi).astype(x.dtype)


def difference(
    function: Callable[..., Any], i: int, step: float = 1e-2
) -> Callable[..., Any]:
    """The derivative of a SciPy function in its argument i, by differences of tenth order."""
    weights = (5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260)

    def slope(*args: Any) -> Any:
        wide = [np.asarray(a, np.float64) for a in args]
        total: Any = 0.0
        for k, w in enumerate(weights, 1):
            ends = [
                function(*(a + s * k * step if j == i else a for j, a in enumerate(wide)))
                for s in (1, -1)
            ]
            total = total + w * (ends[0] - ends[1]) / step
        return np.asarray(total).astype(args[0].dtype)

    return slope


unit, inner = real(3, 4, low=0.1, high=0.9), real(3, 4, low=-0.9, high=0.9)
some, order = positive(3, 4), ints(3, 4, low=0, high=3)
below = real(3, 4, low=-0.7, high=-0.3)
middle = real(3, 4, low=0.3, high=0.7)

ONE = [
    one("gamma", some), one("gamma", below, label="below 0"), one("gammaln", some),
    one("gammaln", below, label="below 0"), one("digamma", some),
    one("digamma", below, label="below 0"), one("beta", some, some), one("betaln", some, some),
    one("erfinv", inner), one("erfcinv", real(3, 4, low=0.2, high=1.8)), one("ndtr", real(3, 4)),
    one("ndtri", unit), one("log_ndtr", real(3, 4, low=-4)), one("logit", unit),
    one("xlogy", real(3, 4), some), one("xlog1py", real(3, 4), some), one("entr", some),
    one("rel_entr", some, some), one("kl_div", some, some),
    one("i0", real(3, 4)), one("i1", real(3, 4)), one("i0e", real(3, 4, away=(0.0,))),
    one("i1e", real(3, 4, away=(0.0,))), one("j0", real(3, 4, low=-9, high=9)),
    one("j1", real(3, 4, low=-9, high=9)), one("expit", real(3, 4)), one("log_expit", real(3, 4)),
    one("sinc", real(3, 4)),
    *(one(name, some) for name in ("y0", "y1", "k0", "k1", "k0e", "k1e")),
]

ORDERS = [
    fixed("polygamma", 0, some), fixed("polygamma", 2, some), fixed("jv", 1, real(3, 4)),
    fixed("jv", 0.5, some), fixed("iv", 0, real(3, 4)), fixed("iv", 2.5, some),
    fixed("ive", 0, real(3, 4, away=(0.0,))), fixed("ive", 1.5, some),
    fixed("spherical_jn", 0, real(3, 4)), fixed("spherical_jn", 2, real(3, 4)),
    fixed("zeta", 2.5, some), fixed("yv", 1, some), fixed("yv", -0.5, some), fixed("kv", 2, some),
    fixed("kv", 0.3, some), fixed("kve", 0, some), fixed("kve", 1.5, some),
    fixed("spherical_jn", 11, real(3, 4, low=2, high=20)),
    Row("polygamma", special.polygamma, like(sp.polygamma), (order, some), "orders",
        broadcast=True),
    Row("spherical_jn", special.spherical_jn, like(spherical), (order, real(3, 4)),
        "orders", broadcast=True),
    Row("jv", special.jv, sp.jv, (order, real(3, 4)), "orders", broadcast=True),
    Row("iv", special.iv, sp.iv, (order, real(3, 4)), "orders", broadcast=True),
    Row("ive", special.ive, sp.ive, (order, some), "orders", broadcast=True),
    *(Row(name, getattr(special, name), getattr(sp, name), (order, some), "orders", broadcast=True)
      for name in ("yv", "kv", "kve")),
]

# Twice only in x: second derivatives in the parameters are errors.
PARAMETERS = [
    one("gammainc", some, some, second=False), one("gammaincc", some, some, second=False),
    one("betainc", some, some, unit, second=False),
    fixed("gammainc", 1.7, some), fixed("gammaincc", 0.6, some),
    Row("betainc", lambda x: special.betainc(1.7, 0.6, x), lambda x: sp.betainc(1.7, 0.6, x),
        (unit,), "x"),
    Row("gammainc_by_a", lambda x: gammainc_by_a(1.7, x),
        lambda x: difference(sp.gammainc, 0)(np.full_like(x, 1.7), x), (some,)),
    Row("betainc_by_a", lambda x: betainc_by_a(1.7, 0.6, x),
        lambda x: difference(sp.betainc, 0)(np.full_like(x, 1.7), np.full_like(x, 0.6), x),
        (middle,)),
    Row("betainc_by_b", lambda x: betainc_by_b(1.7, 0.6, x),
        lambda x: difference(sp.betainc, 1)(np.full_like(x, 1.7), np.full_like(x, 0.6), x),
        (middle,)),
    Row("hazard", hazard, hazard_of, (real(3, 4, low=-4),)),
]


def reduced(name: str, label: str, **attrs: Any) -> Row:
    """A reduction with SciPy's signature."""
    ours, theirs = getattr(special, name), getattr(sp, name)
    return Row(
        f"special.{name}", lambda x: ours(x, **attrs), lambda x: theirs(x, **attrs),
        (real(2, 3, 4),), label,
    )


REDUCED = [
    *(reduced(n, "all") for n in ("softmax", "log_softmax", "logsumexp")),
    *(reduced(n, "axis", axis=1) for n in ("softmax", "log_softmax", "logsumexp")),
    *(reduced(n, "axes", axis=(0, -1)) for n in ("softmax", "log_softmax", "logsumexp")),
    reduced("logsumexp", "kept", axis=0, keepdims=True),
    reduced("logsumexp", "sign", axis=0, return_sign=True),
    Row("special.logsumexp", lambda a, b: special.logsumexp(a, axis=-1, b=b),
        lambda a, b: sp.logsumexp(a, axis=-1, b=b), (real(2, 3), positive(2, 3)), "weights"),
    Row("special.logsumexp",
        lambda a, b: special.logsumexp(a, axis=(0, 1), b=b, keepdims=True, return_sign=True),
        lambda a, b: sp.logsumexp(a, axis=(0, 1), b=b, keepdims=True, return_sign=True),
        (real(2, 3, low=0), Sample((3,), low=-2.0, high=-0.5)), "negative"),
]

ROWS = [*ONE, *ORDERS, *PARAMETERS, *REDUCED]
