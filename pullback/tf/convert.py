"""Conversion of values to tensors of the TensorFlow front end, and of operands to one dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from ..arrays import adapters, is_array
from ..arrays.inexact import kind_of
from ..arrays.symbol import Symbol
from ..core.op import OPS
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, wrap
from ..errors import ArgumentError, ArgumentTypeError
from .dtypes import array_dtype
from .errors import mixed_dtypes, translated, wrong_dtype
from .tensor import Members, Tensor
from .values import array_of, like

__all__ = ["constant", "convert_to_tensor", "is_tensor"]


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """A tensor from a tensor (itself), variable, array, number or nested sequence of these.

    dtype       the dtype of the result; numbers and arrays are converted, tensors are not
    dtype_hint  the dtype to use if the value can be converted to it

    Raises `ArgumentError` (a `ValueError`) for a tensor of another dtype, for None and for ragged
    sequences, and `ArgumentTypeError` (a `TypeError`) for values that the dtype cannot hold.

    >>> convert_to_tensor([1, 2], dtype="float32").numpy()
    array([1., 2.], dtype=float32)
    """
    wanted = array_dtype(dtype)
    if isinstance(value, CoreTensor):
        if wanted is not None and value._array.dtype != wanted:
            raise ArgumentError("tf.convert_to_tensor", f"a tensor of dtype {wanted}",
                                f"a tensor of {value._array.dtype}", f"tf.cast(x, tf.{wanted})")
        return as_tensor(value)
    if wanted is None and dtype_hint is not None:
        try:
            return as_tensor(value, array_dtype(dtype_hint))
        except TypeError:
            pass
    return as_tensor(value, wanted)


def as_tensor(value: Any, dtype: Any = None) -> Any:
    """A front-end tensor; reads a variable, and keeps the history of a core tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, CoreTensor):
        if isinstance(value, Members):
            data: Any = value
            return data.value() if data._data.__class__ is Symbol else OPS["identity"](data)
        return wrap(Tensor, value._data, value._node)
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return OPS["stack"](matched("convert_to_tensor", *value))
    if hasattr(value, "_as_tensor"):  # IndexedSlices
        return value._as_tensor()
    return wrap(Tensor, array_of(value, dtype))


def _holds_tensors(value: Any) -> bool:
    return any(
        isinstance(v, CoreTensor) or (isinstance(v, (list, tuple)) and _holds_tensors(v))
        for v in value
    )


def operand(value: Any, kinds: str = "", subject: str = "") -> Any:
    """Convert an operand to a front-end tensor or variable; check its kind of dtype."""
    x = value if isinstance(value, Members) else as_tensor(value)
    if kinds and kind_of(x._array.dtype) not in kinds:
        raise wrong_dtype(subject, x._array.dtype, kinds)
    return x


def matched(subject: str, *values: Any) -> list[Any]:
    """Tensors of one dtype: that of the first tensor or array, else that of the first value.

    Raises an `InvalidArgumentError` if a value has another dtype and cannot be converted.
    """
    values = tuple(
        as_tensor(v) if not isinstance(v, CoreTensor) and (hasattr(v, "_as_tensor") or (
            isinstance(v, (list, tuple)) and _holds_tensors(v)
        )) else v for v in values
    )
    first = next((v for v in values if isinstance(v, CoreTensor) or is_array(v)), None)
    dtype = raw(first).dtype if first is not None else array_of(values[0]).dtype
    made = []
    for value in values:
        if isinstance(value, CoreTensor):
            if value._array.dtype != dtype:
                raise mixed_dtypes(subject, dtype, value._array.dtype)
            made.append(operand(value))
        else:
            made.append(wrap(Tensor, array_of(like(value, dtype, subject), dtype)))
    return made


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """A tensor copied from numbers, nested sequences or an array; a single number fills `shape`.

    Raises `ArgumentTypeError` (a `TypeError`) if the values do not fit the dtype or the shape.

    >>> from pullback import tf
    >>> tf.constant([1, 2], shape=(2, 1)).shape, tf.constant(3.0).dtype
    (TensorShape([2, 1]), tf.float32)
    """
    wanted = array_dtype(dtype)
    if isinstance(value, CoreTensor):
        if wanted is not None and value._array.dtype != wanted:
            raise ArgumentTypeError("tf.constant", f"a tensor of dtype {wanted}",
                                    f"a tensor of {value._array.dtype}", f"tf.cast(x, tf.{wanted})")
        value = value._data
    array = array_of(value, wanted)
    array = adapters[array.__class__].copy(array) if array is value else array
    if shape is None:
        return wrap(Tensor, array)
    size = shape_of(shape)
    if array.size == 1:
        return wrap(Tensor, numpy.full(size, array.reshape(())))
    if array.size != numpy.prod(size):
        raise ArgumentTypeError(
            "tf.constant", f"as many entries as shape {size}", f"{array.size} entries"
        )
    return wrap(Tensor, array.reshape(size))


def is_tensor(x: Any) -> bool:
    """True for a tensor or a variable.

    >>> is_tensor(constant(1.0)), is_tensor(1.0)
    (True, False)
    """
    return isinstance(x, CoreTensor)


def shape_of(value: Any) -> Any:
    """A shape from an int, a sequence of ints or scalar tensors, an array or a tensor.

    In a graph the shape, or some of its lengths, may be symbols: known when the graph runs.
    """
    value = raw(value)
    if value.__class__ is Symbol:
        return symbolic_shape(value)
    if isinstance(value, (int, numpy.integer)):
        return (int(value),)
    if is_array(value):
        return tuple(value.reshape(-1).tolist())
    return tuple(map(length_of, value))


def symbolic_shape(symbol: Symbol) -> Any:
    """A shape that a graph computes: the lengths of a constant, else a symbolic shape."""
    operation = symbol.operation
    if operation.value is not None:
        return tuple(operation.value.reshape(-1).tolist())
    return operation.args[0].shape if operation.op.name == "shape" else symbol


def length_of(n: Any) -> Any:
    """An int, also from a scalar tensor; a symbol if only the running graph knows its value."""
    n = raw(n)
    if n.__class__ is Symbol:
        return n if n.operation.value is None else int(n.operation.value)
    return int(n)


def axis_of(value: Any) -> Any:
    """An axis as an int; a tuple for a sequence, array or tensor of axes; None stays None."""
    if value is None or value.__class__ is int:
        return value
    value = raw(value)
    if value.__class__ is Symbol and value.operation.value is not None:
        value = value.operation.value
    if isinstance(value, (list, tuple)):
        return tuple(map(length_of, value))
    return int(value) if not getattr(value, "shape", ()) else tuple(value.tolist())


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its errors about values are TensorFlow's."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (ValueError, IndexError) as error:
            raise translated(error, function.__name__) from None

    return call
