"""`tf.DType`: TensorFlow's dtypes, which compare equal to NumPy's dtypes and to their names."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays.inexact import kind_of
from ..arrays.numpy_.narrow import finfo
from ..errors import ArgumentTypeError

__all__ = [
    "DType", "as_dtype", "bool", "complex64", "complex128", "double", "float16", "float32",
    "float64", "half", "int8", "int16", "int32", "int64", "string", "uint8", "uint16", "uint32",
    "uint64",
]


class DType:
    """The dtype of a tensor's entries.

    >>> from pullback import tf
    >>> print(tf.float32, tf.float32 == "float32", tf.float32.is_floating)
    <dtype: 'float32'> True True
    """

    __slots__ = ("dtype", "kind", "name")

    def __init__(self, dtype: numpy.dtype, name: str | None = None) -> None:
        self.dtype = dtype  # NumPy accepts an object with this attribute as a dtype
        self.kind = kind_of(dtype)
        self.name = name or dtype.name

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __eq__(self, other: Any) -> Any:
        if other is self:
            return True
        if isinstance(other, DType):
            return self.dtype == other.dtype
        try:
            return other is not None and self.dtype == numpy.dtype(other)
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    @property
    def as_numpy_dtype(self) -> type:
        """The NumPy scalar type."""
        return self.dtype.type

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no reference types."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real and imaginary parts."""
        return as_dtype(numpy.zeros((), self.dtype).real.dtype)

    @property
    def is_floating(self) -> Any:
        """True for real floating-point dtypes."""
        return self.kind == "f"

    @property
    def is_complex(self) -> Any:
        """True for complex dtypes."""
        return self.kind == "c"

    @property
    def is_integer(self) -> Any:
        """True for integer dtypes."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> Any:
        """True for unsigned integer dtypes."""
        return self.kind == "u"

    @property
    def is_bool(self) -> Any:
        """True for the boolean dtype."""
        return self.kind == "b"

    @property
    def is_numeric(self) -> Any:
        """True for numeric dtypes."""
        return self.kind in "fciu"

    @property
    def limits(self) -> Any:
        """The smallest and the largest value of the dtype."""
        return self.min, self.max

    @property
    def size(self) -> int:
        """The size of one entry in bytes."""
        return self.dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest value of the dtype."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest value of the dtype."""
        return self._limits().max

    def _limits(self) -> Any:
        if self.kind in "iu":
            return numpy.iinfo(self.dtype)
        if self.kind not in "fc":
            raise ArgumentTypeError(f"limits of {self!r}", "a numeric dtype", str(self))
        return finfo(self.dtype)

    def is_compatible_with(self, other: Any) -> Any:
        """True if `other` names the same dtype."""
        return self == as_dtype(other)


_known: dict[Any, DType] = {}


def as_dtype(type_value: Any) -> DType:
    """The DType for a NumPy dtype, a name or a Python type (`float` is float32, `int` int32).

    Raises `ArgumentTypeError` (a `TypeError`) for anything else.

    >>> as_dtype("int32"), as_dtype(float)
    (tf.int32, tf.float32)
    """
    found = _known.get(type_value)
    if found is not None:
        return found
    try:
        dtype = numpy.dtype(type_value)
        if dtype.name == "bfloat16":
            return _known.get(dtype.name) or _register(dtype)
        return _known[dtype]
    except (TypeError, KeyError):
        raise ArgumentTypeError(
            "dtype", "a TensorFlow or NumPy dtype, or its name", repr(type_value),
            "such as tf.float32",
        ) from None


def array_dtype(dtype: Any) -> Any:
    """The NumPy dtype for anything that names one; None stays None."""
    return None if dtype is None else as_dtype(dtype).dtype


def _register(name: Any) -> DType:
    made = DType(numpy.dtype(name))
    _known[made] = _known[made.name] = made
    return made


def __getattr__(name: str) -> Any:
    """Load bfloat16 on first access: it needs the package ml_dtypes."""
    if name != "bfloat16":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentTypeError(
            "tf.bfloat16", "the package ml_dtypes", "not installed", "pip install ml_dtypes"
        ) from None
    return as_dtype(ml_dtypes.bfloat16)


float16 = half = _register("float16")
float32 = _register("float32")
float64 = double = _register("float64")
int8, int16, int32, int64 = (_register(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_register(f"uint{n}") for n in (8, 16, 32, 64))
complex64, complex128 = _register("complex64"), _register("complex128")
bool = _register("bool")
string = _known["string"] = _known[numpy.dtype(object)] = DType(numpy.dtype(object), "string")
_known[string] = _known[str] = _known[bytes] = string
_known.update({float: float32, int: int32, complex: complex128, "half": half, "double": double})
