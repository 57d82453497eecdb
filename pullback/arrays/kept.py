"""State that outlives the trace of a foreign engine: it holds numbers, never tracers.

Every write to a tensor, a variable, a `.grad` or an optimizer's state asks here first. The adapter
of the array that is replaced decides; arrays of libraries without tracers pay one look-up.
"""

from __future__ import annotations

from typing import Any

from ..errors import InplaceError, SymbolError
from . import keepers, tracing


def check_kept(old: Any, subject: str, new: Any = None) -> None:
    """Raise an `InplaceError` if a write to an array would make state of a tracer.

    old   the raw array before; of a leaf whose `.grad` is written, that of the leaf
    new   the raw array after; None if it is not known yet
    """
    may_replace = keepers.get(old.__class__)
    if may_replace is not None and not may_replace(old, new):
        raise InplaceError(
            subject, "numbers in place of numbers: JAX runs Python code once, when it traces",
            "a write, while JAX traces, to a tensor that holds an array from outside the trace",
            "pass the array into the compiled function and return the new one, copy a constant "
            "first (x * 1), or call this outside of jax.jit",
        )


def kept(old: Any, tensor: Any, subject: str) -> Any:
    """The tensor, if it may be kept with a leaf of an array; else raises, see `check_kept`."""
    check_kept(old, subject, tensor._data)
    return tensor


def check_draw() -> None:
    """Raise a `SymbolError` for random numbers of the host drawn while a foreign engine traces."""
    if tracing():
        raise SymbolError(
            "random numbers inside jax.jit", "an operation that JAX compiles",
            "numbers drawn by NumPy while JAX traces, the same ones in every later call",
            "pass them in as an argument (drawn outside), or draw with jax.random and a key that "
            "is an argument",
        )
