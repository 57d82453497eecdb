"""NumPy: kernels of linear algebra, whose failures are told in the library's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..errors import ShapeError, SingularMatrixError


def solve(x1: Any, x2: Any) -> Any:
    """The solution of x1 @ x = x2.

    Raises `SingularMatrixError`, and `ShapeError` for what is not square.
    """
    if x1.ndim < 2 or x1.shape[-1] != x1.shape[-2]:
        raise ShapeError(
            "argument `x1` of `solve`", "square matrices, on the last two axes", f"shape {x1.shape}"
        )
    try:
        return numpy.linalg.solve(x1, x2)
    except numpy.linalg.LinAlgError:
        raise SingularMatrixError(
            "`solve`", "matrices that have an inverse", f"a singular one among shape {x1.shape}",
            "add a small multiple of the identity, or use least squares",
        ) from None


KERNELS: dict[str, Callable[..., Any]] = {"solve": solve}
