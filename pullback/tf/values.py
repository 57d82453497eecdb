"""Conversion of Python and NumPy values to the arrays that TensorFlow would create.

Python floats become float32 and ints int32 unless a dtype is given. A number adopts a tensor's
dtype if that is lossless in kind: 2 becomes float32, but 2.5 does not become int32. Arrays keep
their dtype, and convert to any dtype that is given.
"""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays import adapters, is_array
from ..arrays.inexact import kind_of
from ..errors import ArgumentError, ArgumentTypeError
from .errors import mixed_dtypes

_TAKES = {bool: "bfciu", int: "fciu", float: "fc", complex: "c"}
"""type of a number -> kinds of dtype that accept it."""

_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_DEFAULT = {
    "b": numpy.dtype(bool), "i": numpy.dtype("int32"), "u": numpy.dtype("uint64"),
    "f": numpy.dtype("float32"), "c": numpy.dtype("complex128"),
}


def like(value: Any, dtype: Any, subject: str) -> Any:
    """The other operand of a tensor; a Python number that fits is returned unchanged.

    Raises an `InvalidArgumentError` for values that do not fit the dtype, `ArgumentError` for None.
    """
    takes = _TAKES.get(value.__class__)
    if takes is not None and kind_of(dtype) in takes:
        return value
    if hasattr(value, "_as_tensor"):
        return value._as_tensor()
    try:
        return array_of(value, dtype)
    except TypeError:
        raise mixed_dtypes(subject, dtype, getattr(value, "dtype", type(value).__name__)) from None


def array_of(value: Any, dtype: Any = None) -> Any:
    """An array from a number, a nested sequence or an array.

    Raises `ArgumentError` for None and ragged sequences, `ArgumentTypeError` for values that
    are not numbers and for numbers that the dtype cannot hold.
    """
    if is_array(value) and value.dtype.kind in "US":
        value = value.tolist()
    if is_array(value):
        return value if dtype is None else adapters[value.__class__].asarray(value, dtype)
    if value is None:
        raise ArgumentError("conversion to a tensor", "numbers or an array", "None")
    if hasattr(value, "__array__"):
        return numpy.asarray(value, dtype)
    try:
        natural = numpy.array(value)
    except ValueError as error:
        raise ArgumentError("conversion to a tensor", "sequences of one length",
                            f"a ragged sequence: {error}") from None
    kind = natural.dtype.kind
    if kind in "USO" and _is_text(value):
        return _texts(value, dtype)
    if kind not in _RANK:
        raise _unfit(value, "numbers or booleans")
    if dtype is None:
        return _as_python(value, natural)
    if natural.size and _RANK[kind] > _RANK[kind_of(dtype)]:
        raise _unfit(value, f"values of dtype {dtype}")
    try:
        return numpy.array(value, dtype)
    except OverflowError:
        raise _unfit(value, f"values of dtype {dtype}") from None


def _is_text(value: Any) -> bool:
    """True for a string or a nested sequence of strings."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_text, value))
    return isinstance(value, (str, bytes))


def _texts(value: Any, dtype: Any) -> Any:
    """An array of bytes, the form in which string tensors are stored."""
    if dtype is not None and dtype.kind != "O":
        raise _unfit(value, f"values of dtype {dtype}")
    made = numpy.array(value, dtype=object)
    flat = [v.encode() if isinstance(v, str) else v for v in made.reshape(-1)]
    found = numpy.empty(made.shape, dtype=object)
    found.reshape(-1)[:] = flat
    return found


def _as_python(value: Any, natural: Any) -> Any:
    """The array in TensorFlow's dtype for Python numbers, unless the numbers are NumPy's."""
    leaf = value
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
    if is_array(leaf):  # NumPy scalars too
        known = _RANK[kind_of(leaf.dtype)] >= _RANK[natural.dtype.kind]
        return natural.astype(leaf.dtype, copy=False) if known else natural
    default = _DEFAULT[natural.dtype.kind]
    if natural.dtype.kind == "i" and natural.size:
        limits = numpy.iinfo(numpy.int32)
        if natural.min() < limits.min or natural.max() > limits.max:
            return natural
    return natural.astype(default, copy=False)


def _unfit(value: Any, expected: str) -> ArgumentTypeError:
    text = repr(value)
    return ArgumentTypeError(
        "conversion to a tensor", expected, text if len(text) < 60 else f"a {type(value).__name__}",
        "convert it first, for example with tf.cast",
    )
