"""`tf.errors`: exceptions of graph runs; each is also one of the library's and of Python's."""

from __future__ import annotations

from typing import Any

from ...errors import (
    ArgumentTypeError,
    PositionError,
    PullbackError,
    SessionError,
    ShapeError,
)
from ..errors import AbortedError as AbortedError
from ..errors import CancelledError as CancelledError
from ..errors import DataLossError as DataLossError
from ..errors import DeadlineExceededError as DeadlineExceededError
from ..errors import FailedPreconditionError as FailedPreconditionError
from ..errors import InternalError as InternalError
from ..errors import InvalidArgumentError as InvalidArgumentError
from ..errors import NotFoundError as NotFoundError
from ..errors import OpError as OpError
from ..errors import OutOfRangeError as OutOfRangeError
from ..errors import UnavailableError as UnavailableError
from ..errors import UnimplementedError as UnimplementedError
from ..errors import UnknownError as UnknownError
from ..errors import _InvalidDtype, _InvalidPosition, _InvalidShape

__all__ = [
    "AbortedError", "CancelledError", "DataLossError", "DeadlineExceededError",
    "FailedPreconditionError", "InternalError", "InvalidArgumentError", "NotFoundError", "OpError",
    "OutOfRangeError", "UnavailableError", "UnimplementedError", "UnknownError",
]


class _NotFed(InvalidArgumentError, SessionError):
    """A placeholder that the run needs was not fed."""


def of_running(error: PullbackError) -> Exception:
    """The TensorFlow exception for an error of a run, with its notes."""
    notes = getattr(error, "__notes__", [])
    if isinstance(error, OpError) or not (notes or isinstance(error, SessionError)):
        return error
    subject = getattr(error, "subject", "")
    kind: Any = InvalidArgumentError
    if isinstance(error, SessionError):
        if subject.startswith("variable"):
            kind = FailedPreconditionError
        elif subject.startswith("placeholder"):
            kind = _NotFed
        else:
            return error
    elif isinstance(error, PositionError):
        kind = _InvalidPosition
    elif isinstance(error, ShapeError):
        kind = _InvalidShape
    elif isinstance(error, ArgumentTypeError):
        kind = _InvalidDtype
    made = kind(None, None, str(error))
    for note in notes:
        made.add_note(note)
    return made


def not_found(subject: str, expected: str, got: str, fix: str = "") -> NotFoundError:
    """A `NotFoundError` in the library's four-line form."""
    return NotFoundError(None, None, str(PullbackError(subject, expected, got, fix)))
