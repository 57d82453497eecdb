"""Gamma, digamma, polygamma, zeta and beta functions, with SciPy's names and values.

Poles: value and derivative there are SciPy's (infinite, or NaN where the two sides differ), and a
zero cotangent stays zero. There is no rule for derivatives in the order of polygamma and the
exponent of zeta: requesting one raises `NotDifferentiableError`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import NotDifferentiableError
from .comparing import isfinite, isinf
from .declaring import face_of, known_as, op
from .exponential import log1p
from .selecting import where

__all__ = ["beta", "betaln", "digamma", "gamma", "gammaln", "polygamma", "zeta"]


def weighted(g: Any, slope: Any) -> Any:
    """g · slope, and 0 where g is 0 and the slope is not finite, as at a pole."""
    return g * where((g == 0) & ~isfinite(slope), 0, slope)


def refuse_derivative(name: str, argument: str) -> NoReturn:
    """Raise the error for an argument without a derivative rule."""
    raise NotDifferentiableError(
        f"derivative of `{name}` in `{argument}`", "an argument that has a derivative rule",
        f"a tracked `{argument}`, whose derivative has no known closed form",
        f"make it a constant: pullback.stop_gradient({argument})",
    )


@op(native="gamma", elementwise=True)
def gamma(x: Any, /) -> Any:
    """Γ(x) = ∫₀^∞ t^(x-1) e⁻ᵗ dt, for real x. The derivative is Γ(x) ψ(x).

    >>> import pullback as pb
    >>> pb.special.gamma(pb.tensor([1.0, 5.0]))
    Tensor([ 1., 24.])
    """


@gamma.pullback("x")
def pullback_gamma(g: Any, x: Any, out: Any) -> Any:
    return weighted(g, out * digamma(x))


@known_as(torch="lgamma")
@op(native="gammaln", elementwise=True)
def gammaln(x: Any, /) -> Any:
    """ln |Γ(x)|, for real x. The derivative is digamma.

    >>> import pullback as pb
    >>> pb.special.gammaln(pb.tensor([1.0, 100.0]))
    Tensor([  0.        , 359.13420537])
    """


@gammaln.pullback("x")
def pullback_gammaln(g: Any, x: Any) -> Any:
    return weighted(g, digamma(x))


@op(native="digamma", elementwise=True)
def digamma(x: Any, /) -> Any:
    """ψ(x) = Γ′(x) / Γ(x), for real x. Alias: `psi`.

    >>> import pullback as pb
    >>> pb.special.digamma(pb.tensor([1.0, 2.0]))
    Tensor([-0.57721566,  0.42278434])
    """


@digamma.pullback("x")
def pullback_digamma(g: Any, x: Any) -> Any:
    return weighted(g, polygamma(1, x))


@op(native="polygamma", elementwise=True)
def polygamma(n: Any, x: Any, /) -> Any:
    """The n-th derivative of digamma at real x, for integers n ≥ 0.

    The derivative in x is polygamma(n + 1, x). The result has the dtype of x. Raises
    `NotDifferentiableError` if the derivative in n is requested.

    >>> import pullback as pb
    >>> pb.special.polygamma(1, pb.tensor([1.0, 2.0]))
    Tensor([1.64493407, 0.64493407])
    """


@polygamma.pullback("n")
def pullback_polygamma_n(g: Any) -> Any:
    refuse_derivative("polygamma", "n")


@polygamma.pullback("x")
def pullback_polygamma_x(g: Any, n: Any, x: Any) -> Any:
    return weighted(g, polygamma(n + 1, x))


@op(name="zeta", native="zeta", elementwise=True)
def _zeta(x: Any, q: Any, /) -> Any: ...


@_zeta.pullback("x")
def pullback_zeta_x(g: Any) -> Any:
    refuse_derivative("zeta", "x")


@_zeta.pullback("q")
def pullback_zeta_q(g: Any, x: Any, q: Any) -> Any:
    return weighted(g, -x * _zeta(x + 1, q))


@face_of(_zeta)
def zeta(x: Any, q: Any = None, /) -> Any:
    """The Hurwitz zeta function Σ (k + q)⁻ˣ over k ≥ 0; without q, the Riemann one (q = 1).

    The derivative in q is -x ζ(x + 1, q). Raises `NotDifferentiableError` if the derivative in x
    is requested.

    >>> import pullback as pb
    >>> pb.special.zeta(2.0, pb.tensor([1.0, 2.0]))
    Tensor([1.64493407, 0.64493407])
    """
    return _zeta(x, 1 if q is None else q)


@op(native="beta", elementwise=True)
def beta(a: Any, b: Any, /) -> Any:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b). The derivative in a is B(a, b) (ψ(a) - ψ(a + b)).

    >>> import pullback as pb
    >>> pb.special.beta(pb.tensor([1.0, 2.0]), 4.0)
    Tensor([0.25, 0.05])
    """


@beta.pullback("a")
def pullback_beta_a(g: Any, a: Any, b: Any, out: Any) -> Any:
    return weighted(g, _share(out, _descent(a, b)))


@beta.pullback("b")
def pullback_beta_b(g: Any, a: Any, b: Any, out: Any) -> Any:
    return weighted(g, _share(out, _descent(b, a)))


@op(native="betaln", elementwise=True)
def betaln(a: Any, b: Any, /) -> Any:
    """ln |B(a, b)|. The derivative in a is ψ(a) - ψ(a + b).

    >>> import pullback as pb
    >>> pb.special.betaln(pb.tensor([1.0, 2.0]), 4.0)
    Tensor([-1.38629436, -2.99573227])
    """


@betaln.pullback("a")
def pullback_betaln_a(g: Any, a: Any, b: Any) -> Any:
    return weighted(g, _descent(a, b))


@betaln.pullback("b")
def pullback_betaln_b(g: Any, a: Any, b: Any) -> Any:
    return weighted(g, _descent(b, a))


def _share(out: Any, descent: Any) -> Any:
    """out · descent, where an infinite argument or a pole makes one 0 and the other infinite."""
    return where(descent == 0, 0, out) * where(out == 0, 0, descent)


def _descent(a: Any, b: Any) -> Any:
    """ψ(a) - ψ(a + b), without ∞ - ∞: 0 for infinite a, and -∞ at a = 0, where b is 0 too."""
    c = a + b
    large = (a >= _LARGE) & (c >= _LARGE) & isfinite(a) & isfinite(b)
    far, start, end = isinf(a), digamma(where(large, 1, a)), digamma(where(large, 1, c))
    near = where(far, 0, start) - where(far | isinf(start), 0, end)
    return where(large, _descent_of_large(where(large, a, _LARGE), where(large, b, 0)), near)


_LARGE = 30.0


def _descent_of_large(a: Any, b: Any) -> Any:
    """ψ(a) - ψ(a + b) of large a and a + b, by ψ(x) = ln x - 1/2x - Σ B₂ₖ / 2k x²ᵏ, term by term.

    The difference of the two functions would cancel. Source: Abramowitz and Stegun, 6.3.18.
    """
    u, q = b / a, 1 / a
    p = 1 / (1 + u)
    r, p2, q2 = u * p, p * p, q * q  # 1/aᵏ - 1/(a + b)ᵏ = (1 - pᵏ) / aᵏ, and 1 - p = r
    p4, even = p2 * p2, r * (1 + p) * q2
    series = even * (
        -1 / 12 + q2 * ((1 + p2) / 120 - q2 * (1 + p2 + p4) / 252)
        + q2 * q2 * q2 * (1 + p2) * (1 + p4) / 240
    )
    return series - r * q / 2 - log1p(u)
