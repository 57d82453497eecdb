"""Values of every sort as tensors of this door, and several of them brought to one dtype."""

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
    """A tensor of a tensor (itself), variable, array, number or nested sequence of any of these.

    dtype       what it must have; numbers and arrays are converted, tensors are not
    dtype_hint  taken where it can be

    Raises `ArgumentError` (a `ValueError`) for a tensor of another dtype, for None and for ragged
    sequences, `ArgumentTypeError` (a `TypeError`) for what the dtype cannot hold.

    >>> convert_to_tensor([1, 2], dtype="float32").numpy()
    array([1., 2.], dtype=float32)
    """
    wanted = array_dtype(dtype)
    if isinstance(value, CoreTensor):
        if wanted is not None and value._data.dtype != wanted:
            raise ArgumentError("tf.convert_to_tensor", f"a tensor of dtype {wanted}",
                                f"one of {value._data.dtype}", f"tf.cast(x, tf.{wanted})")
        return as_tensor(value)
    if wanted is None and dtype_hint is not None:
        try:
            return as_tensor(value, array_dtype(dtype_hint))
        except TypeError:
            pass
    return as_tensor(value, wanted)


def as_tensor(value: Any, dtype: Any = None) -> Any:
    """A tensor of this door; a variable is read, a tensor of the core keeps its history."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, CoreTensor):
        if isinstance(value, Members):
            data: Any = value
            return data.value() if data._data.__class__ is Symbol else OPS["identity"](data)
        return wrap(Tensor, value._data, value._node)
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return OPS["stack"](matched("convert_to_tensor", *value))
    if hasattr(value, "_as_tensor"):  # slices of one
        return value._as_tensor()
    return wrap(Tensor, array_of(value, dtype))


def _holds_tensors(value: Any) -> bool:
    return any(
        isinstance(v, CoreTensor) or (isinstance(v, (list, tuple)) and _holds_tensors(v))
        for v in value
    )


def operand(value: Any, kinds: str = "", who: str = "") -> Any:
    """An argument as a tensor or variable of this door, of a kind of dtype."""
    x = value if isinstance(value, Members) else as_tensor(value)
    if kinds and kind_of(x._data.dtype) not in kinds:
        raise wrong_dtype(who, x._data.dtype, kinds)
    return x


def matched(who: str, *values: Any) -> list[Any]:
    """Tensors of one dtype: that of the first tensor or array, else of the first value.

    Raises an `InvalidArgumentError` where one has another dtype and is not to be converted.
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
            if value._data.dtype != dtype:
                raise mixed_dtypes(who, dtype, value._data.dtype)
            made.append(operand(value))
        else:
            made.append(wrap(Tensor, array_of(like(value, dtype, who), dtype)))
    return made


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """A tensor of numbers, nested sequences or an array, copied; one number fills a shape.

    Raises `ArgumentTypeError` (a `TypeError`) for values that do not fit the dtype or the shape.

    >>> from pullback import tf
    >>> tf.constant([1, 2], shape=(2, 1)).shape, tf.constant(3.0).dtype
    (TensorShape([2, 1]), tf.float32)
    """
    wanted = array_dtype(dtype)
    if isinstance(value, CoreTensor):
        if wanted is not None and value._data.dtype != wanted:
            raise ArgumentTypeError("tf.constant", f"a tensor of dtype {wanted}",
                                    f"one of {value._data.dtype}", f"tf.cast(x, tf.{wanted})")
        value = value._data
    array = array_of(value, wanted)
    array = adapters[array.__class__].copy(array) if array is value else array
    if shape is None:
        return wrap(Tensor, array)
    size = shape_of(shape)
    if array.size == 1:
        return wrap(Tensor, numpy.full(size, array.reshape(())))
    if array.size != numpy.prod(size):
        raise ArgumentTypeError("tf.constant", f"entries for shape {size}", f"{array.size}")
    return wrap(Tensor, array.reshape(size))


def is_tensor(x: Any) -> bool:
    """Whether something is a tensor or a variable.

    >>> is_tensor(constant(1.0)), is_tensor(1.0)
    (True, False)
    """
    return isinstance(x, CoreTensor)


def shape_of(value: Any) -> Any:
    """A shape given as a number, a sequence (of numbers or scalar tensors), an array or tensor.

    In a graph it may be a symbol, or hold some: lengths that are known when the graph runs.
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
    """A shape that a graph computes: the numbers of a constant, and else what stands for them."""
    operation = symbol.operation
    if operation.value is not None:
        return tuple(operation.value.reshape(-1).tolist())
    return operation.args[0].shape if operation.op.name == "shape" else symbol


def length_of(n: Any) -> Any:
    """A number, also one in a tensor; a symbol where only a graph knows it."""
    n = raw(n)
    if n.__class__ is Symbol:
        return n if n.operation.value is None else int(n.operation.value)
    return int(n)


def axis_of(value: Any) -> Any:
    """An axis given as a number, or several as a sequence, an array or a tensor; None stays."""
    if value is None or value.__class__ is int:
        return value
    value = raw(value)
    if value.__class__ is Symbol and value.operation.value is not None:
        value = value.operation.value
    if isinstance(value, (list, tuple)):
        return tuple(map(length_of, value))
    return int(value) if not getattr(value, "shape", ()) else tuple(value.tolist())


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors about values are TensorFlow's."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (ValueError, IndexError) as error:
            raise translated(error, function.__name__) from None

    return call
