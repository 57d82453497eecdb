"""The node and the operation of everything that has a backward pass of its own.

Hand-written gradients, checkpoints, solvers and calls of graphs have one kind of node, a
`CustomNode`, and an operation with one method `step` for every kind of backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compiled import provide
from .node import Node, object_new
from .tensor import Tensor


class CustomNode(Node):
    """A node whose operation is a `CustomOp`.

    saved    what the operation needs for the backward pass, in a form of its own
    cls      the class of Tensor that the outputs and cotangents have
    spaces   (shape, dtype) of each output, if there are several
    details  whatever else belongs to the call
    """

    __slots__ = ("cls", "details", "spaces")

    cls: type
    details: Any
    spaces: list[Any]


def custom_node(
    op: Any, parents: tuple[Node | None, ...], saved: Any, cls: type, details: Any = (),
    kind: type[CustomNode] = CustomNode,
) -> CustomNode:
    """A node for `core.record.attach`, which gives it its number, level and outputs."""
    node: CustomNode = object_new(kind)
    node.op, node.parents, node.saved = op, parents, saved
    node.cls, node.details = cls, details
    return node


class CustomOp:
    """An operation with one method, `step`, for every kind of backward pass.

    A subclass whose node saves something else than a tuple of arrays defines `held(node)`: pairs of
    a role and a raw array that must be unchanged when the backward pass comes.
    """

    keeps = True
    differentiable = True
    by_hand = True  # its rule may read tensors that are not among its node's parents
    step: Callable[..., None]

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order backward pass."""
        self.step(node, g, cotangents, None, False, Tensor)


provide(CustomNode=CustomNode)
