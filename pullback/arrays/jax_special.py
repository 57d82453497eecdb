"""JAX: kernels of special functions and of linear algebra that `jax.numpy` has not.

JAX has no Bessel functions of other orders than 0 and 1 of the second family (`j0`, `jv`, `iv`, …),
and no derivative of the incomplete beta function in its parameters: these are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax.scipy import linalg, special


def erfcinv(x: Any) -> Any:
    """The inverse of erfc, by that of the normal distribution function, exact in both tails."""
    return special.ndtri(x / 2) * -math.sqrt(0.5)


def hazard(x: Any) -> Any:
    """φ(x) / Φ(x), by logarithms, of which neither underflows."""
    return jnp.exp(x * x * -0.5 - special.log_ndtr(x)) / math.sqrt(2 * math.pi)


def gammainc_by_a(a: Any, x: Any) -> Any:
    """The derivative of gammainc in a."""
    dtype = jnp.result_type(a, x, jnp.float32)
    a, x = jnp.broadcast_arrays(a, x)
    return lax.igamma_grad_a(a.astype(dtype), x.astype(dtype))


def lu(x: Any) -> tuple[Any, Any, Any]:
    """P, L and U of P @ L @ U = x, of stacks too."""
    packed, _, order = lax.linalg.lu(x)
    rows, k = x.shape[-2], min(x.shape[-2:])
    low = jnp.tril(packed[..., :k], -1) + jnp.eye(rows, k, dtype=x.dtype)
    p = order[..., None, :] == jnp.arange(rows)[:, None]
    return p.astype(jnp.finfo(x.dtype).dtype), low, jnp.triu(packed[..., :k, :])


KERNELS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(special, name)
        for name in (
            "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "gamma",
            "gammainc", "gammaincc", "gammaln", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "logit",
            "ndtr", "ndtri", "polygamma", "rel_entr", "xlog1py", "xlogy", "zeta",
        )
    },
    "erfcinv": erfcinv, "expm": linalg.expm, "gammainc_by_a": gammainc_by_a, "hazard": hazard,
    "lu": lu, "solve": jnp.linalg.solve,
}
