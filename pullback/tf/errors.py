"""`tf.errors`: TensorFlow's exceptions, each of them also an error of the library and of Python.

What TensorFlow reports as an `InvalidArgumentError` is a `ValueError` here as well, a mismatch of
dtypes also a `TypeError`, and a wrong index also an `IndexError`.
"""

from __future__ import annotations

from typing import Any

from ..errors import (
    ArgumentError,
    DtypeError,
    PositionError,
    PullbackError,
    SessionError,
    ShapeError,
    SymbolError,
    UnknownNameError,
)

__all__ = [
    "AbortedError", "AlreadyExistsError", "CancelledError", "DataLossError",
    "DeadlineExceededError", "FailedPreconditionError", "InternalError", "InvalidArgumentError",
    "NotFoundError", "OpError", "OutOfRangeError", "PermissionDeniedError",
    "ResourceExhaustedError", "UnauthenticatedError", "UnavailableError", "UnimplementedError",
    "UnknownError",
]

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND = range(6)
ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION = range(6, 10)
ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS = range(10, 16)
UNAUTHENTICATED = 16


class OpError(PullbackError):
    """An operation refused its arguments. TensorFlow's signature: (node_def, op, message).

    >>> print(OpError(None, None, "no such thing").message)
    no such thing
    """

    code = UNKNOWN

    def __init__(
        self, node_def: Any, op: Any, message: str, error_code: int | None = None
    ) -> None:
        super().__init__(message)
        self.node_def, self.op, self.message = node_def, op, message
        self.error_code = self.code if error_code is None else error_code


class InvalidArgumentError(OpError, ArgumentError):
    """An operation received an argument that it cannot take."""

    code = INVALID_ARGUMENT


class FailedPreconditionError(OpError, SessionError):
    """A variable was read that has no value yet."""

    code = FAILED_PRECONDITION


class NotFoundError(OpError, UnknownNameError):
    """Something of a name, such as a file or a variable in it, is not there."""

    code = NOT_FOUND


class OutOfRangeError(OpError, PositionError):
    """A place behind the end; a source that has no more to give."""

    code = OUT_OF_RANGE


def _family(name: str, code: int, doc: str) -> Any:
    return type(name, (OpError,), {"__doc__": doc, "__module__": __name__, "code": code})


AbortedError = _family("AbortedError", ABORTED, "An operation was aborted.")
AlreadyExistsError = _family("AlreadyExistsError", ALREADY_EXISTS, "Something is there already.")
CancelledError = _family("CancelledError", CANCELLED, "An operation was cancelled.")
DataLossError = _family("DataLossError", DATA_LOSS, "Data cannot be recovered.")
DeadlineExceededError = _family("DeadlineExceededError", DEADLINE_EXCEEDED, "It took too long.")
InternalError = _family("InternalError", INTERNAL, "An invariant does not hold.")
PermissionDeniedError = _family("PermissionDeniedError", PERMISSION_DENIED, "It is not allowed.")
ResourceExhaustedError = _family(
    "ResourceExhaustedError", RESOURCE_EXHAUSTED, "There is not enough of something."
)
UnauthenticatedError = _family("UnauthenticatedError", UNAUTHENTICATED, "Nobody knows who asks.")
UnavailableError = _family("UnavailableError", UNAVAILABLE, "A service cannot be reached.")
UnimplementedError = _family("UnimplementedError", UNIMPLEMENTED, "Something is not there.")
UnknownError = _family("UnknownError", UNKNOWN, "An error of which nothing is known.")


class NoValueError(SymbolError, AttributeError):
    """A tensor of a graph was asked for what only values have."""


class _InvalidDtype(InvalidArgumentError, DtypeError):
    """Dtypes differ, or an operation has no kernel for one."""


class _InvalidShape(InvalidArgumentError, ShapeError):
    """Shapes do not fit."""


class _InvalidPosition(InvalidArgumentError, PositionError):
    """An index or an axis that is not there."""


for _kind in (_InvalidDtype, _InvalidShape, _InvalidPosition):
    _kind.__name__ = _kind.__qualname__ = "InvalidArgumentError"  # what to catch


def invalid(
    who: str, expected: str, got: str, fix: str = "", kind: type = InvalidArgumentError
) -> Any:
    """An `InvalidArgumentError` in the library's four lines."""
    return kind(None, None, str(PullbackError(who, expected, got, fix)))


def mixed_dtypes(who: str, first: Any, second: Any) -> Any:
    """The error of two tensors of different dtypes."""
    return invalid(
        f"`{who}`", f"tensors of one dtype, here {first}", f"one of {second}",
        f"tf.cast(x, tf.{first})", _InvalidDtype,
    )


def wrong_dtype(who: str, dtype: Any, kinds: str) -> Any:
    """The error of an operation that has no kernel for a dtype."""
    names = {"f": "float", "c": "complex", "i": "integer", "b": "bool"}
    expected = ", ".join(names[k] for k in kinds if k in names)
    return invalid(f"`{who}`", f"a dtype among: {expected}", f"{dtype}",
                   "convert it with tf.cast", _InvalidDtype)


def translated(error: Exception, who: str) -> Exception:
    """An error of the core or of NumPy about a value, as TensorFlow's."""
    if isinstance(error, OpError):
        return error
    kind: type = InvalidArgumentError
    if isinstance(error, IndexError):
        kind = _InvalidPosition
    elif isinstance(error, ShapeError) or not isinstance(error, PullbackError):
        kind = _InvalidShape
    text = str(error) if isinstance(error, PullbackError) else f"`{who}`: {error}"
    return noted(kind(None, None, text), error)


def noted(made: Exception, error: Exception) -> Exception:
    """An error with the notes of the one that it stands for."""
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made
