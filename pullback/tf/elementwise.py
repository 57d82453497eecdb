"""Element-wise functions made of the core's: limited to kinds of dtype, never mixing dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..arrays.inexact import kind_of
from ..core.op import OPS
from .convert import as_tensor, matched
from .dtypes import float32, float64
from .errors import wrong_dtype
from .tensor import Members

_SINGLE, _DOUBLE = float32.dtype, float64.dtype



def unary(name: str, kinds: str = "fc") -> Callable[..., Any]:
    """The core's element-wise function of one tensor, for some kinds of dtype."""
    function = OPS[name] if name in OPS else getattr(ops, name)

    def call(x: Any, name: str | None = None) -> Any:
        if not isinstance(x, Members):
            x = as_tensor(x)
        dtype = x._array.dtype
        if not (dtype is _SINGLE or dtype is _DOUBLE) and kind_of(dtype) not in kinds:
            raise wrong_dtype(call.__name__, dtype, kinds)
        return function(x)

    return named(call, name, function)


def binary(method: Callable[..., Any]) -> Callable[..., Any]:
    """The strict operator as a function of any values that convert to tensors."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        if not isinstance(x, Members):
            x, y = matched(method.__name__, x, y)
        return method(x, y)

    return named(call, method.__name__, OPS.get(method.__name__))


def named(call: Any, name: str, function: Any) -> Any:
    """Name the call and give it the first line of the core function's docstring."""
    call.__name__ = call.__qualname__ = name
    first = (function.__doc__ or "").partition("\n")[0] if function is not None else ""
    call.__doc__ = f"{first or name}\n\nSee `pullback.{getattr(function, '__name__', name)}`."
    if hasattr(function, "op"):
        call.op = function.op
    return call
