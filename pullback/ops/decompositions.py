"""Matrix decompositions, public as `pullback.linalg`: Cholesky, LU and QR.

Rules compute transposes, that is the adjoints of the literature with the saved arrays conjugated:
each rule conjugates its outputs first. Eigenvalues and singular values are in `spectral.py`.

Note [bases that are free]: columns that only complete a basis ("complete" QR, `full_matrices`) are
determined only up to a rotation among themselves. Their tangent is the one without such a rotation:
a function of the space that they span has the right derivative; one that depends on the choice of
basis has no derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays.batched import identity_matrix
from ..core.cotangent import conjugated
from ..core.tensor import raw
from ..errors import ArgumentError
from ..kinds.shapes import fitted
from ..kinds.symbols import lengths_of, whole
from .creation import tril, triu, zeros_like
from .declaring import face_of, known_as, op
from .joining import concat, pad
from .linalg import solve
from .operands import matrices_of, matrix_examples
from .products import matmul
from .shaping import broadcast_to

__all__: list[str] = []


def adjoint(x: Any) -> Any:
    """xᴴ."""
    return conjugated(x).mT


def hermitian(x: Any) -> Any:
    """The Hermitian part, (x + xᴴ) / 2."""
    return (x + adjoint(x)) / 2


def _half(x: Any) -> Any:
    """The lower triangle with the diagonal halved."""
    return (tril(x) + tril(x, k=-1)) / 2


def _over(x: Any, a: Any) -> Any:
    """x @ a⁻¹."""
    return solve(a.mT, x.mT).mT


# Triangular factors -----------------------------------------------------------------------------


@known_as(torch="linalg.cholesky(A,*,upper)")
@op(shape="(n,n)->(n,n)")
def cholesky(xp: Any, x: Any, /, *, upper: bool = False) -> Any:
    """L, lower triangular with a positive diagonal, of Hermitian positive definite x = L Lᴴ.

    upper   return the upper triangular U = Lᴴ instead, with x = Uᴴ U
    Reads only the lower triangle of x (with `upper`, the upper one). The gradient is Hermitian, the
    derivative along Hermitian tangents: half (S + Sᴴ), S = L⁻ᴴ Φ(Lᴴ g) L⁻¹, where Φ keeps the lower
    triangle and halves the diagonal.
    Raises `SingularMatrixError` for a matrix that is not positive definite, `ShapeError` for one
    that is not square.

    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    return xp.linalg.cholesky(x, upper=upper)


@cholesky.pullback("x")
def pullback_cholesky(g: Any, out: Any, *, upper: bool) -> Any:
    low, g = (adjoint(out), adjoint(g)) if upper else (out, g)
    low = conjugated(low)
    back = adjoint(low)
    return hermitian(_over(solve(back, _half(matmul(back, g))), low))


@cholesky.pushforward("x")
def pushforward_cholesky(t: Any, out: Any, *, upper: bool) -> Any:
    low = adjoint(out) if upper else out
    moved = _half(_over(solve(low, hermitian(t)), adjoint(low)))
    found = matmul(low, moved)
    return adjoint(found) if upper else found


@cholesky.batching
def batch_cholesky(x: Any, *, upper: bool) -> Any:
    return cholesky(matrix_examples(x, "cholesky", square=True), upper=upper)


class LUResult(NamedTuple):
    """The result of `lu`."""

    P: Any
    L: Any
    U: Any


@op(name="lu", outputs=("p", "low", "up"), shape="(m,n)->(m,m),(m,k),(k,n)")
def _lu(xp: Any, x: Any, /) -> Any:
    x = matrices_of(x, "lu")
    return xp.linalg.lu(x)


def _made_square(low: Any) -> Any:
    """A tall matrix made square by appending columns of the identity."""
    rows, columns = low.shape[-2:]
    if rows <= columns:
        return low
    unit = identity_matrix(rows, raw(low))[:, columns:]
    return concat([low, broadcast_to(unit, (*low.shape[:-1], rows - columns))], axis=-1)


def _zero_padded(x: Any, rows: int, columns: int) -> Any:
    """x padded with zeros below and on the right."""
    more = rows - x.shape[-2], columns - x.shape[-1]
    if more == (0, 0):
        return x
    return pad(x, (*((0, 0),) * (len(x.shape) - 2), *((0, n) for n in more)))


@_lu.pullback("x")
def pullback_lu(g: Any, p: Any, low: Any, up: Any) -> Any:
    shape = low.shape[-2], up.shape[-1]
    whole_low, whole_up = _made_square(low), _made_square(up.mT).mT
    below = tril(matmul(whole_low.mT, g[1]), k=-1)
    above = triu(matmul(g[2], whole_up.mT))
    inner = _zero_padded(below, *shape) + _zero_padded(above, *shape)
    return matmul(p, _over(solve(whole_low.mT, inner), whole_up.mT))


