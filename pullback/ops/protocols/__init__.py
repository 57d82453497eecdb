"""NumPy's protocols: what `numpy.exp(t)`, `array * t` and `numpy.sum(t)` do when t is a Tensor.

And PyTorch's, which is of the same kind: `torch.sin(t)`, `torch_tensor * t`.

A function that has a rule gives a Tensor, tracked as the operations it is made of. One that has
none is an error where somebody follows an argument, and never a gradient that is lost in silence;
where nobody does, NumPy computes it on the plain arrays, and what it answers are plain arrays.

This file is all that is loaded with the package: NumPy has hundreds of functions, and their rules
are read at the first call of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ...core.tensor import Tensor


class _Calls(dict[Any, Callable[..., Any]]):
    """ufunc -> what a plain call of it does, found at the first call."""

    def __missing__(self, ufunc: Any) -> Callable[..., Any]:
        from .ufuncs import call_of

        found = self[ufunc] = call_of(ufunc)
        return found


class _Answers(dict[Any, Callable[[Any, Any], Any]]):
    """function -> what it answers of its arguments, a tuple and a dictionary."""

    def __missing__(self, function: Any) -> Callable[[Any, Any], Any]:
        from .functions import answer_of

        found = self[function] = answer_of(function)
        return found


_calls = _Calls()
_answers = _Answers()


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
    """NumPy's elementwise functions on Tensors, and `array * t`."""
    if method == "__call__" and not how:
        return _calls[ufunc](*inputs)
    from .ufuncs import call

    return call(ufunc, method, inputs, how)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's other functions on Tensors."""
    if not all(issubclass(t, (Tensor, numpy.ndarray)) for t in types):
        return NotImplemented
    return _answers[function](args, kwargs)


def answered(function: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """What one of NumPy's functions answers, of which a Tensor is the first argument."""
    return _answers[function](args, kwargs)


@classmethod  # type: ignore[misc]
def torch_function(
    cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """PyTorch's functions on Tensors, and `torch_tensor * t`."""
    from .torch_calls import answer

    return answer(function, args, kwargs or {})
