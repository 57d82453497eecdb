"""NumPy: kernels of matrix decompositions, whose failures are told in the library's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..errors import ConvergenceError, ShapeError, SingularMatrixError


def _matrices(x: Any, name: str, *, square: bool) -> Any:
    """x as a plain array, if it is a matrix or a stack of them."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(
            f"argument `x` of `{name}`", f"{kind}, on the last two axes", f"shape {x.shape}"
        )
    return numpy.asarray(x)


def _told(name: str, *, square: bool) -> Callable[..., Any]:
    """NumPy's function of a name; what LAPACK gives up on is a `ConvergenceError`."""
    function = getattr(numpy.linalg, name)

    def kernel(x: Any, **attrs: Any) -> Any:
        x = _matrices(x, name, square=square)
        try:
            return function(x, **attrs)
        except numpy.linalg.LinAlgError as error:
            finite = numpy.isfinite(x).all()
            raise ConvergenceError(
                f"`{name}`", "matrices with finite entries",
                str(error) if finite else "entries that are NaN or infinite",
            ) from None

    return kernel


_eig = _told("eig", square=True)


def eig(x: Any) -> Any:
    """Eigenvalues and eigenvectors, complex also where all of them are real."""
    w, v = _eig(x)
    dtype = numpy.result_type(w.dtype, numpy.complex64)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def cholesky(x: Any, upper: bool) -> Any:
    """The triangular factor; raises `SingularMatrixError` where there is none."""
    x = _matrices(x, "cholesky", square=True)
    try:
        return numpy.linalg.cholesky(x, upper=upper)
    except numpy.linalg.LinAlgError:
        raise SingularMatrixError(
            "`cholesky`", "positive definite matrices", f"another one among shape {x.shape}",
            "add a small multiple of the identity, or use eigh",
        ) from None


def lu(x: Any) -> Any:
    """P, L and U with x = P @ L @ U, by SciPy; P real and of the precision of x."""
    from scipy.linalg import lu as factored

    x = _matrices(x, "lu", square=False)
    if x.dtype.kind not in "fc":
        x = x.astype(numpy.float64)
    *stack, m, n = x.shape
    if not x.size:  # of which SciPy makes matrices of other shapes
        k = min(m, n)
        return tuple([
            numpy.array(numpy.broadcast_to(numpy.eye(*shape, dtype=dtype), (*stack, *shape)))
            for shape, dtype in (((m, m), x.real.dtype), ((m, k), x.dtype), ((k, n), x.dtype))
        ])
    p, low, up = factored(x, check_finite=False)
    return p.real.astype(x.real.dtype, copy=False), low, up


KERNELS: dict[str, Callable[..., Any]] = {
    "cholesky": cholesky, "eig": eig, "lu": lu, "qr": _told("qr", square=False),
    **{name: _told(name, square=True) for name in ("eigh", "eigvalsh")},
    **{name: _told(name, square=False) for name in ("svd", "svdvals")},
}
