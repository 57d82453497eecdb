"""Any library of the Array API standard, by its namespace: dask, ndonnx, MLX, array-api-strict, ….

Nothing here knows a library, except where its namespace is. What the standard lacks is made of what
it has (`kernels.py`); what the library lacks of it is an error that names the function. Arrays are
immutable for this library: a write makes another array.

Source: the Python array API standard, https://data-apis.org/array-api/2024.12/
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy

from ...errors import ArgumentTypeError
from .. import SCALARS, adapters, numpy_dtype
from . import indices, kernels

_NAMESPACES = {
    "dask": ("array_api_compat.dask.array",), "mlx": ("mlx.core",), "cubed": ("cubed.array_api",),
}
"""Top-level module of an array type -> its namespace, where that is another module."""
_LAZY = frozenset({"dask", "cubed", "ndonnx"})
"""Libraries whose arrays have no numbers until they are asked for."""


class MissingFunctionError(ArgumentTypeError, AttributeError):
    """A library lacks a function of the Array API standard."""


class _Namespace:
    """A library's namespace: functions that it lacks raise an error that names them."""

    def __init__(self, xp: Any, name: str, parts: tuple[str, ...] = ("linalg", "fft")) -> None:
        self._xp, self.__name__, self._parts = xp, name, parts

    def __getattr__(self, name: str) -> Any:
        if name in self._parts:
            return self._part(name)
        places = (self._xp, getattr(self._xp, "linalg", None))
        found = next((f for p in places if (f := getattr(p, name, None)) is not None), None)
        if found is None and not hasattr(self._xp, name):
            raise MissingFunctionError(
                f"function `{name}` on arrays of {self.__name__}",
                "a library that has it, as the Array API standard (or NumPy) does",
                f"`{self._xp.__name__}`, which has none",
                "convert the array, for example with numpy.asarray or pullback.from_dlpack",
            )
        setattr(self, name, found)
        return found

    def _part(self, name: str) -> Any:
        own = getattr(self._xp, name, None)
        if own is None:
            raise MissingFunctionError(
                f"functions of `{name}` on arrays of {self.__name__}",
                "a library that has this extension of the Array API standard",
                f"`{self._xp.__name__}`, which has none",
                "convert the array, for example with numpy.asarray or pullback.from_dlpack",
            )
        found = _Namespace(own, self.__name__, ())
        setattr(self, name, found)
        return found

    def take_along_axis(self, x: Any, indices: Any, axis: int = -1) -> Any:
        """The standard's function of this name, also where a library has an older standard."""
        own = getattr(self._xp, "take_along_axis", None)
        if own is not None:
            return own(x, indices, axis=axis)
        xp = self._xp
        rows, at = xp.moveaxis(x, axis, -1), xp.moveaxis(indices, axis, -1)
        hit = xp.expand_dims(at, axis=-1) == xp.arange(rows.shape[-1])
        taken = xp.where(hit, xp.expand_dims(rows, axis=-2), xp.zeros_like(rows[..., :1, None]))
        return xp.moveaxis(xp.sum(taken, axis=-1, dtype=x.dtype), -1, axis)

    def where(self, condition: Any, x1: Any, x2: Any) -> Any:
        """The standard's `where`, also of numbers."""
        if condition.__class__ is bool:
            condition = self._xp.asarray(condition)
        if x1.__class__ in SCALARS and x2.__class__ in SCALARS:
            real = float in (x1.__class__, x2.__class__)
            dtype = self._xp.float64 if real else None
            x1 = self._xp.asarray(x1, dtype=dtype)
        return self._xp.where(condition, x1, x2)


