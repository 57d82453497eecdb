"""Scratch memory of kernels: buffers that each thread keeps from one call to the next.

Fresh memory costs a page fault every 4 KiB, more than many kernels do with those bytes. A buffer
belongs to one `Scratch` at a time, so a kernel that a `__del__` or a signal handler calls in the
middle of another one takes other buffers. No result may share its memory with a buffer.
"""

from __future__ import annotations

import math
from threading import local
from typing import Any

import numpy

_KEPT = 1 << 24
"""The maximum number of bytes of the buffers that a thread keeps."""

_LINE = 64
"""Buffers begin at a multiple of this address: a cache line."""


class _Kept(local):
    def __init__(self) -> None:
        self.buffers: tuple[Any, ...] = ()  # never changed in place, as handlers may come between


_kept = _Kept()


class Scratch:
    """Arrays that are valid inside a `with` statement."""

    def __init__(self) -> None:
        self._taken: list[Any] = []

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An uninitialized array."""
        size = math.prod(shape) * dtype.itemsize
        buffer = _free(size)
        self._taken.append(buffer)
        return numpy.ndarray(shape, dtype, buffer)

    def copy(self, array: Any) -> Any:
        """A contiguous copy."""
        made = self.take(array.shape, array.dtype)
        made[...] = array
        return made

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *exception: object) -> None:
        buffers = (*_kept.buffers, *self._taken)
        total = sum([b.nbytes for b in buffers])
        while total > _KEPT:  # drop the one that was used longest ago
            total -= buffers[0].nbytes
            buffers = buffers[1:]
        _kept.buffers = buffers


def _free(size: int) -> Any:
    """The smallest kept buffer of this many bytes to four times as many, or a new one."""
    kept = _kept.buffers
    best, most = None, 4 * size + 4096
    for i, buffer in enumerate(kept):
        if size <= buffer.nbytes <= most:
            best, most = i, buffer.nbytes - 1
    if best is not None:
        _kept.buffers = kept[:best] + kept[best + 1 :]
        return kept[best]
    made = numpy.empty(size + _LINE, numpy.uint8)
    start = -made.__array_interface__["data"][0] % _LINE
    return made[start : start + size]


def kept_bytes() -> int:
    """The number of bytes that this thread keeps."""
    return sum(buffer.nbytes for buffer in _kept.buffers)


def clear() -> None:
    """Drop what this thread keeps."""
    _kept.buffers = ()
