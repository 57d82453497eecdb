"""NumPy: matrix decompositions, with the library's error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..matrices import check_matrices, diverged, indefinite


def _floats(x: Any, name: str, *, square: bool = False) -> Any:
    """x as a plain array of floats; checks that it is a matrix or a stack of matrices."""
    check_matrices(numpy.shape(x), name, square=square)
    x = numpy.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(numpy.float64)


def _checked(name: str, *, square: bool = False, finite: bool = False) -> Callable[..., Any]:
    """NumPy's function of this name; raises `ConvergenceError` if LAPACK fails.

    finite   reject infinities: LAPACK may never return from their singular values
    """
    function = getattr(numpy.linalg, name)

    def kernel(x: Any, **attrs: Any) -> Any:
        x = _floats(x, name, square=square)
        if finite and not numpy.isfinite(x).all():
            raise diverged(name, False, "infinite or NaN")
        try:
            return function(x, **attrs)
        except numpy.linalg.LinAlgError as error:
            raise diverged(name, bool(numpy.isfinite(x).all()), str(error)) from None

    return kernel


_eig = _checked("eig", square=True)


def eig(x: Any) -> Any:
    """Eigenvalues and eigenvectors; always complex."""
    w, v = _eig(x)
    dtype = numpy.result_type(w.dtype, numpy.complex64)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def cholesky(x: Any, upper: bool) -> Any:
    """The Cholesky factor; raises `SingularMatrixError` unless x is positive definite."""
    x = _floats(x, "cholesky", square=True)
    try:
        return numpy.linalg.cholesky(x, upper=upper)
    except numpy.linalg.LinAlgError:
        raise indefinite(x.shape) from None


def lu(x: Any) -> Any:
    """P, L and U with x = P @ L @ U, by SciPy; P is real, in the precision of x."""
    from scipy.linalg import lu as factored

    x = _floats(x, "lu")
    *stack, m, n = x.shape
    if not x.size:  # SciPy returns other shapes for empty matrices
        k = min(m, n)
        return tuple([
            numpy.array(numpy.broadcast_to(numpy.eye(*shape, dtype=dtype), (*stack, *shape)))
            for shape, dtype in (((m, m), x.real.dtype), ((m, k), x.dtype), ((k, n), x.dtype))
        ])
    p, low, up = factored(x, check_finite=False)
    return p.real.astype(x.real.dtype, copy=False), low, up


KERNELS: dict[str, Callable[..., Any]] = {
    "cholesky": cholesky, "eig": eig, "lu": lu,
    **{name: _checked(name, square=True) for name in ("eigh", "eigvalsh")},
    "qr": _checked("qr"),
    **{name: _checked(name, finite=True) for name in ("pinv", "svd", "svdvals")},
}
