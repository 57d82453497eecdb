"""Gradients kept small: as lists (TensorFlow's habit), or where `grad` is (PyTorch's).

The functions of lists take Tensors and raw arrays, leave what is given as it is, hand None on, and
are differentiable. A gradient that is not finite makes the norm, and so all that is scaled by it,
not finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.cotangent import is_complex
from ..core.tensor import Tensor
from ..errors import ArgumentError, DtypeError
from ..ops import abs as absolute
from ..ops import clip, maximum, minimum, sqrt
from ..ops import max as largest
from ..ops import sum as total_of
from ..recording import no_grad


def global_norm(grads: Iterable[Any]) -> Any:
    """The square root of the sum of |entry|² over all gradients; 0.0 if there are none.

    >>> import numpy as np
    >>> float(global_norm([np.array([3.0]), None, np.array([[4.0]])]))
    5.0
    """
    return _norm([g for g in grads if g is not None], 2.0)


def clip_by_value(grads: Iterable[Any], low: float, high: float) -> list[Any]:
    """The gradients with every entry put between two numbers.

    Raises `DtypeError` for complex gradients, which have no order.

    >>> import numpy as np
    >>> clip_by_value([np.array([-3.0, 0.5]), None], -1.0, 1.0)
    [array([-1. ,  0.5]), None]
    """
    if not low <= high:
        raise ArgumentError("arguments of `clip_by_value`", "low ≤ high", f"{low} and {high}")
    grads = list(grads)
    if any(g is not None and is_complex(g) for g in grads):
        raise DtypeError(
            "`clip_by_value`", "real gradients", "complex ones", "use clip_by_global_norm"
        )
    return [None if g is None else clip(g, low, high) for g in grads]


def clip_by_global_norm(grads: Iterable[Any], norm: float) -> tuple[list[Any], Any]:
    """The gradients, scaled down together if their norm is above a limit; and what it was.

    scale = norm / max(norm, global_norm(grads)).

    >>> import numpy as np
    >>> clipped, before = clip_by_global_norm([np.array([3.0]), np.array([4.0])], 1.0)
    >>> clipped, float(before)
    ([array([0.6]), array([0.8])], 5.0)
    """
    if not norm > 0:
        raise ArgumentError("argument `norm` of `clip_by_global_norm`", "a number > 0", f"{norm}")
    grads = list(grads)
    total = global_norm(grads)
    if not hasattr(total, "dtype"):
        return grads, total
    scale = norm / maximum(total, norm)
    return [None if g is None else g * scale for g in grads], total


def clip_grad_norm_(params: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """Scale every parameter's `grad` so that their norm together is at most `max_norm`.

    Returns the norm that it was. Each `grad` is replaced by a new tensor without history; the
    factor is max_norm / (norm + 1e-6), as PyTorch's.

    norm_type  the order of the norm: 2, or another number > 0, or infinity

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 1.0], requires_grad=True)
    >>> pb.sum(x * pb.tensor([3.0, 4.0])).backward()
    >>> clip_grad_norm_([x], 1.0), x.grad.numpy().round(5)
    (Tensor(5.), array([0.6, 0.8]))
    """
    if not norm_type > 0:
        raise ArgumentError("argument `norm_type` of `clip_grad_norm_`", "> 0", f"{norm_type}")
    params = _with_grad(params)
    with no_grad():
        total = _norm([p.grad for p in params], norm_type)
        if params:
            scale = minimum(max_norm / (total + 1e-6), 1.0)
            for p in params:
                p.grad = p.grad * scale
    return total if isinstance(total, Tensor) else Tensor(total)


def clip_grad_value_(params: Any, clip_value: float) -> None:
    """Put every entry of every parameter's `grad` between -clip_value and clip_value.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 1.0], requires_grad=True)
    >>> pb.sum(x * pb.tensor([3.0, -0.5])).backward()
    >>> clip_grad_value_([x], 1.0)
    >>> x.grad
    Tensor([ 1. , -0.5])
    """
    params = _with_grad(params)
    with no_grad():
        clipped = clip_by_value([p.grad for p in params], -clip_value, clip_value)
        for p, g in zip(params, clipped, strict=True):
            p.grad = g


def _with_grad(params: Any) -> list[Any]:
    params = [params] if isinstance(params, Tensor) else params
    return [p for p in params if p.grad is not None]


def _norm(grads: list[Any], order: float) -> Any:
    parts = [absolute(g) if is_complex(g) or order != 2 else g for g in grads]
    if not parts:
        return 0.0
    if order == math.inf:
        total = largest(parts[0])
        for part in parts[1:]:
            total = maximum(total, largest(part))
        return total
    powers = [total_of(part * part if order == 2 else part**order) for part in parts]
    total = powers[0]
    for power in powers[1:]:
        total = total + power
    return sqrt(total) if order == 2 else total ** (1 / order)
