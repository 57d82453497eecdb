"""Guards of `debug()`: an error at the first number that is not finite, or write to a saved value.

The first guard checks the result of every kernel, and of every step of a backward pass. The second
one makes the arrays that a recorded node saves read-only while it needs them, so that the line that
writes raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy

from ..._user_code import user_line
from ...arrays import adapters, is_array, known
from ...arrays.batched import Batched
from ...core.node import Node, note, where
from ...core.observe import Observer, Results, Run, observing
from ...core.state import PULLING, state
from ...core.tensor import Tensor, is_inexact, raw
from ...errors import AnomalyError

# Numbers ----------------------------------------------------------------------------------------


class NumberGuard(Observer):
    """Raises an `AnomalyError` at the first operation, or step of a pull, that makes a NaN or inf.

    nan, inf  which of the two are looked for
    """

    runs = True

    def __init__(self, nan: bool, inf: bool) -> None:
        self.nan, self.inf = nan, inf
        self.looking = True

    def bad(self, value: Any, inf: bool = True) -> Any:
        """Where an array holds what is looked for, as a NumPy array of booleans; None: nowhere."""
        values = _numbers(value)
        if values is None:
            return None
        found = numpy.zeros(values.shape, bool)
        if self.nan:
            found |= numpy.isnan(values)
        if self.inf and inf:
            found |= numpy.isinf(values)
        return found if found.any() else None

    def kernel(
        self, op: Any, run: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        """Run a kernel, and check its result if its arguments were finite."""
        result = run(*args, **attrs)
        if not self.looking or state().purpose == PULLING or not op.differentiable:
            return result
        whole = op.__class__ is Run  # a program may have infinite constants of its own, as masks do
        for r in result if isinstance(result, (tuple, list)) else (result,):
            found = self.bad(r, inf=not whole)
            if found is not None and all(self.bad(a) is None for a in (*args, *attrs.values())):
                raise self._forward(op, args, r, found)
        return result

    def step(self, node: Node, g: Any, run: Callable[[], Results]) -> Results:
        """Run a step of a backward pass, and check its results."""
        before, self.looking = self.looking, False  # a rule may pass by what is not finite
        try:
            answers = run()
        finally:
            self.looking = before
        given = g if isinstance(g, list) else [g]
        if all(self.bad(raw(c)) is None for c in given if c is not None):
            for i, answer in enumerate(answers):
                found = None if answer is None else self.bad(raw(answer))
                if found is not None:
                    raise self._backward(node, given, i, raw(answer), found)
        return answers

    def _forward(self, op: Any, args: Any, result: Any, found: Any) -> AnomalyError:
        at = _first(found)
        given = _values(op.arguments, args, at, found.shape)
        return AnomalyError(
            f"`{op.name}` at {user_line()}", self._wanted(),
            f"{_entry(result, at)}{_place(at)}, from {given}",
            "keep it away from there: pullback.safe_where(cond, f, g, x) evaluates f only where "
            "cond holds",
        )

    def _backward(self, node: Any, given: Any, i: int, answer: Any, found: Any) -> AnomalyError:
        names = getattr(node.op, "arguments", ())
        name = f"`{names[i]}`" if i < len(names) else str(i)
        at = _first(found)
        cotangent = next((raw(c) for c in given if c is not None), None)
        seen = f"the cotangent that came in is {_near(cotangent, at, found.shape)}"
        saved = node.saved if node.saved.__class__ is tuple else ()
        values = [_value(v) for v in saved]
        if any(v is not None for v in values):
            seen += "; forward values there: " + _values((*names, "out"), values, at, found.shape)
            finite = all(v is None or self.bad(v) is None for v in values)
            seen += "; the forward was finite" if finite else "; the forward was not finite"
        return AnomalyError(
            f"gradient of {where(node)}, argument {name}", self._wanted(),
            f"{_entry(answer, at)}{_place(at)}: {seen}",
            "keep the forward away from there: pullback.safe_where(cond, f, g, x) evaluates f only "
            "where cond holds",
        )

    def _wanted(self) -> str:
        if self.nan and self.inf:
            return "finite numbers"
        return "no NaN" if self.nan else "no infinity"


def _numbers(value: Any) -> Any:
    """An array's numbers as NumPy's; None where it has none that may be NaN, or none yet."""
    while value.__class__ is Batched:
        value = value.value
    if isinstance(value, (float, complex)):
        return numpy.asarray(value)
    if not is_array(value) or not is_inexact(value):
        return None
    value = known(value)
    return None if value is None else numpy.asarray(adapters[value.__class__].numpy(value))


def _first(found: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in numpy.argwhere(found)[0])


def _place(at: tuple[int, ...]) -> str:
    return f" at index {at}" if at else ""


def _entry(value: Any, at: tuple[int, ...]) -> str:
    return str(_numbers(value)[at])


def _near(value: Any, at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """An array's entry at an index of a shape that it broadcasts to, or its shape."""
    values = None if value is None else _numbers(value)
    if values is None:
        return "unknown"
    try:
        return str(numpy.broadcast_to(values, shape)[at])
    except ValueError:
        return f"of shape {values.shape}, with entries from {values.min()} to {values.max()}"


