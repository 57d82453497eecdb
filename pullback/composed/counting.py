"""Positions and counts of entries of arrays, which have no derivative.

They depend on the values of NumPy arrays: `BatchedValueError` inside `vmap`.
"""

from __future__ import annotations

from typing import Any

import numpy

from .positions import along

__all__ = [
    "combined", "consecutive", "counts", "gcd", "histogram", "insertions", "lcm", "most_frequent",
    "pair_counts", "running_extremes", "unique_in_order",
]


gcd, lcm = numpy.gcd, numpy.lcm


def running_extremes(values: Any, axis: int, largest: bool) -> Any:
    """The index, along an axis, of the largest (or smallest) entry so far; of equal ones the last.

    >>> running_extremes(numpy.array([1, 3, 2, 3]), 0, True)
    array([0, 1, 1, 3])
    """
    values = numpy.asarray(values)
    best = (numpy.maximum if largest else numpy.minimum).accumulate(values, axis=axis)
    steps = along(values.shape[axis], axis % values.ndim, values.ndim)
    return numpy.maximum.accumulate(numpy.where(values == best, steps, 0), axis=axis)


def most_frequent(values: Any) -> Any:
    """The last index, along the last axis, of the most frequent entry (the smallest of several).

    >>> most_frequent(numpy.array([[2, 1, 2], [5, 4, 3]]))
    array([2, 2])
    """
    values = numpy.asarray(values)
    found = numpy.empty(values.shape[:-1], numpy.int64)
    for place in numpy.ndindex(found.shape):
        some, times = numpy.unique(values[place], return_counts=True)
        found[place] = numpy.flatnonzero(values[place] == some[times.argmax()])[-1]
    return found


def insertions(rows: Any, values: Any, side: Any, sorter: Any = None) -> Any:
    """The indices at which values can be inserted into a sorted vector, or each row into a row.

    >>> insertions(numpy.array([1.0, 3.0]), numpy.array([2.0]), "left")
    array([1])
    """
    rows, values = numpy.asarray(rows), numpy.asarray(values)
    if sorter is not None:
        rows = numpy.take_along_axis(rows, sorter, axis=-1)
    if rows.ndim == 1:
        return numpy.asarray(numpy.searchsorted(rows, values, side))
    found = numpy.empty(values.shape, numpy.int64)
    for place in numpy.ndindex(rows.shape[:-1]):
        found[place] = numpy.searchsorted(rows[place], values[place], side)
    return found


def histogram(values: Any, bins: int, low: float, high: float) -> Any:
    """The counts in equal bins from low to high; if both are 0, over the range of the values.

    >>> histogram(numpy.array([0.0, 1.0, 1.0]), 2, 0, 1)
    array([1, 2])
    """
    values = numpy.asarray(values)
    if low == high == 0 and values.size:
        low, high = values.min(), values.max()
    if low == high:
        low, high = low - 1, high + 1
    return numpy.histogram(values, bins=bins, range=(float(low), float(high)))[0]


def counts(numbers: Any, weights: Any = None, minimum: int = 0) -> Any:
    """How often each integer from 0 on occurs, or the sum of its weights.

    >>> counts(numpy.array([0, 2, 2]))
    array([1, 0, 2])
    """
    return numpy.bincount(numpy.asarray(numbers), weights, minimum)


def pair_counts(rows: Any, columns: Any, size: int, weights: Any, dtype: Any) -> Any:
    """A matrix with the count, or the summed weights, of each pair of a row and a column.

    >>> pair_counts(numpy.array([0, 1, 1]), numpy.array([0, 1, 0]), 2, 1, "int32").tolist()
    [[1, 0], [1, 1]]
    """
    found = numpy.zeros((size, size), dtype)
    numpy.add.at(found, (rows, columns), weights)
    return found


def consecutive(values: Any) -> tuple[Any, Any, Any]:
    """(slices of the first axis that differ from the one before, which one each is, run lengths).

    >>> [a.tolist() for a in consecutive(numpy.array([4, 4, 5]))]
    [[4, 5], [0, 0, 1], [2, 1]]
    """
    values = numpy.asarray(values)
    new = numpy.ones(values.shape[0], bool)
    differ = values[1:] != values[:-1]
    new[1:] = differ.any(axis=tuple(range(1, values.ndim))) if values.ndim > 1 else differ
    ends = numpy.append(numpy.flatnonzero(new), values.shape[0])
    return values[new], numpy.cumsum(new) - 1, numpy.diff(ends)


def unique_in_order(values: Any) -> tuple[Any, Any, Any]:
    """(the distinct entries of a vector by first occurrence, which one each entry is, counts).

    >>> [a.tolist() for a in unique_in_order(numpy.array([5, 3, 5]))]
    [[5, 3], [0, 1, 0], [2, 1]]
    """
    found, first, inverse, times = numpy.unique(
        values, return_index=True, return_inverse=True, return_counts=True
    )
    order = numpy.argsort(first)
    return found[order], numpy.argsort(order)[inverse], times[order]


def combined(x: Any, y: Any, largest: bool, at: Any) -> Any:
    """A copy of x with the largest (or smallest) of its entries and those of y at indices.

    >>> combined(numpy.zeros(2), numpy.array([3.0, 1.0]), True, (numpy.array([0, 0]),))
    array([3., 0.])
    """
    found = numpy.array(x)
    (numpy.maximum if largest else numpy.minimum).at(found, at, numpy.asarray(y))
    return found
