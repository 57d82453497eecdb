"""The core's errors as PyTorch users catch them: most are also RuntimeErrors.

An error keeps its class, so `except ValueError` and `except pullback.errors.ShapeError` still
work. As in PyTorch, an invalid index stays an `IndexError`, and a wrong type a `TypeError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core.state import state
from ..errors import (
    ArgumentError,
    BatchedValueError,
    DtypeError,
    PositionError,
    PullbackError,
    ShapeError,
)

__all__ = ["as_runtime", "guarded", "guarded_pull", "written"]

_twins: dict[type, type] = {}


def as_runtime(error: Exception, subject: str = "operation") -> Exception:
    """The error, made a RuntimeError as well if PyTorch raises one.

    >>> from pullback.errors import ArgumentError
    >>> isinstance(as_runtime(ArgumentError("x", "a leaf", "none")), RuntimeError)
    True
    """
    if isinstance(error, (RuntimeError, IndexError)):
        return error
    if isinstance(error, ShapeError) and isinstance(error.__context__, IndexError):
        return PositionError(error.subject, "an existing axis", error.got)
    if not isinstance(error, (ValueError, DtypeError, BatchedValueError)):
        return error
    if not isinstance(error, PullbackError):  # raised by an array library
        error = ShapeError(f"`{subject}`", "operands with compatible shapes", str(error))
    cls = type(error)
    twin = _twins.get(cls)
    if twin is None:
        body = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        twin = _twins[cls] = type(cls.__name__, (cls, RuntimeError), body)
    return twin(error.subject, error.expected, error.got, error.fix)


_NUMPYS = {"axis": "dim", "keepdims": "keepdim"}
_ELSEWHERE = frozenset((*_NUMPYS, "out"))


def _renamed(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function, translating NumPy's argument names, which PyTorch accepts too, and `out`."""
    out = keywords.pop("out", None)
    value = function(*args, **{_NUMPYS.get(name, name): v for name, v in keywords.items()})
    return value if out is None else written(out, value)


def written(out: Any, value: Any) -> Any:
    """Write a result to the tensor `out`, or to a tuple of several, and return it.

    An empty `out` takes the shape of the result.
    """
    if isinstance(out, (tuple, list)):
        return type(value)(*[written(o, v) for o, v in zip(out, value, strict=True)])
    for x in (out, value):
        if x.requires_grad and state().enabled:
            raise as_runtime(ArgumentError(
                "argument `out`", "tensors that require no gradient: it would be lost",
                "a tensor that requires grad", "write out.copy_(…), or use no_grad",
            ))
    if tuple(out.shape) != tuple(value.shape) and 0 in out.shape:
        out.data = value.to(out.dtype)
        return out
    return out.copy_(value)


def guarded(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Wrap a function so that its errors, also an array library's, have PyTorch's types."""
    return _guarded(function, (ValueError, DtypeError), name)


def guarded_pull(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """As `guarded`, for functions that run user code, whose errors pass unchanged."""
    return _guarded(function, (PullbackError,), name)


def _guarded(
    function: Callable[..., Any], kinds: tuple[type[Exception], ...], name: str
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords and not _ELSEWHERE.isdisjoint(keywords):
            return _renamed(call, args, keywords)
        try:
            return function(*args, **keywords)
        except kinds as error:
            raise as_runtime(error, call.__name__) from None

    if name:
        call.__name__ = name
    return call
