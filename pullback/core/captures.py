"""Detects closed-over tracked tensors while a function runs."""

from __future__ import annotations

from typing import Any

from . import state as _state
from .node import Leaf, Node, number


class Captured:
    """Collects the tracked tensors from outside that a function uses, and cuts them off.

    While it is in force (`State.closed`), an operation on such a tensor is not recorded; `nodes`
    has their nodes, in order of use. Tapes and transformations that it opens work as usual.
    """

    def __init__(self) -> None:
        now = _state.state()
        self.start, self.sweeps = number(), now.accumulators
        self.level = now.level
        self.nodes: dict[Node, None] = {}

    def check(self, op: Any, parents: tuple[Node | None, ...]) -> bool:
        """Take note of parents from outside; whether there are no others."""
        inside = False
        for parent in parents:
            if parent is None:
                continue
            if not is_older(parent, self.start):
                inside = True
            elif parent.level <= self.level or any(parent in a.tangents for a in self.sweeps):
                self.nodes[parent] = None
        return not inside


def is_older(node: Node, start: int) -> bool:
    """Whether a node was recorded, or a leaf made, before a number."""
    return (node.born if isinstance(node, Leaf) else node.seq) < start
