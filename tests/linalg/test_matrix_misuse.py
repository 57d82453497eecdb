"""Misuse of functions of matrices is an error that names the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import errors, linalg

FLAT = np.ones(3)
OBLONG = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: linalg.det(OBLONG), errors.ShapeError, "det"),
        (lambda: linalg.slogdet(OBLONG), errors.ShapeError, "slogdet"),
        (lambda: linalg.inv(OBLONG), errors.ShapeError, "inv"),
        (lambda: linalg.expm(OBLONG), errors.ShapeError, "expm"),
        (lambda: linalg.matrix_power(OBLONG, 2), errors.ShapeError, "matrix_power"),
        (lambda: linalg.triangular_solve(OBLONG, FLAT), errors.ShapeError, "triangular_solve"),
        (lambda: linalg.triangular_solve(np.eye(3), 1.0), errors.ShapeError, "triangular_solve"),
        (lambda: linalg.triangular_solve(np.eye(2), FLAT), errors.ShapeError, "triangular_solve"),
        (lambda: linalg.lstsq(OBLONG, FLAT), errors.ShapeError, "lstsq"),
        (lambda: linalg.trace(FLAT), errors.ShapeError, "trace"),
        (lambda: linalg.diagonal(FLAT), errors.ShapeError, "diagonal"),
        (lambda: linalg.matrix_rank(FLAT), errors.ShapeError, "matrix_rank"),
        (lambda: linalg.matrix_norm(FLAT), errors.ShapeError, "matrix_norm"),
        (lambda: linalg.matrix_norm(OBLONG, ord=3), errors.ArgumentError, "matrix_norm"),
        (lambda: linalg.matrix_norm(OBLONG, ord="max"), errors.ArgumentError, "matrix_norm"),
        (lambda: linalg.cross(np.ones(2), FLAT), errors.ShapeError, "cross"),
        (lambda: linalg.cross(FLAT, OBLONG, axis=-2), errors.PositionError, "cross"),
        (lambda: linalg.cross(FLAT, OBLONG, axis=0), errors.ArgumentError, "cross"),
    ],
)
def test_misuse_is_named(
    call: Callable[[], Any], error: type[errors.PullbackError], text: str
) -> None:
    with pytest.raises(error, match=f"`{text}`"):
        call()
