"""A stand-in for CuPy, for tests where there is no GPU: NumPy's arrays under CuPy's rules.

Kept are the rules that code which runs on NumPy's arrays breaks: no implicit way to NumPy, no NumPy
array beside an array, results without axes are arrays, views know the array that owns the memory,
nothing can be sealed, functions that CuPy lacks are not there, others have CuPy's parameters
(`signatures.py`), entries that are named twice are written in no useful order, atomic additions are
for some dtypes, linear solvers take no broadcasting and are silent about singular matrices unless
`cupyx.errstate` says otherwise.

Not kept: what a GPU computes, and how exactly; positions out of range, which wrap around in CuPy
and are an error here; memory that is used again; streams.
"""

from __future__ import annotations

import inspect as _inspect
from typing import Any

import numpy
from numpy import (  # noqa: F401
    bool_,
    broadcast_shapes,
    can_cast,
    complex64,
    complex128,
    complexfloating,
    dtype,
    e,
    finfo,
    float32,
    float64,
    floating,
    iinfo,
    inf,
    int8,
    int16,
    int32,
    int64,
    integer,
    intp,
    isdtype,
    issubdtype,
    nan,
    newaxis,
    number,
    pi,
    signedinteger,
    uint8,
    uint16,
    uint32,
    uint64,
    unsignedinteger,
)

from . import cuda as cuda
from . import fft as fft
from . import linalg as linalg
from . import signatures
from ._array import ndarray as ndarray
from ._array import quietly as _quietly
from ._functions import array as array
from ._functions import asarray as asarray
from ._functions import broadcast_to as broadcast_to
from ._functions import functions as _functions
from ._functions import ufunc as _ufunc

__version__ = "14"
globals().update({name: _ufunc(name, getattr(numpy, name)) for name in signatures.UFUNCS})
globals().update({
    name: f
    for name, f in {
        **_functions(signatures.FUNCTIONS), **_functions(signatures.MAKING, making=True),
    }.items()
    if name not in globals()
})


def matmul(x1: Any, x2: Any) -> Any:
    return _quietly(numpy.matmul, x1, x2)


def einsum(subscripts: str, *operands: Any) -> Any:
    """Of one operand a view, where that can be."""
    return _quietly(numpy.einsum, subscripts, *operands)


def result_type(*given: Any) -> Any:
    return numpy.result_type(*[g.dtype if isinstance(g, ndarray) else g for g in given])


def broadcast_arrays(*args: Any) -> list[Any]:
    shape = numpy.broadcast_shapes(*[a.shape for a in args])
    return [broadcast_to(a, shape) for a in args]


def meshgrid(*xi: Any, **kwargs: Any) -> list[Any]:
    return list(_quietly(numpy.meshgrid, *xi, **kwargs))


def from_dlpack(array: Any) -> Any:
    """An array in memory that is not CuPy's own."""
    return ndarray._of(array._host, mem=cuda.memory.UnownedMemory())


__all__ = [
    name for name, value in globals().items()
    if not name.startswith("_") and name != "annotations"
    and not (_inspect.ismodule(value) and name in ("numpy", "signatures"))
]
