"""Python's operators and the Array API's methods, bound to `Tensor`.

In-place operators compute a new value, which is recorded, and write it over the target, whose
history it becomes. Products and sums are bound straight to their operations, with no frame
between; reflected operators and the rest go through small functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import Batched
from ..arrays.symbol import Symbol
from ..core import tensor
from ..core.cotangent import is_complex
from ..core.inplace import check_writable, overwrite
from ..core.node import FREED, Node, number
from ..core.op import OPS
from ..core.packing import PackedValues
from ..core.tensor import Tensor, is_inexact, raw
from ..errors import ArgumentError, DtypeError, ShapeError
from . import protocols
from .indexing import assign_at, getitem

_STRAIGHT = {
    "add": "add", "radd": "add", "sub": "subtract", "mul": "multiply", "rmul": "multiply",
    "truediv": "divide", "matmul": "matmul",
}
"""Sums and products commute: one function serves both sides."""

_FORWARD = {
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}

_REFLECTED = {
    "sub": "subtract", "truediv": "divide", "matmul": "matmul", "pow": "pow",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}

_INPLACE = {**_REFLECTED, "add": "add", "mul": "multiply"}

_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the standard that the namespace answers for; the last is what it follows."""


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, /) -> Any:
        return function(self, other)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, /) -> Any:
        return function(other, self)

    return method


def _equality(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, /) -> Any:
        # Anything may be asked whether it equals a tensor: None, a string, a class.
        if isinstance(other, (Tensor, list, tuple, *SCALARS)) or is_array(other):
            return function(self, other)
        return NotImplemented

    return method


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, /) -> Any:
        return function(self)

    return method


def _power(pow_: Callable[..., Any], square: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, exponent: Any, /) -> Any:
        if exponent.__class__ is int and exponent == 2:
            return square(self)
        return pow_(self, exponent)

    return method


# Operators that write in place --------------------------------------------------------------


def _inplace(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, /) -> Any:
        if self._assignable:  # a new array in a variable, which no tape notices
            return self.assign(function(self._data, raw(other)))
        check_writable(self, name)
        start = number()
        value = function(self, other)
        if value.dtype != self.dtype:
            value = _fitting(value, self, name)
        if value._node is not None:
            keep_old(value._node, start, self._data)
        return overwrite(self, value, name)

    return method


def _fitting(value: Any, target: Any, name: str) -> Any:
    """A result in the dtype of the target, if that is of the same kind."""
    lossy = is_complex(value) and not is_complex(target)
    if lossy or (is_inexact(value) and not is_inexact(target)):
        raise DtypeError(
            f"in-place `{name}`", f"a result that dtype {target.dtype} can hold",
            f"dtype {value.dtype}", "use the operation that makes a new tensor",
        )
    return OPS["astype"](value, target.dtype)


def keep_old(last: Node, start: int, data: Any) -> None:
    """Give nodes recorded since `start` copies of what they saved of an array's memory.

    It is about to be overwritten, by the very operation that saved it.
    """
    owner = adapters[data.__class__].owner(data)
    if owner is None:
        return
    fresh: list[Node | None] = [last]
    while fresh:
        node = fresh.pop()
        if node is None or not node.parents or node.seq < start or node.saved is FREED:
            continue
        if isinstance(node.saved, PackedValues):  # in a form that is not this memory
            fresh.extend(node.parents)
            continue
        node.saved = tuple([
            adapters[value.__class__].copy(value)
            if is_array(value) and adapters[value.__class__].owner(value) is owner else value
            for value in node.saved
        ])
        fresh.extend(node.parents)


# The standard's methods ---------------------------------------------------------------------


def _transposed(self: Any) -> Any:
    """The transpose of a matrix, which shares its memory.

    Raises `ShapeError` unless there are two axes.

    >>> import pullback as pb
    >>> pb.tensor([[1.0, 2.0]]).T
    Tensor([[1.],
            [2.]])
    """
    if len(self._data.shape) != 2:
        raise ShapeError(
            "`T` of a Tensor", "two axes", f"shape {self.shape}",
            "use x.mT for stacks of matrices, or permute_dims",
        )
    return OPS["matrix_transpose"](self)


