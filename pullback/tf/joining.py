"""Concatenating, stacking and splitting tensors."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from .. import ops
from ..core.tensor import raw
from ..kinds.symbols import whole
from .convert import axis_of, checked, matched, operand, shape_of
from .errors import invalid

__all__ = ["concat", "meshgrid", "split", "stack", "unstack"]


@checked
def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Concatenates tensors along an axis.

    >>> concat([[1.0], [2.0, 3.0]], 0).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    parts = [values] if not isinstance(values, (list, tuple)) else values
    return ops.concat(matched("concat", *parts), axis=axis_of(axis))


@checked
def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Stacks tensors of one shape along a new axis.

    >>> stack([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    parts = matched("stack", *values)
    if any(p.shape != parts[0].shape for p in parts):
        raise invalid("`stack`", "tensors of one shape", ", ".join(str(p.shape) for p in parts))
    return ops.stack(parts, axis=axis)


@checked
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Any]:
    """The slices along an axis, as a list; the axis is removed.

    >>> [x.numpy() for x in unstack([1.0, 2.0])]
    [np.float32(1.0), np.float32(2.0)]
    """
    parts = list(ops.unstack(operand(value), axis=axis))
    if num is not None and num != len(parts):
        raise invalid("`unstack`", f"num={len(parts)}", f"num={num}")
    return parts


@checked
@whole
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None,
    name: str = "split",
) -> list[Any]:
    """Splits a tensor along an axis: equal pieces, or given lengths, one of which may be -1.

    >>> [x.shape for x in split([1.0, 2.0, 3.0], [1, -1])]
    [TensorShape([1]), TensorShape([2])]
    """
    x, axis = operand(value), axis_of(axis)
    given = raw(num_or_size_splits)
    if isinstance(given, Integral):
        return list(ops.split(x, int(given), axis=axis))
    sizes = list(shape_of(given))
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(n for n in sizes if n != -1)
    return list(ops.split(x, sizes, axis=axis))


@checked
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
    """Coordinate grids from one vector of coordinates per axis.

    >>> [x.shape for x in meshgrid([1.0, 2.0], [1.0, 2.0, 3.0])]
    [TensorShape([3, 2]), TensorShape([3, 2])]
    """
    return list(ops.meshgrid(*(operand(a) for a in args), indexing=indexing))
