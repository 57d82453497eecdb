"""Elementwise functions and their partial derivatives in exact arithmetic, by mpmath.

`FUNCTIONS` has each differentiable elementwise operation: its value, its derivative in each array
argument, and the hard points of its domain. Steps and choices at kinks are those of the docstrings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from scipy import special

Exact = Callable[..., Any]


@dataclass(frozen=True)
class Function:
    """The value, a derivative per argument (None: there is none), and the points to test at."""

    value: Exact
    slopes: tuple[Exact | None, ...]
    points: Callable[[Any], list[tuple[Any, ...]]]
    attrs: tuple[Any, ...] = ()
    bits: int = 1300  # of precision: elementary functions of 1e-300 need that many
    lead: tuple[Any, ...] = ()  # an order, before the arguments


def sign(x: Any) -> Any:
    return mp.sign(x)


def _acosh(x: Any) -> Any:
    return mp.log(x + mp.sqrt(x - 1) * mp.sqrt(x + 1))  # mpmath's own leaves the side of the cut


# Points ---------------------------------------------------------------------------------------


def lengths(info: Any) -> list[float]:
    """Numbers > 0 from the smallest to the largest, with those at which functions change."""
    tiny, eps, most = float(info.smallest_normal), float(info.eps), float(info.max)
    near = [1 - eps / 2, 1.0, 1 + eps, 1 - 1e-6, 1 + 1e-6, 1 - 1e-3, 1 + 1e-3]
    usual = [1e-8, 1e-4, 0.1, 0.3, 0.5, 0.7, 1.5, 2.0, 2.5, np.e, np.pi / 2, np.pi, 3 * np.pi]
    far = [5.0, 10.0, 20.0, 31.0, 37.0, 50.0, 87.0, 100.0, 700.0, 1e5, 1e10, 1e22]
    edges = [float(info.smallest_subnormal), tiny / 8, tiny, tiny**0.75, tiny**0.5, eps]
    return [*edges, *usual, *near, *far, most**0.5, most**0.66, most**0.75, most**0.9, most / 4]


def line(info: Any, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Both signs of those lengths, both zeros, and some numbers at random."""
    rng = np.random.default_rng(1)
    drawn = [*rng.uniform(-12, 12, 12), *rng.uniform(-1.5, 1.5, 8)]
    found = [s * x for x in lengths(info) for s in (1, -1)] + [0.0, -0.0, *drawn]
    return [float(x) for x in map(info.dtype.type, found) if low <= x <= high]


def real(low: float = -np.inf, high: float = np.inf, *, more: Sequence[float] = ()) -> Any:
    return lambda info: [(x,) for x in [*line(info, low, high), *map(info.dtype.type, more)]]


def few(info: Any, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Points for functions of two arguments."""
    tiny, eps, most = float(info.smallest_normal), float(info.eps), float(info.max)
    sizes = [tiny, tiny**0.5, 1e-6, 0.3, 1.0, 1 + eps, 1.7, 3.0, 12.0, 90.0, most**0.5, most**0.9]
    found = [0.0, *(s * x for x in sizes for s in (1, -1))]
    return [float(x) for x in map(info.dtype.type, found) if low <= x <= high]


def pairs(first: tuple[float, float] = (-np.inf, np.inf), second: Any = None) -> Any:
    second = first if second is None else second
    return lambda info: list(itertools.product(few(info, *first), few(info, *second)))


def plane(info: Any, far: bool = True) -> list[tuple[complex]]:
    """Complex numbers: both axes, both sides of them, around ±1 and ±i, far out and near 0."""
    eps, most, tiny = float(info.eps), float(info.max), float(info.smallest_normal)
    sizes = [tiny**0.5, 1e-8, 0.3, 1.0, 2.0, 30.0, *((most**0.5, most**0.9) if far else (80.0,))]
    axis = [0.0, -0.0, *(s * x for x in sizes for s in (1, -1))]
    found = [complex(a, b) for a in axis for b in axis]
    for a, b in itertools.product((1e-3, -1e-6, eps, -eps / 2, eps**2, 0.0, -0.0), repeat=2):
        for s in (1, -1):
            found += [complex(s * (1 + a), b), complex(b, s * (1 + a))]
    made = np.dtype(f"complex{2 * info.bits}").type
    unique = {(repr(made(z))): complex(made(z)) for z in found}  # 0 and -0 differ
    return [(z,) for z in unique.values()]


# Pieces ---------------------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def hazard(x: Any) -> Any:
    return density(x) / normal(x)


def inverse(value: Exact, slope: Exact, guess: Callable[[Any], Any]) -> Exact:
    """The inverse of a function, by Newton steps from SciPy's value."""

    def found(y: Any) -> Any:
        x = mp.mpf(float(guess(float(y))))
        for _ in range(6):
            x = x - (value(x) - y) / slope(x)
        return x

    return found


_erfcinv = inverse(mp.erfc, lambda x: -mp.exp(-x * x) * 2 / mp.sqrt(mp.pi), special.erfcinv)
_ndtri = inverse(normal, density, special.ndtri)


def _power(x: Any, y: Any) -> Any:
    return mp.mpf(1) if y == 0 else mp.power(x, y)


def _share(x: Any, y: Any) -> Any:
    return 1 / (1 + mp.exp(y - x))


def _xlogy(x: Any, y: Any) -> Any:
    return mp.mpf(0) if x == 0 else x * mp.log(y)


def _xlog1py(x: Any, y: Any) -> Any:
    return mp.mpf(0) if x == 0 else x * mp.log1p(y)


def _beta(a: Any, b: Any) -> Any:
    return mp.beta(a, b)


def _gelu_tanh(x: Any) -> Any:
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


def _gelu_tanh_slope(x: Any) -> Any:
    c = mp.mpf(0.044715)
    s = sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + c * x**3))
    return s + x * s * (1 - s) * 2 * mp.sqrt(2 / mp.pi) * (1 + 3 * c * x**2)


