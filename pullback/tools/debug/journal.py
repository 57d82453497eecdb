"""The journal of a debug block: every operation that was computed, also of untracked arguments.

By it data can be followed from one tensor to another where history was lost. Arrays are known by
identity while they live, and are not kept alive; numbers are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy

from ..._user_code import place
from ...arrays import SCALARS, adapters
from ...arrays.batched import Batched
from ...arrays.symbol import Symbol
from ...core.node import FREED, Node, number
from ...core.observe import Observer, Results, observing
from ...core.op import OPS
from ...core.state import QUIET, state
from ...core.tensor import is_inexact
from ...lost_paths import OVERWRITTEN, STOPPED, identity, remember

MOST = 100_000
"""So many events are remembered."""


class Event:
    """One computed operation, or (`operation` empty) an array from outside.

    inputs   numbers of the events that its array arguments came from
    node     a weak reference to the node it was recorded as, or None
    identity the number of that node, which stays when it is gone; 0 where there is none
    bad      "nan" or "inf", of a result that is not finite; else empty
    scalar   whether Python's numbers were among its arguments
    own      computed where nothing is recorded in any case, as in the forward of a `Function`
    """

    __slots__ = (
        "bad", "file", "identity", "inputs", "line", "node", "number", "operation", "own", "scalar",
    )

    def __init__(
        self, operation: str, inputs: tuple[int, ...], place: tuple[str, int], bad: str
    ) -> None:
        self.number = number()
        self.operation, self.inputs, self.bad = operation, inputs, bad
        self.file, self.line = place
        self.node: Any = None
        self.identity = 0
        self.scalar = False
        self.own = state().purpose == QUIET

    @property
    def is_entry(self) -> bool:
        """Whether values from outside the library came in here."""
        return self.scalar or not self.operation

    def recorded(self, node: Node) -> None:
        """It was recorded as a node."""
        self.node, self.identity = ref(node), identity(node)

    def __repr__(self) -> str:
        return f"<Event {self.number} {self.operation or 'given'} at {self.file}:{self.line}>"


class Journal(Observer):
    """Events by number, and by the arrays that are their results.

    parents   identity of a recorded node -> those of the nodes it came from, also when all are gone
    """

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self.parents: dict[int, tuple[int, ...]] = {}
        self.paused = False
        self._saved: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()
        self._arrays: dict[int, tuple[Any, int]] = {}

    # Writing --------------------------------------------------------------------------------

    def kernel(
        self, op: Any, run: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        """Run a kernel, and add an event for it."""
        result = run(*args, **attrs)
        if not self.paused:
            self.paused = True
            try:
                self.add(op.name, (*args, *_indices(attrs)), result)
            finally:
                self.paused = False
        return result

    def step(self, node: Node, g: Any, run: Callable[[], Results]) -> Results:
        """Leave the steps of pulls out; what a node saved is kept as long as the node lives.

        So a gradient can be explained after the pull that let go of it. A node that is asked once
        more than it may be is kept as it is.
        """
        if node.saved is FREED:
            self._saved.pop(node, None)
        elif node.op.keeps:
            self._saved[node] = node.saved
        before, self.paused = self.paused, True
        try:
            return run()
        finally:
            self.paused = before

    def add(self, operation: str, args: Any, result: Any) -> Event:
        """An event with the arrays it came from and its result, or results."""
        at = place()
        inputs = tuple(self._source(a) for a in args if _is_known(a))
        results = result if isinstance(result, (tuple, list)) else (result,)
        event = Event(operation, inputs, at, max(map(_bad, results), default=""))  # nan last
        event.scalar = any(isinstance(a, (int, float)) for a in args)
        self.events[event.number] = event
        for r in results:
            self._remember(r, event.number)
        if len(self.events) > MOST:
            del self.events[next(iter(self.events))]
        return event

    def written(self, array: Any, by: str) -> None:
        """Add an event for memory that was overwritten in place."""
        if self.paused:
            return
        owner = adapters[array.__class__].owner(array)
        event = self.add(f"in-place {by}", [array] if _is_known(array) else [], array)
        if owner is not None:
            self._remember(owner, event.number)

    def copied(self, by: str, arrays: Sequence[Any], made: Any) -> None:
        """Follow values to another array; without `by`, the copy is the same value."""
        if by:
            self.add(by, arrays, made)
            return
        event = self.find(arrays[0])
        if event is not None:
            self._remember(made, event.number)

    def lost(
        self, kind: str, operation: str, parents: Sequence[Any], result: Any, replaces: bool
    ) -> None:
        """Note the lost path for `explain`, unless it is noted in any case."""
        if kind not in (STOPPED, OVERWRITTEN):
            remember(kind, operation, parents, result, replaces)

    def recorded(self, node: Node, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Connect a node with the events of its outputs, and of its arguments if they are leaves.
        """
        for parent, value in zip(node.parents, inputs, strict=False):
            if parent is not None and not parent.parents and _is_known(value):
                found = self.events.get(self._source(value))
                if found is not None and found.node is None:
                    found.recorded(parent)
        for data in outputs:
            event = self.find(data)
            if event is not None:
                event.recorded(node)
        self._descend(node)

    def _descend(self, node: Node) -> None:
        """Remember what a node came from, as far back as it is not known yet."""
        stack = [node]
        while stack:
            now = stack.pop()
            if now.parents and (key := identity(now)) not in self.parents:
                own = [p for p in now.parents if p is not None]
                self.parents[key] = tuple(map(identity, own))
                stack += own
        while len(self.parents) > MOST:
            del self.parents[next(iter(self.parents))]

    def _source(self, array: Any) -> int:
        """The number of the event that an array came from; of a new one for a stranger."""
        event = self.find(array)
        if event is None:
            event = Event("", (), place(), _bad(array))
            self.events[event.number] = event
            self._remember(array, event.number)
        return event.number

    def _remember(self, array: Any, event: int) -> None:
        if not _is_known(array):
            return
        key, arrays = id(array), self._arrays
        try:
            held: Any = ref(array, lambda _: arrays.pop(key, None))
        except TypeError:
            if not isinstance(array, (*SCALARS, numpy.generic)):
                return
            held = _Held(array)
        arrays[key] = held, event

    # Reading --------------------------------------------------------------------------------

    def find(self, array: Any) -> Event | None:
        """The event that made an array, or the memory that it is a view of."""
        for known in (array, _owner(array)):
            found = self._arrays.get(id(known))
            if found is not None and found[0]() is known:
                return self.events.get(found[1])
        return None

    @contextmanager
    def restored(self, nodes: Iterable[Node]) -> Iterator[list[Node]]:
        """Give nodes back what pulls let go of, inside the block, as far as it is kept here."""
        gone = [n for n in nodes if n.saved is FREED and n in self._saved]
        for node in gone:
            node.saved = self._saved[node]
        try:
            yield gone
        finally:
            for node in gone:
                node.saved = FREED

    def of_node(self, node: Any) -> Event | None:
        """The event that was recorded as a node."""
        for event in reversed(self.events.values()):
            if event.node is not None and event.node() is node:
                return event
        return None


