"""Special functions, SciPy's; Python's numbers take on the precision of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy
from cupy import signatures
from cupy._array import quietly
from scipy import special


def _function(name: str) -> Callable[..., Any]:
    of = getattr(special, name)

    def call(*args: Any) -> Any:
        dtype = cupy.result_type(*args)
        narrow = dtype == numpy.float32
        args = tuple(numpy.float32(a) if narrow and type(a) in (int, float) else a for a in args)
        return quietly(of, *args)

    return call


globals().update({name: _function(name) for name in signatures.SPECIAL})


def polygamma(n: Any, x: Any) -> Any:
    if not isinstance(n, cupy.ndarray) or not isinstance(x, cupy.ndarray):
        raise TypeError("polygamma takes two arrays")
    return quietly(special.polygamma, n, x)
