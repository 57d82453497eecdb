"""Functions along an axis that accept a scalar tensor as a tensor with one entry.

PyTorch allows dim 0 or -1 for a scalar tensor; the core does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import ops
from ..core.tensor import Tensor

__all__ = ["of_scalars"]


def of_scalars(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that a scalar first argument gets an axis of length 1.

    The axis is removed from results with one entry.

    >>> import pullback.torch as torch
    >>> of_scalars(lambda x, dim: x.flip(dim))(torch.tensor(2.0), 0)
    tensor(2.)
    """
    @wraps(function)
    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        if not isinstance(input, Tensor) or input.shape:
            return function(input, *args, **keywords)
        return _shaped(function(
            _shaped(input, (), (1,)), *[_shaped(v, (), (1,)) for v in args],
            **{name: _shaped(v, (), (1,)) for name, v in keywords.items()},
        ), (1,), ())

    return call


def _shaped(value: Any, old: tuple[int, ...], new: tuple[int, ...]) -> Any:
    """Reshape tensors (also in a tuple) from one shape to another; other values are unchanged."""
    if isinstance(value, Tensor):
        return ops.reshape(value, new) if tuple(value.shape) == old else value
    if isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value):
        parts = [_shaped(v, old, new) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
