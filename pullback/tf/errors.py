"""`tf.errors`: TensorFlow's exceptions, each of them also an error of the library and of Python.

What TensorFlow reports as an `InvalidArgumentError` is a `ValueError` here as well, a mismatch of
dtypes also a `TypeError`, and a wrong index also an `IndexError`.
"""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, DtypeError, PositionError, PullbackError, ShapeError

__all__ = ["InvalidArgumentError", "OpError"]


class OpError(PullbackError):
    """An operation refused its arguments. TensorFlow's signature: (node_def, op, message).

    >>> print(OpError(None, None, "no such thing").message)
    no such thing
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = 2) -> None:
        super().__init__(message)
        self.node_def, self.op, self.message, self.error_code = node_def, op, message, error_code


class InvalidArgumentError(OpError, ArgumentError):
    """An operation received an argument that it cannot take."""

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = 3) -> None:
        super().__init__(node_def, op, message, error_code)


class _InvalidDtype(InvalidArgumentError, DtypeError):
    """Dtypes differ, or an operation has no kernel for one."""


class _InvalidShape(InvalidArgumentError, ShapeError):
    """Shapes do not fit."""


class _InvalidPosition(InvalidArgumentError, PositionError):
    """An index or an axis that is not there."""


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
    return kind(None, None, text)
