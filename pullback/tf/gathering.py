"""Gather and scatter: slices looked up by index, and tensors with slices written."""

from __future__ import annotations

import builtins
from typing import Any

from .. import ops
from ..arrays.symbol import Symbol
from ..composed.positions import along
from ..errors import SymbolError
from ..kinds.symbols import whole
from .convert import axis_of, checked, matched, operand, shape_of
from .errors import invalid
from .indexed_slices import looked_up
from .shaping import zeros

__all__ = [
    "boolean_mask", "gather", "gather_nd", "scatter_nd", "slice", "tensor_scatter_nd_add",
    "tensor_scatter_nd_update",
]

_ALL = builtins.slice(None)


@checked
@whole
def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None,
    batch_dims: int = 0, name: str | None = None,
) -> Any:
    """Gathers slices of params along an axis, at the given indices.

    batch_dims  the number of leading batch axes that params and indices share; `axis` defaults to
                the next one

    Raises an `InvalidArgumentError` for an index out of range, including negative ones.

    >>> gather([10.0, 20.0, 30.0], [2, 0]).numpy()
    array([30., 10.], dtype=float32)
    """
    x, at = operand(params), _positions(indices)
    axis = batch_dims if axis is None else axis_of(axis)
    axis = axis + x.ndim if axis < 0 else axis
    _check_range(at, x.shape[axis], "gather")
    if batch_dims == 0:
        if axis == 0:
            looked_up(x)
        return ops.take(x, at, axis=axis)
    if axis != batch_dims:
        raise invalid("`gather`", f"axis={batch_dims} (after the batch)", f"axis={axis}")
    return ops.getitem(x, (*_batch(at, batch_dims), at))


@checked
@whole
def gather_nd(
    params: Any, indices: Any, batch_dims: int = 0, name: str | None = None
) -> Any:
    """Gathers slices of params; the last axis of `indices` holds indices into its first axes.

    >>> gather_nd([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]]).numpy()
    array([2., 3.], dtype=float32)
    """
    x, at = operand(params), _positions(indices)
    where = _coordinates(at, x.shape[batch_dims:], "gather_nd")
    lead = _batch(where[0], batch_dims) if batch_dims else ()
    return ops.getitem(x, (*lead, *where))


@checked
@whole
def boolean_mask(
    tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    """The slices of a tensor where the mask is true, along the mask's axes, starting at `axis`.

    >>> boolean_mask([1.0, 2.0, 3.0], [True, False, True]).numpy()
    array([1., 3.], dtype=float32)
    """
    x, holds = operand(tensor), operand(mask, "b", "boolean_mask")._data
    axis = 0 if axis is None else int(axis)
    if tuple(x.shape[axis : axis + holds.ndim]) != holds.shape:
        raise invalid(
            "`boolean_mask`", f"a mask whose shape matches {x.shape}", f"shape {holds.shape}"
        )
    return ops.getitem(x, (*(_ALL,) * axis, holds))


@checked
@whole
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """The slice of the given size that begins at `begin` (size -1: to the end).

    >>> slice([1.0, 2.0, 3.0], [1], [-1]).numpy()
    array([2., 3.], dtype=float32)
    """
    x = operand(input_)
    index = []
    for start, length, n in zip(shape_of(begin), shape_of(size), x.shape, strict=True):
        stop = n if length == -1 else start + length
        if not 0 <= start <= stop <= n:
            raise invalid("`slice`", f"a slice within [0, {n}]", f"{start} to {stop}")
        index.append(builtins.slice(start, stop))
    return ops.getitem(x, tuple(index))


@checked
def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
    """Zeros of a shape, with updates added at indices into its first axes.

    >>> scatter_nd([[1], [3], [1]], [1.0, 2.0, 3.0], [4]).numpy()
    array([0., 4., 0., 2.], dtype=float32)
    """
    updates = operand(updates)
    return tensor_scatter_nd_add(zeros(shape, updates.dtype), indices, updates)


@checked
@whole
def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Adds updates to a tensor at indices; updates for a repeated index add up.

    >>> tensor_scatter_nd_add([0.0, 0.0], [[1]], [5.0]).numpy()
    array([0., 5.], dtype=float32)
    """
    x, updates = matched("tensor_scatter_nd_add", tensor, updates)
    where = _coordinates(_positions(indices), x.shape, "tensor_scatter_nd_add")
    return ops.add_at(x, updates, where)


@checked
@whole
def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Replaces the entries of a tensor at indices.

    >>> tensor_scatter_nd_update([1.0, 2.0], [[1]], [5.0]).numpy()
    array([1., 5.], dtype=float32)
    """
    x, updates = matched("tensor_scatter_nd_update", tensor, updates)
    where = _coordinates(_positions(indices), x.shape, "tensor_scatter_nd_update")
    return ops.set_at(x, updates, where)


def _positions(indices: Any) -> Any:
    return operand(indices, "iu", "indices")._data


def _check_range(at: Any, length: Any, subject: str) -> None:
    if at.__class__ is Symbol or length is None:
        raise SymbolError(f"argument `indices` of `{subject}`", "indices known while tracing",
                          "symbols that are known only when the graph runs")
    if at.size and not (at.min() >= 0 and at.max() < length):
        raise invalid(f"argument `indices` of `{subject}`", f"indices in [0, {length})",
                      f"indices from {at.min()} to {at.max()}")


def _coordinates(at: Any, shape: Any, subject: str) -> tuple[Any, ...]:
    """One index array for each of the first axes."""
    count = at.shape[-1]
    if count > len(shape):
        raise invalid(
            f"argument `indices` of `{subject}`",
            f"at most {len(shape)} indices per entry",
            f"{count}",
        )
    where = tuple(at[..., i] for i in range(count))
    for positions, length in zip(where, shape, strict=False):
        _check_range(positions, length, subject)
    return where


def _batch(at: Any, count: int) -> tuple[Any, ...]:
    """Indices along the leading axes, to broadcast with `at`."""
    return tuple(along(at.shape[i], i, at.ndim) for i in range(count))
