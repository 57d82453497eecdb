"""Dtypes: names, conversion, promotion and limits.

A dtype is the array library's own object: `pullback.float32` is NumPy's `dtype("float32")`, the
same object that arrays carry. Here and in `pullback` the name `bool` is a dtype.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from ..arrays import SCALARS, adapters, is_array, library_of
from ..arrays.batched import bare
from ..arrays.symbol import Symbol
from ..core.cotangent import is_complex, is_complex_dtype
from ..core.tensor import raw
from ..errors import ArgumentError, ArgumentTypeError, DtypeError
from .declaring import face_of, known_as, op

__all__ = [
    "astype", "bool", "can_cast", "complex64", "complex128", "e", "finfo", "float16", "float32",
    "float64", "iinfo", "inf", "int8", "int16", "int32", "int64", "isdtype", "nan", "newaxis", "pi",
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
float16 = numpy.dtype("float16")
float32 = numpy.dtype("float32")
float64 = numpy.dtype("float64")
complex64 = numpy.dtype("complex64")
complex128 = numpy.dtype("complex128")


_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")

KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED, "real floating": _REAL, "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}
"""The standard's kinds of dtypes -> the names of the dtypes of that kind."""


@op(name="astype", view=True, linear=True, shape="x")
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


@known_as(numpy="astype")
@face_of(_astype)
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """x converted to a dtype. Complex to real keeps the real part; to `bool` is `x != 0`.

    With `copy=False`, memory is shared if x has the dtype already. Conversion to an integer or
    boolean dtype ends differentiation: such a result is not tracked.

    >>> import numpy as np
    >>> astype(np.array([1.5, -2.0]), int64)
    array([ 1, -2])
    """
    return _astype(x, dtype, copy=copy, device=device)


def _library(*values: Any) -> Any:
    """The adapter of the library of the first array among some values, or else of a dtype."""
    for value in values:
        if is_array(value):
            value = bare(value)
            return adapters[value.kind if value.__class__ is Symbol else value.__class__]
    return library_of(*values)


def _dtype(value: Any) -> Any:
    """The dtype of an array or Tensor; a dtype is returned unchanged."""
    value = raw(value)
    return value if isinstance(value, type) else getattr(value, "dtype", value)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arithmetic on these arrays, dtypes and Python numbers produces.

    Python numbers take on the precision of the arrays and dtypes.

    >>> result_type(float32, 1.5)
    dtype('float32')
    """
    values = [raw(v) for v in arrays_and_dtypes]
    if all(isinstance(v, SCALARS) for v in values):
        raise ArgumentTypeError(
            "`result_type`", "at least one array or dtype", "Python numbers only", "add a dtype"
        )
    library = _library(*values)
    asked = getattr(library, "result_type", library.namespace.result_type)
    return asked(
        *[v if isinstance(v, SCALARS) else library.dtype(_dtype(v)) for v in values]
    )


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether a dtype (or an array's) can be cast to another without loss of values.

    >>> can_cast(int32, float64), can_cast(float64, int32)
    (True, False)
    """
    library = _library(raw(from_), to)
    return library.namespace.can_cast(library.dtype(_dtype(from_)), library.dtype(to))


class FloatLimits(NamedTuple):
    """The result of `finfo`, in Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating dtype (or an array's): bits, eps, max, min, smallest_normal, dtype.

    For a complex dtype, those of its real and imaginary parts. Raises `DtypeError` for others.

    >>> finfo(float32).bits
    32
    """
    found, dtype = _limits("finfo", type, "a floating dtype", "use iinfo for integers")
    eps, high, low, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatLimits(int(found.bits), eps, high, low, normal, dtype)


class IntLimits(NamedTuple):
    """The result of `iinfo`, in Python numbers."""

    bits: int
    max: int
    min: int
    dtype: Any


def iinfo(type: Any, /) -> IntLimits:
    """The limits of an integer dtype (or an array's): bits, max, min, dtype.

    Raises `DtypeError` for a dtype that is not an integer dtype.

    >>> iinfo(int8).max
    127
    """
    found, dtype = _limits("iinfo", type, "an integer dtype", "use finfo for floating dtypes")
    return IntLimits(int(found.bits), int(found.max), int(found.min), dtype)


def _limits(subject: str, type: Any, expected: str, fix: str) -> tuple[Any, Any]:
    """The limits that a dtype's library reports, and the dtype that they describe."""
    library, dtype = _library(raw(type)), _dtype(type)
    try:
        found = getattr(library, subject, getattr(library.namespace, subject))(library.dtype(dtype))
    except (AttributeError, TypeError, ValueError):
        raise DtypeError(
            f"`{subject}`", f"{expected}, or an array of one", str(dtype), fix
        ) from None
    return found, library.dtype(found.dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind such as "real floating", or equals a dtype, or any of a tuple.

    Raises `ArgumentError` for an unknown kind, `ArgumentTypeError` for values of other types.

    >>> isdtype(complex64, ("real floating", "complex floating")), isdtype(int8, "bool")
    (True, False)
    """
    library = _library(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    try:
        return getattr(library, "isdtype", library.namespace.isdtype)(
            dtype, tuple([k if isinstance(k, str) else library.dtype(k) for k in kinds])
        )
    except (TypeError, ValueError) as error:
        family = ArgumentError if isinstance(error, ValueError) else ArgumentTypeError
        raise family(
            "`isdtype`", f"a dtype, and a kind: one of {', '.join(KINDS)}, or a dtype, or a tuple",
            f"{dtype!r} and {kind!r}",
        ) from None
