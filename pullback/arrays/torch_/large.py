"""PyTorch: sums, products and updates that save passes over large tensors.

Allocating memory costs several times more than arithmetic on it. So a cotangent is added in place
to one that no other tensor shares, as in PyTorch's engine, and derivatives are computed block by
block, in memory that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import torch
from torch import Tensor

from .wrapped import is_wrapped, transforming

LARGE = 1 << 18
"""The minimum number of entries."""

_PIECE = 1 << 15
"""Entries of a block: it fits into the cache, and PyTorch computes it in one thread."""


def is_alone(array: Any) -> bool:
    """Whether a tensor fills a block of PyTorch's memory that no other tensor shares."""
    if array.__class__ is not Tensor or is_wrapped(array) or array.is_meta:
        return False  # its memory cannot be examined
    storage = array.untyped_storage()
    return (
        storage.nbytes() == array.nbytes and storage.resizable() and array.is_contiguous()
        and not array.is_conj() and _users(storage) <= _ALONE
    )


def _users(storage: Any) -> int:
    """The number of references to a storage, including this one."""
    return int(torch._C._storage_Use_Count(storage._cdata))


_ALONE = _users(torch.UntypedStorage(1)) + 1  # no tensor: `torch.func` would wrap it


def add(old: Any, more: Any) -> Any:
    """old + more; in place if `old` is large and has no other references."""
    if (
        old.__class__ is not Tensor or old.numel() < LARGE or getrefcount(old) > _LET_GO
        or not is_alone(old) or transforming()
        or old.is_inference() is not torch.is_inference_mode_enabled()
    ):
        return old + more
    return old.add_(more)


def _references(old: Any, more: Any) -> int:
    return getrefcount(old)


_LET_GO = _references({0: object()}.pop(0), None)  # the count depends on the interpreter


def scale(g: Any, slope: Callable[[Any], Any], x: Any) -> Any:
    """g · slope(x) for an elementwise slope; block by block if x is large."""
    if (
        x.__class__ is not Tensor or x.numel() < LARGE or not x.is_cpu or g.shape != x.shape
        or g.dtype is not x.dtype or not x.is_floating_point() or g.__class__ is not Tensor
        or transforming()
    ):
        return g * slope(x)
    out = torch.empty_like(x)
    rows = max(1, _PIECE * len(x) // x.numel())
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        torch.mul(g[part], slope(x[part]), out=out[part])
    return out


def move(x: Any, g: Any, factor: float) -> None:
    """x += factor · g, in place and in one pass."""
    x.add_(g, alpha=factor)