def one(value: Exact, slope: Exact, points: Any = None, *attrs: Any, bits: int = 1300) -> Function:
    return Function(value, (slope,), real() if points is None else points, attrs, bits)


def order(n: Any, value: Exact, slope: Exact, points: Any) -> Function:
    """A function of a fixed order."""
    return Function(lambda x: value(n, x), (lambda x: slope(n, x),), points, (), 300, (n,))


def two(value: Exact, first: Exact | None, second: Exact | None, points: Any,
        bits: int = 1300) -> Function:
    return Function(value, (first, second), points, (), bits)


def step(value: Exact) -> Function:
    return one(value, lambda x: mp.mpf(0))


def constant(value: float) -> Exact:
    return lambda *xs: mp.mpf(value)


EVERY = pairs()
ABOVE, UNIT = (1e-300, np.inf), (0.0, 1.0)
_MILD, _MILDER = real(-50, 50), real(1e-5, 50)

ELEMENTARY: dict[str, Function] = {
    "abs": one(abs, sign),
    "acos": one(mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)), real(-1, 1)),
    "acosh": one(_acosh, lambda x: 1 / (mp.sqrt(x - 1) * mp.sqrt(x + 1)), real(1)),
    "asin": one(mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), real(-1, 1)),
    "asinh": one(mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x)),
    "atan": one(mp.atan, lambda x: 1 / (1 + x * x)),
    "atanh": one(mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)), real(-1, 1)),
    "cbrt": one(lambda x: sign(x) * mp.cbrt(abs(x)), lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2)),
    "ceil": step(mp.ceil), "floor": step(mp.floor), "round": step(mp.nint),
    "trunc": step(lambda x: sign(x) * mp.floor(abs(x))),
    "cos": one(mp.cos, lambda x: -mp.sin(x)),
    "cosh": one(mp.cosh, mp.sinh),
    "elu": one(lambda x: x if x > 0 else mp.expm1(x), lambda x: 1 if x > 0 else mp.exp(x)),
    "exp": one(mp.exp, mp.exp),
    "exp2": one(lambda x: mp.power(2, x), lambda x: mp.power(2, x) * mp.log(2)),
    "expm1": one(mp.expm1, mp.exp),
    "hard_sigmoid": one(
        lambda x: min(max(x / 6 + mp.mpf(1) / 2, 0), 1), lambda x: mp.mpf(abs(x) < 3) / 6
    ),
    "hard_tanh": one(lambda x: min(max(x, -1), 1), lambda x: mp.mpf(abs(x) < 1)),
    "identity": one(lambda x: x, constant(1)), "positive": one(lambda x: x, constant(1)),
    "leaky_relu": one(
        lambda x: x if x > 0 else x * mp.mpf(0.01), lambda x: 1 if x > 0 else mp.mpf(0.01)
    ),
    "log": one(mp.log, lambda x: 1 / x, real(1e-310)),
    "log10": one(mp.log10, lambda x: 1 / (x * mp.log(10)), real(1e-310)),
    "log1p": one(mp.log1p, lambda x: 1 / (1 + x), real(-0.9999999999)),
    "log2": one(lambda x: mp.log(x) / mp.log(2), lambda x: 1 / (x * mp.log(2)), real(1e-310)),
    "log_sigmoid": one(
        lambda x: -mp.log1p(mp.exp(-x)) if x > -100 else x - mp.log1p(mp.exp(x)),
        lambda x: sigmoid(-x),
    ),
    "negative": one(lambda x: -x, constant(-1)),
    "reciprocal": one(lambda x: 1 / x, lambda x: -1 / (x * x)),
    "relu": one(lambda x: max(x, 0), lambda x: mp.mpf(x > 0)),
    "scale_gradient": one(lambda x: x, constant(3), None, 3.0),
    "sigmoid": one(sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    "sign": step(sign),
    "silu": one(
        lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x)),
    ),
    "sin": one(mp.sin, mp.cos),
    "sinh": one(mp.sinh, mp.cosh),
    "softplus": one(
        lambda x: mp.log1p(mp.exp(x)) if x < 100 else x + mp.log1p(mp.exp(-x)), sigmoid
    ),
    "sqrt": one(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), real(1e-310)),
    "square": one(lambda x: x * x, lambda x: 2 * x),
    "tan": one(mp.tan, lambda x: 1 + mp.tan(x) ** 2),
    "tanh": one(mp.tanh, lambda x: mp.sech(x) ** 2),
    "angle": Function(  # of -0 it is π
        lambda x: mp.pi if x < 0 else mp.mpf(0), (constant(0),), lambda info: [(2.0,), (-3.0,)]
    ),
}

