"""Detects closed-over tracked tensors while a function runs."""

from __future__ import annotations

from typing import Any

from .core import state as _state
from .core.node import Leaf, Node, number


class Captured:
    """Collects the tracked tensors from outside that a function uses, while it is `State.closed`.

    `nodes` has their nodes, in order of use.
    """

    def __init__(self) -> None:
        now = _state.state()
        self.start, self.sweeps = number(), now.accumulators
        self.level = now.level
        self.nodes: dict[Node, None] = {}

    def check(self, op: Any, parents: tuple[Node | None, ...]) -> bool:
        """Take note of parents from outside; False: the operation is recorded."""
        for parent in parents:
            if parent is not None and is_older(parent, self.start) and (
                parent.level <= self.level or any(parent in a.tangents for a in self.sweeps)
            ):
                self.nodes[parent] = None
        return False


def is_older(node: Node, start: int) -> bool:
    """Whether a node was recorded, or a leaf made, before a number."""
    return (node.born if isinstance(node, Leaf) else node.seq) < start
