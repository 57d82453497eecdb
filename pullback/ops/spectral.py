"""Eigenvalues and singular values, public as `pullback.linalg`.

Rules compute transposes, that is the adjoints of the literature with the saved arrays conjugated:
each rule conjugates its outputs first.

Note [gaps that vanish]: rules divide by differences of eigenvalues or singular values, and by
singular values. Differences up to their rounding error, ε Σ |w|, count as 0, and terms that would
be divided by them are dropped. That is right for functions that treat a repeated eigenvalue and its
eigenvectors as one: a sum of f(w), the projector on the eigenspace, the singular vectors of the
nonzero singular values. It is wrong for V f(w) Vᴴ with a repeated w, where the eigenvectors would
have to move with f(w): use matrix functions such as `expm` instead. Vectors are determined up to a
phase (a sign, for real ones), and their tangents are those without a part along themselves; a
function of the phase has no derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.cotangent import conjugated
from ..kinds.shapes import fitted
from ..kinds.symbols import whole
from .arithmetic import abs
from .declaring import face_of, known_as, op
from .decompositions import adjoint, hermitian, with_rest, without_rest
from .dtypes import finfo
from .linalg import solve
from .operands import matrix_examples
from .products import einsum, matmul
from .selecting import where
from .statistics import sum

__all__: list[str] = []


def _skew(x: Any) -> Any:
    """x minus its Hermitian part."""
    return (x - adjoint(x)) / 2


def _inverse(x: Any, w: Any) -> Any:
    """1 / x; 0 where |x| is within the rounding error of the values w."""
    error = finfo(w).eps * sum(abs(w), axis=-1, keepdims=True)
    nothing = abs(x) <= (error if len(x.shape) == len(w.shape) else error[..., None])
    return where(nothing, 0, 1 / where(nothing, 1, x))


def _gaps(w: Any) -> Any:
    """1 / (wⱼ - wᵢ) at i, j; see Note [gaps that vanish]."""
    return _inverse(w[..., None, :] - w[..., :, None], w)


# Eigenvalues ------------------------------------------------------------------------------------


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


@op(name="eigh", outputs=("w", "v"), shape="(n,n)->(n),(n,n)")
def _eigh(xp: Any, x: Any, /) -> Any:
    return xp.linalg.eigh(x)


@_eigh.pullback("x")
def pullback_eigh(g: Any, w: Any, v: Any) -> Any:
    v = conjugated(v)
    inner = _gaps(w) * matmul(adjoint(v), g[1])
    return hermitian(matmul(matmul(v, inner) + v * g[0][..., None, :], adjoint(v)))


@_eigh.pushforward("x")
def pushforward_eigh(t: Any, w: Any, v: Any) -> Any:
    moved = matmul(hermitian(t), v)
    turn = _gaps(w) * matmul(adjoint(v), moved)
    return sum(conjugated(v) * moved, axis=-2), matmul(v, turn)


@_eigh.batching
def batch_eigh(x: Any) -> Any:
    return _eigh(matrix_examples(x, "eigh", square=True))


@face_of(_eigh)
@whole
def eigh(x: Any, /) -> EighResult:
    """The eigenvalues of a Hermitian matrix, in ascending order, and eigenvectors, as columns.

    x = V diag(w) Vᴴ. Reads only the lower triangle of x; the gradient is Hermitian, the derivative
    along Hermitian tangents: the Hermitian part of V (diag(gw) + F ∘ Vᴴ gV) Vᴴ, with
    F = 1 / (wⱼ - wᵢ), or 0 for equal eigenvalues. A function of the phases of eigenvectors, such
    as the sign of an entry, has no derivative.

    >>> import numpy as np
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    array([1., 3.])
    """
    return EighResult(*_eigh(x))


@op(shape="(n,n)->(n)")
def eigvalsh(xp: Any, x: Any, /) -> Any:
    """The eigenvalues of a Hermitian matrix, in ascending order; see `eigh`.

    The gradient is V diag(g) Vᴴ; the eigenvectors V are computed only when it is needed. Equal
    eigenvalues each have a basis vector: right for functions that treat them alike.

    >>> import numpy as np
    >>> eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.])
    """
    return xp.linalg.eigvalsh(x)


@eigvalsh.pullback("x")
def pullback_eigvalsh(g: Any, x: Any) -> Any:
    v = conjugated(_eigh(x)[1])
    return matmul(v * g[..., None, :], adjoint(v))


@eigvalsh.pushforward("x")
def pushforward_eigvalsh(t: Any, x: Any) -> Any:
    v = _eigh(x)[1]
    return sum(conjugated(v) * matmul(hermitian(t), v), axis=-2)


@eigvalsh.batching
def batch_eigvalsh(x: Any) -> Any:
    return eigvalsh(matrix_examples(x, "eigvalsh", square=True))


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Any
    eigenvectors: Any


@op(name="eig", outputs=("w", "v"), shape="(n,n)->(n),(n,n)")
def _eig(xp: Any, x: Any, /) -> Any:
    return xp.linalg.eig(x)


@_eig.pullback("x")
def pullback_eig(g: Any, w: Any, v: Any) -> Any:
    own = sum(v * g[1], axis=-2)[..., None, :]
    inner = _gaps(w) * matmul(v.mT, g[1] - conjugated(v) * own)
    return solve(v.mT, matmul(inner, v.mT) + g[0][..., :, None] * v.mT)


@_eig.pushforward("x")
def pushforward_eig(t: Any, w: Any, v: Any) -> Any:
    inner = solve(v, matmul(t, v))
    moved = matmul(v, _gaps(w) * inner)
    along = sum(conjugated(v) * moved, axis=-2)[..., None, :]
    return einsum("...ii->...i", inner), moved - v * along


@_eig.batching
def batch_eig(x: Any) -> Any:
    return _eig(matrix_examples(x, "eig", square=True))


@known_as(numpy="linalg.eig", torch="linalg.eig(A)")
@face_of(_eig)
@whole
def eig(x: Any, /) -> EigResult:
    """The eigenvalues of a square matrix, unordered, and eigenvectors of norm 1, as columns.

    Both are complex, also for real x. x = V diag(w) V⁻¹. The gradient, with F = 1 / (wⱼ - wᵢ), or 0
    for equal eigenvalues, is V⁻ᴴ (diag(gw) + F* ∘ (Vᴴ gV - Vᴴ V diag(Vᴴ gV))) Vᴴ. A function of
    the phases of eigenvectors has no derivative, and neither has a defective matrix (one whose
    eigenvectors do not span the space): gradients diverge towards it, and raise
    `SingularMatrixError` where V is singular.

    >>> import numpy as np
    >>> eig(np.array([[0.0, 4.0], [-1.0, 0.0]])).eigenvalues
    array([0.+2.j, 0.-2.j])
    """
    return EigResult(*_eig(x))


@known_as(numpy="linalg.eigvals", torch="linalg.eigvals(A)")
def eigvals(x: Any, /) -> Any:
    """The eigenvalues of a square matrix, complex, in the same order as from `eig`.

    >>> import numpy as np
    >>> eigvals(np.array([[0.0, 4.0], [-1.0, 0.0]]))
    array([0.+2.j, 0.-2.j])
    """
    return _eig(x)[0]


# Singular values --------------------------------------------------------------------------------


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


@op(name="svd", outputs=("u", "s", "vh"))
def _svd(xp: Any, x: Any, /, *, full_matrices: bool = True) -> Any:
    return xp.linalg.svd(x, full_matrices=full_matrices)


def _sums(s: Any) -> Any:
    """1 / (sᵢ + sⱼ), or 0 where both are 0."""
    return _inverse(s[..., None, :] + s[..., :, None], s)


@_svd.pullback("x")
def pullback_svd(g: Any, u: Any, s: Any, vh: Any) -> Any:
    k, inverse = s.shape[-1], _inverse(s, s)[..., None, :]
    u, gu = without_rest(conjugated(u), g[0], k)
    v, gv = without_rest(vh.mT, adjoint(g[2]), k)
    along_u, along_v = matmul(adjoint(u), gu), matmul(adjoint(v), gv)
    inner = _gaps(s) * _skew(along_u + along_v) + _sums(s) * _skew(along_u - along_v)
    left = matmul(u, inner) + u * g[1][..., None, :]
    if u.shape[-2] > k:
        left = left + (gu - matmul(u, along_u)) * inverse
    found = matmul(left, adjoint(v))
    if v.shape[-2] > k:
        found = found + matmul(u, adjoint((gv - matmul(v, along_v)) * inverse))
    return found


@_svd.pushforward("x")
def pushforward_svd(t: Any, u: Any, s: Any, vh: Any) -> Any:
    k, inverse = s.shape[-1], _inverse(s, s)[..., None, :]
    whole_v = adjoint(vh)
    u1, v1 = u[..., :k], whole_v[..., :k]
    tv, tu = matmul(t, v1), matmul(adjoint(t), u1)
    inner = matmul(adjoint(u1), tv)
    both, apart = _gaps(s) * hermitian(inner), _sums(s) * _skew(inner)
    du, dv = matmul(u1, both + apart), matmul(v1, both - apart)
    if u1.shape[-2] > k:
        du = du + (tv - matmul(u1, inner)) * inverse
    if v1.shape[-2] > k:
        dv = dv + (tu - matmul(v1, adjoint(inner))) * inverse
    ds = sum(conjugated(u1) * tv, axis=-2)
    return with_rest(u, du), ds, adjoint(with_rest(whole_v, dv))


@_svd.batching
def batch_svd(x: Any, *, full_matrices: bool) -> Any:
    return _svd(matrix_examples(x, "svd"), full_matrices=full_matrices)


@_svd.shaping
def shape_svd(x: Any, *, full_matrices: bool) -> Any:
    full = "(m,n)->(m,m),(k),(n,n)"
    return fitted(full if full_matrices else "(m,n)->(m,k),(k),(k,n)", "svd", x)


@face_of(_svd)
@whole
def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """U, S, Vh with x = U @ diag(S) @ Vh: orthonormal columns and rows, S descending and ≥ 0.

    full_matrices   U is m × m and Vh is n × n; else U is m × k and Vh is k × n, k = min(m, n)
    pullback of a square x, with Vᴴ = Vh: U (diag(gS) + E ∘ skew(Uᴴ gU + Vᴴ gV)
    + G ∘ skew(Uᴴ gU - Vᴴ gV)) Vᴴ, where E = 1 / (sⱼ - sᵢ) and G = 1 / (sⱼ + sᵢ), or 0 where that
    divides by 0. A function of the phases of singular vectors has no derivative; columns that
    `full_matrices` adds count as a basis of a space, and vectors of singular value 0 count as
    constant relative to the others.

    >>> import numpy as np
    >>> svd(np.array([[0.0, 2.0], [-3.0, 0.0]])).S
    array([3., 2.])
    """
    return SVDResult(*_svd(x, full_matrices=full_matrices))


@known_as(numpy="linalg.svdvals")
@op(shape="(m,n)->(k)")
def svdvals(xp: Any, x: Any, /) -> Any:
    """The singular values of a matrix, in descending order; see `svd`.

    The gradient is U diag(g) Vh; the singular vectors are computed only when it is needed. At a
    singular value of 0 it is a subgradient, a slope in [-1, 1].

    >>> import numpy as np
    >>> svdvals(np.array([[0.0, 2.0], [-3.0, 0.0]]))
    array([3., 2.])
    """
    return xp.linalg.svdvals(x)


@svdvals.pullback("x")
def pullback_svdvals(g: Any, x: Any) -> Any:
    u, _, vh = _svd(x, full_matrices=False)
    return conjugated(matmul(u * g[..., None, :], vh))


@svdvals.pushforward("x")
def pushforward_svdvals(t: Any, x: Any) -> Any:
    u, _, vh = _svd(x, full_matrices=False)
    return sum(conjugated(u) * matmul(t, adjoint(vh)), axis=-2)


@svdvals.batching
def batch_svdvals(x: Any) -> Any:
    return svdvals(matrix_examples(x, "svdvals"))
