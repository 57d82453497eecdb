"""Operations of hand-written gradients: their first-order pull is their step, on raw arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .node import Node
from .tensor import Tensor


class ByStep:
    """An operation that has one way to be pulled, `step`, for every kind of pull."""

    keeps = True
    differentiable = True
    by_hand = True  # its rule may read tensors that are not among its node's parents
    step: Callable[..., None]

    def pull(self, node: Any, g: Any, cotangents: dict[Node, Any]) -> None:
        """One step of a first-order pull."""
        self.step(node, g, cotangents, None, False, Tensor)
