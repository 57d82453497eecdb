"""Kernels of another library for NumPy arrays, where a program asks for them.

The arrays are shared with the other library, not copied. `pullback.kernels` has the choice.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy

from ...errors import ArgumentError

Kernel = Callable[..., Any]

LIBRARIES = ("numpy", "torch")

asked: list[Callable[[], str]] = []
"""The function that returns the library whose kernels are asked for, once a program asks."""


def check(name: str, subject: str) -> None:
    """Raises `ArgumentError` for a library that has no kernels to lend, or is not installed."""
    if name not in LIBRARIES:
        raise ArgumentError(f"argument `library` of `{subject}`", '"numpy" or "torch"', repr(name))
    if name != "numpy":
        try:
            importlib.import_module(f"..{name}_.nn", __package__)
        except ImportError as error:
            raise ArgumentError(
                f"argument `library` of `{subject}`", "an installed library",
                f"{name!r}: {error}", f"install it (pip install {name}), or keep NumPy's kernels",
            ) from error


def borrowing(kernel: Kernel) -> Kernel:
    """A kernel of two arrays that uses another library's kernel of the same name where asked to.

    Only float32 and float64: other dtypes are NumPy's.
    """

    @functools.wraps(kernel)
    def call(x1: Any, x2: Any, *attrs: Any, **named: Any) -> Any:
        name = asked[0]() if asked else "numpy"
        if name == "numpy" or x1.dtype != x2.dtype or x1.dtype.char not in "fd":
            return kernel(x1, x2, *attrs, **named)
        module: Any = importlib.import_module(f"..{name}_.nn", __package__)
        other = module.KERNELS[kernel.__name__]
        return module.shared_back(other(module.shared(x1), module.shared(x2), *attrs, **named))

    return call


def shareable(x: Any) -> Any:
    """A plain array that PyTorch accepts: writable (it warns of others), without negative strides.

    Such an array is returned as it is; others are copied.
    """
    x = numpy.asarray(x)
    fits = x.flags.writeable and min(x.strides, default=0) >= 0
    return x if fits and all(s % x.itemsize == 0 for s in x.strides) else numpy.array(x)
