"""What a compiled step reads and writes: tensors, their gradients, and the slots of optimizers.

Each has one place per trace. A place knows the object outside, and holds the tracer that stands for
it while the step is traced; so nothing outside is changed by a trace, whatever becomes of it.
"""

from __future__ import annotations

from typing import Any

import jax

from ..core.node import Leaf, notes
from ..core.tensor import Tensor, wrap
from ..variable import Variable

UNSET: Any = object()


def leaf_of(tensor: Any) -> Any:
    """The leaf of a tensor; None if it has none."""
    node = tensor._leaf if isinstance(tensor, Variable) else tensor._history
    return node if isinstance(node, Leaf) else None


class StandIn(Leaf):
    """The leaf of a tensor from outside, in the step: its gradients stay in the trace."""

    __slots__ = ("place",)

    def __init__(self, place: TensorPlace, real: Leaf, data: Any) -> None:
        self.place = place
        super().__init__(data, real.level, trainable=real.trainable)
        self.variable = real.variable
        found = notes.get(real)
        if found is not None:  # its hooks
            self.noted = found
            notes.add(self)

    @property
    def grad(self) -> Any:
        """What `backward` has accumulated."""
        return self.place.read_grad()

    @grad.setter
    def grad(self, value: Any) -> None:
        self.place.grad, self.place.grad_written = value, True


class TensorPlace:
    """A tensor from outside.

    start, data   the tracer at the beginning, and now
    leaf, node    what stands for its leaf, and its node now
    grad          its gradient now; `grad_start` that of the beginning, a tracer or None
    grad_read     whether the gradient that it had before the call was read
    taken         whether an optimizer's step has used its gradient
    """

    __slots__ = (
        "data", "grad", "grad_read", "grad_start", "grad_written", "leaf", "node", "real", "start",
        "taken", "tensor", "used",
    )

    def __init__(self, tensor: Any, data: Any, grad: Any = None) -> None:
        self.tensor, self.start, self.data = tensor, data, data
        self.used = self.grad_read = self.taken = False
        self.real = leaf_of(tensor)
        self.grad, self.grad_start = UNSET, grad
        self.leaf = None if self.real is None else StandIn(self, self.real, data)
        self.grad, self.grad_written = UNSET, False
        self.node: Any = self.leaf

    @property
    def written(self) -> bool:
        """Whether the step gives the tensor another value."""
        return self.data is not self.start

    def read_grad(self) -> Any:
        """The gradient now."""
        if self.grad is UNSET:
            self.grad_read = True
            self.grad = None if self.grad_start is None else wrap(Tensor, self.grad_start)
        return self.grad


class SlotPlace:
    """An array that an optimizer keeps for a parameter.

    holder, name  the dictionary outside, and its key
    """

    __slots__ = ("data", "holder", "name", "start", "used")

    def __init__(self, holder: dict[str, Any], name: str, data: Any) -> None:
        self.holder, self.name = holder, name
        self.start = self.data = data
        self.used = False

    @property
    def written(self) -> bool:
        """Whether the step gives it another value."""
        return self.data is not self.start


def like(data: Any, before: Any) -> Any:
    """New state in the dtype of the old, so that the next call finds what this one found."""
    if data.dtype != before.dtype or getattr(data, "weak_type", False):
        return jax.lax.convert_element_type(data, before.dtype)
    return data
