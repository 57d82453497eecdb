"""Linear algebra: the standard's `linalg`."""

from __future__ import annotations

from .ops import matmul, matrix_transpose, outer, tensordot, vecdot, vector_norm
from .ops.linalg import solve

__all__ = [
    "matmul", "matrix_transpose", "outer", "solve", "tensordot", "vecdot", "vector_norm",
]