class _Held:
    """A number, which has no weak references."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _indices(attrs: Mapping[str, Any]) -> list[Any]:
    """The arrays among attributes: those that an index has."""
    found = []
    for value in attrs.values():
        found += [v for v in (value if isinstance(value, tuple) else (value,)) if _is_known(v)]
    return found


def _owner(array: Any) -> Any:
    return adapters[array.__class__].owner(array) if hasattr(array, "dtype") else None


def _is_known(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _bad(data: Any) -> str:
    """ "nan" or "inf" where an array holds such; empty where it does not, or that is not known."""
    if data.__class__ in (Symbol, Batched) or not hasattr(data, "dtype") or not is_inexact(data):
        return ""
    if bool(OPS["all"](OPS["isfinite"](data))):
        return ""
    return "nan" if bool(OPS["any"](OPS["isnan"](data))) else "inf"


def current() -> Journal | None:
    """The journal that is being kept in this thread, or None."""
    return next((o for o in state().observers if isinstance(o, Journal)), None)


@contextmanager
def paused() -> Iterator[None]:
    """Write nothing down inside the block."""
    journal = current()
    before = journal is not None and journal.paused
    if journal is not None:
        journal.paused = True
    try:
        yield
    finally:
        if journal is not None:
            journal.paused = before


class _Last(threading.local):
    journal: Journal | None = None


_last = _Last()


def latest() -> Journal | None:
    """The journal being kept, or that of this thread's last debug block."""
    return current() or _last.journal


@contextmanager
def keeping() -> Iterator[Journal]:
    """Keep a journal in this thread inside the block; inside another one, that goes on.

    >>> import pullback as pb
    >>> with keeping() as journal:
    ...     y = pb.exp(pb.tensor(1.0)) + 1
    >>> [event.operation for event in journal.events.values() if event.operation]
    ['exp', 'add']
    """
    outer = current()
    if outer is not None:
        yield outer
        return
    journal = _last.journal = Journal()
    with observing(journal):
        yield journal
