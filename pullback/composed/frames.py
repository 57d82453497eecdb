"""Frames of signals, which may overlap, and windows."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .. import ops

__all__ = ["cosine_window", "frames", "overlapping_sum"]


def _entries(count: int, length: int, step: int) -> Any:
    return numpy.arange(count)[:, None] * step + numpy.arange(length)


def frames(x: Any, length: int, step: int, axis: int, filling: Any = None) -> Any:
    """An axis cut into frames that begin `step` entries apart: it becomes (frames, length).

    filling  a number with which the end is padded, so that a frame begins at every step

    >>> frames(numpy.arange(4), 2, 1, 0).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    rank = len(x.shape)
    axis, n = axis % rank, x.shape[axis]
    count = max(0, 1 + (n - length) // step) if filling is None else -(-n // step)
    if filling is not None:
        missing = max(0, (count - 1) * step + length - n)
        ends = [(0, missing if i == axis else 0) for i in range(rank)]
        x = ops.pad(x, ends, constant_values=filling)
    return ops.take(x, _entries(count, length, step), axis=axis)


def overlapping_sum(x: Any, step: int) -> Any:
    """The signal whose frames (…, frames, length), `step` entries apart, add up to it.

    >>> overlapping_sum(numpy.ones((2, 2)), 1)
    array([1., 2., 1.])
    """
    *lead, count, length = x.shape
    zeros = numpy.zeros((*lead, (count - 1) * step + length), x.dtype)
    return ops.add_at(zeros, x, (..., _entries(count, length, step)))


def cosine_window(n: int, mean: float, periodic: bool) -> Any:
    """mean - (1 - mean) cos(2π i / n) for n entries; Hann's has the mean 0.5, Hamming's 0.54.

    periodic  one period of n entries (for even n); else the ends are equal

    >>> cosine_window(2, 0.5, True)
    array([0., 1.])
    """
    turn = n if periodic and n % 2 == 0 else n - 1
    wave = numpy.cos(2 * math.pi * numpy.arange(n) / max(1, turn)) if n > 1 else -numpy.ones(n)
    return mean - (1 - mean) * wave
