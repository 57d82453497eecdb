"""Checks and errors that all libraries' linear algebra kernels share."""

from __future__ import annotations

from typing import Any

from ..errors import ConvergenceError, ShapeError, SingularMatrixError


def check_matrices(shape: Any, subject: str, *, square: bool = False, argument: str = "x") -> None:
    """Raises a `ShapeError` unless a shape is that of a matrix or a stack of matrices.

    >>> check_matrices((2, 3, 3), "inv", square=True)
    """
    shape = tuple(shape)
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(
            f"argument `{argument}` of `{subject}`",
            f"{kind}, on the last two axes",
            f"shape {shape}",
        )


def check_right_side(rows: int, shape: Any, subject: str, argument: str) -> None:
    """Raises a `ShapeError` for right-hand sides without as many rows as the matrices.

    >>> check_right_side(3, (4, 3, 1), "solve", "x2")
    """
    shape = tuple(shape)
    if not shape or shape[-2:][0] != rows:
        raise ShapeError(
            f"argument `{argument}` of `{subject}`",
            f"a vector of {rows} entries, or matrices of {rows} rows", f"shape {shape}",
        )


def singular(subject: str, shape: Any) -> SingularMatrixError:
    """The error for a singular matrix.

    >>> str(singular("inv", (2, 2))).splitlines()[0]
    '`inv`'
    """
    return SingularMatrixError(
        f"`{subject}`",
        "matrices that have an inverse",
        f"a singular one among shape {tuple(shape)}",
        "add a small multiple of the identity, or use least squares",
    )


def indefinite(shape: Any) -> SingularMatrixError:
    """The error for a matrix without a Cholesky factor.

    >>> str(indefinite((2, 2))).splitlines()[0]
    '`cholesky`'
    """
    return SingularMatrixError(
        "`cholesky`", "positive definite matrices", f"another one among shape {tuple(shape)}",
        "add a small multiple of the identity, or use eigh",
    )


def diverged(subject: str, finite: bool, text: str) -> ConvergenceError:
    """The error for a matrix decomposition that did not converge.

    finite   whether all entries are finite; if not, that is the reported reason
    text     the library's message

    >>> str(diverged("svd", False, "")).splitlines()[2]
    '  got:      entries that are NaN or infinite'
    """
    return ConvergenceError(
        f"`{subject}`", "matrices with finite entries",
        text if finite else "entries that are NaN or infinite",
    )
