"""Linear algebra: the standard's `linalg`."""

from __future__ import annotations

from .ops import matmul, matrix_transpose, outer, tensordot, vecdot, vector_norm
from .ops.decompositions import cholesky, lu, qr
from .ops.determinants import det, slogdet
from .ops.linalg import solve
from .ops.matrices import (
    cross,
    diagonal,
    expm,
    matrix_norm,
    matrix_power,
    matrix_rank,
    trace,
)
from .ops.solving import inv, lstsq, pinv, triangular_solve
from .ops.spectral import eig, eigh, eigvals, eigvalsh, svd, svdvals

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv",
    "lstsq", "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
    "triangular_solve", "vecdot", "vector_norm",
]
