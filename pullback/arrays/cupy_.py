"""CuPy: arrays on NVIDIA's GPUs, by `array_api_compat`'s namespace and CuPy's own functions.

Nothing is computed on the host: what CuPy has no function for is an error that names the operation.
Numbers leave the GPU where they are asked for (`.numpy()`, `.item()`, `print`), and come to it
where they are handed over (`asarray(…, like=x)`, random numbers).

CuPy's own ways are kept: positions out of range wrap around, as a check would wait for the GPU,
and new arrays are made on the current device (`with cupy.cuda.Device(1):`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import cupy
import numpy
from cupy.cuda import memory

from . import SCALARS, adapters, cupy_linalg, dominant
from .cupy_index import accumulate, fitting, last_ones
from .cupy_kernels import KERNELS, compat, device_of, on
from .cupy_nn import KERNELS as NEURAL
from .cupy_special import KERNELS as SPECIAL

_ALL: dict[str, Callable[..., Any]] = {**KERNELS, **NEURAL, **SPECIAL, **cupy_linalg.KERNELS}
_OTHERWISE = frozenset({"concat", "stack", "einsum"})
"""Operations whose arguments are not those of the standard's function of the name."""


class Namespace:
    """The standard's functions on CuPy's arrays: those by hand before `array_api_compat`'s."""

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
        """CuPy's own functions, where the standard's are missing or are called otherwise."""
        return _ALL.get(name)

    def rank(self, cls: type) -> int:
        """One kind."""
        return 0

    def adopt(self, array: Any) -> Any:
        """As it is."""
        return array

    plain = adopt

    def owner(self, array: Any) -> Any:
        """The array that all views of its memory have as their base."""
        return array if array.base is None else array.base

    def known(self, array: Any) -> Any:
        """A NumPy copy, from which one entry can be taken as an index."""
        return array.get()

    def dtype(self, dtype: Any) -> Any:
        """NumPy's, which are CuPy's."""
        return None if dtype is None else numpy.dtype(dtype)

    def numpy(self, array: Any) -> Any:
        """A NumPy array, a copy: the GPU's memory cannot be shared."""
        return array.get()

    def place(self, array: Any, device: Any = None) -> Any:
        """An array on a device of one of any library; from another library's GPU by DLPack."""
        made = array if isinstance(array, cupy.ndarray) else _taken(array)
        return made if device is None else _on(made, device_of(device))

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An array of numbers, nested sequences or arrays; on the device of another one.

        Python's floats in sequences take on the precision of the other one.
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

    def own(self, array: Any) -> Any:
        """The array, unless it is a view, or its memory another library's."""
        if array.base is None and isinstance(array.data.mem, _OWN) and array.flags.c_contiguous:
            return array
        return self.copy(array)

    def copy(self, array: Any) -> Any:
        """A contiguous copy, where the array is."""
        with array.device:
            return cupy.array(array, copy=True, order="C")

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros, on the device of another array."""
        with on(None if like is None else like.device):
            return cupy.zeros(tuple(shape), numpy.dtype(dtype))

    def sealed(self, array: Any) -> Any:
        """A view of which it is noted that nobody is to write to it; CuPy has no flag for that."""
        view = array.view()
        key = id(view)
        _sealed[key] = weakref.ref(view, lambda _: _sealed.pop(key, None))
        return view

    def is_sealed(self, array: Any) -> bool:
        """Whether that is noted, or it has entries that stand for many."""
        return id(array) in _sealed or any(
            not stride and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)
        )

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; of an entry that the index names again, the last value stays."""
        with array.device:
            array[index] = last_ones(array, index, _value(array, value))
        return array

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`, in which entries named more than once receive every value."""
        with array.device:
            accumulate(array, index, fitting(array, index, _value(array, value)))
        return array


_OWN = (memory.PooledMemory, memory.Memory, memory.MemoryAsync, memory.ManagedMemory)
"""Memory that CuPy has allocated; what comes through DLPack, say, is of other kinds."""

_sealed: dict[int, weakref.ref[Any]] = {}
"""id of a view -> the view, while it lives."""


def _value(array: Any, value: Any) -> Any:
    """A value to be written to an array, as an array of its dtype."""
    if not isinstance(value, cupy.ndarray):
        if value.__class__ not in SCALARS:
            dominant[array.__class__, value.__class__]  # an error for another library's
        value = cupy.asarray(value)
    if value.dtype.kind == "c" and array.dtype.kind not in "cb":
        value = value.real
    return value.astype(array.dtype, copy=False)


def _taken(array: Any) -> Any:
    """An array of what another library's holds: in its memory, where that is on a GPU."""
    shares = getattr(array, "__dlpack_device__", None)
    if shares is not None and shares()[0] == _CUDA:
        return cupy.from_dlpack(array)
    return cupy.asarray(adapters[array.__class__].numpy(array))


_CUDA = 2
"""DLPack's number for the memory of NVIDIA's GPUs."""


def _on(array: Any, device: Any) -> Any:
    """The array, or a copy of it on another GPU."""
    if array.device == device:
        return array
    with device:
        return array.copy()


def _converted(value: Any, like: Any) -> Any:
    """An array of numbers or sequences, which may have arrays in them."""
    made = cupy.asarray(value)
    if like is None or made.dtype.kind not in "fc" or like.dtype.kind not in "fc":
        return made
    narrow = numpy.finfo(like.dtype).bits == 32
    return made.astype(made.dtype.char.translate(_NARROW)) if narrow else made


_NARROW = {ord("d"): "f", ord("D"): "F"}


ADAPTER = CuPy()
