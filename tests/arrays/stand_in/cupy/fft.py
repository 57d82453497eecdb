"""Fourier transforms, which CuPy refuses of nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from . import signatures
from ._functions import functions


def _refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **how: Any) -> Any:
        if not a.size:
            raise ValueError("Invalid number of FFT data points (0) specified.")
        return function(a, *args, **how)

    return call


_made = {name: _refusing(f) for name, f in functions(signatures.FFT, numpy.fft).items()}
globals().update(_made)
_shifts = ("fftfreq", "rfftfreq", "fftshift", "ifftshift", "hfft", "ihfft")
globals().update({name: getattr(numpy.fft, name) for name in _shifts})
__all__ = [*_made, *_shifts]
