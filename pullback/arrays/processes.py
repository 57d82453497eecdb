"""The processes that run a program together, through the library that connects them.

JAX's (`jax.distributed`) or PyTorch's (`torch.distributed`); a program that has connected none runs
alone.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Protocol

from . import SCALARS, adapters


class Processes(Protocol):
    """The processes of one library: a module with these functions."""

    def connected(self) -> bool:
        """Whether the library has connected processes."""

    def rank(self) -> int:
        """The number of this process."""

    def agree(self, error: str) -> str:
        """Wait for all; returns the text that process 0 gave, to each."""

    def whole(self, array: Any) -> Any:
        """All entries of an array, wherever they are, as a NumPy array in each process."""

    def is_spread(self, array: Any) -> bool:
        """Whether an array's entries are on several devices."""


_FOLDERS = {"jax": "jax_", "torch": "torch_"}


def _library() -> Any:
    """The module of the library that has connected this program's processes, or None."""
    for name, folder in _FOLDERS.items():
        if name in sys.modules:
            found: ModuleType = importlib.import_module(f".{folder}.processes", __package__)
            if found.connected():
                return found
    return None


def rank() -> int:
    """The number of this process; 0 in a program of one.

    >>> rank()
    0
    """
    library = _library()
    return 0 if library is None else int(library.rank())


def agree(error: str = "") -> str:
    """Wait until all processes are here; returns the text of process 0 in each of them.

    Process 0 can so tell the others that it failed, which would otherwise wait for it forever.

    >>> agree("disk full")
    'disk full'
    """
    library = _library()
    return error if library is None else str(library.agree(error))


def whole(array: Any) -> Any:
    """All entries of an array as a NumPy array in each process, which all must call this.

    >>> import numpy
    >>> whole(numpy.ones(2))
    array([1., 1.])
    """
    module = _module_of(array)
    return array if module is None else module.whole(array)


def is_spread(array: Any) -> bool:
    """Whether an array's entries are on several devices.

    >>> is_spread(3.0)
    False
    """
    module = _module_of(array)
    return module is not None and bool(module.is_spread(array))


def _module_of(array: Any) -> Any:
    """The module of an array's library; None where arrays are on one device."""
    if array.__class__ in SCALARS or array.__class__ not in adapters:
        return None
    folder = _FOLDERS.get(adapters[array.__class__].name)
    return folder and importlib.import_module(f".{folder}.processes", __package__)
