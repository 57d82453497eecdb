"""NumPy's protocols: what `numpy.exp(t)`, `array * t` and `numpy.sum(t)` do when t is a Tensor.

And PyTorch's `__torch_function__`, for `torch.sin(t)` and `torch_tensor * t`.

A function with a rule returns a Tensor, recorded as the operations that the rule consists of. A
function without a rule raises an error if an argument is tracked, so that no gradient is lost
silently; for untracked arguments NumPy computes it on plain arrays and returns plain arrays.

Only this file and the two that bind methods are imported with the package: NumPy has hundreds of
functions, and their rules are imported at the first call of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..core.tensor import Tensor


class _Calls(dict[Any, Callable[..., Any]]):
    """ufunc -> the function that a plain call of it runs; filled at the first call."""

    def __missing__(self, ufunc: Any) -> Callable[..., Any]:
        from .ufuncs import call_of

        found = self[ufunc] = call_of(ufunc)
        return found


class _Implementations(dict[Any, Callable[[Any, Any], Any]]):
    """function -> its implementation for Tensors, called with (args, kwargs)."""

    def __missing__(self, function: Any) -> Callable[[Any, Any], Any]:
        from .functions import answer_of

        found = self[function] = answer_of(function)
        return found


_calls = _Calls()
_implementations = _Implementations()


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
    """`__array_ufunc__`: NumPy's elementwise functions on Tensors, and `array * t`."""
    if method == "__call__" and not how:
        return _calls[ufunc](*inputs)
    from .ufuncs import call

    return call(ufunc, method, inputs, how)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__`: NumPy's other functions on Tensors."""
    if not all(issubclass(t, (Tensor, numpy.ndarray)) for t in types):
        return NotImplemented
    return _implementations[function](args, kwargs)


def answered(function: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The result of a NumPy function whose first argument is a Tensor."""
    return _implementations[function](args, kwargs)


@classmethod  # type: ignore[misc]
def torch_function(
    cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """`__torch_function__`: PyTorch's functions on Tensors, and `torch_tensor * t`."""
    from .torch_calls import answer

    return answer(function, args, kwargs or {})


for _name, _method in {
    "array_ufunc": array_ufunc, "array_function": array_function, "torch_function": torch_function,
}.items():
    setattr(Tensor, f"__{_name}__", _method)

from . import methods as methods  # noqa: E402  # they call `answered`
from . import values as values  # noqa: E402
