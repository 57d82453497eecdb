"""JAX: special functions and linear algebra that `jax.numpy` lacks.

JAX has few Bessel functions, and no derivative of the incomplete beta function with respect to its
parameters. These kernels are SciPy's, and those of `numpy_incomplete`, computed on the host: while
a function is traced, by a `jax.pure_callback`, which works under `jax.jit`, `jax.vmap` and
`jax.shard_map` but calls Python. JAX cannot differentiate through it; this library's rules can.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy
from jax import lax
from jax import numpy as jnp
from jax.scipy import linalg, special

from .. import adapters


def erfcinv(x: Any) -> Any:
    """The inverse of erfc, by the inverse normal distribution function; exact in both tails."""
    return special.ndtri(x / 2) * -math.sqrt(0.5)


def hazard(x: Any) -> Any:
    """φ(x) / Φ(x), by logarithms, so that neither underflows."""
    return jnp.exp(x * x * -0.5 - special.log_ndtr(x)) / math.sqrt(2 * math.pi)


def gammainc_by_a(a: Any, x: Any) -> Any:
    """The derivative of gammainc with respect to a."""
    dtype = jnp.result_type(a, x, jnp.float32)
    a, x = jnp.broadcast_arrays(a, x)
    return lax.igamma_grad_a(a.astype(dtype), x.astype(dtype))


def by_numpy(name: str) -> Callable[..., Any]:
    """NumPy's kernel of an elementwise operation, computed on the host."""
    kernel = adapters[numpy.ndarray].kernel(name, numpy.ndarray)

    def call(*args: Any) -> Any:
        dtype = jnp.result_type(*args, float)
        host = _on_host(kernel, dtype)
        if not any(isinstance(a, jax.core.Tracer) for a in args):
            return jnp.asarray(host(*args))
        whole = jnp.broadcast_arrays(*args)
        shape = jax.ShapeDtypeStruct(whole[0].shape, dtype)
        return jax.pure_callback(host, shape, *whole, vmap_method="expand_dims")

    return call


def _on_host(kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """A kernel from arrays to NumPy arrays of a dtype; hides warnings about infinity and NaN."""

    def host(*args: Any) -> Any:
        with numpy.errstate(all="ignore"):
            return numpy.asarray(kernel(*(numpy.asarray(a) for a in args)), dtype)

    return host


def spherical_jn(n: Any, x: Any) -> Any:
    """The spherical Bessel function: in JAX for a known integer order, else on the host."""
    order = None if isinstance(n, jax.core.Tracer) else numpy.asarray(n)
    if order is None or order.ndim or order < 0 or order > _LAST:
        return _spherical_on_host(n, x)
    x = jnp.asarray(x, jnp.result_type(x, float))
    return _spherical(int(order), x)


def _spherical(n: int, x: Any) -> Any:
    """Power series up to |x| = n + 1, above it recurrence from the orders 0 and 1.

    https://dlmf.nist.gov/10.53 and https://dlmf.nist.gov/10.51
    """
    near = abs(x) <= n + 1
    small, large = jnp.where(near, x, 0), jnp.where(near, 1, x)
    series = term = small**n / math.prod(range(1, 2 * n + 2, 2))
    for k in range(1, _TERMS + n):
        term = term * (small * small) * (-0.5 / (k * (2 * n + 2 * k + 1)))
        series = series + term
    below, found = jnp.cos(large) / large, jnp.sin(large) / large
    for k in range(n):
        below, found = found, found * (2 * k + 1) / large - below
    return jnp.where(near, series, jnp.where(jnp.isinf(x), 0, found))


def lu(x: Any) -> tuple[Any, Any, Any]:
    """P, L and U with P @ L @ U = x; also for stacks."""
    packed, _, order = lax.linalg.lu(x)
    rows, k = x.shape[-2], min(x.shape[-2:])
    low = jnp.tril(packed[..., :k], -1) + jnp.eye(rows, k, dtype=x.dtype)
    p = order[..., None, :] == jnp.arange(rows)[:, None]
    return p.astype(jnp.finfo(x.dtype).dtype), low, jnp.triu(packed[..., :k, :])


_LAST, _TERMS = 8, 12  # the highest order computed in JAX, and the number of terms for order 0
_ON_HOST = (
    "betainc_by_a", "betainc_by_b", "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kv",
    "kve", "y0", "y1", "yv",
)
_spherical_on_host = by_numpy("spherical_jn")
KERNELS: dict[str, Callable[..., Any]] = {
    **{name: by_numpy(name) for name in _ON_HOST},
    **{
        name: getattr(special, name)
        for name in (
            "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "gamma",
            "gammainc", "gammaincc", "gammaln", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "logit",
            "ndtr", "ndtri", "polygamma", "rel_entr", "xlog1py", "xlogy", "zeta",
        )
    },
    "erfcinv": erfcinv, "expm": linalg.expm, "gammainc_by_a": gammainc_by_a, "hazard": hazard,
    "lu": lu, "solve": jnp.linalg.solve, "spherical_jn": spherical_jn,
}
