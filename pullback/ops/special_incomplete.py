"""Incomplete gamma and beta functions, with derivatives in every argument.

At the ends of the domain, where the density in x may be infinite (gammainc at x = 0 for a < 1),
a zero cotangent stays zero. Derivatives in the parameters are integrals, computed by quadrature to
about twelve digits; a second derivative in the parameters raises an error (mixed derivatives, in a
parameter and x, exist).
"""

from __future__ import annotations

from typing import Any

from .declaring import known_as, op
from .exponential import exp, log, log1p
from .selecting import where
from .special_entropy import xlog1py, xlogy
from .special_gamma import betaln, digamma, gammaln, refuse_derivative, weighted

__all__ = ["betainc", "gammainc", "gammaincc"]

_INF = float("inf")


@known_as(torch="igamma")
@op(native="gammainc", elementwise=True)
def gammainc(a: Any, x: Any, /) -> Any:
    """P(a, x) = ∫₀ˣ t^(a-1) e⁻ᵗ dt / Γ(a), for a ≥ 0 and x ≥ 0: the gamma distribution function.

    The derivative in x is the density x^(a-1) e⁻ˣ / Γ(a). The derivative in a has no closed form
    and is integrated numerically, to a relative accuracy of about 1e-13; differentiating it in a
    again raises `NotDifferentiableError`.

    >>> import pullback as pb
    >>> pb.special.gammainc(1.0, pb.tensor([0.0, 1.0, float("inf")]))
    Tensor([0.        , 0.63212056, 1.        ])
    """


@gammainc.pullback("a")
def pullback_gammainc_a(g: Any, a: Any, x: Any) -> Any:
    return g * gammainc_by_a(a, x)


@gammainc.pullback("x")
def pullback_gammainc_x(g: Any, a: Any, x: Any) -> Any:
    return weighted(g, _gamma_density(a, x))


@known_as(torch="igammac")
@op(native="gammaincc", elementwise=True)
def gammaincc(a: Any, x: Any, /) -> Any:
    """1 - gammainc(a, x), accurate where that is small; derivatives as in `gammainc`.

    >>> import pullback as pb
    >>> pb.special.gammaincc(1.0, pb.tensor([0.0, 1.0, 100.0]))
    Tensor([1.00000000e+00, 3.67879441e-01, 3.72007598e-44])
    """


@gammaincc.pullback("a")
def pullback_gammaincc_a(g: Any, a: Any, x: Any) -> Any:
    return -g * gammainc_by_a(a, x)


@gammaincc.pullback("x")
def pullback_gammaincc_x(g: Any, a: Any, x: Any) -> Any:
    return -weighted(g, _gamma_density(a, x))


@op(native="gammainc_by_a", elementwise=True)
def gammainc_by_a(a: Any, x: Any, /) -> Any:
    """∂/∂a of gammainc(a, x): 0 at x = 0 and at infinity.

    >>> import numpy as np
    >>> gammainc_by_a(2.0, np.array([0.0, 1.0]))
    array([ 0.        , -0.27619605])
    """


@gammainc_by_a.pullback("a")
def pullback_gammainc_by_a_a(g: Any) -> Any:
    refuse_derivative("gammainc_by_a", "a")


@gammainc_by_a.pullback("x")
def pullback_gammainc_by_a_x(g: Any, a: Any, x: Any) -> Any:
    inside = (x > 0) & (x < _INF)
    return g * where(inside, log(where(inside, x, 1)) - digamma(a), 0) * _gamma_density(a, x)


def _gamma_density(a: Any, x: Any) -> Any:
    inside = x < _INF
    finite = where(inside, x, 1)
    return where(inside, exp(xlogy(a - 1, finite) - finite - gammaln(a)), 0)


@op(native="betainc", elementwise=True)
def betainc(a: Any, b: Any, x: Any, /) -> Any:
    """I(a, b, x) = ∫₀ˣ t^(a-1) (1 - t)^(b-1) dt / B(a, b), for a, b > 0 and x in [0, 1].

    The derivative in x is the density x^(a-1) (1 - x)^(b-1) / B(a, b). Those in a and b have no
    closed form and are integrated numerically, to a relative accuracy of about 1e-12;
    differentiating them in a or b again raises `NotDifferentiableError`.

    >>> import pullback as pb
    >>> pb.special.betainc(2.0, 1.0, pb.tensor([0.0, 0.5, 1.0]))
    Tensor([0.  , 0.25, 1.  ])
    """


@betainc.pullback("a")
def pullback_betainc_a(g: Any, a: Any, b: Any, x: Any) -> Any:
    return g * betainc_by_a(a, b, x)


@betainc.pullback("b")
def pullback_betainc_b(g: Any, a: Any, b: Any, x: Any) -> Any:
    return g * betainc_by_b(a, b, x)


@betainc.pullback("x")
def pullback_betainc_x(g: Any, a: Any, b: Any, x: Any) -> Any:
    return weighted(g, _beta_density(a, b, x))


@op(native="betainc_by_a", elementwise=True)
def betainc_by_a(a: Any, b: Any, x: Any, /) -> Any:
    """∂/∂a of betainc(a, b, x): 0 at x = 0 and x = 1.

    >>> import numpy as np
    >>> betainc_by_a(2.0, 1.0, np.array([0.0, 0.5]))
    array([ 0.       , -0.1732868])
    """


@betainc_by_a.pullback("a")
def pullback_betainc_by_a_a(g: Any) -> Any:
    refuse_derivative("betainc_by_a", "a")


@betainc_by_a.pullback("b")
def pullback_betainc_by_a_b(g: Any) -> Any:
    refuse_derivative("betainc_by_a", "b")


@betainc_by_a.pullback("x")
def pullback_betainc_by_a_x(g: Any, a: Any, b: Any, x: Any) -> Any:
    inside = (x > 0) & (x < 1)
    off = log(where(inside, x, 1)) - digamma(a) + digamma(a + b)
    return g * where(inside, off, 0) * _beta_density(a, b, x)


@op(native="betainc_by_b", elementwise=True)
def betainc_by_b(a: Any, b: Any, x: Any, /) -> Any:
    """∂/∂b of betainc(a, b, x): 0 at x = 0 and x = 1.

    >>> import numpy as np
    >>> betainc_by_b(1.0, 1.0, np.array([0.5, 1.0]))
    array([0.34657359, 0.        ])
    """


@betainc_by_b.pullback("a")
def pullback_betainc_by_b_a(g: Any) -> Any:
    refuse_derivative("betainc_by_b", "a")


@betainc_by_b.pullback("b")
def pullback_betainc_by_b_b(g: Any) -> Any:
    refuse_derivative("betainc_by_b", "b")


@betainc_by_b.pullback("x")
def pullback_betainc_by_b_x(g: Any, a: Any, b: Any, x: Any) -> Any:
    inside = (x > 0) & (x < 1)
    off = log1p(-where(inside, x, 0)) - digamma(b) + digamma(a + b)
    return g * where(inside, off, 0) * _beta_density(a, b, x)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))
