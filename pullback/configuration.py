"""How this installation computes: the core, NumPy's BLAS, and the array libraries beside it."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy

from .arrays.numpy_ import borrowed
from .core.compiled import compiled
from .core.state import Scoped

_of_block: Scoped[str | None] = Scoped("kernels", None)
_of_process = ["numpy"]


def _kernels() -> str:
    return _of_block.get() or _of_process[0]


borrowed.asked[:] = [_kernels]

LIBRARIES = ("torch", "jax", "cupy-cuda12x", "tensorflow", "ml_dtypes")
"""Distributions that are used where they are installed."""


def core() -> str:
    """The core that runs, in a phrase.

    >>> core() in ("the compiled core", "the core in Python")
    True
    """
    return "the core in Python" if compiled is None else "the compiled core"


def configuration() -> dict[str, Any]:
    """How this installation computes, as a dictionary of texts and numbers."""
    built: Any = numpy.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    found: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "core": core(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "processors": os.cpu_count(),
        "numpy": numpy.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "blas kernels": os.environ.get("OPENBLAS_CORETYPE", "chosen for this processor"),
        "kernels": _kernels(),
        "array libraries": ", ".join(f"{k} {v}" for k, v in found.items()) or "NumPy alone",
    }


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print which core runs, which BLAS NumPy has, and which array libraries are installed.

    mode  "stdout" prints; "dicts" returns the same as a dictionary, as `numpy.show_config` does

    Raises `ArgumentError` for another mode. `PULLBACK_PURE=1` in the environment selects the core
    in Python, whose results are the same.

    >>> sorted(show_config(mode="dicts"))[:3]
    ['array libraries', 'blas', 'blas kernels']
    """
    if mode not in ("stdout", "dicts"):
        from .errors import ArgumentError

        raise ArgumentError("`mode` of show_config", "'stdout' or 'dicts'", repr(mode))
    found = configuration()
    if mode == "dicts":
        return found
    print(f"pullback {sys.modules[__package__].__version__}")
    for name, value in found.items():
        print(f"  {name + ':':17} {value}")
    return None


def kernels(library: str) -> AbstractContextManager[None]:
    """In the block, another library computes the convolutions of NumPy arrays.

    library  "torch": PyTorch's kernels, on the same memory; "numpy": this library's, the default

    Values and gradients are the same up to rounding. Arrays and results stay NumPy arrays, and so
    do the rules: PyTorch records nothing. Only float32 and float64 are computed there. Read-only
    arrays and those with negative strides are copied. The choice belongs to the thread or task.

    Raises `ArgumentError` for another name, or if the library is not installed; it is imported
    when it is asked for.

    >>> with kernels("numpy"):
    ...     show_config(mode="dicts")["kernels"]
    'numpy'
    """
    borrowed.check(library, "kernels")
    return _of_block.held(library)


def set_kernels(library: str) -> None:
    """As `kernels`, for the whole process, wherever no block chooses.

    >>> set_kernels("numpy")
    """
    borrowed.check(library, "set_kernels")
    _of_process[0] = library
