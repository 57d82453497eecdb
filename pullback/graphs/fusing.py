"""Steps of a plan that run block by block: elementwise operations on large arrays of one shape.

What lies between the steps of a group then stays in a core's cache. A group takes later steps, too,
which need only what is there: a backward pass joins its forward pass across the sum between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..arrays import adapters, splitters
from ..core.op import Op
from ..kinds.shapes import is_any
from .aliasing import Constant, Step
from .kernels import kernel_for

_SMALLEST = 1 << 18
"""The minimum number of entries of the arrays of a group."""

_AHEAD = 64
"""The maximum number of steps that are passed over to find a later one of the group."""


def _shape(step: Step) -> Any:
    """The shape of the result of an elementwise step, if it may be large; else None."""
    operation = step.operation
    op = operation.op
    if op.__class__ is not Op or not op.elementwise or step.extra or len(step.results) > 1:
        return None
    shape = operation.symbols[0].shape
    if is_any(operation.symbols[0]):
        return None
    return shape if any(n is None for n in shape) or prod(shape) >= _SMALLEST else None


def _is_pure(step: Step) -> bool:
    """Whether another step may be computed before this one that was built after it."""
    return step.operation.op.__class__ is Op and not step.operation.control


def _is_free(step: Step) -> bool:
    """Whether a step only stretches what has one entry, which takes no memory."""
    operation = step.operation
    if getattr(operation.op, "name", "") != "broadcast_to" or step.extra:
        return False
    given = operation.args[0]
    return not is_any(given) and prod(n or 2 for n in getattr(given, "shape", ()) or (1,)) == 1


def _registers(places: Sequence[Any]) -> set[int]:
    return {p for p in places if p.__class__ is int}


def _gathered(steps: Sequence[Step], window: Sequence[int]) -> tuple[list[int], list[int]]:
    """The group that begins at the first of some steps, and the steps to be run before it."""
    shape = _shape(steps[window[0]])
    members, before = [window[0]], list[int]()
    late: set[int] = set()  # what comes after the group
    inside = set(steps[window[0]].results)
    for i in window[1:]:
        step = steps[i]
        if not _is_pure(step):
            break
        needs = _registers((*step.args, *step.extra))
        if needs & late:
            late.update(step.results)
        elif _shape(step) == shape:
            members.append(i)
            inside.update(step.results)
        elif _is_free(step) and not needs & inside:
            before.append(i)
        else:
            late.update(step.results)
    return [i for i in before if i < members[-1]], members


class _Readers:
    """Which steps read each register, by their numbers; one behind all of them for a result."""

    def __init__(self, steps: Sequence[Step], results: Sequence[Any]) -> None:
        self.of: dict[int, list[int]] = {}
        for i, step in enumerate(steps):
            for r in _registers((*step.args, *step.extra)):
                self.of.setdefault(r, []).append(i)
        for r in _registers(results):
            self.of.setdefault(r, []).append(len(steps))

    def outputs(self, steps: Sequence[Step], members: Sequence[int]) -> list[int]:
        """The results of some steps, of given numbers, that others read."""
        own = set(members)
        return [
            r for i in members for r in steps[i].results
            if not own.issuperset(self.of.get(r, ()))
        ]


def _peak(blocks: Sequence[tuple[set[int], set[int]]], after: set[int], big: set[int]) -> int:
    """How many large arrays are alive at most, in a sequence of (read, made)."""
    alive = set(after)
    most = len(alive)
    for read, made in reversed(blocks):
        most = max(most, len(((alive | made) | read) & big))
        alive = (alive - made) | (read & big)
    return most


def fused(
    steps: list[Step], results: Sequence[Any]
) -> tuple[list[Step], dict[int, tuple[int, list[int]]]]:
    """The steps in an order in which groups are together: first position -> end, outputs.

    A group that needs more memory than its steps one by one is none.
    """
    if sum(_shape(s) is not None for s in steps) < 2:
        return steps, {}
    readers = _Readers(steps, results)
    order: list[int] = []
    groups: dict[int, tuple[int, list[int]]] = {}
    rest = list(range(len(steps)))
    while rest:
        window = rest[:_AHEAD]
        if _shape(steps[rest[0]]) is not None:
            before, members = _gathered(steps, window)
            outputs = readers.outputs(steps, members)
            if len(members) > 1 and _saves_memory(steps, readers, window, before, members):
                order += before
                groups[len(order)] = len(order) + len(members), outputs
                order += members
                taken = {*before, *members}
                rest = [i for i in window if i not in taken] + rest[_AHEAD:]
                continue
        order.append(rest.pop(0))
    return [steps[i] for i in order], groups


def _saves_memory(
    steps: Sequence[Step], readers: _Readers, window: Sequence[int], before: Sequence[int],
    members: Sequence[int],
) -> bool:
    """Whether a group has as many large arrays alive as its steps one by one, or fewer."""
    end = members[-1]
    whole = [i for i in window if i <= end]
    shape = _shape(steps[end])
    big = {r for i in whole for r in steps[i].results if _shape(steps[i]) is not None}
    big |= {
        r for i in members for r, a in zip(steps[i].args, steps[i].operation.args, strict=True)
        if r.__class__ is int and getattr(a, "shape", None) == shape
    }
    big -= {r for i in before for r in steps[i].results}
    after = {r for r in big if any(i > end for i in readers.of.get(r, ()))}

    def read_and_made(some: Sequence[int]) -> tuple[set[int], set[int]]:
        read = {r for i in some for r in _registers((*steps[i].args, *steps[i].extra))}
        return read, {r for i in some for r in steps[i].results}

    read, made = read_and_made(members)
    taken = {*before, *members}
    others = [read_and_made([i]) for i in whole if i not in taken]
    group = read - made, set(readers.outputs(steps, members))
    usual = [read_and_made([i]) for i in whole]
    return _peak([group, *others], after, big) <= _peak(usual, after, big)


class Group:
    """Steps as one function of the arrays that they read; None where they are to run one by one.

    inputs    the registers that it takes
    outputs   the registers that it gives
    """

    def __init__(self, steps: Sequence[Step], outputs: Sequence[int]) -> None:
        made = {r for step in steps for r in step.results}
        shape, full = _shape(steps[0]), set[int]()
        read: dict[int, None] = {}
        for step in steps:
            for r, symbol in zip(step.args, step.operation.args, strict=True):
                if r.__class__ is int and r not in made:
                    read[r] = None
                    if getattr(symbol, "shape", None) == shape:
                        full.add(r)
        self.inputs, self.outputs = list(read), list(outputs)
        self._full = next((i for i, r in enumerate(self.inputs) if r in full), -1)
        constants = [a for step in steps for a in step.args if a.__class__ is Constant]
        self._constants = [a.value for a in constants]
        places = {r: i for i, r in enumerate(self.inputs)}
        number = len(places)
        held = {id(a): number + i for i, a in enumerate(constants)}
        number += len(constants)
        self._calls: list[tuple[Any, list[int], Any]] = []
        for step in steps:
            args = [
                held[id(a)] if a.__class__ is Constant else places[a] for a in step.args
            ]
            self._calls.append((step.operation.op, args, step.operation.attrs))
            places[step.results[0]] = number
            number += 1
        self._wanted = [places[r] for r in outputs]

    def __call__(self, *values: Any) -> list[Any] | None:
        """The outputs, or None."""
        if self._full < 0:
            return None
        full = values[self._full]
        if prod(getattr(full, "shape", ())) < _SMALLEST:
            return None
        split = splitters.get(adapters[full.__class__].adopt(full).__class__)
        if split is None:
            return None
        def make() -> Any:
            return split.straight_line(self._calls, self._wanted, kernel_for)

        found: list[Any] | None = split.in_blocks([*values, *self._constants], full.shape, make)
        return found
