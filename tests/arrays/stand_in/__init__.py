"""Packages that stand in for CuPy where there is no GPU; see `cupy/__init__.py` here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pullback.arrays

_OURS = ("cupy", "cupyx", "array_api_compat.cupy")
_kept: dict[str, ModuleType] = {}


def _are_ours(name: str) -> bool:
    return name.startswith("pullback.arrays.cupy_.adapter") or any(
        name == own or name.startswith(f"{own}.") for own in _OURS
    )


def _swapped(modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """Put modules in the place of CuPy and of what was imported with it, which is given back."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _are_ours(name)}
    for name in before:
        if hasattr(pullback.arrays, name.rpartition(".")[2]):
            delattr(pullback.arrays, name.rpartition(".")[2])
    sys.modules.update(modules)
    return before


@contextmanager
def standing_in() -> Iterator[ModuleType]:
    """`import cupy` gives the stand-in, and the adapter is loaded over it."""
    global _kept
    path = str(Path(__file__).parent)
    before = _swapped(_kept)
    sys.path.insert(0, path)
    try:
        yield importlib.import_module("cupy")
    finally:
        sys.path.remove(path)
        _kept = _swapped(before)
