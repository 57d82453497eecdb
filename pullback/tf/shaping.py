"""Creating, reshaping, converting and sorting tensors."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from .. import ops
from ..arrays.symbol import AnyShape, is_open
from ..composed.padding import pad_with_entries
from ..core.op import OPS
from ..core.tensor import raw, wrap
from ..kinds.symbols import beside, symbols_in, whole
from .convert import as_tensor, axis_of, checked, matched, operand, shape_of
from .dtypes import array_dtype, as_dtype
from .errors import invalid
from .tensor import Tensor
from .values import array_of

__all__ = [
    "argsort", "broadcast_to", "cast", "expand_dims", "eye", "fill", "identity", "linspace",
    "one_hot", "ones", "ones_like", "pad", "range", "rank", "repeat", "reshape", "reverse",
    "roll", "shape", "size", "sort", "squeeze", "stop_gradient", "tile", "transpose", "where",
    "zeros", "zeros_like",
]

# Creating -----------------------------------------------------------------------------------


def zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """A tensor of zeros.

    >>> zeros([2]).numpy()
    array([0., 0.], dtype=float32)
    """
    size, kind = shape_of(shape), array_dtype(dtype)
    if symbols_in(size):
        return broadcast_to(wrap(Tensor, numpy.zeros((), kind)), size)
    return wrap(Tensor, ops.zeros(size, dtype=kind)._data)


def ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """A tensor of ones.

    >>> ones([2]).numpy()
    array([1., 1.], dtype=float32)
    """
    size, kind = shape_of(shape), array_dtype(dtype)
    if symbols_in(size):
        return broadcast_to(wrap(Tensor, numpy.ones((), kind)), size)
    return wrap(Tensor, ops.ones(size, dtype=kind)._data)


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """A tensor filled with one number.

    >>> fill([2], 3).numpy()
    array([3, 3], dtype=int32)
    """
    return broadcast_to(as_tensor(value), dims)


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros with the shape and dtype of a tensor (or another dtype).

    >>> zeros_like([1.0, 2.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return ops.zeros_like(operand(input), dtype=array_dtype(dtype))


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Ones with the shape and dtype of a tensor (or another dtype).

    >>> ones_like([1.0, 2.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    return ops.ones_like(operand(input), dtype=array_dtype(dtype))


def eye(
    num_rows: int, num_columns: int | None = None, batch_shape: Any = None,
    dtype: Any = "float32", name: str | None = None,
) -> Any:
    """An identity matrix, or a batch of them.

    >>> eye(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    made = wrap(Tensor, ops.eye(num_rows, num_columns, dtype=array_dtype(dtype))._data)
    return made if batch_shape is None else broadcast_to(
        made, (*shape_of(batch_shape), *made.shape)
    )


@whole
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Evenly spaced numbers in [start, limit); with one argument, in [0, start).

    >>> range(3).numpy()
    array([0, 1, 2], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    bounds = [raw(v) for v in (start, limit, delta)]
    if dtype is None:
        dtype = array_of(bounds[0] + bounds[1] + bounds[2]).dtype
    return wrap(Tensor, ops.arange(*bounds, dtype=array_dtype(dtype))._data)


@checked
def linspace(start: Any, stop: Any, num: int, name: str | None = None, axis: int = 0) -> Any:
    """num evenly spaced numbers (or tensors, along a new axis) from start to stop.

    >>> linspace(0.0, 1.0, 3).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    start, stop = matched("linspace", start, stop)
    if start._data.dtype.kind in "iu":
        start, stop = ops.astype(start, numpy.float64), ops.astype(stop, numpy.float64)
    fractions = numpy.linspace(0, 1, int(raw(num)), dtype=start._data.dtype)
    return ops.stack([start + (stop - start) * f for f in fractions], axis=axis)


@whole
def one_hot(
    indices: Any, depth: int, on_value: Any = None, off_value: Any = None, axis: int | None = None,
    dtype: Any = None, name: str | None = None,
) -> Any:
    """One-hot encoding along a new axis: on_value at the index, off_value elsewhere.

    An index out of range gives off_value everywhere. `axis` is the new axis; by default the last.

    >>> one_hot([0, 2], 3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    at = operand(indices, "iu", "one_hot")
    if dtype is None:
        given = on_value if on_value is not None else off_value
        dtype = "float32" if given is None else operand(given).dtype
    dtype = array_dtype(dtype)
    hot = ops.expand_dims(at, axis=-1) == wrap(
        Tensor, ops.arange(int(raw(depth)), dtype=at._data.dtype)._data
    )
    hot = hot if axis in (None, -1) else ops.moveaxis(hot, -1, axis)
    on = array_of(1 if on_value is None else on_value, dtype)
    off = array_of(0 if off_value is None else off_value, dtype)
    return ops.where(hot, wrap(Tensor, on), wrap(Tensor, off))


# Shapes and sizes ---------------------------------------------------------------------------


def shape(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """The shape, as a tensor.

    >>> shape([[1.0, 2.0]]).numpy()
    array([1, 2], dtype=int32)
    """
    x = operand(input)
    if is_open(x._data.shape):
        return ops.astype(ops.shape(x), array_dtype(out_type))
    return wrap(Tensor, numpy.array(x._data.shape, array_dtype(out_type)))


def size(input: Any, out_type: Any = "int32", name: str | None = None) -> Any:
    """The number of entries, as a tensor.

    >>> size([[1.0, 2.0]]).numpy()
    np.int32(2)
    """
    x = operand(input)
    if is_open(x._data.shape):
        return ops.astype(ops.prod(ops.shape(x)), array_dtype(out_type))
    return wrap(Tensor, numpy.array(x.size, array_dtype(out_type)))


def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes, as a tensor.

    >>> rank([[1.0, 2.0]]).numpy()
    np.int32(2)
    """
    x = operand(input)
    if isinstance(x._data.shape, AnyShape):
        return ops.astype(ops.shape(ops.shape(x)), numpy.dtype("int32"))[0]
    return wrap(Tensor, numpy.array(x.ndim, "int32"))


# Converting ---------------------------------------------------------------------------------


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """x converted to a dtype (x itself if it has it); integers and booleans have no derivative.

    >>> cast([1.7, -1.7], "int32").numpy()
    array([ 1, -1], dtype=int32)
    """
    wanted = as_dtype(dtype).dtype
    x = as_tensor(x)
    return x if x._data.dtype == wanted else ops.astype(x, wanted)


def identity(input: Any, name: str | None = None) -> Any:
    """A new tensor with the same values.

    >>> identity(1.0).numpy()
    np.float32(1.0)
    """
    return ops.identity(operand(input))


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The same values, treated as a constant by every derivative.

    >>> stop_gradient(1.0).numpy()
    np.float32(1.0)
    """
    return ops.stop_gradient(operand(input))


# Reshaping ----------------------------------------------------------------------------------


@checked
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same entries in another shape; one length may be -1.

    >>> reshape([1.0, 2.0], [2, 1]).shape
    TensorShape([2, 1])
    """
    return ops.reshape(operand(tensor), shape_of(shape))


@checked
def transpose(
    a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None
) -> Any:
    """Permutes the axes: axis k of the result is axis perm[k]; reverses them by default.

    >>> transpose([[1.0, 2.0]]).shape
    TensorShape([2, 1])
    """
    a = operand(a)
    order = tuple(builtins.range(a.ndim))[::-1] if perm is None else shape_of(perm)
    out = ops.permute_dims(a, order)
    return ops.conj(out) if conjugate else out


@checked
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """Inserts an axis of length 1 at the given position (-1: at the end).

    >>> expand_dims([1.0, 2.0], -1).shape
    TensorShape([2, 1])
    """
    return ops.expand_dims(operand(input), axis=axis_of(axis))


@checked
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Removes the given axes of length 1, or all of them.

    >>> squeeze([[1.0, 2.0]]).shape
    TensorShape([2])
    """
    x = operand(input)
    axis = axis_of(axis)
    if axis is None or axis == ():
        axis = tuple(i for i, n in enumerate(x.shape) if n == 1)
    return ops.squeeze(x, axis=axis)


@checked
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """Broadcasts a tensor to a shape.

    >>> broadcast_to([1.0], [3]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    size = shape_of(shape)
    return ops.broadcast_to(beside(operand(input), size), size)


@checked
@whole
def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Repeats a tensor along each axis, `multiples` times.

    >>> tile([1.0, 2.0], [2]).numpy()
    array([1., 2., 1., 2.], dtype=float32)
    """
    x, times = operand(input), shape_of(multiples)
    if len(times) != x.ndim:
        raise invalid("`tile`", f"{x.ndim} multiples, one per axis", f"{len(times)} multiples")
    return ops.tile(x, times)


@checked
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Repeats each entry; `repeats` is an int or one int per entry.

    >>> repeat([1.0, 2.0], 2).numpy()
    array([1., 1., 2., 2.], dtype=float32)
    """
    counts = raw(repeats)
    if not isinstance(counts, int):
        counts = array_of(counts)
        counts = int(counts.reshape(())) if counts.size == 1 else counts
    return ops.repeat(operand(input), counts, axis=axis)


@checked
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """Reverses the entries along the given axes.

    >>> reverse([1.0, 2.0], [0]).numpy()
    array([2., 1.], dtype=float32)
    """
    return ops.flip(operand(tensor), axis=axis_of(axis))


@checked
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Rolls the entries along axes; entries shifted past one end reappear at the other.

    >>> roll([1.0, 2.0, 3.0], 1, 0).numpy()
    array([3., 1., 2.], dtype=float32)
    """
    return ops.roll(operand(input), axis_of(shift), axis=axis_of(axis))


@checked
@whole
def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """Pads each axis before and after: with a constant, or by reflection.

    mode  "CONSTANT", "REFLECT" (without repeating the edge) or "SYMMETRIC" (repeating it)

    >>> pad([1.0, 2.0], [[1, 0]]).numpy()
    array([0., 1., 2.], dtype=float32)
    """
    x = operand(tensor)
    widths = [tuple(int(n) for n in pair) for pair in array_of(raw(paddings)).tolist()]
    if mode.upper() == "CONSTANT":
        return ops.pad(x, widths, constant_values=raw(constant_values))
    if mode.upper() not in ("REFLECT", "SYMMETRIC"):
        raise invalid("argument `mode` of `pad`", "CONSTANT, REFLECT or SYMMETRIC", repr(mode))
    return pad_with_entries(x, widths, mode.lower())


# Selecting and sorting ------------------------------------------------------------------------


@checked
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """x where the condition is true, y elsewhere; with the condition alone, its true indices.

    >>> where([True, False], 1.0, 2.0).numpy()
    array([1., 2.], dtype=float32)
    >>> where([False, True]).numpy()
    array([[1]])
    """
    holds = operand(condition, "b", "where")
    if x is None and y is None:
        return wrap(Tensor, numpy.argwhere(holds.numpy()))
    if x is None or y is None:
        raise invalid("`where`", "both x and y, or neither", "only one of them")
    return ops.where(holds, *matched("where", x, y))


def _sorted(name: str, values: Any, axis: int, direction: str) -> Any:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise invalid(
            f"argument `direction` of `{name}`", "ASCENDING or DESCENDING", repr(direction)
        )
    x = operand(values, "fiu", name)
    return OPS[name](x, axis=axis, descending=direction == "DESCENDING")


@checked
def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Any:
    """Sorts a tensor along an axis.

    >>> sort([2.0, 1.0, 3.0], direction="DESCENDING").numpy()
    array([3., 2., 1.], dtype=float32)
    """
    return _sorted("sort", values, axis, direction)


@checked
def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False,
    name: str | None = None,
) -> Any:
    """The indices (int32) that sort a tensor along an axis.

    >>> argsort([2.0, 1.0, 3.0]).numpy()
    array([1, 0, 2], dtype=int32)
    """
    return ops.astype(_sorted("argsort", values, axis, direction), numpy.int32)
