"""The storage of a tensor, as far as it is exposed: size, address, entries."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays import adapters

__all__ = ["UntypedStorage"]


class UntypedStorage:
    """The storage that a tensor and its views share."""

    def __init__(self, array: Any) -> None:
        owner = adapters[array.__class__].owner(array)
        self._owner = owner if isinstance(owner, numpy.ndarray) else numpy.asarray(array)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._owner.ctypes.data)

    def nbytes(self) -> int:
        """The size in bytes."""
        return int(self._owner.nbytes)

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other.data_ptr() == self.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())


def offset_of(array: Any) -> int:
    """The offset of an array in its memory, in entries."""
    values = numpy.asarray(array)
    start = UntypedStorage(array).data_ptr()
    return int((values.ctypes.data - start) // values.itemsize)


def steps_of(array: Any) -> tuple[int, ...]:
    """The strides of an array, in entries."""
    values = numpy.asarray(array)
    return tuple([int(s // values.itemsize) for s in values.strides])
