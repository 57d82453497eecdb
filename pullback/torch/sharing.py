"""Whether a function returns a view or a copy, as PyTorch declares it.

The core's functions share memory where NumPy does. PyTorch's meaning is a part of each function's
contract: a function that it declares to copy is decorated with `copies` here, and one that returns
its argument or a view of it is written with view operations. `tests/torch/test_view_or_copy.py`
compares every such name with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import ops
from ..arrays import adapters
from ..core.tensor import Tensor

__all__: list[str] = []


def copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its result never shares memory with its first argument.

    >>> import pullback.torch as torch
    >>> x = torch.zeros(2)
    >>> copies(lambda x: x[1:])(x).fill_(1)
    tensor([1.])
    >>> x
    tensor([0., 0.])
    """
    @wraps(function)
    def call(input: Any, *args: Any, **how: Any) -> Any:
        out = function(input, *args, **how)
        return ops.identity(out) if shares(out, input) else out

    return call


def shares(out: Any, input: Any) -> bool:
    """Whether writing to one of two tensors writes to the other."""
    if out is input or getattr(out, "_view_of", None) is not None:
        return True
    if not isinstance(out, Tensor) or not isinstance(input, Tensor):
        return False
    data, given = out._data, input._data
    owner = adapters[data.__class__].owner(data)
    return owner is not None and owner is adapters[given.__class__].owner(given)


def is_contiguous(data: Any) -> bool:
    """Whether the entries of an array are contiguous in row-major order, as far as it has memory.

    >>> import numpy as np
    >>> is_contiguous(np.ones((2, 3)).T)
    False
    """
    flags = getattr(data, "flags", None)
    if flags is not None:
        return bool(flags.c_contiguous)
    strided = getattr(data, "is_contiguous", None)
    return True if strided is None else bool(strided())
