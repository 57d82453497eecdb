"""Operations with several outputs: each has a node of its own in front of the common one.

So the common node, whose cotangent is a list, is rare, and one with a single output needs no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .node import Node, new, number


class PickOp:
    """The operation of one output among several: it puts its cotangent in the right place."""

    name = "output"
    keeps = False

    def pull(self, node: Pick, g: Any, cotangents: dict[Node, Any]) -> None:
        """Fill this output's place in the list of cotangents of the node behind."""
        parent = node.parents[0]
        slots = cotangents.get(parent)
        if slots is None:
            slots = cotangents[parent] = [None] * len(parent.spaces)
        old = slots[node.index]  # an output that backward reads has a second node there
        slots[node.index] = g if old is None else old + g

    def step(
        self, node: Pick, g: Any, cotangents: dict[Node, Any], needed: Any, record: bool, cls: Any
    ) -> None:
        """The same in every kind of pull."""
        self.pull(node, g, cotangents)

    def push(self, node: Pick, tangents: Sequence[Any], record: bool, cls: Any) -> Any:
        """This output's tangent, out of the list of those of all."""
        return tangents[0][node.index]


PICK: Final = PickOp()


class Pick(Node):
    """The node of one output of an operation that has several."""

    __slots__ = ("index",)

    op = PICK
    saved = ()
    index: int
    parents: tuple[Any]


def picked(node: Any, index: int, data: Any) -> Pick:
    """The node of output `index` of a node whose `spaces` lists what its outputs look like."""
    made = new(Pick)
    made.parents = (node,)
    made.index = index
    made.seq = number()
    made.level = node.level
    made.shape = data.shape
    made.dtype = data.dtype
    return made
