"""Reductions over segments: entries along the first axis that have the same segment id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import ops
from ..arrays.numpy_.narrow import finfo
from ..core.tensor import raw, wrap
from ..kinds.symbols import whole
from .convert import checked, operand
from .dtypes import array_dtype
from .errors import invalid
from .tensor import Tensor

__all__ = [
    "bincount", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
]


def _numbers(data: Any, ids: Any, count: Any, subject: str) -> tuple[Any, Any, int]:
    """The data with one axis for the segments, the segment ids, and the number of segments."""
    x, at = operand(data), operand(ids, "iu", subject)._data
    if tuple(x.shape[: at.ndim]) != at.shape:
        raise invalid(f"argument `segment_ids` of `{subject}`",
                      f"a shape that is a prefix of {x.shape}", f"{at.shape}")
    flat = at.reshape(-1)
    if count is None:
        if at.ndim != 1 or (flat.size and ((numpy.diff(flat) < 0).any() or flat[0] < 0)):
            raise invalid(
                f"argument `segment_ids` of `{subject}`",
                "segment ids in ascending order",
                f"{at}",
                f"tf.math.unsorted_{subject}",
            )
        count = int(flat[-1]) + 1 if flat.size else 0
    count = int(raw(count))
    if flat.size and flat.max() >= count:
        raise invalid(f"argument `segment_ids` of `{subject}`", f"segment ids below {count}",
                      f"segment id {flat.max()}")
    rest = tuple(x.shape[at.ndim :])
    return ops.reshape(x, (flat.size, *rest)), numpy.where(flat < 0, count, flat), count


def _added(x: Any, ids: Any, count: int) -> Any:
    zeros = numpy.zeros((count + 1, *x.shape[1:]), x._data.dtype)
    return ops.add_at(wrap(Tensor, zeros), x, (ids,))[:count]


def _sizes(x: Any, ids: Any, count: int) -> Any:
    """The number of entries in each segment, at least 1, as a divisor."""
    sizes = numpy.maximum(numpy.bincount(ids, minlength=count + 1)[:count], 1)
    return sizes.astype(x._data.dtype).reshape((-1, *(1,) * (x.ndim - 1)))


def _side_by_side(x: Any, ids: Any, count: int, filling: Any) -> Any:
    """One row of entries per segment, padded with a number."""
    sizes = numpy.bincount(ids, minlength=count + 1)[:count]
    places = numpy.full((count, max(1, int(sizes.max(initial=0)))), len(ids))
    order = numpy.argsort(ids, kind="stable")
    order = order[ids[order] < count]
    ends = numpy.cumsum(sizes)
    places[ids[order], numpy.arange(len(order)) - (ends - sizes)[ids[order]]] = order
    one = wrap(Tensor, numpy.full((1, *x.shape[1:]), filling, x._data.dtype))
    return ops.take(ops.concat([x, one], axis=0), places, axis=0)


def _limits(dtype: Any) -> Any:
    return numpy.iinfo(dtype) if dtype.kind in "iu" else finfo(dtype)


def _sum(x: Any, ids: Any, count: int) -> Any:
    return _added(x, ids, count)


def _mean(x: Any, ids: Any, count: int) -> Any:
    return _added(x, ids, count) / wrap(Tensor, _sizes(x, ids, count))


def _sqrt_n(x: Any, ids: Any, count: int) -> Any:
    return _added(x, ids, count) / wrap(Tensor, numpy.sqrt(_sizes(x, ids, count)))


def _prod(x: Any, ids: Any, count: int) -> Any:
    return ops.prod(_side_by_side(x, ids, count, 1), axis=1, dtype=x._data.dtype)


def _max(x: Any, ids: Any, count: int) -> Any:
    return ops.max(_side_by_side(x, ids, count, _limits(x._data.dtype).min), axis=1)


def _min(x: Any, ids: Any, count: int) -> Any:
    return ops.min(_side_by_side(x, ids, count, _limits(x._data.dtype).max), axis=1)


def _unsorted(name: str, reduce: Callable[..., Any], what: str, empty: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return reduce(*_numbers(data, segment_ids, num_segments, call.__name__))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"{what} of the entries per segment id in [0, num_segments); {empty} if there are none.\n\n"
        "Entries with a negative id are skipped. The shape of segment_ids is a prefix of the\n"
        "shape of data."
    )
    return checked(whole(call))


def _in_order(name: str, reduce: Callable[..., Any], what: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        x, ids, count = _numbers(data, segment_ids, None, call.__name__)
        found = reduce(x, ids, count)
        missing = numpy.bincount(ids, minlength=count) == 0
        if reduce in (_max, _min) and missing.any():
            there = ~missing.reshape((-1, *(1,) * (x.ndim - 1)))
            found = ops.where(there, found, ops.zeros_like(found))
        return found

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"{what} of the entries per segment id; the ids must be in ascending order.\n\n"
        "Raises an `InvalidArgumentError` if they are not."
    )
    return checked(whole(call))


segment_sum, segment_mean = (
    _in_order("segment_sum", _sum, "The sum"), _in_order("segment_mean", _mean, "The mean")
)
segment_prod = _in_order("segment_prod", _prod, "The product")
segment_max, segment_min = (
    _in_order("segment_max", _max, "The largest"), _in_order("segment_min", _min, "The smallest")
)
unsorted_segment_sum = _unsorted("unsorted_segment_sum", _sum, "The sum", "0")
unsorted_segment_mean = _unsorted("unsorted_segment_mean", _mean, "The mean", "0")
unsorted_segment_sqrt_n = _unsorted(
    "unsorted_segment_sqrt_n", _sqrt_n, "The sum, divided by the root of the count,", "0"
)
unsorted_segment_prod = _unsorted("unsorted_segment_prod", _prod, "The product", "1")
unsorted_segment_max = _unsorted(
    "unsorted_segment_max", _max, "The maximum", "the dtype's smallest number"
)
unsorted_segment_min = _unsorted(
    "unsorted_segment_min", _min, "The minimum", "the dtype's largest number"
)


@checked
@whole
def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None,
    dtype: Any = "int32", name: str | None = None, axis: Any = None, binary_output: bool = False,
) -> Any:
    """Counts each integer from 0 on, or sums the weights that belong to it.

    minlength, maxlength  bounds of the result's length; larger integers are not counted
    axis                  -1: count each row of a matrix separately
    binary_output         1 for integers that occur, instead of their count

    >>> bincount([1, 1, 3]).numpy()
    array([0, 2, 0, 1], dtype=int32)
    """
    at = operand(arr, "iu", "bincount")._data
    length = int(at.max()) + 1 if at.size else 0
    length = max(length, int(raw(minlength)) if minlength is not None else 0)
    length = min(length, int(raw(maxlength))) if maxlength is not None else length
    if axis == -1 and at.ndim == 2:
        rows = [bincount(r, None if weights is None else weights[i], length, length, dtype,
                         binary_output=binary_output) for i, r in enumerate(at)]
        return ops.stack(rows, axis=0)
    kept = numpy.where((at >= length) | (at < 0), -1, at).reshape(-1)
    if weights is None:
        counts = numpy.bincount(kept[kept >= 0], minlength=length)
        counts = numpy.minimum(counts, 1) if binary_output else counts
        return wrap(Tensor, counts.astype(array_dtype(dtype)))
    return _added(ops.reshape(operand(weights), (-1,)), numpy.where(kept < 0, length, kept), length)
