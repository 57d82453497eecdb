"""`torch.nn.utils`: gradients kept small, where `grad` is."""

from __future__ import annotations

from typing import Any

from ...core.tensor import raw
from ...optim import clip_grad_norm_ as _clip_grad_norm_
from ...optim import clip_grad_value_ as clip_grad_value_
from ..creation import made
from ..errors import guarded

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


@guarded
def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """Scale every parameter's `grad` so that their norm together is at most `max_norm`.

    Returns the norm that it was.

    >>> import pullback.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> (x * torch.tensor([3.0, 4.0])).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([x], 1.0), x.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    return made(raw(_clip_grad_norm_(parameters, max_norm, norm_type)))
