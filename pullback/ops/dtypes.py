"""Dtypes: their names, conversion between them, and what may be asked about them.

A dtype is the array library's own object: `pullback.float32` is NumPy's `dtype("float32")`, the
very object that arrays carry. Here and in `pullback` the name `bool` is a dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..arrays import SCALARS, adapters, is_array
from ..core.batching import adapter_of
from ..core.cotangent import is_complex, is_complex_dtype
from ..core.op import face_of, op
from ..core.tensor import raw
from ..errors import ArgumentTypeError

__all__ = [
    "astype", "bool", "can_cast", "complex64", "complex128", "e", "finfo", "float32", "float64",
    "iinfo", "inf", "int8", "int16", "int32", "int64", "isdtype", "nan", "newaxis", "pi",
    "result_type", "uint8", "uint16", "uint32", "uint64",
]

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None

bool = numpy.dtype("bool")
int8 = numpy.dtype("int8")
int16 = numpy.dtype("int16")
int32 = numpy.dtype("int32")
int64 = numpy.dtype("int64")
uint8 = numpy.dtype("uint8")
uint16 = numpy.dtype("uint16")
uint32 = numpy.dtype("uint32")
uint64 = numpy.dtype("uint64")
float32 = numpy.dtype("float32")
float64 = numpy.dtype("float64")
complex64 = numpy.dtype("complex64")
complex128 = numpy.dtype("complex128")


@op(name="astype", view=True, linear=True)
def _astype(xp: Any, x: Any, /, dtype: Any, *, copy: Any = True, device: Any = None) -> Any:
    if is_complex(x) and not is_complex_dtype(dtype) and not xp.isdtype(dtype, "bool"):
        x = xp.real(x)
    return xp.astype(x, dtype, copy=copy, device=device)


@_astype.pullback("x")
def pullback_astype(g: Any) -> Any:
    return g


@_astype.batching
def batch_astype(x: Any, *, dtype: Any, copy: Any, device: Any) -> Any:
    return _astype(x, dtype, copy=copy, device=device)


@face_of(_astype)
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """x in another dtype. From complex to real keeps the real part, to `bool` asks `x != 0`.

    With `copy=False`, memory is shared where the dtype is the same already. Integers and booleans
    end the path of a derivative: such a result is not tracked.

    >>> import numpy as np
    >>> astype(np.array([1.5, -2.0]), int64)
    array([ 1, -2])
    """
    return _astype(x, dtype, copy=copy, device=device)


def _namespace(*values: Any) -> Any:
    """The namespace of the first array among some values, NumPy's if there is none."""
    for value in values:
        if is_array(value):
            return adapter_of(value).namespace
    return adapters[float].namespace


def _dtype(value: Any) -> Any:
    """The dtype of an array or Tensor; a dtype as it is."""
    value = raw(value)
    return value if isinstance(value, type) else getattr(value, "dtype", value)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arithmetic on these arrays, dtypes and Python numbers has.

    Python's numbers take on the precision of what they meet.

    >>> result_type(float32, 1.5)
    dtype('float32')
    """
    values = [raw(v) for v in arrays_and_dtypes]
    if all(isinstance(v, SCALARS) for v in values):
        raise ArgumentTypeError(
            "`result_type`", "at least one array or dtype", "Python's numbers only", "add a dtype"
        )
    xp = _namespace(*values)
    return xp.result_type(*[v if isinstance(v, SCALARS) else _dtype(v) for v in values])


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether a dtype (or an array's) can be converted to another without losing values.

    >>> can_cast(int32, float64), can_cast(float64, int32)
    (True, False)
    """
    return _namespace(raw(from_)).can_cast(_dtype(from_), to)


def finfo(type: Any, /) -> Any:
    """The limits of a floating dtype (or an array's): bits, eps, max, min, smallest_normal, dtype.

    For a complex dtype, those of its real and imaginary parts.

    >>> finfo(float32).bits
    32
    """
    return _namespace(raw(type)).finfo(_dtype(type))


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype (or an array's): bits, max, min, dtype.

    >>> iinfo(int8).max
    127
    """
    return _namespace(raw(type)).iinfo(_dtype(type))


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind, such as "real floating", is a dtype, or one of several.

    >>> isdtype(complex64, ("real floating", "complex floating")), isdtype(int8, "bool")
    (True, False)
    """
    return _namespace().isdtype(dtype, kind)
