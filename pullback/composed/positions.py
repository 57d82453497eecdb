"""Arrays of positions along axes, to index with."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["along", "coordinates", "flat", "last_written"]


def along(n: int, axis: int, rank: int) -> Any:
    """0 to n - 1 along one of `rank` axes; the others have length 1.

    >>> along(3, 0, 2).shape
    (3, 1)
    """
    return numpy.arange(n).reshape([n if i == axis else 1 for i in range(rank)])


def coordinates(flat: Any, shape: Any) -> Any:
    """The index arrays, one per axis along a new first one, of positions in a flattened array.

    >>> coordinates(numpy.array([2, 3]), (2, 3)).tolist()
    [[0, 1], [2, 0]]
    """
    return numpy.stack(numpy.unravel_index(flat, shape)).astype(flat.dtype)


def last_written(index: Any) -> Any:
    """For each position, the last place in a vector of indices that names it; -1 for none.

    >>> last_written(numpy.array([0, 2, 0]))
    array([ 2, -1,  1])
    """
    found = numpy.full(int(index.max(initial=-1)) + 1, -1)
    found[index] = numpy.arange(index.size)
    return found


def flat(index: Any, shape: Any) -> Any:
    """The positions in the flattened array of entries at one index array per axis.

    >>> flat((numpy.array([0, 1]), numpy.array([2, 0])), (2, 3))
    array([2, 3])
    """
    return numpy.ravel_multi_index(index, shape)
