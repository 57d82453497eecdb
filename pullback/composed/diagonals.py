"""Matrices with given diagonals, and the indices of diagonals."""

from __future__ import annotations

from typing import Any

import numpy

from .. import ops

__all__ = ["on_diagonal", "places", "with_diagonal"]


def places(rows: int, columns: int, offset: int = 0) -> tuple[Any, Any]:
    """The row and column indices of the diagonal that is `offset` above the main one.

    >>> [i.tolist() for i in places(2, 3, 1)]
    [[0, 1], [1, 2]]
    """
    down, right = max(0, -offset), max(0, offset)
    along = numpy.arange(max(0, min(rows - down, columns - right)))
    return along + down, along + right


def on_diagonal(
    x: Any, offset: int = 0, rows: int | None = None, columns: int | None = None, filling: Any = 0
) -> Any:
    """Matrices with the last axis of x on a diagonal, and `filling` elsewhere.

    rows, columns  of a matrix; by default as few as hold the diagonal

    >>> import numpy as np
    >>> on_diagonal(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    n = x.shape[-1]
    rows, columns = (n + abs(offset) if m is None else m for m in (rows, columns))
    held = numpy.zeros((rows, columns), bool)
    held[places(rows, columns, offset)] = True
    if not n:
        x = ops.sum(x, axis=-1, keepdims=True, dtype=x.dtype)  # one entry, which is used nowhere
    entries = numpy.clip(numpy.arange(rows) - max(0, -offset), 0, max(0, n - 1))
    return ops.where(held, ops.expand_dims(ops.take(x, entries, axis=-1), axis=-1), filling)


def with_diagonal(x: Any, values: Any, offset: int = 0) -> Any:
    """Matrices with a diagonal replaced by values along the last axis.

    >>> import numpy as np
    >>> with_diagonal(np.ones((2, 2)), np.array([3.0, 4.0]))
    array([[3., 1.],
           [1., 4.]])
    """
    return ops.set_at(x, values, (..., *places(x.shape[-2], x.shape[-1], offset)))
