"""How this installation computes: the core, NumPy's BLAS, and the array libraries beside it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy

from .core.compiled import compiled

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