@_lu.pushforward("x")
def pushforward_lu(t: Any, p: Any, low: Any, up: Any) -> Any:
    k = low.shape[-1]
    whole_low, whole_up = _made_square(low), _made_square(up.mT).mT
    inner = _over(solve(whole_low, matmul(p.mT, t)), whole_up)
    below, above = tril(inner, k=-1)[..., :k], triu(inner)[..., :k, :]
    return zeros_like(p), matmul(whole_low, below), matmul(above, whole_up)


@_lu.batching
def batch_lu(x: Any) -> Any:
    return _lu(matrix_examples(x, "lu"))


@face_of(_lu)
@whole
def lu(x: Any, /) -> LUResult:
    """P, L, U with x = P @ L @ U: a permutation, a unit lower and an upper triangular matrix.

    For an m × n matrix, L is m × k and U is k × n, k = min(m, n). P is piecewise constant and has
    no derivative. The derivatives of L and U need the leading k × k block of P⁻¹ x to be regular,
    and raise `SingularMatrixError` otherwise.

    >>> import numpy as np
    >>> lu(np.array([[0.0, 3.0], [2.0, 4.0]])).U
    array([[2., 4.],
           [0., 3.]])
    """
    return LUResult(*_lu(x))


# QR ---------------------------------------------------------------------------------------------


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


@op(name="qr", outputs=("q", "r"))
def _qr(xp: Any, x: Any, /, *, mode: str = "reduced") -> Any:
    return xp.linalg.qr(x, mode=mode)


def without_rest(q: Any, g: Any, k: int) -> tuple[Any, Any]:
    """The first k columns and their cotangent, which includes what the other columns contribute."""
    if q.shape[-1] == k:
        return q, g
    first, rest = q[..., :k], q[..., k:]
    return first, g[..., :k] - matmul(rest, matmul(adjoint(g[..., k:]), first))


def with_rest(q: Any, t: Any) -> Any:
    """The tangent of all columns, given that of the first ones; see Note [bases that are free]."""
    k = lengths_of(t)[-1]
    if lengths_of(q)[-1] == k:
        return t
    return concat([t, -matmul(q[..., :k], matmul(adjoint(t), q[..., k:]))], axis=-1)


@_qr.pullback("x")
def pullback_qr(g: Any, q: Any, r: Any) -> Any:
    k = min(q.shape[-2], r.shape[-1])
    r, gr = conjugated(r)[..., :k, :], g[1][..., :k, :]
    q, gq = without_rest(conjugated(q), g[0], k)
    square = r[..., :k]
    right = matmul(q, gr[..., k:])
    if r.shape[-1] > k:  # the columns on the right are q @ r there, so r = qᴴ @ x
        gq = gq + matmul(q, matmul(r[..., k:], adjoint(gr[..., k:])))
    inner = matmul(gr[..., :k], adjoint(square)) - matmul(adjoint(q), gq)
    above = inner - _half(inner)
    left = _over(gq + matmul(q, above + adjoint(above)), adjoint(square))
    return concat([left, right], axis=-1) if r.shape[-1] > k else left


@_qr.pushforward("x")
def pushforward_qr(t: Any, q: Any, r: Any) -> Any:
    k, n = min(q.shape[-2], r.shape[-1]), r.shape[-1]
    first, square = q[..., :k], r[..., :k, :k]
    scaled = _over(t[..., :k], square)
    inner = matmul(adjoint(first), scaled)
    below = _half(inner)
    turn = below - adjoint(below)
    found = matmul(inner - turn, square)
    if n > k:
        right = matmul(adjoint(first), t[..., k:]) - matmul(turn, r[..., k:])
        found = concat([found, right], axis=-1)
    moved = scaled - matmul(first, inner - turn)
    return with_rest(q, moved), _zero_padded(found, r.shape[-2], n)


@_qr.batching
def batch_qr(x: Any, *, mode: str) -> Any:
    return _qr(matrix_examples(x, "qr"), mode=mode)


@_qr.shaping
def shape_qr(x: Any, *, mode: str) -> Any:
    complete = "(m,n)->(m,m),(m,n)"
    return fitted(complete if mode == "complete" else "(m,n)->(m,k),(k,n)", "qr", x)


@face_of(_qr)
@whole
def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Q, R with x = Q @ R: orthonormal columns, and an upper triangle with a real diagonal.

    mode   "reduced": Q is m × k and R is k × n, for an m × n matrix and k = min(m, n); "complete":
           Q is m × m and R is m × n
    pullback, for m = n: (gQ + Q (U + Uᴴ)) R⁻ᴴ where U is the upper triangle, with the diagonal
    halved, of gR Rᴴ - Qᴴ gQ. Columns that "complete" adds count as a basis of a space.
    The derivative needs the first k columns of x to be linearly independent, and raises
    `SingularMatrixError` otherwise. `ArgumentError` for another mode.

    >>> import numpy as np
    >>> float(abs(qr(np.array([[3.0, 1.0], [4.0, 2.0]])).R[0, 0]))
    5.0
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentError("argument `mode` of `qr`", "'reduced' or 'complete'", repr(mode))
    return QRResult(*_qr(x, mode=mode))
