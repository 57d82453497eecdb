"""The path of the data from a source to targets, from the journal of a debug block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.node import Node
from ...core.tensor import Tensor
from ...lost_paths import INTEGER, NO_DERIVATIVE, OFF, OUTSIDE, Lost, identity
from ..debug.journal import Event, Journal
from .explanation import Place

OWN = {NO_DERIVATIVE, INTEGER, OFF, OUTSIDE}
"""Kinds of cuts that are an operation; the other kinds cut off the result of an operation."""


class Flow:
    """The events that targets were computed from, and which of them have a history to the source.

    events   number -> event, for every event that the targets' values came from
    starts   numbers of the events that produced the source's values, including in-place updates
    """

    def __init__(
        self, journal: Journal, targets: Sequence[Any], x: Any = None, node: Node | None = None
    ) -> None:
        self._journal = journal
        self.events: dict[int, Event] = {}
        found = [journal.find(t._data) for t in targets if isinstance(t, Tensor)]
        stack = [e for e in found if e is not None]
        while stack:
            event = stack.pop()
            if event.number not in self.events:
                self.events[event.number] = event
                stack.extend(journal.events[i] for i in event.inputs if i in journal.events)
        self.starts = set(self._own(x, node))
        self._source = 0 if node is None else identity(node)
        self._live = None if node is None else self._from(self._source)

    def _own(self, x: Any, node: Node | None) -> Iterator[int]:
        event = None if x is None else self._journal.find(x._data)
        while event is not None:  # an optimizer updates in place
            yield event.number
            written = event.operation.startswith("in-place") and event.inputs
            event = self._journal.events.get(event.inputs[0]) if written else None

    def _from(self, source: int) -> set[int]:
        """The identities of the source node and of all nodes computed from it."""
        live, parents = {source}, self._journal.parents
        for key in sorted(parents):
            if not live.isdisjoint(parents[key]):
                live.add(key)
        return live

    @property
    def is_used(self) -> bool:
        """Whether the targets were computed from the source's values, recorded or not."""
        return not self.starts.isdisjoint(self.events)

    def is_from(self, cut: Lost) -> bool | None:
        """Whether a cut removed a result of the source; None if the journal does not know."""
        if self._live is None:
            return True
        if not self._live.isdisjoint(cut.ids):
            return True
        return False if cut.ids else None

    def is_live(self, event: Event) -> bool:
        """Whether an event's result has a history to the source (any history if no source)."""
        if self._live is None:
            return bool(event.identity)
        return event.number in self.starts or event.identity in self._live

    def broken(self) -> Iterator[tuple[Event, set[int]]]:
        """Yields each event at which the history ends, with the argument nodes that had one.

        Skips the operations inside the forward pass of a custom gradient.
        """
        for number in sorted(self.events):
            event = self.events[number]
            if event.operation and not event.own and not self.is_live(event):
                came = [self.events[i] for i in event.inputs if i in self.events]
                own = {e.identity or self._source for e in came if self.is_live(e)}
                if own:
                    yield event, own

    def cut(self, cuts: Sequence[Lost]) -> Lost | None:
        """The cut at which the history ends; prefers cuts of values over cuts of indices."""
        found = [c for c in (_of(*b, cuts) for b in self.broken()) if c is not None]
        indices = NO_DERIVATIVE, INTEGER
        carrying = [c for c in found if c.kind not in indices]
        return next(iter(carrying or found), None)

    def cuts(self, cuts: Sequence[Lost]) -> list[Lost]:
        """The cuts at which a part of the history ends, each once, in order."""
        found = [_of(*b, cuts) for b in self.broken()]
        return list({c.number: c for c in found if c is not None}.values())

    def places(self, cut: Lost) -> tuple[Place, ...]:
        """The operations from the source to the target, in order, including the cut."""
        after = set(self.starts)
        places: list[Place] = []
        done = False
        for number in sorted(self.events):
            event = self.events[number]
            if not done and number > cut.number:
                places.append(Place(cut.operation, cut.file, cut.line, True))
                done = True
            if number not in self.starts and any(i in after for i in event.inputs):
                after.add(number)
                here = not done and _is_at(cut, event)
                done |= here
                places.append(Place(event.operation, event.file, event.line, here))
        if not done:
            places.append(Place(cut.operation, cut.file, cut.line, True))
        return tuple(places)


def _is_at(cut: Lost, event: Event) -> bool:
    """Whether a cut is the event itself, or another event of the same line."""
    mine = (event.operation, event.file, event.line) == (cut.operation, cut.file, cut.line)
    return mine and cut.number > event.number


def _of(event: Event, own: set[int], cuts: Sequence[Lost]) -> Lost | None:
    """The cut that belongs to an event, or to a value that one of its arguments came from.

    Indices that an operation returns beside its values belong to the second kind.
    """
    for cut in cuts:
        if cut.kind in OWN and _is_at(cut, event):
            return cut
    before = [c for c in cuts if c.number < event.number and not own.isdisjoint(c.ids)]
    dropped = [c for c in before if c.kind not in OWN] or before
    return dropped[-1] if dropped else None
