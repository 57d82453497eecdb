"""What array libraries raise for arguments that they cannot use, as errors of this library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import ArgumentTypeError, PositionError, PullbackError, ShapeError
from . import adapters
from .batched import Batched

REFUSALS = (ValueError, TypeError, IndexError, RuntimeError)
"""What array libraries raise for arguments that they cannot use; the last only some of them."""


def refuse(op: Any, data: Sequence[Any], error: Exception) -> NoReturn:
    """Raise an array library's error anew, in the same family, naming operation and arguments."""
    if isinstance(error, PullbackError) or (
        isinstance(error, RuntimeError) and not _refused(data, error)
    ):
        raise error
    if (unknown := no_value(data, error)) is not None:
        raise unknown from error
    given = ", ".join(
        f"{a.dtype}{list(a.shape)}" if hasattr(a, "dtype") else repr(a)[:40] for a in data
    )
    family = (
        PositionError if isinstance(error, IndexError)
        else ArgumentTypeError if isinstance(error, (TypeError, NotImplementedError))
        else ShapeError
    )
    subject = f"`{op.name}`"
    raise family(subject, "arguments that fit each other", f"{given}: {error}") from error


def no_value(data: Sequence[Any], error: Exception) -> PullbackError | None:
    """The error of this library, if a library refused arguments whose values are not known yet."""
    for a in map(_inner, data):
        explain = getattr(adapters[a.__class__], "no_value", None)
        found: PullbackError | None = None if explain is None else explain(error)
        if found is not None:
            return found
    return None


def _refused(data: Sequence[Any], error: Exception) -> bool:
    """Whether an exception is what the library of one of some arrays refuses arguments with."""
    return any(
        error.__class__ in getattr(adapters[a.__class__], "refusals", ()) for a in map(_inner, data)
    )


def _inner(array: Any) -> Any:
    while array.__class__ is Batched:
        array = array.value
    return array
