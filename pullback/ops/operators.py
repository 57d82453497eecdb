"""Python's operators and the Array API's methods, bound to `Tensor`.

An in-place operator computes a new value, records it, and copies it into the target, which takes
over its history. Products and sums are bound directly to their operations, without a Python frame
between; reflected operators and the rest go through small functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import Batched
from ..arrays.symbol import Symbol
from ..core.cotangent import is_complex
from ..core.inplace import check_writable, write_over
from ..core.node import FREED, Node, number
from ..core.op import OPS
from ..core.tensor import Tensor, is_inexact, raw
from ..departures import left
from ..errors import ArgumentError, DtypeError, ShapeError
from .indexing import assign_at, getitem

_STRAIGHT = {
    "add": "add", "radd": "add", "sub": "subtract", "mul": "multiply", "rmul": "multiply",
    "truediv": "divide", "matmul": "matmul",
}
"""Products and sums are commutative: one function serves both sides."""

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
"""The supported versions of the standard; the last one is the version that is followed."""


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
        # `==` must accept any other operand: None, a string, a class.
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


# In-place operators -------------------------------------------------------------------------


def _inplace(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, /) -> Any:
        if self._assignable:  # a variable gets a new array; tapes do not record the assignment
            return self.assign(function(self._data, raw(other)))
        check_writable(self, name)
        start = number()
        value = function(self, other)
        if value.dtype != self.dtype:
            value = _fitting(value, self, name)
        last = value._history  # of what was just computed
        if last is not None:
            keep_old(last, start, self._data)
        return write_over(self, value, name)

    return method


def _fitting(value: Any, target: Any, name: str) -> Any:
    """A result cast to the dtype of the target, if that is of the same kind."""
    lossy = is_complex(value) and not is_complex(target)
    if lossy or (is_inexact(value) and not is_inexact(target)):
        raise DtypeError(
            f"in-place `{name}`", f"a result that dtype {target.dtype} can hold",
            f"dtype {value.dtype}", "use the out-of-place operator, such as t = t * x",
        )
    return OPS["astype"](value, target.dtype)


def keep_old(last: Node, start: int, data: Any) -> None:
    """Give nodes recorded since `start` copies of the saved values that share an array's memory.

    The operation that saved those values is about to overwrite them.
    """
    owner = adapters[data.__class__].owner(data)
    if owner is None:
        return
    fresh: list[Node | None] = [last]
    while fresh:
        node = fresh.pop()
        if node is None or not node.parents or node.seq < start or node.saved is FREED:
            continue
        if hasattr(node.saved, "packed"):  # packed by a hook: not this memory
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
    """The transpose of a matrix, as a view.

    Raises `ShapeError` unless there are exactly two axes.

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
    """The transposes of a stack of matrices (last two axes swapped), as a view.

    >>> import pullback as pb
    >>> pb.ones((4, 2, 3)).mT.shape
    (4, 3, 2)
    """
    return OPS["matrix_transpose"](self)


def _array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """This library, as a namespace of the Array API standard."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ArgumentError(
            "argument `api_version`", f"one of {', '.join(API_VERSIONS)}", repr(api_version)
        )
    return import_module(__name__.partition(".")[0])


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The tensor copied to another device of its array library; itself if it is there already.

    Cotangents are copied back. Raises the array library's error for an unknown device.
    """
    return OPS["to_device"](self, device)


def _dlpack(
    self: Any, /, *, stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None, copy: Any = None,
) -> Any:
    """A DLPack capsule, through which another library shares the memory without the history.

    The request is passed to the array's library. Negative strides, which other libraries reject or
    do not survive, are copied. Raises `BufferError` if the request cannot be met.
    """
    left(self._node, ".__dlpack__()")
    given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    data = self._data
    how = {name: value for name, value in given.items() if value is not None}
    adapter = adapters[data.__class__]
    array = adapter.asarray(data)
    readable = getattr(adapter, "exported", _same)(array)
    if readable is not array and copy is False:
        raise BufferError("an array with negative strides can be exported as a copy only")
    return readable.__dlpack__(**how)


def _same(array: Any) -> Any:
    return array


def _dlpack_device(self: Any, /) -> Any:
    """The device of the memory, as DLPack's numbers."""
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
    """Bind to our own array classes the operators that rules use: the operations themselves."""
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
