"""Inverses, least squares and triangular systems.

`solve` is in `linalg.py`.
"""

from __future__ import annotations

from typing import Any

from ..arrays.matrices import check_right_side
from ..kinds.symbols import whole
from .complex_ import conj
from .creation import tril, triu
from .declaring import face_of, known_as, op
from .linalg import solve_examples
from .operands import arrays_of, matrices_of, matrix_examples, tolerance_of
from .products import matmul
from .statistics import mean

__all__ = ["inv", "lstsq", "pinv", "triangular_solve"]


@known_as(numpy="linalg.inv", torch="linalg.inv(A)")
@op(shape="(n,n)->(n,n)")
def inv(xp: Any, x: Any, /) -> Any:
    """The inverse of square matrices. To solve a system, `solve` is faster and more accurate.

    Raises `SingularMatrixError` for a singular matrix, `ShapeError` unless x is square.

    >>> import numpy as np
    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return xp.linalg.inv(x)


@inv.pullback("x")
def pullback_inv(g: Any, out: Any) -> Any:
    return -matmul(out.mT, matmul(g, out.mT))


@inv.pushforward("x")
def pushforward_inv(t: Any, out: Any) -> Any:
    return -matmul(out, matmul(t, out))


@inv.batching
def batch_inv(x: Any) -> Any:
    return inv(matrix_examples(x, "inv", square=True))


# Least squares ------------------------------------------------------------------------------


@op(name="pinv", shape="(m,n)->(n,m)", dtype=mean)
def _pinv(xp: Any, x: Any, /, *, rtol: Any) -> Any:
    return xp.linalg.pinv(x, rtol=rtol)


@_pinv.pullback("x")
def pullback_pinv(g: Any, x: Any, out: Any) -> Any:
    # The second and third terms lie in the null spaces; they are 0 for regular matrices.
    turned, adjoint = g.mT, conj(out.mT)
    left = matmul(matmul(turned - matmul(x, matmul(out, turned)), out), adjoint)
    right = matmul(adjoint, matmul(out, turned - matmul(matmul(turned, out), x)))
    return conj(left + right) - matmul(out.mT, matmul(g, out.mT))


@_pinv.pushforward("x")
def pushforward_pinv(t: Any, x: Any, out: Any) -> Any:
    turned, adjoint = conj(t.mT), conj(out.mT)
    left = matmul(out, matmul(adjoint, turned - matmul(matmul(turned, x), out)))
    right = matmul(matmul(turned - matmul(out, matmul(x, turned)), adjoint), out)
    return left + right - matmul(out, matmul(t, out))


@_pinv.batching
def batch_pinv(x: Any, *, rtol: Any) -> Any:
    return _pinv(matrix_examples(x, "pinv"), rtol=rtol)


@face_of(_pinv)
@whole
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The Moore-Penrose pseudo-inverse, of shape (…, n, m) for x of shape (…, m, n).

    rtol   singular values up to rtol times the largest count as 0; a number, or one per matrix;
           default max(m, n) times the eps of the dtype
    The derivative is that among matrices of the same rank. At a matrix without full rank the
    pseudo-inverse is discontinuous, because nearby matrices have higher rank.
    Raises `ShapeError` if x has fewer than two axes or `rtol` does not broadcast to the stack,
    `ConvergenceError` for entries that are NaN or infinite.

    >>> import numpy as np
    >>> pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    x = matrices_of(x, "pinv")
    return _pinv(x, rtol=None if rtol is None else tolerance_of(rtol, x, "pinv"))


@whole
def lstsq(a: Any, b: Any, /, *, rtol: Any = None) -> Any:
    """The least-squares solution: the x that minimises the norm of a @ x - b.

    b      a vector if it has one axis, used for every matrix; else matrices of columns
    rtol   as for `pinv`
    If several x do (a does not have full column rank), the one of smallest norm, with the
    derivative among matrices of the same rank. Raises `ShapeError` for shapes that do not match.

    >>> import numpy as np
    >>> lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    array([2.])
    """
    a, b = arrays_of(a, b)
    matrices_of(a, "lstsq", argument="a")
    check_right_side(a.shape[-2], b.shape, "lstsq", "b")
    return matmul(pinv(a, rtol=rtol), b)


# Triangular systems -------------------------------------------------------------------------


@op(name="triangular_solve", shape="(n,n),(n,p?)->(n,p?)")
def _triangular_solve(
    xp: Any, a: Any, b: Any, /, *, lower: bool, unit_diagonal: bool
) -> Any:
    if lower:  # reverse to upper: a general solver has nothing to eliminate in an upper triangle
        a, b = xp.flip(a, axis=(-2, -1)), xp.flip(b, axis=-2)
    a = xp.triu(a, k=int(unit_diagonal))
    x = xp.linalg.solve(a + xp.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else a, b)
    return xp.flip(x, axis=-2) if lower else x


@_triangular_solve.pullback("a")
def pullback_triangular_solve_a(
    g: Any, a: Any, out: Any, *, lower: bool, unit_diagonal: bool
) -> Any:
    back = _triangular_solve(a.mT, g, lower=not lower, unit_diagonal=unit_diagonal)
    return _part(-matmul(back, out.mT), lower, unit_diagonal)


@_triangular_solve.pullback("b")
def pullback_triangular_solve_b(g: Any, a: Any, *, lower: bool, unit_diagonal: bool) -> Any:
    return _triangular_solve(a.mT, g, lower=not lower, unit_diagonal=unit_diagonal)


@_triangular_solve.pushforward("a")
def pushforward_triangular_solve_a(
    t: Any, a: Any, out: Any, *, lower: bool, unit_diagonal: bool
) -> Any:
    moved = matmul(_part(t, lower, unit_diagonal), out)
    return -_triangular_solve(a, moved, lower=lower, unit_diagonal=unit_diagonal)


@_triangular_solve.pushforward("b")
def pushforward_triangular_solve_b(
    t: Any, a: Any, *, lower: bool, unit_diagonal: bool
) -> Any:
    return _triangular_solve(a, t, lower=lower, unit_diagonal=unit_diagonal)


@_triangular_solve.batching
def batch_triangular_solve(a: Any, b: Any, *, hidden: tuple[bool, ...], **how: Any) -> Any:
    return solve_examples(_triangular_solve, a, b, hidden, **how)


def _part(x: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The entries of a triangular matrix that the solution uses."""
    return tril(x, k=-int(unit_diagonal)) if lower else triu(x, k=int(unit_diagonal))


@face_of(_triangular_solve)
@whole
def triangular_solve(
    a: Any, b: Any, /, *, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """The solution x of a @ x = b, for triangular matrices a; leading axes broadcast.

    b               a vector if it has one axis, used for every matrix; else matrices
    lower           a is lower triangular; else upper
    unit_diagonal   take the diagonal of a to be ones
    Entries of a that are not read (the other triangle, a unit diagonal) have derivative 0.
    Raises `SingularMatrixError` for a 0 on the diagonal, `ShapeError` for shapes that do not match.

    >>> import numpy as np
    >>> triangular_solve(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0]))
    array([1., 1.])
    """
    a, b = arrays_of(a, b)
    matrices_of(a, "triangular_solve", square=True, argument="a")
    check_right_side(a.shape[-2], b.shape, "triangular_solve", "b")
    how = {"lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    if len(b.shape) == 1:
        return _triangular_solve(a, b[:, None], **how)[..., 0]
    return _triangular_solve(a, b, **how)
