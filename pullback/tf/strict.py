"""Binary operations that refuse to mix dtypes, as TensorFlow's do.

There is one function per operation; the operator and `tf.add` etc. both call it. It compares
the dtypes, then calls the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..arrays.inexact import kind_of
from ..arrays.symbol import Symbol
from ..core.op import OPS
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw
from .errors import _InvalidShape, invalid, mixed_dtypes, translated, wrong_dtype
from .values import array_of, like

_BOOL, _SINGLE, _DOUBLE = (numpy.dtype(n) for n in ("bool", "float32", "float64"))
_QUOTIENT = {"int8": "float32", "int16": "float32", "uint8": "float32", "uint16": "float32"}
"""dtype -> dtype of its quotients; other integers give float64."""

Binary = Callable[[Any, Any], Any]


def _arithmetic(name: str) -> Binary:
    """An operator for all dtypes but bool; `self` is a front-end tensor."""
    operate = OPS[name].op.operate

    def method(self: Any, other: Any) -> Any:
        dtype = self._array.dtype
        if isinstance(other, CoreTensor):
            if dtype is not other._array.dtype:
                _same(name, dtype, other._array.dtype)
        elif not (
            (dtype is _SINGLE or dtype is _DOUBLE)
            and (other.__class__ is float or other.__class__ is int)
        ):
            other = like(other, dtype, name)
        if dtype is _BOOL:
            raise wrong_dtype(name, dtype, "fci")
        try:
            return operate(self, other)
        except (ValueError, OverflowError) as error:
            raise _refused(name, self, other, error) from None

    method.__name__ = name
    return method


def _general(name: str, kinds: str) -> Binary:
    """An operator for the given kinds of dtype."""
    function = OPS[name]

    def method(self: Any, other: Any) -> Any:
        dtype = self._array.dtype
        if kind_of(dtype) not in kinds:
            raise wrong_dtype(name, dtype, kinds)
        if isinstance(other, CoreTensor):
            if dtype is not other._array.dtype:
                _same(name, dtype, other._array.dtype)
        else:
            other = like(other, dtype, name)
        try:
            return function(self, other)
        except (ValueError, OverflowError) as error:
            raise _refused(name, self, other, error) from None

    method.__name__ = name
    return method


def _same(name: str, first: Any, second: Any) -> None:
    if first != second:
        raise mixed_dtypes(name, first, second)


def _refused(name: str, x: Any, y: Any, error: Exception) -> Exception:
    if isinstance(error, OverflowError):
        return mixed_dtypes(name, x._array.dtype, str(error))
    if x._data.__class__ is Symbol or raw(y).__class__ is Symbol:
        return translated(error, name)  # adds where the operation was built
    shapes = tuple(x._array.shape), tuple(getattr(y, "shape", ()))
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError:
        return invalid(f"`{name}`", "shapes that broadcast", f"{shapes[0]} and {shapes[1]}", "",
                       _InvalidShape)
    return translated(error, name)


def _divide() -> Binary:
    operate = _arithmetic("divide")

    def divide(self: Any, other: Any) -> Any:
        dtype = self._array.dtype
        if dtype.kind in "iu":
            floating = numpy.dtype(_QUOTIENT.get(dtype.name, "float64"))
            if isinstance(other, CoreTensor):
                _same("divide", dtype, other._array.dtype)
                other = OPS["astype"](other, floating)
            else:
                other = array_of(like(other, dtype, "divide"), floating)
            self = OPS["astype"](self, floating)
        return operate(self, other)

    return divide


def _matmul() -> Binary:
    general = _general("matmul", "fciu")

    def matmul(self: Any, other: Any) -> Any:
        if not isinstance(other, CoreTensor):
            other = array_of(other, self._array.dtype)
        ranks = len(self._array.shape), len(other.shape)
        if min(ranks) < 2:
            raise invalid("`matmul`", "matrices, or stacks of them", f"ranks {ranks}",
                          "tf.linalg.matvec, or add an axis", _InvalidShape)
        return general(self, other)

    return matmul


def _comparison(name: str, default: bool) -> Binary:
    """`==` or `!=`; for None and for shapes that do not broadcast, returns `default`."""
    general = _general(name, "bfciuO")

    def method(self: Any, other: Any) -> Any:
        if other is None:
            return default
        try:
            return general(self, other)
        except _InvalidShape:
            return self._out(numpy.asarray(default))

    method.__name__ = name
    return method


def reflected(function: Binary) -> Binary:
    """The operator with swapped operands, for a left operand that is not a tensor."""

    def method(self: Any, other: Any) -> Any:
        dtype = self._array.dtype
        return function(self._out(array_of(like(other, dtype, function.__name__), dtype)), self)

    return method


add, subtract, multiply = (_arithmetic(n) for n in ("add", "subtract", "multiply"))
divide, power, matmul = _divide(), _arithmetic("pow"), _matmul()
floor_divide, remainder = _general("floor_divide", "fiu"), _general("remainder", "fiu")
maximum, minimum = _general("maximum", "fiu"), _general("minimum", "fiu")
less, less_equal = _general("less", "fiu"), _general("less_equal", "fiu")
greater, greater_equal = _general("greater", "fiu"), _general("greater_equal", "fiu")
equal, not_equal = _comparison("equal", False), _comparison("not_equal", True)
logical_and, logical_or, logical_xor = (
    _general(f"bitwise_{n}", "biu") for n in ("and", "or", "xor")
)
atan2, logaddexp = _general("atan2", "f"), _general("logaddexp", "f")
copysign, nextafter = _general("copysign", "f"), _general("nextafter", "f")
