"""`torch.autograd.Variable`, a deprecated alias of Tensor."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor

__all__ = ["Variable"]


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_Kind):
    """Returns the given tensor, detached; `isinstance` is true for every tensor.

    >>> import pullback.torch as torch
    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """The detached tensor; `volatile` has no effect, use `no_grad`."""
        made = data.detach()
        return made.requires_grad_() if requires_grad else made
