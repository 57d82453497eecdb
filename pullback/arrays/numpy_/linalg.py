"""NumPy: linear algebra, with the library's error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import adjugates
from ..matrices import check_matrices, check_right_side, singular
from .older import NAMESPACE


def solve(x1: Any, x2: Any) -> Any:
    """The solution of x1 @ x = x2.

    Raises `SingularMatrixError`, and `ShapeError` for shapes that are not square or do not match.
    """
    check_matrices(numpy.shape(x1), "solve", square=True, argument="x1")
    check_right_side(x1.shape[-1], numpy.shape(x2), "solve", "x2")
    try:
        return numpy.linalg.solve(x1, x2)
    except numpy.linalg.LinAlgError:
        raise singular("solve", x1.shape) from None


def inv(x: Any) -> Any:
    """The inverse of x.

    Raises `SingularMatrixError`, and `ShapeError` unless x is square.
    """
    check_matrices(numpy.shape(x), "inv", square=True)
    try:
        return numpy.linalg.inv(x)
    except numpy.linalg.LinAlgError:
        raise singular("inv", x.shape) from None


def expm(x: Any) -> Any:
    """The exponential of x, by SciPy.

    Raises `ShapeError` unless x is square.
    """
    from scipy.linalg import expm

    check_matrices(numpy.shape(x), "expm", square=True)
    return expm(x)


def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
    """The solution of a @ x = b: substitution for one matrix, `numpy.linalg.solve` for a stack.

    Raises `SingularMatrixError` for a 0 on the diagonal.
    """
    if not unit_diagonal and not numpy.diagonal(a, axis1=-2, axis2=-1).all():
        raise singular("triangular_solve", a.shape)
    if a.ndim == 2 == b.ndim and a.size and b.size:
        from scipy.linalg import solve_triangular

        return solve_triangular(
            a, b, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
        )
    if lower:  # the same in reverse; an upper triangle needs no elimination
        a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
    a = numpy.triu(a, k=int(unit_diagonal))
    if unit_diagonal:
        a = a + numpy.eye(a.shape[-1], dtype=a.dtype)
    x = numpy.linalg.solve(a, b)
    return x[..., ::-1, :] if lower else x


def adjugate(x: Any) -> Any:
    """The adjugates: det(x) · x⁻¹, which is faster, if x is regular.

    Both factors come from the same elimination, so their errors cancel even if x is nearly
    singular.
    """
    with numpy.errstate(over="ignore", under="ignore", invalid="ignore"):
        factor = numpy.asarray(numpy.linalg.det(x))
        usable = (factor != 0) & numpy.isfinite(factor)
        back = numpy.linalg.inv(numpy.where(usable[..., None, None], x, numpy.eye(x.shape[-1])))
        condition = numpy.linalg.norm(x, axis=(-2, -1)) * numpy.linalg.norm(back, axis=(-2, -1))
        usable &= condition < 1 / numpy.finfo(factor.dtype).eps
        out = numpy.asarray(factor[..., None, None] * back, factor.dtype)
        if not usable.all():
            out[~usable] = adjugates.adjugate(NAMESPACE, x[~usable])
    return out


KERNELS: dict[str, Callable[..., Any]] = {
    "adjugate": adjugate, "expm": expm, "inv": inv, "solve": solve,
    "triangular_solve": triangular_solve,
}