PAIRED: dict[str, Function] = {
    "add": two(lambda x, y: x + y, constant(1), constant(1), EVERY),
    "subtract": two(lambda x, y: x - y, constant(1), constant(-1), EVERY),
    "multiply": two(lambda x, y: x * y, lambda x, y: y, lambda x, y: x, EVERY),
    "product_or_zero": two(lambda x, y: x * y, lambda x, y: y, lambda x, y: x, EVERY),
    "divide": two(lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / (y * y), EVERY),
    "quotient": two(lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / (y * y), EVERY),
    "atan2": two(
        mp.atan2, lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y), EVERY
    ),
    "hypot": two(
        lambda x, y: mp.sqrt(x * x + y * y), lambda x, y: x / mp.sqrt(x * x + y * y),
        lambda x, y: y / mp.sqrt(x * x + y * y), EVERY,
    ),
    "pow": two(
        _power, lambda x, y: mp.mpf(0) if y == 0 else y * mp.power(x, y - 1),
        lambda x, y: mp.power(x, y) * mp.log(x), pairs(ABOVE, (-100, 100)),
    ),
    "logaddexp": two(
        lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))), _share, lambda x, y: _share(y, x),
        pairs((-1e30, 1e30)),
    ),
    "maximum": two(
        max, lambda x, y: (1 + sign(x - y)) / 2, lambda x, y: (1 + sign(y - x)) / 2, EVERY
    ),
    "minimum": two(
        min, lambda x, y: (1 + sign(y - x)) / 2, lambda x, y: (1 + sign(x - y)) / 2, EVERY
    ),
    "copysign": two(
        lambda x, y: abs(x) * (1 if y >= 0 else -1),
        lambda x, y: sign(x) * (1 if y >= 0 else -1), constant(0), EVERY,
    ),
    "floor_divide": two(
        lambda x, y: mp.floor(x / y), constant(0), constant(0), pairs((-100, 100), (0.3, 100))
    ),
    "remainder": two(
        lambda x, y: x - y * mp.floor(x / y), constant(1), lambda x, y: -mp.floor(x / y),
        pairs((-100, 100), (0.3, 100)),
    ),
    "gate": two(
        lambda x, c: x if c > 0 else mp.mpf(0), lambda x, c: mp.mpf(c > 0), None, EVERY
    ),
    "logistic_loss": two(
        lambda x, t: max(x, 0) - x * t + mp.log1p(mp.exp(-abs(x))),
        lambda x, t: sigmoid(x) - t, lambda x, t: -x, pairs((-1e30, 1e30), UNIT),
    ),
    "xlogy": two(
        _xlogy, lambda x, y: mp.log(y), lambda x, y: x / y, pairs((-1e30, 1e30), ABOVE)
    ),
    "xlog1py": two(
        _xlog1py, lambda x, y: mp.log1p(y), lambda x, y: x / (1 + y), pairs((-1e30, 1e30), ABOVE)
    ),
    "rel_entr": two(
        lambda x, y: x * mp.log(x / y), lambda x, y: mp.log(x / y) + 1, lambda x, y: -x / y,
        pairs(ABOVE),
    ),
    "kl_div": two(
        lambda x, y: x * mp.log(x / y) - x + y, lambda x, y: mp.log(x / y), lambda x, y: 1 - x / y,
        pairs(ABOVE),
    ),
    "entr": one(lambda x: -x * mp.log(x), lambda x: -mp.log(x) - 1, real(1e-310)),
    "logit": one(
        lambda x: mp.log(x / (1 - x)), lambda x: 1 / (x * (1 - x)), real(1e-310, 0.99999999)
    ),
}

