"""PyTorch: conversion of dtypes, and type promotion of operands."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from torch import Tensor


class _Dtypes(dict[Any, Any]):
    """Any library's dtype, a string, or a Python type -> PyTorch's dtype."""

    def __missing__(self, dtype: Any) -> Any:
        if isinstance(dtype, torch.dtype):
            found: Any = dtype
        else:
            name = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
            found = getattr(torch, name, None)
            if not isinstance(found, torch.dtype):
                found = getattr(torch, numpy.dtype(dtype).name, None)
            if not isinstance(found, torch.dtype):
                raise TypeError(f"PyTorch has no dtype {dtype}")
        self[dtype] = found
        return found


_dtypes = _Dtypes()
_dtypes[None] = None
dtype_of = _dtypes.__getitem__
"""PyTorch's dtype for any library's dtype; None for None."""


def inexact(x: Any) -> Any:
    """x; integers and booleans become floats of PyTorch's default dtype."""
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return x
    return x.to(torch.get_default_dtype())


def matched(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two operands, at least one of them a tensor, as tensors of their common dtype.

    Follows the standard: tensors without axes count like others; only Python numbers are weak.
    """
    if not isinstance(x1, Tensor):
        x1 = _tensor(x1, x2)
    elif not isinstance(x2, Tensor):
        x2 = _tensor(x2, x1)
    if x1.dtype is x2.dtype:
        return x1, x2
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def _tensor(number: Any, like: Any) -> Any:
    dtype = torch.result_type(like, number)
    return torch.tensor(number, dtype=dtype, device=like.device)


def together(arrays: Any) -> list[Any]:
    """Several operands, at least one of them a tensor, as tensors of their common dtype."""
    arrays = list(arrays)
    tensors = [a for a in arrays if isinstance(a, Tensor)]
    some, dtype = tensors[0], tensors[0].dtype
    for a in tensors[1:]:
        dtype = dtype if a.dtype is dtype else torch.promote_types(dtype, a.dtype)
    weak = torch.zeros(1, dtype=dtype)
    for a in arrays:
        if not isinstance(a, Tensor):
            dtype = torch.promote_types(dtype, torch.result_type(weak, a))
    return [
        a.to(dtype) if isinstance(a, Tensor) else torch.tensor(a, dtype=dtype, device=some.device)
        for a in arrays
    ]
