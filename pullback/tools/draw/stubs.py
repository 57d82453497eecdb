"""Cuts beside the paths of a picture: places where its tensors lost their history."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import ref

from ...core.node import FREED, Leaf, Node
from ...core.tensor import Tensor
from ...lost_paths import (
    INTEGER,
    LEFT,
    NO_DERIVATIVE,
    OFF,
    OUTSIDE,
    OVERWRITTEN,
    STOPPED,
    Lost,
    losses,
)
from ..debug.journal import Event, latest
from .history import History, behind

WHY = {
    LEFT: "the values left the library", STOPPED: "the history was dropped",
    NO_DERIVATIVE: "no derivative", INTEGER: "integers or booleans",
    OFF: "recording was off", OUTSIDE: "no tape was recording",
    OVERWRITTEN: "overwritten in place",
}
"""Kind of a cut -> text in its box."""
_FAR = 200
"""The maximum number of unrecorded operations to follow from one cut."""


class Stub:
    """A cut at one line, made once or several times.

    node   the operation in the picture whose result was cut
    cut    the first such cut
    count  the number of cuts
    into   operations of the picture that use the cut values, as far as known
    """

    def __init__(self, node: Node, cut: Lost) -> None:
        self.node, self.cut, self.count = node, cut, 0
        self.into: dict[Node, None] = {}

    @property
    def at(self) -> str:
        """The file and line, without folders."""
        return f"{Path(self.cut.file).name}:{self.cut.line}" if self.cut.line else ""

    @property
    def rows(self) -> tuple[str, ...]:
        """The lines of its box."""
        times = f" · {self.count} times" if self.count > 1 else ""
        return tuple(row for row in (WHY[self.cut.kind] + times, self.at) if row)


def stubs_of(history: History) -> list[Stub]:
    """The cuts at operations of a picture, made before its last operation.

    A cut of a tensor outside the picture belongs to the operation that the tensor came from, if
    its values are known to return to the picture. Operations while recording was off are skipped
    if their values do not return: most of them update parameters.
    """
    nodes = set(history.nodes)
    last = max((n.seq for n in nodes if n.parents), default=0)
    remembered = [c for c in losses() if c.number < last]
    if not remembered:
        return []
    back = _Back(history)
    found: dict[tuple[Any, ...], Stub] = {}
    for cut in remembered:
        sources = [None if n is None else behind(n) for n in (s() for s in cut.sources)]
        node = next((n for n in sources if n in nodes), None)
        if node is None:
            continue
        into = back.of(cut, node, node is sources[0])
        off = cut.kind in (OFF, OUTSIDE)
        if not into and (node is not sources[0] or off):
            continue
        key = (node, cut.kind, cut.operation, cut.file, cut.line)
        stub = found.setdefault(key, Stub(node, cut))
        stub.count += 1
        stub.into.update(dict.fromkeys(into))
    return list(found.values())


class _Back:
    """Where values without history return to a picture, by their arrays and by the journal."""

    def __init__(self, history: History) -> None:
        self._takers: dict[int, list[Node]] = defaultdict(list)
        for node in history.nodes:
            for array in _constants(node):
                self._takers[id(array)].append(node)
        self._arrays: dict[Node, int] = {}
        self._lines: dict[tuple[Node, Node], int] = defaultdict(int)
        for line in history.lines:
            self._lines[line.tail, line.head] += 1
            saved = line.head.saved if isinstance(line.head.saved, tuple) else ()
            if line.argument < len(saved) and hasattr(saved[line.argument], "dtype"):
                self._arrays[line.tail] = id(saved[line.argument])
            if len(saved) == len(line.head.parents) + 1 and saved[-1] is not None:  # its output
                self._arrays[line.head] = id(saved[-1])
        self._nodes = set(history.nodes)
        self._event: dict[Node, int] = {}
        self._next: dict[int, list[Event]] = defaultdict(list)
        self._made: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        self._journal = latest()
        events = {} if self._journal is None else self._journal.events
        for event in events.values():
            made = None if event.node is None else event.node()
            if made is not None:
                self._event[behind(made)] = event.number
            self._made[event.operation, event.file, event.line].append(event.number)
            for number in dict.fromkeys(event.inputs):
                self._next[number].append(event)
        own = (self._made_by(cut) for cut in losses()) if events else ()
        self._cuts = {number for number in own if number is not None}

    def of(self, cut: Lost, node: Node, direct: bool) -> list[Node]:
        """The operations that use the cut values; `direct`: cut from the node's own result."""
        if cut.kind == OVERWRITTEN:
            return []
        result = None if cut.result is None else cut.result()
        array = result._data if isinstance(result, Tensor) else result
        known = None if array is None else id(array)
        if known is None and cut.kind == STOPPED and direct:
            # It shares the array of its source.
            known = id(node.data) if isinstance(node, Leaf) else self._arrays.get(node)
        found = [] if known is None else self._takers.get(known, [])
        return found or self._followed(cut, node, direct)

    def _made_by(self, cut: Lost) -> int | None:
        """The event of the cut itself; None for a detach, or for values that left."""
        if cut.kind in (LEFT, STOPPED, OVERWRITTEN):
            return None
        found = self._made[cut.operation, cut.file, cut.line]
        position = bisect_left(found, cut.number)
        return found[position - 1] if position else None

    def _followed(self, cut: Lost, node: Node, direct: bool) -> list[Node]:
        """The recorded operations that the journal reaches through unrecorded ones.

        Starts at the users of a node's tensor, also through operations whose nodes are freed.
        """
        own = self._made_by(cut) if self._journal is not None else None
        start = self._event.get(node) if own is None else own
        if start is None:
            return []
        gone = own is None and not direct
        reached, stack = {start}, [start]
        found: dict[Node, None] = {}
        while stack and len(reached) < _FAR:
            for event in self._next.get(stack.pop(), ()):
                head = None if event.node is None else event.node()
                if event.number in reached or event.number in self._cuts:
                    continue
                taken = sum(i in reached and not (gone and i == start) for i in event.inputs)
                if head is None:
                    if taken and event.number > cut.number if event.node is None else gone:
                        reached.add(event.number)
                        stack.append(event.number)
                elif (head := behind(head)) in self._nodes and event.number > cut.number:
                    lines = 0 if gone else self._lines.get((node, head), 0)
                    if head.parents and taken > lines:
                        found[head] = None
        return list(found)


def _constants(node: Node) -> Iterator[Any]:
    """The arrays that an operation uses without history, as far as it still holds them."""
    if node.saved is FREED or not isinstance(node.saved, tuple):
        return
    for parent, value in zip(node.parents, node.saved, strict=False):
        if parent is None and value is not None:
            held = value() if isinstance(value, ref) else value
            if hasattr(held, "dtype"):
                yield held
