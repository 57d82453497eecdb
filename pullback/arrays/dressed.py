"""Kernels in a wrapper, in all tables, while a block in some thread wants to see them run."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any
from weakref import WeakSet

from .._registry import OPS
from . import Kernels


class Dressed:
    """A kernel with a wrapper around it; a subclass is called in its place."""

    __slots__ = ("bare", "name")

    def __init__(self, name: str, kernel: Callable[..., Any]) -> None:
        self.name, self.bare = name, kernel


_lock = [RLock()]  # a signal handler may open an observer while one is being opened
_are_dressed = [False]


class Block:
    """A block in which kernels are dressed; held weakly, should Ctrl-C tear its end."""


_open: WeakSet[Block] = WeakSet()
if hasattr(os, "register_at_fork"):  # another thread may have held it
    os.register_at_fork(after_in_child=lambda: _lock.__setitem__(0, RLock()))


def bare(kernel: Any) -> Any:
    """A kernel without the wrapper that it may have now, to be kept."""
    return kernel.bare if isinstance(kernel, Dressed) else kernel


def dress(block: Block, kind: type[Dressed]) -> None:
    """Dress every kernel, those found later too, until the last such block has ended."""
    with _lock[0]:
        _open.add(block)
        if not _are_dressed[0]:
            Kernels.dress = kind
            _exchange(lambda name, kernel: kind(name, bare(kernel)))
            _are_dressed[0] = True


def undress(block: Block) -> None:
    """End a block."""
    with _lock[0]:
        _open.discard(block)
        if not _open:
            _are_dressed[0] = False
            Kernels.dress = None
            _exchange(lambda name, kernel: bare(kernel))


def _exchange(change: Callable[[str, Any], Any]) -> None:
    for function in list(OPS.values()):
        kernels = function.op.kernels
        for cls, kernel in list(kernels.items()):
            kernels[cls] = change(kernels.name, kernel)
