"""CuPy: special kernels, with the names, arguments and meaning of `ops`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import cupy
import numpy
from cupy.cuda import Device

from ...errors import ArgumentError
from .. import SCALARS

compat: Any = importlib.import_module("array_api_compat.cupy")

# Devices ------------------------------------------------------------------------------------


def device_of(device: Any) -> Any:
    """A CuPy device from a device, its number, "cuda" (the current one) or "cuda:1".

    Raises `ArgumentError` for any other value.
    """
    if isinstance(device, Device):
        return device
    kind, _, number = str(device).rpartition(":")
    if number == "cuda":
        return Device()
    if number.isdecimal() and kind in ("", "cuda"):
        return Device(int(number))
    raise ArgumentError(
        "device of a CuPy array", 'a cupy.cuda.Device, its number, "cuda" or "cuda:1"',
        repr(device), "for the CPU use pullback.asarray(x, like=numpy.ones(1))",
    )


def on(device: Any) -> Any:
    """A context that creates arrays on a device; None means the current device."""
    return nullcontext() if device is None else device_of(device)


def _placed(name: str) -> Callable[..., Any]:
    """A creation function that accepts a device."""
    function = getattr(compat, name)

    def kernel(*args: Any, device: Any = None, **attrs: Any) -> Any:
        with on(device):
            return function(*args, **attrs)

    return kernel


def asarray(x: Any, *, copy: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """The array, or a copy."""
    with on(device):
        return compat.asarray(x, copy=copy, dtype=dtype)


def astype(x: Any, dtype: Any, copy: bool | None = True, device: Any = None) -> Any:
    """x in another dtype; from complex to real its real part."""
    if x.dtype.kind == "c" and numpy.dtype(dtype).kind not in "cb":
        x = x.real
    with x.device if device is None else device_of(device):
        return x.astype(dtype, copy=bool(copy))


# Elementwise --------------------------------------------------------------------------------


def make_complex(re: Any, im: Any) -> Any:
    """re + i · im, also for infinite parts (i · ∞ would have NaN as its real part)."""
    dtype = cupy.result_type(re, im, numpy.complex64)
    out = cupy.empty(numpy.broadcast_shapes(numpy.shape(re), numpy.shape(im)), dtype)
    out.real, out.imag = re, im
    return out


def clip(x: Any, min: Any, max: Any) -> Any:
    """x limited to [min, max]; max where min > max."""
    if min is not None:
        x = cupy.maximum(x, min)
    return x if max is None else cupy.minimum(x, max)


def where(condition: Any, x1: Any, x2: Any) -> Any:
    """x1 where the condition holds, else x2."""
    return cupy.where(cupy.asarray(condition), x1, x2)


def logical_not(x: Any) -> Any:
    """Whether x is 0; also for complex numbers."""
    return x == 0 if x.dtype.kind == "c" else cupy.logical_not(x)


def _truth(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A logical operation; also for complex numbers."""

    def kernel(x1: Any, x2: Any) -> Any:
        return function(*(x != 0 if _is_complex(x) else x for x in (x1, x2)))

    return kernel


def _is_complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


def power(x1: Any, x2: Any) -> Any:
    """x1 ** x2."""
    if x2.__class__ in (int, float) and x2 in (2, 3) and x1.dtype.kind in "fc":
        return x1 * x1 if x2 == 2 else x1 * x1 * x1
    return cupy.power(x1, x2)


# Shapes -------------------------------------------------------------------------------------


def reshape(x: Any, shape: Any, copy: bool | None = None) -> Any:
    """Calls the method, unless `copy` is set."""
    return x.reshape(shape) if copy is None else cupy.reshape(x, shape, copy=copy)


def pad(x: Any, widths: Any, *, constant_values: Any = 0) -> Any:
    """x padded with a constant."""
    return cupy.pad(x, widths, mode="constant", constant_values=constant_values)


def _together(arrays: Any) -> list[Any]:
    """Several operands, at least one of them an array, as arrays."""
    if not any(a.__class__ in SCALARS for a in arrays):
        return list(arrays)
    dtype = cupy.result_type(*arrays)
    return [cupy.asarray(a, dtype) if a.__class__ in SCALARS else a for a in arrays]


def concat(*arrays: Any, axis: int, starts: Any = None) -> Any:
    """Concatenates along an axis."""
    return cupy.concatenate(_together(arrays), axis=axis)


def stack(*arrays: Any, axis: int) -> Any:
    """Stacks along a new axis."""
    return cupy.stack(_together(arrays), axis=axis)


def einsum(*operands: Any, subscripts: str) -> Any:
    """The sum of products; for one operand a copy, never a view."""
    found = cupy.einsum(subscripts, *operands)
    return found.copy() if len(operands) == 1 else found


# Searching ----------------------------------------------------------------------------------


def isin(x1: Any, x2: Any, *, invert: bool = False) -> Any:
    """Whether each entry of x1 is in x2."""
    return cupy.isin(cupy.asarray(x1), cupy.asarray(x2), invert=invert)


_MAKING = (
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like",
    "zeros", "zeros_like",
)
KERNELS: dict[str, Callable[..., Any]] = {
    **{name: _placed(name) for name in _MAKING},
    **{name: _truth(getattr(cupy, name)) for name in (
        "logical_and", "logical_or", "logical_xor",
    )},
    **{f.__name__: f for f in (
        asarray, astype, clip, concat, einsum, isin, logical_not, make_complex, pad, reshape,
        stack, where,
    )},
    "pow": power,
}
