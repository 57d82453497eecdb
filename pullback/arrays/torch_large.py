"""PyTorch: sums, products and steps that save passes over large tensors.

Fresh memory costs several times what arithmetic on it costs. So a cotangent is added to one that
nobody else sees in its place, as PyTorch's engine does it, and the steps of a derivative are taken
piece by piece, in memory that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import torch
from torch import Tensor

LARGE = 1 << 18
"""From this many entries on it is worth while."""

_PIECE = 1 << 15
"""Entries of a piece: it fits into the cache, and PyTorch does not wait for a second thread."""


def is_alone(array: Any) -> bool:
    """Whether a tensor fills memory of PyTorch's own, of which there are no other tensors."""
    storage = array.untyped_storage()
    return (
        storage.nbytes() == array.nbytes and storage.resizable() and array.is_contiguous()
        and not array.is_conj() and _users(storage) <= _ALONE
    )


def _users(storage: Any) -> int:
    """How many tensors share a storage, itself counted too."""
    return int(torch._C._storage_Use_Count(storage._cdata))


def _alone() -> int:
    array = torch.zeros(1)
    return _users(array.untyped_storage())


_ALONE = _alone()


def add(old: Any, more: Any) -> Any:
    """old + more; in the place of a large `old` that the caller let go of and nobody else holds."""
    if (
        old.numel() < LARGE or getrefcount(old) > _LET_GO or old.__class__ is not Tensor
        or not is_alone(old)
        or old.is_inference() is not torch.is_inference_mode_enabled()
    ):
        return old + more
    return old.add_(more)


def _references(old: Any, more: Any) -> int:
    return getrefcount(old)


_LET_GO = _references({0: object()}.pop(0), None)  # how that counts depends on the interpreter


def scale(g: Any, slope: Callable[[Any], Any], x: Any) -> Any:
    """g · slope(x), of an elementwise slope; piece by piece where x is large."""
    if (
        x.numel() < LARGE or not x.is_cpu or g.shape != x.shape or g.dtype is not x.dtype
        or not x.is_floating_point() or not (g.__class__ is x.__class__ is Tensor)
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
