"""Padding with entries of the array itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .. import ops

__all__ = ["pad_with_entries"]


def pad_with_entries(x: Any, widths: Sequence[Sequence[int]], mode: str) -> Any:
    """x with its last axes padded by its own entries.

    widths  (before, after) of each of the last axes
    mode    "edge", "wrap", "reflect" (without repeating the edge) or "symmetric" (repeating it)

    >>> import numpy as np
    >>> pad_with_entries(np.array([1.0, 2.0, 3.0]), [(1, 1)], "reflect")
    array([2., 1., 2., 3., 2.])
    """
    how: Any = mode
    for axis, pair in enumerate(widths, len(x.shape) - len(widths)):
        if any(pair):
            # An arange that NumPy pads has the indices of the entries.
            entries = numpy.pad(numpy.arange(x.shape[axis]), tuple(pair), mode=how)
            x = ops.take(x, entries, axis=axis)
    return x
