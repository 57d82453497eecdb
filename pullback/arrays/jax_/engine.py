"""JAX's engine seen from inside: whether it traces or differentiates, and its cache key."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from ..._user_code import line_in, line_outside
from ...errors import NotDifferentiableError, SymbolError

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


_FIXES = {
    "TracerBoolConversionError":
        ("the truth of a tensor", "select with pullback.where (or pullback.cond), or return it and "
         "decide outside; an argument of Python's, such as a flag, is fixed by static_argnames"),
    "NonConcreteBooleanIndexError":
        ("an index of booleans", "keep the shape: pullback.where(mask, x, 0.0), or multiply by the "
         "mask, as the number of selected entries is not known"),
    "TracerIntegerConversionError":
        ("a tensor as a Python integer", "compute with the tensor; an argument of Python's, such "
         "as a length, is fixed by static_argnames"),
}
_OTHER = ("the numbers of a tensor", "compute with the tensor, and leave out float(), .item() and "
          ".numpy(); or return it, and convert the result outside")
_NO_VALUE = (
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError, jax.errors.NonConcreteBooleanIndexError,
)


def no_value(error: BaseException | None) -> SymbolError | None:
    """The error of this library for one of JAX's: code needed a value while JAX traced it."""
    while error is not None and not isinstance(error, _NO_VALUE):
        error = error.__cause__
    if error is None:
        return None
    return _symbol_error(type(error).__name__, str(error), line_in(error.__traceback__))


def unknown(array: Any) -> SymbolError:
    """The error of code that needs the values of a tracer."""
    return _symbol_error("", f"{array.dtype}{list(array.shape)}")


def _symbol_error(kind: str, text: str, line: str = "") -> SymbolError:
    subject, fix = _FIXES.get(kind, _OTHER)
    shape = _SHAPE.search(text)
    value = f"a {shape[0]} tensor" if shape else "a tensor"
    return SymbolError(
        f"{subject}, at {line or line_outside()}",
        "values that are known while JAX traces the function",
        f"{value}, whose values are known only when the compiled code runs", fix,
    )


_SHAPE = re.compile(r"\b(?:bool|bfloat|u?int|float|complex)\d*\[[\d, ]*\]")


def barrier(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays, from which XLA computes anew what it has computed from the same ones before."""
    return tuple(lax.optimization_barrier(arrays)) if tracing() else arrays


def _context() -> Any:
    make = getattr(jax, "make_user_context", None)
    return None if make is None else make(None)


def usual_context() -> Any:
    """A block outside of all values of `CONTEXT`, for code with a key of its own."""
    return nullcontext() if CONTEXT is None else CONTEXT(None)


CONTEXT = _context()
"""A part of the key under which `jax.jit` keeps compiled functions; None in versions without it."""
