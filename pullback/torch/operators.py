"""Python operators with PyTorch's type promotion and errors.

Two floating-point tensors of one dtype, and such a tensor with a Python number, call the core
directly; other operands are first promoted to the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.op import OPS
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, to_array, wrap
from ..errors import DtypeError
from ..ops.indexing import assign_at, getitem
from ..ops.operators import _inplace
from .dtypes import float32, float64, promoted
from .errors import as_runtime, guarded
from .tensor import Tensor, tensor_of

Binary = Callable[[Any, Any], Any]


def _straight(name: str, *, inexact: bool = False) -> Binary:
    """x + y and similar operators, with a fast path."""
    operate = OPS[name].op.operate

    def method(self: Any, other: Any, /) -> Any:
        dtype = self._array.dtype
        try:
            if (
                other._array.dtype is dtype if other.__class__ is Tensor
                else other.__class__ is float or other.__class__ is int
            ) and (dtype is float32 or dtype is float64):
                return operate(self, other)
            return operate(*_fit(self, other, inexact))
        except (ValueError, DtypeError) as error:
            raise as_runtime(error, name) from None

    return method


def _fit(x: Any, other: Any, inexact: bool) -> tuple[Any, Any]:
    if isinstance(other, (list, tuple)):
        other = tensor_of(other)
    return promoted(x, other, inexact=inexact)


def _forward(function: Callable[..., Any], name: str, *, inexact: bool = False) -> Binary:
    """Operators without a fast path."""

    def method(self: Any, other: Any, /) -> Any:
        try:
            return function(*_fit(self, other, inexact))
        except (ValueError, DtypeError) as error:
            raise as_runtime(error, name) from None

    return method


def _reflected(function: Callable[..., Any], name: str, *, inexact: bool = False) -> Binary:
    def method(self: Any, other: Any, /) -> Any:
        x, y = _fit(self, other, inexact)
        try:
            return function(y, x)
        except (ValueError, DtypeError) as error:
            raise as_runtime(error, name) from None

    return method


_core_power: Any = CoreTensor.__dict__["__pow__"]


def _power(self: Any, exponent: Any, /) -> Any:
    """x ** y."""
    try:
        if exponent.__class__ is int:
            return _core_power(self, exponent)
        return _core_power(*_fit(self, exponent, inexact=False))
    except (ValueError, DtypeError) as error:
        raise as_runtime(error, "pow") from None


def _itself(self: Any, /) -> Any:
    """+x, the tensor itself."""
    return self


def _product(self: Any, other: Any, /) -> Any:
    """Matrix product of tensors of one dtype; accepts arrays."""
    theirs = getattr(raw(other), "dtype", None)
    if theirs is None:
        return NotImplemented
    if self._array.dtype is not theirs and self._array.dtype != theirs:
        raise as_runtime(DtypeError(
            "`matmul`", "two tensors of one dtype", f"{self.dtype} and {other.dtype}",
            "convert one of them, for example with y.to(x.dtype)",
        ))
    try:
        return _matmul(self, other)
    except (ValueError, DtypeError) as error:
        raise as_runtime(error, "matmul") from None


_matmul: Any = OPS["matmul"].op.operate

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = {
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}
_WHOLE = {"floordiv": "floor_divide", "mod": "remainder", **_BITS}
_IN_PLACE = ("add", "sub", "mul", "truediv", "matmul", "pow", *_WHOLE)


def _bind() -> None:
    def put(name: str, function: Any) -> None:
        setattr(Tensor, f"__{name}__", function)

    for name, operation in (("add", "add"), ("mul", "multiply")):
        method = _straight(operation)
        put(name, method)
        put("r" + name, method)
    put("sub", _straight("subtract"))
    put("truediv", _straight("divide", inexact=True))
    put("rsub", _reflected(OPS["subtract"], "subtract"))
    put("rtruediv", _reflected(OPS["divide"], "divide", inexact=True))
    put("pow", _power)
    put("rpow", _reflected(OPS["pow"], "pow"))
    put("pos", _itself)
    put("matmul", _product)
    for name, operation in _WHOLE.items():
        put(name, _forward(OPS[operation], operation))
        put("r" + name, _reflected(OPS[operation], operation))
    for name in _COMPARISONS:
        put(name, guarded(getattr(CoreTensor, f"__{name}__"), name))
    for name in _IN_PLACE:
        put("i" + name, guarded(_inplace("i" + name, getattr(Tensor, f"__{name}__")), "i" + name))
    put("setitem", guarded(_assign, "setitem"))
    put("getitem", _taken)


# Indexing -------------------------------------------------------------------------------------

_BASIC = {int, slice, type(None), type(...)}


def _taken(self: Any, index: Any, /) -> Any:
    """x[index]; an integer beside lists takes a slice first, before the lists are looked at.

    So the axes of the lists stand where the lists are, where NumPy puts them in front.
    """
    if index.__class__ is tuple and not _BASIC.issuperset(map(type, index)):
        first, rest = _in_turn(index)
        if rest is not None:
            return getitem(getitem(self, first), rest)
    return getitem(self, index)


def _assign(self: Any, index: Any, value: Any, /) -> None:
    """x[index] = value, in place."""
    if index.__class__ is tuple and not _BASIC.issuperset(map(type, index)):
        first, rest = _in_turn(index)
        if rest is not None:
            self, index = getitem(self, first), rest
    assign_at(self, index, value)


def _in_turn(index: tuple[Any, ...]) -> tuple[Any, Any]:
    """An index of integers and arrays as two: integers and slices, then arrays; else None second.

    >>> _in_turn((0, slice(None), [0, 1]))
    ((0, slice(None, None, None), slice(None, None, None)), (slice(None, None, None), [0, 1]))
    """
    several = [part for part in index if isinstance(part, (list, tuple)) or _rank(part)]
    if not several or len(several) == len(index) or any(_is_flag(part) for part in index):
        return index, None
    first: list[Any] = []
    rest: list[Any] = []
    for part in index:
        if isinstance(part, (list, tuple)) or _rank(part):
            first += [slice(None)] * _axes_of(part)
            rest.append(part)
        else:
            first.append(part)
            if part is None or isinstance(part, slice):
                rest.append(slice(None))
            elif part is Ellipsis:
                rest.append(part)
    return tuple(first), tuple(rest)


def _rank(part: Any) -> int:
    """The number of axes of an array or Tensor; 0 for anything else."""
    return len(getattr(part, "shape", ()))


def _is_flag(part: Any) -> bool:
    """Whether a part is True or False, which adds an axis."""
    return isinstance(part, bool) or (not _rank(part) and "bool" in str(getattr(part, "dtype", "")))


def _axes_of(part: Any) -> int:
    """How many axes an array takes: a mask, all of its own."""
    if isinstance(part, (list, tuple)):
        part = to_array(part)
    return _rank(part) if "bool" in str(part.dtype) else 1


_bind()


def in_place(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The in-place variant of a function: it writes to its first argument, and returns it."""

    def computed(self: Any, how: tuple[tuple[Any, ...], dict[str, Any]], /) -> Any:
        value = function(self, *how[0], **how[1])
        if value._data is self._data:  # the function returned its input
            value = wrap(type(self), value._data, value._node)
        return value

    write = _inplace(name, computed)

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return write(self, (args, keywords))

    method.__name__ = name
    method.__doc__ = f"In-place `{name[:-1]}`; returns the tensor."
    return guarded(method)