def _matrix_transposed(self: Any) -> Any:
    """The last two axes exchanged, sharing memory.

    >>> import pullback as pb
    >>> pb.ones((4, 2, 3)).mT.shape
    (4, 3, 2)
    """
    return OPS["matrix_transpose"](self)


def _array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """This library, as the namespace of the Array API standard."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ArgumentError(
            "argument `api_version`", f"one of {', '.join(API_VERSIONS)}", repr(api_version)
        )
    return import_module(__name__.partition(".")[0])


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The values on another device of the array's library; the tensor itself, if it is there.

    The cotangents travel back. Raises what the library raises for a device that it has not.
    """
    return OPS["to_device"](self, device)


def _dlpack(
    self: Any, /, *, stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None, copy: Any = None,
) -> Any:
    """A capsule through which another library shares the memory; the history stays here.

    What is asked for goes to the array's library. Raises `BufferError` where it cannot be had.
    """
    if self._node is not None:
        tensor.left(self._node, ".__dlpack__()")
    given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    data = self._data
    how = {name: value for name, value in given.items() if value is not None}
    return adapters[data.__class__].asarray(data).__dlpack__(**how)


def _dlpack_device(self: Any, /) -> Any:
    """Where the memory is, in DLPack's numbers."""
    data = self._data
    return adapters[data.__class__].asarray(data).__dlpack_device__()


def _bind() -> None:
    def put(name: str, function: Any) -> None:
        setattr(Tensor, f"__{name}__", function)

    for name, operation in _STRAIGHT.items():
        put(name, OPS[operation].op.operate)
    for name, operation in _FORWARD.items():
        put(name, _forward(OPS[operation]))
    for name, operation in _REFLECTED.items():
        put("r" + name, _reflected(OPS[operation]))
    for name, operation in _UNARY.items():
        put(name, _unary(OPS[operation]))
    put("pow", _power(OPS["pow"], OPS["square"]))
    put("eq", _equality(OPS["equal"]))
    put("ne", _equality(OPS["not_equal"]))
    for name, operation in _INPLACE.items():
        put("i" + name, _inplace("i" + name, OPS[operation]))
    put("getitem", getitem)
    put("setitem", assign_at)
    put("array_namespace", _array_namespace)
    put("array_ufunc", protocols.array_ufunc)
    put("array_function", protocols.array_function)
    put("torch_function", protocols.torch_function)
    put("dlpack", _dlpack)
    put("dlpack_device", _dlpack_device)
    _bind_raw(Batched)
    _bind_raw(Symbol)
    for method, function in {
        "T": property(_transposed), "mT": property(_matrix_transposed),
        "to_device": _to_device, "to": _to_device,
    }.items():
        setattr(Tensor, method, function)


def _bind_raw(cls: Any) -> None:
    """The operators that rules use, on arrays of a kind of ours: the operations themselves."""
    def put(name: str, function: Any) -> None:
        setattr(cls, f"__{name}__", function)

    for name, operation in {**_STRAIGHT, **_FORWARD, **_REFLECTED}.items():
        if not name.startswith("r") or name == "rshift":
            put(name, _forward(OPS[operation]))
    for name, operation in {**_REFLECTED, "add": "add", "mul": "multiply"}.items():
        put("r" + name, _reflected(OPS[operation]))
    for name, operation in _UNARY.items():
        put(name, _unary(OPS[operation]))
    put("pow", _power(OPS["pow"], OPS["square"]))
    put("eq", _forward(OPS["equal"]))
    put("ne", _forward(OPS["not_equal"]))
    put("getitem", getitem)
    cls.mT = property(_unary(OPS["matrix_transpose"]))


_bind()
