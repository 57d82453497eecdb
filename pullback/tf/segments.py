"""Reductions over segments: entries along the first axis that have the same segment id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..composed import segments as composed
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
        if at.ndim != 1 or (flat.size and ((flat[1:] < flat[:-1]).any() or flat[0] < 0)):
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
    return ops.reshape(x, (flat.size, *rest)), raw(ops.where(flat < 0, count, flat)), count


def _unsorted(kind: str, what: str, empty: str) -> Callable[..., Any]:
    reduce = getattr(composed, f"segment_{kind}")

    def call(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return reduce(*_numbers(data, segment_ids, num_segments, call.__name__))

    call.__name__ = call.__qualname__ = f"unsorted_segment_{kind}"
    call.__doc__ = (
        f"{what} of the entries per segment id in [0, num_segments); {empty} if there are none.\n\n"
        "Entries with a negative id are skipped. The shape of segment_ids is a prefix of the\n"
        "shape of data."
    )
    return checked(whole(call))


def _in_order(kind: str, what: str) -> Callable[..., Any]:
    reduce = getattr(composed, f"segment_{kind}")

    def call(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        x, ids, count = _numbers(data, segment_ids, None, call.__name__)
        found = reduce(x, ids, count)
        missing = composed.sizes(ids, count) == 0
        if kind in ("max", "min") and missing.any():
            there = ~missing.reshape((-1, *(1,) * (x.ndim - 1)))
            found = ops.where(there, found, ops.zeros_like(found))
        return found

    call.__name__ = call.__qualname__ = f"segment_{kind}"
    call.__doc__ = (
        f"{what} of the entries per segment id; the ids must be in ascending order.\n\n"
        "Raises an `InvalidArgumentError` if they are not."
    )
    return checked(whole(call))


segment_sum, segment_mean = _in_order("sum", "The sum"), _in_order("mean", "The mean")
segment_prod = _in_order("prod", "The product")
segment_max, segment_min = _in_order("max", "The largest"), _in_order("min", "The smallest")
unsorted_segment_sum = _unsorted("sum", "The sum", "0")
unsorted_segment_mean = _unsorted("mean", "The mean", "0")
unsorted_segment_sqrt_n = _unsorted("sqrt_n", "The sum, divided by the root of the count,", "0")
unsorted_segment_prod = _unsorted("prod", "The product", "1")
unsorted_segment_max = _unsorted("max", "The maximum", "the dtype's smallest number")
unsorted_segment_min = _unsorted("min", "The minimum", "the dtype's largest number")


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
    kept = raw(ops.where((at >= length) | (at < 0), length, at)).reshape(-1)
    if weights is None:
        counts = composed.sizes(kept, length)
        counts = counts > 0 if binary_output else counts
        return wrap(Tensor, counts.astype(array_dtype(dtype)))
    return composed.segment_sum(ops.reshape(operand(weights), (-1,)), kept, length)