def _values(names: Any, values: Any, at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return ", ".join(
        f"{names[i] if i < len(names) else f'input {i}'} = {_near(v, at, shape)}"
        for i, v in enumerate(values) if v is not None and _numbers(v) is not None
    ) or "no arrays"


def _value(saved: Any) -> Any:
    """A saved value, also one that is held weakly, while it lives."""
    return saved() if isinstance(saved, ref) else saved


# Writes -----------------------------------------------------------------------------------------


class Lock:
    """Holds arrays read-only until it is let go of; several may hold the same."""

    def __init__(self, arrays: list[Any]) -> None:
        self._held: list[Any] = []
        for array in arrays:
            lock = getattr(adapters[array.__class__], "lock", None)
            if lock is not None:
                self._held += [part for part in lock(array) if _take(part)]

    def release(self) -> None:
        """Release the array; without other holders it can be written again."""
        held, self._held = self._held, []
        for array in reversed(held):  # memory before the views of it
            _give(array)

    def __del__(self) -> None:
        if _give is not None:  # as it is when the interpreter ends
            self.release()


_counts: dict[int, int] = {}
_waiting: list[Any] = []
"""Views that can be written when the memory that they are of can be."""


def _take(array: Any) -> bool:
    """Count one more holder of an array; whether it is one that could be written before."""
    key = id(array)
    if not array.flags.writeable and key not in _counts:
        return False  # read-only on its own
    _counts[key] = _counts.get(key, 0) + 1
    array.flags.writeable = False
    return True


def _give(array: Any) -> None:
    key = id(array)
    _counts[key] -= 1
    if _counts[key]:
        return
    del _counts[key]
    for waiting in (array, *_waiting[:]):
        try:
            waiting.flags.writeable = True
        except ValueError:  # its base is held by another lock
            if waiting is array:
                _waiting.append(array)
        else:
            _waiting[:] = [w for w in _waiting if w is not waiting]


class WriteGuard(Observer):
    """Makes the arrays that nodes save read-only until the nodes are freed."""

    def recorded(self, node: Node, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Lock the saved values of a recorded node."""
        note(node).lock = Lock(_arrays(node.saved))


def _arrays(saved: Any) -> list[Any]:
    """The raw arrays that a node saved, in whatever form its operation has."""
    if isinstance(saved, Tensor):
        return [saved._data]
    if isinstance(saved, (tuple, list)):
        return [array for part in saved for array in _arrays(part)]
    if isinstance(saved, dict):
        return _arrays(list(saved.values()))
    for attribute in ("_saved", "values"):  # of a `Function`'s context, of residuals
        if not is_array(saved) and hasattr(saved, attribute):
            return _arrays(getattr(saved, attribute))
    return [saved] if is_array(saved) else []


@contextmanager
def guarding(nan: bool, inf: bool, inplace: bool) -> Iterator[None]:
    """Hold the requested guards inside the block."""
    guards: list[Observer] = [NumberGuard(nan, inf)] if nan or inf else []
    guards += [WriteGuard()] if inplace else []
    with observing(*guards):
        yield
