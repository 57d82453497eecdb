"""Functions of one matrix; of `solve_triangular` also stacks of the same leading axes."""

from __future__ import annotations

from typing import Any

import numpy
from cupy._array import coated
from scipy import linalg


def _one(a: Any) -> Any:
    if a.ndim != 2:
        raise numpy.linalg.LinAlgError(f"{a.ndim}-dimensional array given")
    return a._host


def expm(a: Any) -> Any:
    return coated(linalg.expm(_one(a)))


def lu(a: Any) -> Any:
    p, low, up = linalg.lu(_one(a))
    return coated((p.real.astype(low.real.dtype), low, up))


def solve_triangular(
    a: Any, b: Any, trans: int = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:
    """In the dtype of a, whatever that of b is."""
    if a.shape[:-2] != b.shape[: a.ndim - 2]:
        raise ValueError("incompatible batch count")
    m, k = a.shape[-1], b.shape[-1]
    pairs = zip(a._host.reshape(-1, m, m), b._host.reshape(-1, m, k), strict=True)
    found = [
        linalg.solve_triangular(x, y.astype(x.dtype), lower=lower, unit_diagonal=unit_diagonal)
        for x, y in pairs
    ]
    return coated(numpy.reshape(found, b.shape).astype(a.dtype))
