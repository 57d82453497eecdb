"""`tf.linalg`: products, norms and parts of matrices, with v1's arguments."""

from __future__ import annotations

from .arrays import eye as eye
from .functions import FUNCTIONS as _FUNCTIONS

matmul, matvec, tensordot = (_FUNCTIONS[n] for n in ("matmul", "matvec", "tensordot"))
einsum, norm, trace = (_FUNCTIONS[n] for n in ("einsum", "norm", "trace"))
matrix_transpose = transpose = _FUNCTIONS["matrix_transpose"]
band_part, l2_normalize = _FUNCTIONS["matrix_band_part"], _FUNCTIONS["l2_normalize"]
global_norm = _FUNCTIONS["global_norm"]
__all__ = [
    "band_part", "einsum", "eye", "global_norm", "l2_normalize", "matmul", "matrix_transpose",
    "matvec", "norm", "tensordot", "trace", "transpose",
]
