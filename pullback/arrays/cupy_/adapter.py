"""CuPy: arrays on NVIDIA GPUs, with `array_api_compat`'s namespace and CuPy's own functions.

Nothing is computed on the host: a missing CuPy function is an error that names the operation.
Data moves from the GPU only on request (`.numpy()`, `.item()`, `print`), and to the GPU only as
explicit input (`asarray(…, like=x)`, random numbers).

CuPy's own behaviour is kept: out-of-range positions wrap around, because a check would wait for the
GPU, and new arrays are on the current device (`with cupy.cuda.Device(1):`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import cupy
import numpy
from cupy.cuda import memory

from .. import SCALARS, adapters, dominant
from . import linalg
from .index import accumulate, fitting, last_ones
from .kernels import KERNELS, compat, device_of, on
from .nn import KERNELS as NEURAL
from .special import KERNELS as SPECIAL

_ALL: dict[str, Callable[..., Any]] = {**KERNELS, **NEURAL, **SPECIAL, **linalg.KERNELS}
_OTHERWISE = frozenset({"concat", "stack", "einsum"})
"""Operations whose arguments differ from the standard's function of the same name."""


class Namespace:
    """The standard's functions on CuPy arrays: this library's, else those of `array_api_compat`."""

    __name__ = "cupy"

    def __getattr__(self, name: str) -> Any:
        found = None if name in _OTHERWISE else _ALL.get(name)
        found = getattr(compat, name) if found is None else found
        self.__dict__[name] = found
        return found


class CuPy:
    """The adapter of `cupy.ndarray`."""

    name = "cupy"
    namespace = Namespace()
    hosts = False

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """CuPy's own function, if the standard's is missing or has other arguments."""
        return _ALL.get(name)

    def rank(self, cls: type) -> int:
        """Constant: there is only one type."""
        return 0

    def adopt(self, array: Any) -> Any:
        """The array unchanged."""
        return array

    plain = adopt

    def owner(self, array: Any) -> Any:
        """The base array of all views of its memory."""
        return array if array.base is None else array.base

    def known(self, array: Any) -> Any:
        """A NumPy copy, from which an entry can be read as an index."""
        return array.get()

    def dtype(self, dtype: Any) -> Any:
        """NumPy's dtypes, which CuPy shares."""
        return None if dtype is None else numpy.dtype(dtype)

    def numpy(self, array: Any) -> Any:
        """A NumPy array, as a copy: GPU memory cannot be shared with the host."""
        return array.get()

    def place(self, array: Any, device: Any = None) -> Any:
        """An array on a device from any library's array; by DLPack from another library's GPU."""
        made = array if isinstance(array, cupy.ndarray) else _taken(array)
        return made if device is None else _on(made, device_of(device))

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An array from numbers, nested sequences or arrays, on the device of `like`.

        Python floats in sequences get the precision of `like`.
        """
        with on(None if like is None else like.device):
            if isinstance(value, cupy.ndarray):
                made = value
            elif value.__class__ in adapters and value.__class__ not in SCALARS:
                made = _taken(value)
            else:
                made = _converted(value, like)
            if dtype is not None:
                if made.dtype.kind == "c" and numpy.dtype(dtype).kind not in "cb":
                    made = made.real
                made = made.astype(dtype, copy=False)
        return made if like is None else _on(made, like.device)

    def exported(self, array: Any) -> Any:
        """The array, or a copy if it has negative strides."""
        return cupy.ascontiguousarray(array) if min(array.strides, default=0) < 0 else array

    def own(self, array: Any) -> Any:
        """The array, or a copy if it is a view or in another library's memory."""
        if array.base is None and isinstance(array.data.mem, _OWN) and array.flags.c_contiguous:
            return array
        return self.copy(array)

    def copy(self, array: Any) -> Any:
        """A contiguous copy on the same device."""
        with array.device:
            return cupy.array(array, copy=True, order="C")

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros, on the device of another array."""
        with on(None if like is None else like.device):
            return cupy.zeros(tuple(shape), numpy.dtype(dtype))

    def sealed(self, array: Any) -> Any:
        """Read-only view (tracked in a table, because CuPy has no flag for it)."""
        view = array.view()
        key = id(view)
        _sealed[key] = weakref.ref(view, lambda _: _sealed.pop(key, None))
        return view

    def is_sealed(self, array: Any) -> bool:
        """Whether the table marks it as read-only, or it has overlapping entries (stride 0)."""
        return id(array) in _sealed or any(
            not stride and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)
        )

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; a repeated entry gets its last value."""
        with array.device:
            array[index] = last_ones(array, index, _value(array, value))
        return array

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`; repeated entries get the sum of their values."""
        with array.device:
            accumulate(array, index, fitting(array, index, _value(array, value)))
        return array


_OWN = (memory.PooledMemory, memory.Memory, memory.MemoryAsync, memory.ManagedMemory)
"""The memory type that CuPy allocates; memory from DLPack, for example, has other types."""

_sealed: dict[int, weakref.ref[Any]] = {}
"""id of a view -> the view, while it is alive."""


def _value(array: Any, value: Any) -> Any:
    """A value to write to an array, as an array of its dtype."""
    if not isinstance(value, cupy.ndarray):
        if value.__class__ not in SCALARS:
            dominant[array.__class__, value.__class__]  # raises for another library's array
        value = cupy.asarray(value)
    if value.dtype.kind == "c" and array.dtype.kind not in "cb":
        value = value.real
    return value.astype(array.dtype, copy=False)


def _taken(array: Any) -> Any:
    """Another library's array as a CuPy array; shares its memory if that is on a GPU."""
    shares = getattr(array, "__dlpack_device__", None)
    if shares is not None and shares()[0] == _CUDA:
        return cupy.from_dlpack(array)
    return cupy.asarray(adapters[array.__class__].numpy(array))


_CUDA = 2
"""DLPack's device type of NVIDIA GPUs."""


def _on(array: Any, device: Any) -> Any:
    """The array, or a copy of it on another GPU."""
    if array.device == device:
        return array
    with device:
        return array.copy()


def _converted(value: Any, like: Any) -> Any:
    """An array from numbers or sequences, which can contain arrays."""
    made = cupy.asarray(value)
    if like is None or made.dtype.kind not in "fc" or like.dtype.kind not in "fc":
        return made
    narrow = numpy.finfo(like.dtype).bits == 32
    return made.astype(made.dtype.char.translate(_NARROW)) if narrow else made


_NARROW = {ord("d"): "f", ord("D"): "F"}


ADAPTER = CuPy()
