"""`torch.special`: special functions with PyTorch's names."""

from __future__ import annotations

from typing import Any

from .. import ops
from .. import special as _core
from .aliases import here
from .dtypes import floating
from .elementwise import erf, erfc, exp2, expm1, log1p, log_softmax, logsumexp, softmax
from .elementwise import round as round
from .elementwise import sigmoid as expit
from .errors import guarded
from .functions import (
    digamma,
    erfinv,
    i0,
    igamma,
    igammac,
    logit,
    mvlgamma,
    of_one,
    of_two,
    polygamma,
    sinc,
    xlogy,
)
from .functions import lgamma as gammaln

_ONE = (
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "i0e", "i1", "i1e", "log_ndtr",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "ndtr",
    "ndtri", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
)
_TWO = ("xlog1py", "zeta")

__all__ = [
    *_ONE, *_TWO, "digamma", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc",
    "gammaincc", "gammaln", "i0", "log1p", "log_softmax", "logit", "logsumexp", "multigammaln",
    "polygamma", "psi", "round", "sinc", "softmax", "spherical_bessel_j0", "xlogy",
]

gammainc, gammaincc, multigammaln, psi = igamma, igammac, mvlgamma, digamma

for _name in _ONE:
    globals()[_name] = of_one(here(f"special.{_name}", _core), _name)
for _name in _TWO:
    globals()[_name] = of_two(here(f"special.{_name}", _core), _name)


@guarded
def erfcx(input: Any) -> Any:
    """Scaled complementary error function exp(x²) erfc(x), without overflow for x > 0.

    >>> import pullback.torch as torch
    >>> torch.special.erfcx(torch.tensor(0.0))
    tensor(1.)
    """
    x = floating(input)
    root = 2**0.5
    # erfc(x) = 2 ndtr(-√2 x), whose logarithm does not underflow.
    return 2 * ops.exp(x * x + _core.log_ndtr(-root * x))


@guarded
def spherical_bessel_j0(input: Any) -> Any:
    """Spherical Bessel function of order 0: sin(x) / x."""
    return _core.spherical_jn(0, floating(input))
