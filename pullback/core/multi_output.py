"""Operations with several outputs: each has a node of its own in front of the common one.

So the common node, whose cotangent is a list, is rare, and one with a single output needs no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..arrays.batched import zeros_by
from ..arrays.symbol import is_open
from .node import CallNode, Node, number, object_new
from .state import state
from .tensor import Tensor, is_inexact, raw, wrap


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


class SeveralNode(CallNode):
    """A node of an operation with several outputs, whose `spaces` says what they look like."""

    __slots__ = ("spaces",)

    spaces: list[Any]


def gathered(g: list[Any], node: Any, cls: type | None = None) -> tuple[Any, ...]:
    """The cotangents of all outputs, zeros for one that is not used; Tensors of a class, if given.
    """
    some = raw(next(c for c in g if c is not None))
    found = []
    for c, (shape, dtype) in zip(g, node.spaces, strict=True):
        if c is None:
            c = zeros_by(shape if is_open(shape) else tuple(shape), some, dtype)
        found.append(c if cls is None or isinstance(c, Tensor) else wrap(cls, c))
    return tuple(found)


class Pick(Node):
    """The node of one output of an operation that has several."""

    __slots__ = ("index",)

    op = PICK
    saved = ()
    index: int
    parents: tuple[Any]


def picked(node: Any, index: int, data: Any) -> Pick:
    """The node of output `index` of a node whose `spaces` lists what its outputs look like."""
    made = object_new(Pick)
    made.parents = (node,)
    made.index = index
    made.seq = number()
    made.level = node.level
    made.shape = data.shape
    made.dtype = data.dtype
    return made


def linked(node: Any, saved: Any, cls: type, behind: Any) -> tuple[Any, ...]:
    """What a node saved as Tensors with their history, for rules that are recorded themselves.

    behind  the node that outputs are linked to, which for several outputs is in front of theirs
    """
    parents = node.parents
    ends: Any = (behind,)
    if node.dtype is None and hasattr(node, "spaces"):
        outputs = saved[len(parents) :]
        ends = [None if v is None else end_of(behind, i, v) for i, v in enumerate(outputs)]
    return tuple([
        v if v is None or link is None else wrap(cls, v, link)
        for v, link in zip(saved, (*parents, *ends), strict=True)
    ])


def end_of(behind: Any, index: int, data: Any) -> Node | None:
    """The node of one output of something that `behind` is the common node, or dual, of."""
    if not is_inexact(data):
        return None
    made = picked(behind, index, data) if hasattr(behind, "spaces") else None
    sweeps = state().accumulators
    if sweeps:
        found: Node | None = sweeps[-1].output_node(behind, made, index, data)
        return found
    return made
