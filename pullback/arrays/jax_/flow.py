"""Control flow on tracers, as XLA compiles it: one branch of several, and loops.

Bodies are functions of lists of arrays; what they close over of the trace is followed by JAX.
Weakly typed numbers get the dtype that they have, so that all turns of a loop agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

Arrays = list[Any]


def compiler_of(array: Any) -> Any:
    """This module, for an array whose operations are traced to be compiled; else None."""
    return _SELF if isinstance(array, jax.core.Tracer) else None


class _Flow:
    """What a compiler of control flow provides."""

    name = "XLA"

    @staticmethod
    def array(value: Any, dtype: Any = None) -> Any:
        """A value as an array with a dtype that numbers beside it do not change."""
        made = jnp.asarray(value, dtype)
        return lax.convert_element_type(made, made.dtype)

    @staticmethod
    def spaces(function: Callable[..., Arrays], *args: Any) -> Arrays:
        """Shape and dtype of what a function returns, which is traced and not computed."""
        found: Arrays = jax.eval_shape(function, *args)
        return found

    @staticmethod
    def space(shape: tuple[int, ...], dtype: Any) -> Any:
        """Stands for an array of a shape and dtype, as an argument of `spaces`."""
        return jax.ShapeDtypeStruct(shape, dtype)

    @staticmethod
    def either(condition: Any, yes: Callable[[], Arrays], no: Callable[[], Arrays]) -> Arrays:
        """What one of two functions returns."""
        found: Arrays = lax.cond(condition, lambda: yes(), lambda: no())
        return found

    @staticmethod
    def place(select: Any, value: Any) -> Any:
        """The place of a function that a traced value stands for.

        select  a function from numbers to places, which knows its table; or one of truth values
        """
        places = getattr(select, "places", None)
        if places is None:
            return jnp.where(value, select(True), select(False))
        found = jnp.asarray(select.last, jnp.int32)
        for number, place in places.items():
            found = jnp.where(value == number, place, found)
        return found

    @staticmethod
    def one_of(place: Any, functions: Sequence[Callable[[], Arrays]]) -> Arrays:
        """What the function in a place returns."""
        found: Arrays = lax.switch(place, [lambda f=f: f() for f in functions])
        return found

    @staticmethod
    def scan(
        turn: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]], carried: Arrays, rows: Arrays,
        count: int, backwards: bool, unroll: Any,
    ) -> tuple[Arrays, Arrays]:
        """What is carried in the end, and what the turns make, stacked."""
        found: tuple[Arrays, Arrays] = lax.scan(
            turn, carried, rows, length=count, reverse=backwards, unroll=unroll
        )
        return found

    @staticmethod
    def repeat(
        more: Callable[[Arrays], Any], turn: Callable[[Arrays], Arrays], carried: Arrays
    ) -> Arrays:
        """What is carried once there is no further turn."""
        found: Arrays = lax.while_loop(more, turn, carried)
        return found


_SELF = _Flow()
