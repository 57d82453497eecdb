"""Unique entries, masks, sorted search, partitions; static shapes; integer quotients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import ops
from ..arrays.inexact import kind_of
from ..composed import positions
from ..composed.counting import unique_in_order
from ..composed.segments import limits
from ..core.tensor import raw, wrap
from ..kinds.symbols import whole
from .convert import as_tensor, axis_of, checked, convert_to_tensor, matched, operand, shape_of
from .dtypes import array_dtype
from .errors import invalid
from .shapes import TensorShape
from .tensor import Tensor

__all__ = [
    "broadcast_dynamic_shape", "broadcast_static_shape", "dynamic_partition", "dynamic_stitch",
    "ensure_shape", "get_static_value", "is_symbolic_tensor", "parallel_stack", "realdiv",
    "reverse_sequence", "saturate_cast", "searchsorted", "sequence_mask", "shape_n",
    "truncatediv", "truncatemod", "unique", "unique_with_counts", "unravel_index",
]


class Unique(NamedTuple):
    """The unique entries in order of first occurrence, and each entry's index among them."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """The unique entries, each entry's index among them, and the count of each."""

    y: Any
    idx: Any
    count: Any


def _unique(x: Any, out_idx: Any) -> tuple[Any, Any, Any]:
    data = operand(x)._data
    if data.ndim != 1:
        raise invalid("`unique`", "a vector", f"shape {data.shape}")
    values, which, counts = unique_in_order(data)
    kind = array_dtype(out_idx)
    return wrap(Tensor, values), *(wrap(Tensor, a.astype(kind)) for a in (which, counts))


@checked
def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """The unique entries of a vector, and each entry's index among them.

    >>> [v.numpy().tolist() for v in unique([5, 3, 5])]
    [[5, 3], [0, 1, 0]]
    """
    return Unique(*_unique(x, out_idx)[:2])


@checked
def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> UniqueWithCounts:
    """`unique`, and the count of each unique entry.

    >>> [v.numpy().tolist() for v in unique_with_counts([5, 3, 5])]
    [[5, 3], [0, 1, 0], [2, 1]]
    """
    return UniqueWithCounts(*_unique(x, out_idx))


@checked
@whole
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Any:
    """A mask along a new last axis: True at the first `lengths` positions.

    >>> sequence_mask([1, 3]).numpy().astype(int).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    n = operand(lengths, "iu", "sequence_mask")
    most = int(raw(n).max(initial=0)) if maxlen is None else int(raw(maxlen))
    places = wrap(Tensor, ops.arange(most, dtype=n._data.dtype)._data)
    return ops.astype(places < ops.expand_dims(n, axis=-1), array_dtype(dtype))


@checked
@whole
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = "int32",
    name: str | None = None,
) -> Any:
    """Insertion indices into sorted rows: before equal entries ("left") or after them ("right").

    >>> searchsorted([1.0, 3.0, 5.0], [3.0, 6.0]).numpy()
    array([1, 3], dtype=int32)
    """
    rows, x = matched("searchsorted", sorted_sequence, values)
    if side not in ("left", "right"):
        raise invalid("argument `side` of `searchsorted`", "left or right", repr(side))
    compare = ops.less if side == "left" else ops.less_equal
    below = compare(ops.expand_dims(rows, axis=-2), ops.expand_dims(x, axis=-1))
    return ops.astype(ops.count_nonzero(below, axis=-1), array_dtype(out_type))


