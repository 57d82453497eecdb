"""Functions made of CuPy's signatures and NumPy's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from ._array import coated, host, ndarray, quietly

_IGNORED = {"out", "order", "subok", "blocking", "casting"}


def _checked(name: str, value: Any) -> None:
    many = value if name.startswith(("concatenate", "stack")) else [value]
    for given in many:
        if not isinstance(given, ndarray):
            raise TypeError(f"{name} takes cupy.ndarray, not {type(given)}")


def function(line: str, of: Any = numpy, *, making: bool = False) -> Callable[..., Any]:
    """The function that a line of `signatures` describes: NumPy's, called with what is given."""
    name, _, rest = line.partition("(")
    signature = inspect.signature(eval(f"lambda {rest[:-1]}: 0"))
    counterpart = getattr(of, name)

    def call(*args: Any, **how: Any) -> Any:
        bound = signature.bind(*args, **how)
        given, options = [], dict(bound.kwargs)
        for key, value in bound.arguments.items():
            parameter = signature.parameters[key]
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            if parameter.default is parameter.empty or name == "where":
                given.append(value)
            elif key not in _IGNORED and value is not parameter.default:
                options[key] = value
        if not making:
            _checked(name, given[0])
        return quietly(counterpart, *given, **options)

    call.__name__ = name
    return call


def functions(lines: Iterable[str], of: Any = numpy, **how: Any) -> dict[str, Callable[..., Any]]:
    made = (function(line, of, **how) for line in lines)
    return {f.__name__: f for f in made}  # type: ignore[attr-defined]


class ufunc:
    """Takes CuPy's arrays and numbers."""

    def __init__(self, name: str, of: Any) -> None:
        self.__name__, self.function = name, of

    def __call__(self, *args: Any) -> Any:
        return quietly(self.function, *args)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    if isinstance(a, ndarray):
        return a.astype(a.dtype if dtype is None else dtype, copy=bool(copy))
    return array(a, dtype)


def array(obj: Any, dtype: Any = None, copy: Any = True, order: Any = "K") -> Any:
    if isinstance(obj, ndarray):
        return coated(numpy.array(obj._host, dtype, copy=copy, order=order), obj)
    plain = obj if isinstance(obj, numpy.ndarray) else host(obj)
    return ndarray._of(numpy.array(plain, dtype))


def broadcast_to(array: Any, shape: Any) -> Any:
    """A view that can be written to, as CuPy's can."""
    _checked("broadcast_to", array)
    seen = numpy.broadcast_to(array._host, shape)
    made = numpy.lib.stride_tricks.as_strided(array._host, seen.shape, seen.strides)
    return ndarray._of(made, array if array.base is None else array.base)
