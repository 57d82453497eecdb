"""PyTorch's dtypes, default dtype, and type promotion.

A dtype is NumPy's dtype object. A result's dtype depends on three priorities: tensors with axes,
then scalar tensors, then Python numbers; a lower priority counts only if its kind (bool, int,
float, complex) is higher.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from ..arrays import adapters, is_array
from ..arrays.inexact import kind_of
from ..arrays.numpy_ import narrow as _narrow
from ..core.op import OPS
from ..core.state import Scoped
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import inexact_dtypes
from ..errors import DtypeError

__all__ = [
    "bool", "can_cast", "cdouble", "cfloat", "complex64", "complex128", "double", "finfo",
    "float", "float16", "float32", "float64", "get_default_dtype", "half", "iinfo", "int",
    "int8", "int16", "int32", "int64", "long", "promote_types", "result_type",
    "set_default_dtype", "short", "uint8",
]

_Float, _Int, _Bool, _Complex = float, int, bool, complex

bool = numpy.dtype("bool")
uint8 = numpy.dtype("uint8")
int8 = numpy.dtype("int8")
int16 = short = numpy.dtype("int16")
int32 = int = numpy.dtype("int32")
int64 = long = numpy.dtype("int64")
float16 = half = numpy.dtype("float16")
float32 = float = numpy.dtype("float32")
float64 = double = numpy.dtype("float64")
complex64 = cfloat = numpy.dtype("complex64")
complex128 = cdouble = numpy.dtype("complex128")

TYPES = {
    "float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor",
    "int64": "LongTensor", "int32": "IntTensor", "int16": "ShortTensor", "int8": "CharTensor",
    "uint8": "ByteTensor", "bool": "BoolTensor", "bfloat16": "BFloat16Tensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
}
"""Older names of typed tensors."""


def of_type(name: Any) -> Any:
    """A dtype, also from a name such as "torch.FloatTensor"."""
    if not isinstance(name, str):
        return name
    last = name.rpartition(".")[2]
    found = next((n for n, old in TYPES.items() if old == last), last)
    return of_bfloat16() if found == "bfloat16" else numpy.dtype(found)


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        return of_bfloat16()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def of_bfloat16() -> Any:
    """The dtype of `ml_dtypes`, imported on first use."""
    try:
        import ml_dtypes
    except ImportError:
        raise DtypeError(
            "bfloat16", "the package ml_dtypes", "not installed", "pip install ml_dtypes"
        ) from None
    return numpy.dtype(ml_dtypes.bfloat16)


def can_cast(from_: Any, to: Any) -> Any:
    """True if PyTorch's promotion rules allow the cast: the kind must not become lower.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    return _KINDS[kind_of(numpy.dtype(from_))] <= _KINDS[kind_of(numpy.dtype(to))]


iinfo = numpy.iinfo

_default = [float32]


def finfo(type: Any = None) -> Any:
    """The limits of a floating-point dtype (the default dtype if not given): bits, eps, max, …

    >>> finfo(float16).bits
    16
    """
    return _narrow.finfo(_default[0] if type is None else type)


def set_default_dtype(d: Any) -> None:
    """Set the dtype of tensors made from Python floats; initially float32."""
    d = numpy.dtype(d)
    if kind_of(d) != "f":
        raise DtypeError("argument `d` of `set_default_dtype`", "a real floating dtype", str(d))
    _default[0] = d


def get_default_dtype() -> Any:
    """The dtype of tensors made from Python floats.

    >>> get_default_dtype()
    dtype('float32')
    """
    return _default[0]


def of_number(value: Any) -> Any:
    """The dtype that a Python number becomes in a tensor."""
    if isinstance(value, _Bool):
        return bool
    if isinstance(value, _Int):
        return int64
    if isinstance(value, _Float):
        return _default[0]
    return numpy.result_type(_default[0], complex64)


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype to which both can be promoted; ints adopt the dtype of floats.

    >>> promote_types(int64, float32)
    dtype('float32')
    """
    type1, type2 = numpy.dtype(type1), numpy.dtype(type2)
    if inexact_dtypes[type1] != inexact_dtypes[type2]:
        return type1 if inexact_dtypes[type1] else type2
    if type1 != type2 and _narrow.is_narrow(type1) and _narrow.is_narrow(type2):
        return float32
    return numpy.promote_types(type1, type2)


_of_the_core: Scoped[Any] = Scoped("dtypes_of_the_core", False)


@contextmanager
def of_the_core() -> Iterator[None]:
    """The block computes with tensors of any array library: the core's rules choose dtypes.

    `torch.sin(t)`, with PyTorch's own `sin` and a `pullback.Tensor`, runs `pullback.torch.sin` so.
    """
    with _of_the_core.held(True):
        yield


def adapts() -> Any:
    """True where operands are converted to PyTorch's dtypes: everywhere but in `of_the_core`."""
    return not _of_the_core.get()


def dtype_of(dtype: Any) -> Any:
    """The dtype that an argument `dtype` names; None for None."""
    return dtype if dtype is None or _of_the_core.get() else numpy.dtype(dtype)


_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _combined(higher: Any, lower: Any) -> Any:
    """The dtype of two priorities; either may be absent (None)."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if _KINDS[kind_of(higher)] >= _KINDS[kind_of(lower)]:
        return higher
    if kind_of(higher) == "f":
        return numpy.result_type(higher, complex64)
    return lower if kind_of(lower) in "fc" or higher.kind == "b" else higher


def result_type(*values: Any) -> Any:
    """The dtype of an arithmetic result from tensors, arrays and Python numbers.

    >>> import pullback.torch as torch
    >>> torch.result_type(torch.arange(3), 0.5)
    dtype('float32')
    """
    found: list[Any] = [None, None, None]
    for value in values:
        if isinstance(value, CoreTensor) or is_array(value):
            data = value._data if isinstance(value, CoreTensor) else value
            place, dtype = (0 if data.shape else 1), data.dtype
        elif isinstance(value, (_Bool, _Int, _Float, _Complex)):
            place, dtype = 2, of_number(value)
        else:
            continue
        found[place] = dtype if found[place] is None else promote_types(found[place], dtype)
    return _combined(_combined(found[0], found[1]), found[2])


def cast(x: Any, dtype: Any) -> Any:
    """A tensor converted to a dtype; the tensor itself for None, or if it already has it."""
    return x if dtype is None or x._data.dtype == dtype else OPS["astype"](x, dtype)


def promoted(*values: Any, inexact: Any = False) -> tuple[Any, ...]:
    """Operands in their common dtype; Python numbers are unchanged, since they adapt.

    inexact  as for division, whose result is never an integer
    """
    dtype = None if _of_the_core.get() else result_type(*values)
    if dtype is None:
        return values
    if inexact and not inexact_dtypes[dtype]:
        dtype = _default[0]
    return tuple([_as(value, dtype) for value in values])


def _as(value: Any, dtype: Any) -> Any:
    if isinstance(value, CoreTensor):
        return cast(value, dtype)
    return adapters[value.__class__].asarray(value, dtype) if is_array(value) else value


def floating(x: Any) -> Any:
    """Integer and boolean tensors converted to the default dtype; others unchanged."""
    if inexact_dtypes[x._data.dtype] or _of_the_core.get():
        return x
    return OPS["astype"](x, _default[0])