@checked
@whole
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Splits a tensor into `num_partitions` tensors, by each entry's partition number.

    >>> [p.numpy().tolist() for p in dynamic_partition([1.0, 2.0, 3.0], [1, 0, 1], 2)]
    [[2.0], [1.0, 3.0]]
    """
    x, at = operand(data), operand(partitions, "i", "dynamic_partition")._data
    if tuple(x.shape[: at.ndim]) != at.shape or (
        at.size and not 0 <= at.min() <= at.max() < num_partitions
    ):
        raise invalid("argument `partitions` of `dynamic_partition`",
                      f"one number in [0, {num_partitions}) per entry", f"{at}")
    flat = ops.reshape(x, (at.size, *x.shape[at.ndim :]))
    return [ops.take(flat, (at.reshape(-1) == i).nonzero()[0], axis=0)
            for i in range(int(num_partitions))]


@checked
@whole
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Any:
    """Merges tensors into one: entries go to the given indices; the last one written wins.

    >>> dynamic_stitch([[1], [0, 2]], [[5.0], [6.0, 7.0]]).numpy()
    array([6., 5., 7.], dtype=float32)
    """
    places = [operand(i, "i", "dynamic_stitch")._data for i in indices]
    parts = matched("dynamic_stitch", *data)
    rest = tuple(parts[0].shape[places[0].ndim :])
    flat = ops.concat([p.reshape(-1) for p in places])
    entries = ops.concat([ops.reshape(x, (p.size, *rest)) for p, x in zip(
        places, parts, strict=True)], axis=0)
    return ops.take(entries, positions.last_written(flat), axis=0)


@checked
@whole
def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: int | None = None, batch_axis: int | None = None,
    name: str | None = None,
) -> Any:
    """Reverses the first `seq_lengths` entries of each example.

    >>> reverse_sequence([[1.0, 2.0, 3.0]], [2], seq_axis=1, batch_axis=0).numpy()
    array([[2., 1., 3.]], dtype=float32)
    """
    x, lengths = operand(input), operand(seq_lengths, "i", "reverse_sequence")._data
    along, of = int(axis_of(seq_axis)), int(axis_of(0 if batch_axis is None else batch_axis))
    n = x.shape[along]
    places = positions.along(n, 1, 2)
    turned = ops.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    moved = ops.moveaxis(ops.moveaxis(x, of, 0), along if along > of else along + 1, 1)
    taken = ops.getitem(moved, (positions.along(len(lengths), 0, 2), turned))
    return ops.moveaxis(ops.moveaxis(taken, 1, along if along > of else along + 1), 0, of)


@checked
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """Coordinates, along a new first axis, of flat indices into a shape.

    >>> unravel_index([4, 5], [2, 3]).numpy()
    array([[1, 1],
           [1, 2]], dtype=int32)
    """
    at = operand(indices, "i", "unravel_index")._data
    return wrap(Tensor, positions.coordinates(at, shape_of(dims)))


# Converting and inspecting --------------------------------------------------------------------


@checked
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """`tf.cast`, with values clipped to the range of the dtype.

    >>> saturate_cast([300.0, -5.0], "uint8").numpy()
    array([255,   0], dtype=uint8)
    """
    x, kind = operand(value, "fiu", "saturate_cast"), array_dtype(dtype)
    ends, own = limits(kind), limits(x._data.dtype)
    low, high = max(ends.min, own.min), min(ends.max, own.max)
    return ops.astype(ops.clip(x, low, high), kind)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Returns the tensor; raises an `InvalidArgumentError` if the shape differs (None: any length).

    >>> ensure_shape([1.0], [None]).shape
    TensorShape([1])
    """
    x, wanted = convert_to_tensor(x), TensorShape(shape)
    if not wanted.is_compatible_with(x.shape):
        raise invalid("`ensure_shape`", f"shape {wanted}", f"shape {x.shape}")
    x.set_shape(wanted)
    return x


def shape_n(input: Sequence[Any], out_type: Any = "int32", name: str | None = None) -> list[Any]:
    """The shapes of several tensors.

    >>> [s.numpy().tolist() for s in shape_n([[1.0], 2.0])]
    [[1], []]
    """
    from .shaping import shape

    return [shape(x, out_type) for x in input]


def parallel_stack(values: Sequence[Any], name: str | None = None) -> Any:
    """Stacks tensors of one shape along a new first axis.

    >>> parallel_stack([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return ops.stack(matched("parallel_stack", *values), axis=0)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The tensor's value as an array; None if it is known only when the graph runs.

    >>> get_static_value(as_tensor(3.0))
    array(3., dtype=float32)
    """
    x = as_tensor(tensor)
    operation = getattr(x._data, "operation", None)
    return x._data if operation is None else operation.value


def is_symbolic_tensor(tensor: Any) -> bool:
    """True for a symbolic tensor of a function that is being traced.

    >>> is_symbolic_tensor(as_tensor(1.0))
    False
    """
    return hasattr(raw(tensor), "operation")


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape to which two shapes broadcast.

    >>> broadcast_static_shape([2, 1], [3])
    TensorShape([2, 3])
    """
    return TensorShape(ops.broadcast_shapes(tuple(shape_x), tuple(shape_y)))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """`broadcast_static_shape` for shapes in tensors; returns a tensor.

    >>> broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    return as_tensor(list(ops.broadcast_shapes(shape_of(shape_x), shape_of(shape_y))), ops.int32)


# Quotients -------------------------------------------------------------------------------------


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y for real numbers.

    >>> realdiv(1.0, 2.0).numpy()
    np.float32(0.5)
    """
    x, y = matched("realdiv", x, y)
    return operand(x, "fc", "realdiv") / y


def truncatediv(x: Any, y: Any, name: str | None = None) -> Any:
    """The integer quotient, rounded towards 0.

    >>> truncatediv(-7, 2).numpy()
    np.int32(-3)
    """
    x, y = matched("truncatediv", x, y)
    return ops.sign(x) * ops.sign(y) * (ops.abs(operand(x, "i", "truncatediv")) // ops.abs(y))


def truncatemod(x: Any, y: Any, name: str | None = None) -> Any:
    """The remainder of `truncatediv`: x - y · truncatediv(x, y); it has the sign of x.

    >>> truncatemod(-7, 2).numpy()
    np.int32(-1)
    """
    x, y = matched("truncatemod", x, y)
    whole_part = ops.trunc(x / y) if kind_of(x._data.dtype) == "f" else truncatediv(x, y)
    return x - y * whole_part
