"""JAX's engine seen from inside: whether it traces or differentiates, and its cache key."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from ...errors import NotDifferentiableError

try:
    from jax._src.core import trace_state_clean as _clean  # free, and starts no device
except ImportError:  # pragma: no cover  # another version of JAX
    def _clean() -> bool:
        return False


def tracing() -> bool:
    """Whether this thread runs code whose operations JAX compiles, as under `jax.jit`.

    Under `jax.grad` and `jax.vmap` alone, code runs in every call.
    """
    return not _clean() and isinstance(jnp.zeros(()), jax.core.Tracer)


def may_replace(old: Any, new: Any = None) -> bool:
    """Whether `new`, or any result if not given, may take the place of an array that outlives it.

    A tracer means something during its trace only, and state that changes in a compiled function
    changes once, when that is traced. An array that is a tracer belongs to the trace.
    """
    if isinstance(old, jax.core.Tracer):
        return True
    return not (isinstance(new, jax.core.Tracer) or tracing())


_DIFFERENTIATING = frozenset({"JVPTracer", "LinearizeTracer"})


def differentiates(array: Any) -> bool:
    """Whether `jax.grad` and the like compute derivatives of an array.

    Inside `jax.jit` a derivative that is computed outside of it cannot be noticed.
    """
    while isinstance(array, jax.core.Tracer):
        if type(array).__name__ in _DIFFERENTIATING:
            return True
        array = getattr(array, "val", None)  # what `jax.vmap` has batched
    return False


def stopped(array: Any) -> Any:
    """The array, through which JAX computes no derivative either."""
    return lax.stop_gradient(array) if isinstance(array, jax.core.Tracer) else array


def refuse(array: Any, *args: Any, **attrs: Any) -> None:
    """Raises a `NotDifferentiableError` for a derivative by JAX, which differs from the rule's."""
    if differentiates(array):
        raise NotDifferentiableError(
            "derivative of a hand-written rule, computed by JAX",
            "a derivative by pullback: its rule is not JAX's",
            "an argument that jax.grad, jax.vjp or jax.jvp differentiates",
            "use pullback.grad, pullback.vjp or pullback.jvp, which also run inside jax.jit; or "
            "wrap the function in jax.custom_vjp, whose bwd calls pullback.vjp",
        )


def barrier(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays, from which XLA computes anew what it has computed from the same ones before."""
    return tuple(lax.optimization_barrier(arrays)) if tracing() else arrays


def _context() -> Any:
    make = getattr(jax, "make_user_context", None)
    return None if make is None else make(None)


CONTEXT = _context()
"""A part of the key under which `jax.jit` keeps compiled functions; None in versions without it."""
