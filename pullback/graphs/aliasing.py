"""Which arrays of a run share memory, so that a write in place to one changes no other.

The results of a traced function, and of a session, are the caller's to keep and to
write to. What a variable is assigned is the variable's. So both are copied where their memory may
belong to an argument, a constant, a variable or another result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from ..arrays import adapters
from ..arrays.batched import Batched
from ..core.op import Op
from .operation import Operation

OUTSIDE = "outside"
"""Stands for all memory that is not of one run."""


class Constant(NamedTuple):
    """A value known when a plan is made."""

    value: Any


class Step(NamedTuple):
    """One call: where its arguments stand, and where its results go.

    args     registers (`int`), or `Constant`s
    extra    the same, for the holes in its attributes
    results  registers, one for each output
    """

    operation: Operation
    args: tuple[Any, ...]
    extra: tuple[Any, ...]
    results: tuple[int, ...]


def as_constant(array: Any) -> Any:
    """An array that keeps the values that it has now; itself, if it cannot be written to."""
    adapter = adapters[array.__class__]
    if getattr(adapter, "immutable", False) or isinstance(array, (numpy.generic, Batched)):
        return array
    return adapter.copy(array)


def same_values(constant: Any, array: Any) -> bool:
    """Whether a constant still has the values of the array that it was made of."""
    if constant is array:
        return True
    some, others = map(adapters[array.__class__].numpy, (constant, array))
    return some.tobytes() == others.tobytes()


def shared(
    steps: Sequence[Step], results: Sequence[Any], feeds: int
) -> tuple[set[int], set[int]]:
    """The positions of steps that keep an array, and of results, which may not be theirs alone.

    feeds  so many registers, the first ones, are given
    """
    roots: dict[int, frozenset[Any]] = {i: frozenset([OUTSIDE]) for i in range(feeds)}
    taken: set[Any] = {OUTSIDE}
    kept: set[int] = set()
    for position, step in enumerate(steps):
        found = frozenset().union(*[_roots(a, roots) for a in _viewed(step)])
        if getattr(step.operation.op, "retains", False):
            if not taken.isdisjoint(found):
                kept.add(position)
            taken |= found
            found = frozenset([OUTSIDE])
        elif getattr(step.operation.op, "stored", False) and not _is_owning(step):
            found |= {OUTSIDE}
        for register in step.results:
            roots[register] = found or frozenset([register])
    copied: set[int] = set()
    for position, place in enumerate(results):
        if place is None:
            continue
        found = _roots(place, roots)
        if not taken.isdisjoint(found):
            copied.add(position)
        taken |= found
    return kept, copied


def _roots(place: Any, roots: dict[int, frozenset[Any]]) -> frozenset[Any]:
    """What owns the memory of what is at a place."""
    return frozenset([OUTSIDE]) if place.__class__ is Constant else roots[place]


def _viewed(step: Step) -> Sequence[Any]:
    """The arguments of which the results may be views."""
    op = step.operation.op
    if isinstance(op, Op):
        return step.args[:1] if op.view else ()
    return () if _is_owning(step) else step.args


def _is_owning(step: Step) -> bool:
    return getattr(step.operation.op, "owning", False)