_POLES = (-0.5, -0.999, -1.001, -1.5, -2.0001, -2.4570247, -2.7476826, -3.1, -4.9999, -7.5, -20.3)
_GAMMA = real(-170.3, 1e30, more=_POLES)


def _psi(n: int) -> Exact:
    return lambda x: mp.psi(n, x)


def _mean(bessel: Exact, before: int, after: int) -> Exact:
    """A derivative from the neighbouring orders."""
    return lambda n, x: (before * bessel(n - 1, x) + after * bessel(n + 1, x)) / 2


def order_1(bessel: Exact, before: int, after: int) -> Function:
    slope = _mean(bessel, before, after)
    return one(lambda x: bessel(1, x), lambda x: slope(1, x), _MILDER, bits=120)


def _gamma_density(a: Any, x: Any) -> Any:
    return mp.power(x, a - 1) * mp.exp(-x) / mp.gamma(a)


SPECIAL: dict[str, Function] = {
    "erf": one(mp.erf, lambda x: mp.exp(-x * x) * 2 / mp.sqrt(mp.pi), real(-1e20, 1e20)),
    "erfc": one(mp.erfc, lambda x: -mp.exp(-x * x) * 2 / mp.sqrt(mp.pi), real(-1e4, 1e4)),
    "gelu": one(
        lambda x: x * normal(x), lambda x: normal(x) + x * density(x), real(-1e4, 1e4)
    ),
    "gelu tanh": one(_gelu_tanh, _gelu_tanh_slope, real(-1e4, 1e4), "tanh"),
    "ndtr": one(normal, density, real(-1e4, 1e4)),
    "log_ndtr": one(lambda x: mp.log(normal(x)), hazard, real(-1e4, 1e4)),
    "hazard": one(hazard, lambda x: -hazard(x) * (x + hazard(x)), real(-1e4, 1e4)),
    "erfinv": one(mp.erfinv, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2),
                  real(-0.9999999, 0.9999999), bits=300),
    "gamma": one(mp.gamma, lambda x: mp.gamma(x) * mp.psi(0, x), _GAMMA, bits=600),
    "gammaln": one(  # SciPy's kernel is infinite for subnormal numbers
        lambda x: mp.log(abs(mp.gamma(x))), _psi(0),
        lambda info: [p for p in _GAMMA(info) if abs(p[0]) > 1e-300 or p[0] == 0], bits=600,
    ),
    "digamma": one(_psi(0), _psi(1), _GAMMA, bits=600),
    "beta": two(
        _beta, lambda a, b: _beta(a, b) * (mp.psi(0, a) - mp.psi(0, a + b)),
        lambda a, b: _beta(a, b) * (mp.psi(0, b) - mp.psi(0, a + b)),
        pairs((1e-7, 90.0)), bits=600,
    ),
    "betaln": two(
        lambda a, b: mp.log(_beta(a, b)), lambda a, b: mp.psi(0, a) - mp.psi(0, a + b),
        lambda a, b: mp.psi(0, b) - mp.psi(0, a + b), pairs((1e-7, 90.0)), bits=600,
    ),
    "i0": one(lambda x: mp.besseli(0, x), lambda x: mp.besseli(1, x), _MILD, bits=300),
    "i1": one(
        lambda x: mp.besseli(1, x), lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2, _MILD,
        bits=300,
    ),
    "j0": one(lambda x: mp.besselj(0, x), lambda x: -mp.besselj(1, x), _MILD, bits=300),
    "j1": one(
        lambda x: mp.besselj(1, x), lambda x: (mp.besselj(0, x) - mp.besselj(2, x)) / 2, _MILD,
        bits=300,
    ),
    "k0": one(lambda x: mp.besselk(0, x), lambda x: -mp.besselk(1, x), _MILDER, bits=120),
    "y0": one(lambda x: mp.bessely(0, x), lambda x: -mp.bessely(1, x), real(1e-30, 50), bits=300),
    "k1": order_1(mp.besselk, -1, -1), "y1": order_1(mp.bessely, 1, -1),
    "i0e": one(
        lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
        lambda x: (mp.besseli(1, x) - sign(x) * mp.besseli(0, x)) * mp.exp(-abs(x)), _MILD,
        bits=300,
    ),
    "k0e": one(
        lambda x: mp.besselk(0, x) * mp.exp(x),
        lambda x: (mp.besselk(0, x) - mp.besselk(1, x)) * mp.exp(x), _MILDER, bits=120,
    ),
    "jv": order(1.5, mp.besselj, _mean(mp.besselj, 1, -1), real(0.1, 50)),
    "yv": order(1.5, mp.bessely, _mean(mp.bessely, 1, -1), real(0.1, 50)),
    "iv": order(1.5, mp.besseli, _mean(mp.besseli, 1, 1), real(0.1, 50)),
    "kv": order(1.5, mp.besselk, _mean(mp.besselk, -1, -1), real(0.1, 50)),
    "polygamma": order(1, mp.psi, lambda n, x: mp.psi(n + 1, x), real(0.01, 1e6)),
    "zeta": order(2.5, mp.zeta, lambda n, q: -n * mp.zeta(n + 1, q), real(0.01, 1e6)),
    "gammainc": order(
        1.7, lambda a, x: mp.gammainc(a, 0, x, regularized=True), _gamma_density, real(1e-6, 50)
    ),
    "gammaincc": order(
        1.7, lambda a, x: mp.gammainc(a, x, regularized=True),
        lambda a, x: -_gamma_density(a, x), real(1e-6, 50),
    ),
    "erfcinv": one(
        _erfcinv, lambda x: -mp.sqrt(mp.pi) / 2 * mp.exp(_erfcinv(x) ** 2), real(1e-30, 1.9999),
        bits=300,
    ),
    "ndtri": one(
        _ndtri, lambda x: mp.sqrt(2 * mp.pi) * mp.exp(_ndtri(x) ** 2 / 2), real(1e-30, 0.9999),
        bits=300,
    ),
}

