"""`torch.autograd.Variable`, which old programs call: a tensor."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor

__all__ = ["Variable"]


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_Kind):
    """The tensor that it is called with, without history; every tensor is an instance.

    >>> import pullback.torch as torch
    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """The tensor; `volatile` has no effect, use `no_grad`."""
        made = data.detach()
        return made.requires_grad_() if requires_grad else made
