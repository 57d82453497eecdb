"""`tf.errors`: TensorFlow's exceptions; each is also one of the library's and of Python's.

An `InvalidArgumentError` of TensorFlow is a `ValueError` here as well, a dtype mismatch also a
`TypeError`, and an index out of range also an `IndexError`.
"""

from __future__ import annotations

from typing import Any

from ..errors import (
    ArgumentError,
    DtypeError,
    FileFormatError,
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
    """An operation received an invalid argument."""

    code = INVALID_ARGUMENT


class FailedPreconditionError(OpError, SessionError):
    """A variable was read before it had a value."""

    code = FAILED_PRECONDITION


class NotFoundError(OpError, UnknownNameError):
    """A name, such as a file or a variable in it, was not found."""

    code = NOT_FOUND


class DataLossError(OpError, FileFormatError):
    """Data was lost or corrupted, such as a truncated checkpoint."""

    code = DATA_LOSS


class OutOfRangeError(OpError, PositionError):
    """An index is out of range, or a source is exhausted."""

    code = OUT_OF_RANGE


def _family(name: str, code: int, doc: str) -> Any:
    return type(name, (OpError,), {"__doc__": doc, "__module__": __name__, "code": code})


AbortedError = _family("AbortedError", ABORTED, "An operation was aborted.")
AlreadyExistsError = _family("AlreadyExistsError", ALREADY_EXISTS, "The entity already exists.")
CancelledError = _family("CancelledError", CANCELLED, "An operation was cancelled.")
DeadlineExceededError = _family("DeadlineExceededError", DEADLINE_EXCEEDED, "A timeout.")
InternalError = _family("InternalError", INTERNAL, "An internal invariant is broken.")
PermissionDeniedError = _family("PermissionDeniedError", PERMISSION_DENIED, "No permission.")
ResourceExhaustedError = _family(
    "ResourceExhaustedError", RESOURCE_EXHAUSTED, "A resource is exhausted."
)
UnauthenticatedError = _family("UnauthenticatedError", UNAUTHENTICATED, "Not authenticated.")
UnavailableError = _family("UnavailableError", UNAVAILABLE, "A service is unavailable.")
UnimplementedError = _family("UnimplementedError", UNIMPLEMENTED, "Not implemented.")
UnknownError = _family("UnknownError", UNKNOWN, "An unknown error.")


class NoValueError(SymbolError, AttributeError):
    """A symbolic tensor of a graph was used where a value is needed."""


class _InvalidDtype(InvalidArgumentError, DtypeError):
    """Dtypes differ, or an operation does not support a dtype."""


class _InvalidShape(InvalidArgumentError, ShapeError):
    """Shapes do not match."""


class _InvalidPosition(InvalidArgumentError, PositionError):
    """An index or an axis is out of range."""


for _kind in (_InvalidDtype, _InvalidShape, _InvalidPosition):
    _kind.__name__ = _kind.__qualname__ = "InvalidArgumentError"  # the class to catch


def invalid(
    subject: str, expected: str, got: str, fix: str = "", kind: type = InvalidArgumentError
) -> Any:
    """An `InvalidArgumentError` in the library's four-line form."""
    return kind(None, None, str(PullbackError(subject, expected, got, fix)))


def mixed_dtypes(subject: str, first: Any, second: Any) -> Any:
    """The error for two tensors of different dtypes."""
    return invalid(
        f"`{subject}`", f"tensors of one dtype, here {first}", f"a tensor of {second}",
        f"tf.cast(x, tf.{first})", _InvalidDtype,
    )


def wrong_dtype(subject: str, dtype: Any, kinds: str) -> Any:
    """The error for an operation that does not support a dtype."""
    names = {"f": "float", "c": "complex", "i": "integer", "b": "bool"}
    expected = ", ".join(names[k] for k in kinds if k in names)
    return invalid(f"`{subject}`", f"one of the dtypes {expected}", f"dtype {dtype}",
                   "convert it with tf.cast", _InvalidDtype)


def translated(error: Exception, subject: str) -> Exception:
    """An error of the core or of NumPy about a value, as TensorFlow's exception."""
    if isinstance(error, OpError):
        return error
    kind: type = InvalidArgumentError
    if isinstance(error, IndexError):
        kind = _InvalidPosition
    elif isinstance(error, ShapeError) or not isinstance(error, PullbackError):
        kind = _InvalidShape
    text = str(error) if isinstance(error, PullbackError) else f"`{subject}`: {error}"
    return noted(kind(None, None, text), error)


def noted(made: Exception, error: Exception) -> Exception:
    """Copy the notes of the original error to the new one."""
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made
