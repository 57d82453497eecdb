"""`ndarray` of the stand-in: a NumPy array in a coat that keeps CuPy's rules."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy

from .cuda import Device, current
from .cuda.memory import PooledMemory


def _root(array: numpy.ndarray) -> Any:
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def host(value: Any) -> Any:
    """What is in the coat; an error for NumPy's arrays, which CuPy does not take beside its own."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, numpy.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return type(value)(map(host, value)) if type(value) in (list, tuple) else value


def coated(result: Any, *inputs: Any) -> Any:
    """A result as CuPy has it: never a number; a view's base is the array that owns the memory."""
    if isinstance(result, (tuple, list)):
        return tuple(coated(r, *inputs) for r in result)
    if not isinstance(result, (numpy.ndarray, numpy.generic)):
        return result
    result = numpy.asarray(result)
    for given in inputs:
        if isinstance(given, ndarray):
            if result is given._host:
                return given
            if _root(result) is _root(given._host):
                return ndarray._of(result, given if given.base is None else given.base)
    return ndarray._of(result if result.base is None else result.copy())


def quietly(function: Callable[..., Any], *args: Any, **how: Any) -> Any:
    """A call of NumPy's or SciPy's; a GPU does not warn of infinities."""
    inputs = [*args, *how.values()]
    inputs += [b for a in inputs if type(a) in (list, tuple) for b in a]
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = function(*map(host, args), **{k: host(v) for k, v in how.items()})
    return coated(found, *inputs)


def _positions(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(p, ndarray) and p.dtype.kind in "iu" for p in parts)


def _index(index: Any) -> Any:
    """An index as NumPy takes it; CuPy takes NumPy's arrays too."""
    parts = index if isinstance(index, tuple) else (index,)
    found = tuple(p._host if isinstance(p, ndarray) else p for p in parts)
    return found if isinstance(index, tuple) else found[0]


class ndarray:
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("__weakref__", "_host", "base", "data", "device")

    @classmethod
    def _of(cls, array: numpy.ndarray, base: Any = None, mem: Any = None) -> ndarray:
        self = object.__new__(cls)
        self._host, self.base = array, base
        self.device = Device(current()) if base is None else base.device
        kept = SimpleNamespace(mem=PooledMemory() if mem is None else mem)
        self.data = kept if base is None else base.data
        return self

    def __array__(self, *args: Any, **how: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use `.get()`.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **how: Any) -> Any:
        return quietly(getattr(ufunc, method), *args, **how)

    def get(self) -> numpy.ndarray:
        return self._host.copy()

    dtype = property(lambda self: self._host.dtype)
    shape = property(lambda self: self._host.shape)
    strides = property(lambda self: self._host.strides)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    T = property(lambda self: coated(self._host.T, self))
    mT = property(lambda self: coated(self._host.mT, self))

    @property
    def flags(self) -> Any:
        own = self._host.flags
        return SimpleNamespace(
            c_contiguous=own.c_contiguous, f_contiguous=own.f_contiguous, owndata=self.base is None
        )

    def _part(self, name: str) -> Any:
        return coated(getattr(self._host, name), self) if self.dtype.kind == "c" else (
            self if name == "real" else coated(numpy.zeros_like(self._host))
        )

    def _set_part(self, name: str, value: Any) -> None:
        setattr(self._host, name, host(value))

    real = property(lambda self: self._part("real"), lambda self, v: self._set_part("real", v))
    imag = property(lambda self: self._part("imag"), lambda self, v: self._set_part("imag", v))

    def view(self, dtype: Any = None) -> Any:
        return coated(self._host.view() if dtype is None else self._host.view(dtype), self)

    def copy(self, order: str = "C") -> Any:
        return coated(self._host.copy(order))

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> Any:
        return coated(self._host.astype(dtype, order=order, copy=copy), self)

    def reshape(self, *shape: Any) -> Any:
        return coated(self._host.reshape(*shape), self)

    def transpose(self, *axes: Any) -> Any:
        return coated(self._host.transpose(*axes), self)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return coated(self._host.swapaxes(axis1, axis2), self)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return coated(self._host.all(axis, keepdims=keepdims))

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return coated(self._host.max(axis, keepdims=keepdims))

    def ravel(self) -> Any:
        return coated(self._host.ravel(), self)

    def tolist(self) -> Any:
        return self._host.tolist()

    def item(self) -> Any:
        return self._host.item()

    def __getitem__(self, index: Any) -> Any:
        return coated(self._host[_index(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Of an entry that is named again the first value stays: CuPy has no order."""
        if isinstance(value, numpy.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        target, at, value = self._host, _index(index), host(value)
        if _positions(index):
            places = numpy.arange(target.size).reshape(target.shape)[at]
            value = numpy.broadcast_to(value, places.shape).reshape(-1)[::-1]
            at = numpy.unravel_index(places.reshape(-1)[::-1], target.shape)
        target[at] = value

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(self._host)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device.id

    def __reduce__(self) -> Any:
        return _again, (self._host,)


def _again(array: numpy.ndarray) -> ndarray:
    return ndarray._of(array)


def _operators() -> None:
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor",
        "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge",
    ):
        function = getattr(operator, name)

        def forward(self: Any, other: Any, f: Any = function) -> Any:
            return NotImplemented if _defers(other) else quietly(f, self, other)

        def backward(self: Any, other: Any, f: Any = function) -> Any:
            return NotImplemented if _defers(other) else quietly(f, other, self)

        bare = name.rstrip("_")
        setattr(ndarray, f"__{bare}__", forward)
        setattr(ndarray, f"__r{bare}__", backward)
        if name in ("add", "sub", "mul", "truediv"):
            in_place = getattr(operator, f"i{name}")

            def inplace(self: Any, other: Any, f: Any = in_place) -> Any:
                f(self._host, host(other))
                return self

            setattr(ndarray, f"__i{bare}__", inplace)
    for f in (operator.neg, operator.pos, operator.abs, operator.invert):
        setattr(ndarray, f"__{f.__name__}__", lambda self, f=f: quietly(f, self))
    for kind in (bool, int, float, complex):
        setattr(ndarray, f"__{kind.__name__}__", lambda self, k=kind: k(self._host))


def _defers(other: Any) -> bool:
    return not isinstance(other, ndarray) and getattr(other, "__array_priority__", 0) > 100


_operators()
ndarray.__module__ = "cupy"