FUNCTIONS = {**ELEMENTARY, **PAIRED, **SPECIAL}

COMPLEX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log10", "log1p", "log2", "negative", "reciprocal", "sin", "sinh", "sqrt", "square", "tan",
    "tanh",
)
"""Functions of `ELEMENTARY` that are analytic in the complex plane, by the same formulas."""

ENTIRE = ("cos", "cosh", "exp", "expm1", "sin", "sinh", "tan", "tanh")
"""Of these, the functions that are infinite or undefined far out."""

# Exactness ------------------------------------------------------------------------------------

_BESIDE = mpmath.mpf(2) ** -3000


def lift(x: Any) -> Any:
    """A number for mpmath, which has no signed zero: a complex 0 is moved to the side it names."""
    if not isinstance(x, complex):
        return mp.mpf(float(x))
    re, im = (mp.mpf(p) if p else _BESIDE * (1 if np.signbit(p) == 0 else -1)
              for p in (x.real, x.imag))
    return mp.mpc(re, im)


def ulps(got: Any, true: Any, info: Any, scale: float = 0.0) -> float:
    """The error in units in the last place of the true value (of its modulus, where complex).

    scale   the smallest size of which the unit is taken
    Below the smallest normal number, flushing to 0 counts as exact; above the largest, any result
    that is not finite, or as large.
    """
    most, tiny, eps = (mp.mpf(float(n)) for n in (info.max, info.smallest_normal, info.eps))
    size = abs(true)
    if size > most * (1 - 8 * eps):
        return 0.0 if not np.isfinite(got) or abs(got) > float(info.max) * 0.999 else np.inf
    if not np.isfinite(got):
        return np.inf
    error = abs((mp.mpc(got) if isinstance(got, complex) else mp.mpf(got)) - true)
    if size < tiny and error <= tiny:
        return 0.0
    size = max(size, tiny, scale)
    return float(error / (mp.ldexp(1, int(mp.floor(mp.log(size, 2)))) * eps))
