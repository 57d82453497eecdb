"""PyTorch: reads with every index that NumPy accepts."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from torch import Tensor


def parts_of(index: Any) -> tuple[Any, ...]:
    """An index as a tuple."""
    return index if index.__class__ is tuple else (index,)


def tensors(index: Any, like: Any) -> Any:
    """An index with arrays replaced by tensors; positions as `int64`.

    Beside arrays, an integer becomes a tensor too: NumPy counts it as an array when it decides
    where the axes of index arrays go, and PyTorch does not.
    """
    if index.__class__ is not tuple:
        return _tensor(index, like)
    found = tuple([_tensor(part, like) for part in index])
    if any(isinstance(p, Tensor) for p in found) and any(p.__class__ is int for p in found):
        device = like.device
        found = tuple([
            torch.tensor([p], device=device) if p.__class__ is int else p for p in found
        ])
    return found


def _tensor(part: Any, like: Any) -> Any:
    if isinstance(part, (numpy.ndarray, numpy.generic)):
        part = torch.as_tensor(numpy.array(part))
    if not isinstance(part, Tensor):
        return part
    if part.device != like.device:
        part = part.to(like.device)
    return part if part.dtype in (torch.int64, torch.bool) else part.to(torch.int64)


def advanced(index: Any) -> bool:
    """Whether an index has positions, which may name an entry more than once."""
    return any(isinstance(p, Tensor) and p.dtype is not torch.bool for p in parts_of(index))


def backwards(index: Any) -> bool:
    """Whether an index has a slice with a negative step, which PyTorch does not support."""
    return any(p.__class__ is slice and (p.step or 1) < 0 for p in parts_of(index))


def read(x: Any, index: Any) -> Any:
    """x[index]; a view if PyTorch can make one, which it cannot for negative steps."""
    if index.__class__ is int:
        return x[index]
    if backwards(index):
        x, index = _turned(x, parts_of(index))
    return x[tensors(index, x)]


def _turned(x: Any, parts: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Applies slices with negative steps to x; returns x and the remaining index."""
    used = [_used(p) for p in parts]
    rest = x.ndim - sum(used)
    found, axis = [], 0
    for part, n in zip(parts, used, strict=True):
        if part.__class__ is slice and (part.step or 1) < 0:
            places = range(*part.indices(x.shape[axis]))
            forward = slice(places[-1], places[0] + 1, -places.step) if places else slice(0, 0)
            x = x[(*(slice(None),) * axis, forward)].flip(axis)
            part = slice(None)
        found.append(part)
        axis += rest if part is Ellipsis else n
    return x, tuple(found)


def _used(part: Any) -> int:
    """The number of axes that a part of an index uses."""
    if part is None or part is Ellipsis or part.__class__ is bool:
        return 0
    return len(part.shape) if "bool" in str(getattr(part, "dtype", "")) else 1
