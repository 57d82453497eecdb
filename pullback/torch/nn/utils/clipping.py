"""Gradient clipping, in place in `grad`."""

from __future__ import annotations

import math
from typing import Any

from ....core.tensor import Tensor as CoreTensor
from ....core.tensor import raw
from ....errors import ArgumentError
from ....optim.clipping import _norm
from ....recording import no_grad
from ...creation import made, zeros
from ...errors import as_runtime, guarded

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _grads(parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, CoreTensor) else parameters
    return [p.grad for p in given if p.grad is not None]


@guarded
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """The norm of all entries of all tensors.

    error_if_nonfinite  raise an error if the norm is not finite

    >>> import pullback.torch as torch
    >>> get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    given = [tensors] if isinstance(tensors, CoreTensor) else list(tensors)
    if not norm_type > 0:
        raise ArgumentError("argument `norm_type`", "a number > 0", f"{norm_type}")
    with no_grad():
        total = made(raw(_norm(given, float(norm_type)))) if given else zeros(())
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise as_runtime(ArgumentError("norm of the gradients", "a finite number",
                                       f"{total.item()}"))
    return total


@guarded
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: Any = None
) -> None:
    """Scale the `grad` of each parameter by max_norm / (total_norm + 1e-6), if that is below 1."""
    with no_grad():
        for g in _grads(parameters):
            g.mul_((max_norm / (total_norm + 1e-6)).clamp(max=1.0).to(g.dtype))


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Any:
    """Clip the total norm of the parameters' gradients to `max_norm`, in place.

    Returns the total norm before clipping.

    >>> import pullback.torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> (x * torch.tensor([3.0, 4.0])).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([x], 1.0), x.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    given = [parameters] if isinstance(parameters, CoreTensor) else list(parameters)
    total = get_total_norm(_grads(given), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Clamp every entry of each parameter's `grad` to [-clip_value, clip_value]."""
    with no_grad():
        for g in _grads(parameters):
            g.clamp_(-clip_value, clip_value)
