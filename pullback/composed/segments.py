"""Reductions of the entries along the first axis that have the same number."""

from __future__ import annotations

from typing import Any

import numpy

from .. import ops
from ..arrays.numpy_.narrow import finfo

__all__ = ["limits", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sqrt_n",
           "segment_sum", "sizes"]


def limits(dtype: Any) -> Any:
    """The limits of a dtype of integers or real numbers.

    >>> limits(numpy.dtype("int8")).max
    127
    """
    return numpy.iinfo(dtype) if dtype.kind in "iu" else finfo(dtype)


def sizes(numbers: Any, count: int) -> Any:
    """The number of entries in each of `count` segments; larger numbers are left out.

    >>> sizes(numpy.array([0, 2, 2, 3]), 3)
    array([1, 0, 2])
    """
    return numpy.bincount(numbers, minlength=count + 1)[:count]


def segment_sum(x: Any, numbers: Any, count: int) -> Any:
    """The sums of the entries of each segment, from 0 to count - 1; 0 where there are none.

    numbers  of the entries along the first axis; entries with the number `count` are left out

    >>> segment_sum(numpy.array([1.0, 2.0, 4.0]), numpy.array([0, 0, 1]), 2)
    array([3., 4.])
    """
    zeros = numpy.zeros((count + 1, *x.shape[1:]), x.dtype)
    return ops.add_at(zeros, x, (numbers,))[:count]


def segment_mean(x: Any, numbers: Any, count: int) -> Any:
    """The means of the entries of each segment; 0 where there are none."""
    return segment_sum(x, numbers, count) / _divisors(x, numbers, count)


def segment_sqrt_n(x: Any, numbers: Any, count: int) -> Any:
    """The sums of the entries of each segment, each divided by the root of their number."""
    return segment_sum(x, numbers, count) / ops.sqrt(_divisors(x, numbers, count))


def _divisors(x: Any, numbers: Any, count: int) -> Any:
    """The number of entries in each segment, at least 1."""
    found = numpy.maximum(sizes(numbers, count), 1).astype(x.dtype)
    return found.reshape((-1, *(1,) * (len(x.shape) - 1)))


def segment_prod(x: Any, numbers: Any, count: int) -> Any:
    """The products of the entries of each segment; 1 where there are none."""
    return ops.prod(_rows(x, numbers, count, 1), axis=1, dtype=x.dtype)


def segment_max(x: Any, numbers: Any, count: int) -> Any:
    """The largest entry of each segment; the dtype's smallest number where there are none."""
    return ops.max(_rows(x, numbers, count, limits(x.dtype).min), axis=1)


def segment_min(x: Any, numbers: Any, count: int) -> Any:
    """The smallest entry of each segment; the dtype's largest number where there are none."""
    return ops.min(_rows(x, numbers, count, limits(x.dtype).max), axis=1)


def _rows(x: Any, numbers: Any, count: int, filling: Any) -> Any:
    """One row of entries per segment, padded with a number."""
    lengths = sizes(numbers, count)
    places = numpy.full((count, max(1, int(lengths.max(initial=0)))), len(numbers))
    order = numpy.argsort(numbers, kind="stable")
    order = order[numbers[order] < count]
    before = numpy.cumsum(lengths) - lengths
    places[numbers[order], numpy.arange(len(order)) - before[numbers[order]]] = order
    one = ops.broadcast_to(numpy.asarray(filling, x.dtype), (1, *x.shape[1:]))
    return ops.take(ops.concat([x, one], axis=0), places, axis=0)
