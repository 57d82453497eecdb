"""Which recorded operations a picture shows, and what leads from one to the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..core.node import Node
from ..core.pull import within
from ..core.several import Pick


class Line(NamedTuple):
    """A value that goes from one operation to another.

    tail, head  the nodes
    output      which output of the tail it is
    argument    which argument of the head
    """

    tail: Node
    head: Node
    output: int
    argument: int


class History:
    """The nodes behind some nodes, in the order of recording, and the lines between them.

    spans   numbers of recording, where a tape is asked: what was recorded outside of them ends
            the paths, as leaves do
    """

    def __init__(
        self, ends: Iterable[Node], spans: Sequence[tuple[int, float]] | None = None
    ) -> None:
        self._spans = None if spans is None else list(spans)
        self.nodes = self._behind([behind(node) for node in ends])
        self.lines = [line for node in self.nodes for line in self._lines(node)]

    def _behind(self, stack: list[Node]) -> list[Node]:
        seen = set(stack)
        while stack:
            for line in self._lines(stack.pop()):
                if line.tail not in seen:
                    seen.add(line.tail)
                    stack.append(line.tail)
        # What ends a path stands first: a leaf that was written to has a late number.
        return sorted(seen, key=lambda node: (not self.is_end(node), node.seq))

    def is_end(self, node: Node) -> bool:
        """Whether a path ends here."""
        return not node.parents or (
            self._spans is not None and not within(self._spans, node.seq)
        )

    def _lines(self, node: Node) -> list[Line]:
        if self.is_end(node):
            return []
        return [
            Line(behind(parent), node, parent.index if isinstance(parent, Pick) else 0, i)
            for i, parent in enumerate(node.parents) if parent is not None
        ]

    def between(self, starts: Iterable[Node]) -> bool:
        """Leave only what lies on a path from some nodes; whether there is any such path.

        Where there is none, nothing is left out.
        """
        reached = {behind(node) for node in starts} & set(self.nodes)
        if not reached:
            return False
        for node in self.nodes:
            if any(line.tail in reached for line in self._lines(node)):
                reached.add(node)
        self.nodes = [node for node in self.nodes if node in reached]
        self.lines = [
            line for line in self.lines
            if line.tail in reached and line.head in reached
        ]
        return True


def behind(node: Node) -> Node:
    """The node of an operation, of that of one of its outputs."""
    return node.parents[0] if isinstance(node, Pick) else node
