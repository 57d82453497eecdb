"""The recorded operations in a picture, and the values that connect them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...core.multi_output import Pick
from ...core.node import Node
from ...core.reverse import within


class Line(NamedTuple):
    """A value that one operation passes to another.

    tail, head  the nodes
    output      the index of the tail's output
    argument    the index of the head's argument
    """

    tail: Node
    head: Node
    output: int
    argument: int


class History:
    """The nodes that lead to some nodes, in the order of recording, and the lines between them.

    spans   intervals of recording numbers of a tape: operations outside of them end the paths, as
            leaves do
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
        # The ends of paths come first: a leaf that was modified in place has a late number.
        return sorted(seen, key=lambda node: (not self.is_end(node), node.seq))

    def is_end(self, node: Node) -> bool:
        """Whether paths end at this node."""
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
        """Keeps only nodes on a path from some nodes; returns whether there is such a path.

        If there is none, keeps all nodes.
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
    """The node of an operation; for one of its outputs, the operation itself."""
    return node.parents[0] if isinstance(node, Pick) else node