class Standard:
    """The adapter of one library."""

    hosts = 0
    immutable = True

    def __init__(self, xp: Any, name: str) -> None:
        self.xp, self.name = xp, name
        self.namespace = _Namespace(xp, name)
        self._lazy = name in _LAZY
        self._made = kernels.made_of(self.namespace)

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """A kernel made of functions of the standard, for what that lacks; or None."""
        return self._made.get(name)

    def finished(self, name: str, cls: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Numbers and NumPy's scalars beside arrays, and dtypes, become the library's."""
        def call(*args: Any, **attrs: Any) -> Any:
            if "dtype" in attrs:
                attrs["dtype"] = self.dtype(attrs["dtype"])
            return kernel(*kernels.together(self, name, args), **attrs)

        return call

    def rank(self, cls: type) -> int:
        """Constant: one type of arrays."""
        return 0

    def owner(self, array: Any) -> None:
        """None: arrays are taken to be immutable."""
        return None

    def known(self, array: Any) -> Any:
        """The numbers; None for a lazy array, which is not computed for that."""
        return None if self._lazy else self.numpy(array)

    def read(self, array: Any, index: Any) -> Any:
        """`array[index]`, with what an index may be in NumPy."""
        return indices.read(self, array, index)

    def dtype(self, dtype: Any) -> Any:
        """The library's dtype for any library's dtype; None for None."""
        if dtype is None or getattr(dtype, "__module__", "").startswith(self.name):
            return dtype
        wanted = {"float": "float64", "int": "int64", "complex": "complex128"}
        name = str(numpy_dtype(numpy.dtype(dtype) if isinstance(dtype, type) else dtype))
        return getattr(self.namespace, wanted.get(name, name))

    def numpy(self, array: Any) -> Any:
        """A NumPy array; a lazy array is computed."""
        for name in ("compute", "unwrap_numpy"):
            own = getattr(array, name, None)
            if own is not None:
                return numpy.asarray(own())
        try:
            return numpy.asarray(array)
        except (TypeError, RuntimeError, ValueError):
            return numpy.from_dlpack(array)

    def place(self, array: Any, device: Any = None) -> Any:
        """An array of this library, from any array, on one of its devices."""
        made = self.asarray(array)
        return made if device is None else self.xp.asarray(made, device=device)

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An array of this library from numbers, nested sequences or an array."""
        dtype = self.dtype(dtype)
        if value.__class__ not in SCALARS and value.__class__ in adapters:
            if adapters[value.__class__] is self:
                if dtype is None or value.dtype == dtype:
                    return value
                if self.is_complex(value.dtype) and not self.is_complex(dtype):
                    value = self.namespace.real(value)
                return self.namespace.astype(value, dtype)
            value = adapters[value.__class__].numpy(value)
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            value = numpy.asarray(value)
            if like is not None and value.dtype == "float64" and not self.is_complex(like.dtype) \
                    and self.xp.isdtype(like.dtype, "real floating"):
                dtype = dtype or like.dtype
        dtype = dtype or self.dtype(value.dtype)
        return self.xp.asarray(_for_reading(numpy.asarray(value), self.name), dtype=dtype)

    def is_complex(self, dtype: Any) -> bool:
        """Whether a dtype is complex."""
        return "complex" in str(dtype)

    def adopt(self, array: Any) -> Any:
        """The array unchanged."""
        return array

    plain = own = copy = sealed = adopt

    def is_sealed(self, array: Any) -> bool:
        """False: a write is possible, and makes a new array."""
        return False

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros."""
        return self.xp.zeros(tuple(shape), dtype=self.dtype(dtype))

    def write(self, array: Any, value: Any) -> Any:
        """The value in the shape and dtype of the array."""
        return self.namespace.broadcast_to(self.asarray(value, array.dtype), array.shape)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """A new array with the value at an index; a repeated entry gets its last value."""
        return indices.written(self, array, index, value, add=False)

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """A new array; repeated entries get the sum of their values."""
        return indices.written(self, array, index, value, add=True)


def _for_reading(array: Any, name: str) -> Any:
    """A NumPy array that another library may take in: of its own memory."""
    return array if math.prod(array.shape) and array.flags.c_contiguous else numpy.array(array)


_found: dict[str, Standard] = {}
"""Library -> its adapter."""


def adapter_for(cls: type) -> Standard | None:
    """The adapter of the library of a type that follows the standard; None for another type.

    Raises `ArgumentTypeError` where the library needs `array-api-compat`, which is not installed.
    """
    top = cls.__module__.partition(".")[0]
    if top not in _NAMESPACES and not hasattr(cls, "__array_namespace__"):
        return None
    if top not in _found:
        xp = _namespace_of(cls, top)
        if xp is None:
            return None
        _found[top] = Standard(xp, top)
        if not hasattr(cls, "mT"):  # of the standard, and what rules are written with
            cls.mT = property(lambda array: xp.matrix_transpose(array))  # type: ignore[attr-defined]
    return _found[top]


def _namespace_of(cls: Any, top: str) -> Any:
    for module in _NAMESPACES.get(top, ()):
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise ArgumentTypeError(
                f"arrays of {top}", f"the module `{module}`", str(error),
                f"pip install {'array-api-compat' if 'compat' in module else top}",
            ) from error
    try:
        return cls.__array_namespace__(None)
    except Exception:
        found = sys.modules.get(top)
        return found if hasattr(found, "asarray") else None
