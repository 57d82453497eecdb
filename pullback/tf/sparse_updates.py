"""Variables read and updated at indices: `tf.Variable.scatter_*` and related methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import ops
from ..core.tensor import raw, wrap
from ..errors import ArgumentTypeError
from ..kinds.symbols import current_graph
from . import strict
from .convert import operand
from .errors import OutOfRangeError
from .gathering import gather, gather_nd, tensor_scatter_nd_add, tensor_scatter_nd_update
from .indexed_slices import IndexedSlices
from .scattering import tensor_scatter_nd_max, tensor_scatter_nd_min, tensor_scatter_nd_sub
from .segments import unsorted_segment_prod
from .tensor import Tensor


class SparseUpdates:
    """Mix-in for `tf.Variable`. Indices refer to the first axis.

    Each method returns the variable. An update is a `tf.IndexedSlices`; if it repeats an index,
    both slices apply. Raises `ArgumentTypeError` (a `TypeError`) for another type, and
    `InvalidArgumentError` for an index out of range.
    """

    __slots__ = ()
    _data: Any
    assign: Callable[..., Any]
    value: Callable[..., Any]
    _given: Callable[..., Any]

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Add slices at their indices.

        >>> from pullback import tf
        >>> v = tf.Variable([1.0, 2.0, 3.0])
        >>> v.scatter_add(tf.IndexedSlices([10.0, 20.0], [0, 0])).numpy()
        array([31.,  2.,  3.], dtype=float32)
        """
        return self._scattered(tensor_scatter_nd_add, *_parts(sparse_delta))

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Subtract slices at their indices."""
        return self._scattered(tensor_scatter_nd_sub, *_parts(sparse_delta))

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: Any = None
    ) -> Any:
        """Assign slices at their indices."""
        return self._scattered(tensor_scatter_nd_update, *_parts(sparse_delta))

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Assign the element-wise maximum of the current value and the slices."""
        return self._scattered(tensor_scatter_nd_max, *_parts(sparse_delta))

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Assign the element-wise minimum of the current value and the slices."""
        return self._scattered(tensor_scatter_nd_min, *_parts(sparse_delta))

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Multiply by slices at their indices."""
        return self._by_factor(strict.multiply, sparse_delta)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: Any = None) -> Any:
        """Divide by slices at their indices."""
        return self._by_factor(strict.divide, sparse_delta)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: Any = None
    ) -> Any:
        """Assign row by row, at indices along the last axis that `indices` has."""
        values, indices = _parts(sparse_delta)
        at = operand(indices, "iu", "indices")._data
        rows = numpy.indices(at.shape)[:-1]
        places = numpy.stack([*rows, at], axis=-1)
        return self.scatter_nd_update(places, values)

    def scatter_nd_add(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Add at index tuples into the first axes (the last axis of `indices`)."""
        return self._put_at(tensor_scatter_nd_add, indices, updates)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Subtract at index tuples into the first axes (the last axis of `indices`)."""
        return self._put_at(tensor_scatter_nd_sub, indices, updates)

    def scatter_nd_update(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Assign at index tuples into the first axes (the last axis of `indices`)."""
        return self._put_at(tensor_scatter_nd_update, indices, updates)

    def sparse_read(self, indices: Any, name: Any = None) -> Any:
        """The slices at the indices, as `tf.gather` returns them."""
        return gather(self, indices)

    def gather_nd(self, indices: Any, name: Any = None) -> Any:
        """The slices at index tuples into the first axes (the last axis of `indices`)."""
        return gather_nd(self, indices)

    def count_up_to(self, limit: int) -> Any:
        """Add 1 and return the old value; raises an `OutOfRangeError` at the limit."""
        before = int(raw(self._now()))
        if before >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        self.assign(before + 1)
        return wrap(Tensor, numpy.asarray(before, self._data.dtype))

    def initialized_value(self) -> Any:
        """The initial value: the current one, since a variable always has a value."""
        return self.value()

    # Internal ---------------------------------------------------------------------------------

    def _now(self) -> Any:
        """The value, read without recording."""
        return wrap(Tensor, self._data) if current_graph() is None else self.value()

    def _put_at(self, function: Callable[..., Any], indices: Any, updates: Any) -> Any:
        return self.assign(function(self._now(), indices, self._like(updates)))

    def _scattered(self, function: Callable[..., Any], values: Any, indices: Any) -> Any:
        at = ops.expand_dims(operand(indices, "iu", "indices"), axis=-1)
        return self._put_at(function, at, values)

    def _like(self, values: Any) -> Any:
        return self._given(values) if current_graph() is None else values

    def _by_factor(self, combine: Callable[..., Any], sparse_delta: Any) -> Any:
        values, indices = _parts(sparse_delta)
        now = self._now()
        factors = unsorted_segment_prod(self._like(values), indices, now.shape[0])
        return self.assign(combine(now, factors))


def _parts(delta: Any) -> tuple[Any, Any]:
    if not isinstance(delta, IndexedSlices):
        raise ArgumentTypeError("argument `sparse_delta`", "tf.IndexedSlices(values, indices)",
                                f"a {type(delta).__name__}")
    return delta.values, delta.indices
