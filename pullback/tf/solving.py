"""`tf.linalg`: matrix decompositions, inverses, linear solvers; diagonals."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from .. import linalg as _core
from .. import ops
from ..composed.diagonals import on_diagonal, with_diagonal
from ..core.tensor import raw, wrap
from ..kinds.symbols import whole
from .convert import axis_of, checked, matched, operand, shape_of
from .errors import invalid
from .shaping import reshape
from .tensor import Tensor

__all__ = [
    "adjoint", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eig", "eigh",
    "eigvals", "eigvalsh", "expm", "inv", "logdet", "lstsq", "matrix_rank", "normalize", "pinv",
    "qr", "set_diag", "slogdet", "solve", "svd", "tensor_diag", "tensor_diag_part",
    "triangular_solve",
]


def _of_matrix(name: str, kinds: str = "fc") -> Callable[..., Any]:
    function = getattr(_core, name)

    def call(input: Any, name: str | None = None) -> Any:
        return function(_matrix(input, call.__name__, kinds))

    call.__name__ = call.__qualname__ = name
    first = (function.__doc__ or "").partition("\n")[0]
    call.__doc__ = f"{first}\n\nSee `pullback.linalg.{name}`."
    return checked(call)


def _matrix(value: Any, subject: str, kinds: str = "fc") -> Any:
    x = operand(value, kinds, subject)
    if x.ndim < 2:
        raise invalid(f"`{subject}`", "a matrix, or a stack of them", f"shape {x.shape}")
    return x


det, cholesky, expm = _of_matrix("det"), _of_matrix("cholesky"), _of_matrix("expm")
eigvalsh, eigvals = _of_matrix("eigvalsh"), _of_matrix("eigvals")
_inv = _of_matrix("inv")


class SignLogDet(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Any
    log_abs_determinant: Any


class QR(NamedTuple):
    """A matrix with orthonormal columns and an upper triangular one."""

    q: Any
    r: Any


@checked
def eigh(tensor: Any, name: str | None = None) -> tuple[Any, Any]:
    """Eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns.

    >>> [x.numpy().tolist() for x in eigh([[2.0, 0.0], [0.0, 1.0]])][0]
    [1.0, 2.0]
    """
    values, vectors = _core.eigh(_matrix(tensor, "eigh"))
    return values, vectors


@checked
def eig(tensor: Any, name: str | None = None) -> tuple[Any, Any]:
    """Eigenvalues, and eigenvectors as columns; complex.

    >>> eig([[2.0, 0.0], [0.0, 1.0]])[0].dtype
    tf.complex64
    """
    values, vectors = _core.eig(_matrix(tensor, "eig"))
    return values, vectors


@checked
def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Singular values s in descending order, u and v with x = u diag(s) vᴴ; or s alone.

    >>> svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False).numpy()
    array([4., 3.], dtype=float32)
    """
    x = _matrix(tensor, "svd")
    if not compute_uv:
        return _core.svdvals(x)
    u, s, vh = _core.svd(x, full_matrices=full_matrices)
    return s, u, adjoint(vh)


@checked
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> QR:
    """QR decomposition: q with orthonormal columns and upper triangular r, with x = q r.

    >>> [m.shape for m in qr([[1.0], [2.0]])]
    [TensorShape([2, 1]), TensorShape([1, 1])]
    """
    x = _matrix(input, "qr")
    return QR(*_core.qr(x, mode="complete" if full_matrices else "reduced"))


@checked
def slogdet(input: Any, name: str | None = None) -> SignLogDet:
    """The sign of the determinant and the logarithm of its absolute value.

    >>> slogdet([[-1.0]]).sign.numpy()
    np.float32(-1.0)
    """
    return SignLogDet(*_core.slogdet(_matrix(input, "slogdet")))


@checked
def logdet(matrix: Any, name: str | None = None) -> Any:
    """The logarithm of the determinant of Hermitian, positive definite matrices.

    >>> logdet([[1.0]]).numpy()
    np.float32(0.0)
    """
    return ops.real(_core.slogdet(_matrix(matrix, "logdet"))[1])


@checked
def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """The inverse of a matrix, or of its conjugate transpose.

    >>> inv([[2.0]]).numpy()
    array([[0.5]], dtype=float32)
    """
    return _inv(_adjoint(_matrix(input, "inv")) if adjoint else input)


@checked
def pinv(
    a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """The pseudo-inverse; singular values below rcond times the largest are treated as 0.

    >>> pinv([[2.0], [0.0]]).numpy()
    array([[0.5, 0. ]], dtype=float32)
    """
    x = _matrix(a, "pinv")
    if rcond is None:
        rcond = 10.0 * max(x.shape[-2:]) * float(ops.finfo(x._data.dtype).eps)
    return _core.pinv(x, rtol=raw(rcond))


@checked
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """The number of singular values above tol.

    >>> matrix_rank([[1.0, 1.0], [1.0, 1.0]]).numpy()
    np.int32(1)
    """
    x = _matrix(a, "matrix_rank")
    s = _core.svdvals(x)
    if tol is None:
        eps = float(ops.finfo(x._data.dtype).eps)
        tol = ops.max(s, axis=-1, keepdims=True) * (eps * max(x.shape[-2:]))
    return ops.sum(ops.astype(s > tol, ops.int32), axis=-1, dtype=ops.int32)


@checked
def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Solves matrix @ x = rhs for x; both may be stacks of matrices.

    >>> solve([[2.0]], [[4.0]]).numpy()
    array([[2.]], dtype=float32)
    """
    a, b = matched("solve", matrix, rhs)
    if b.ndim < 2:
        raise invalid("argument `rhs` of `solve`", "a matrix", f"shape {b.shape}")
    return _core.solve(_adjoint(a) if adjoint else a, b)


@checked
def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solves matrix @ x = rhs for x; reads only one triangle of the matrix.

    >>> triangular_solve([[2.0, 9.0], [0.0, 1.0]], [[4.0], [1.0]]).numpy()
    array([[2.],
           [1.]], dtype=float32)
    """
    a, b = matched("triangular_solve", matrix, rhs)
    if adjoint:
        a, lower = _adjoint(a), not lower
    return _core.triangular_solve(a, b, lower=lower)


@checked
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solves chol @ cholᴴ @ x = rhs for x, given the Cholesky factor.

    >>> cholesky_solve([[2.0]], [[4.0]]).numpy()
    array([[1.]], dtype=float32)
    """
    a, b = matched("cholesky_solve", chol, rhs)
    first = _core.triangular_solve(a, b, lower=True)
    return _core.triangular_solve(_adjoint(a), first, lower=False)


@checked
def lstsq(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Any:
    """Least squares: the x that minimizes |matrix @ x - rhs|² + l2_regularizer |x|².

    `fast` is accepted and ignored.

    >>> lstsq([[2.0], [0.0]], [[4.0], [1.0]]).numpy()
    array([[2.]], dtype=float32)
    """
    a, b = matched("lstsq", matrix, rhs)
    weight = float(raw(l2_regularizer))
    if weight == 0:
        return _core.lstsq(a, b)
    wide = a.shape[-2] < a.shape[-1]
    square = a @ _adjoint(a) if wide else _adjoint(a) @ a
    one = wrap(Tensor, raw(weight * ops.eye(square.shape[-1], dtype=square._data.dtype)))
    if wide:
        return _adjoint(a) @ _core.solve(square + one, b)
    return _core.solve(square + one, _adjoint(a) @ b)


def adjoint(matrix: Any, name: str | None = None) -> Any:
    """The conjugate transpose.

    >>> adjoint([[1.0, 2.0]]).shape
    TensorShape([2, 1])
    """
    return _adjoint(_matrix(matrix, "adjoint"))


def _adjoint(x: Any) -> Any:
    out = ops.matrix_transpose(x)
    return ops.conj(out) if out._data.dtype.kind == "c" else out


@checked
def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """The cross product of 3-vectors.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    return _core.cross(*matched("cross", a, b))


@checked
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """A tensor divided by its norm, and the norm.

    >>> normalize([3.0, 4.0])[0].numpy()
    array([0.6, 0.8], dtype=float32)
    """
    from .linalg import norm

    x = operand(tensor, "fc", "normalize")
    size = norm(x, ord, axis_of(axis), keepdims=True)
    return x / ops.astype(size, x._data.dtype), size


# Diagonals --------------------------------------------------------------------------------------


@checked
@whole
def diag(
    diagonal: Any, name: str = "diag", k: Any = 0, num_rows: Any = -1, num_cols: Any = -1,
    padding_value: Any = 0, align: str = "RIGHT_LEFT",
) -> Any:
    """A matrix with the given k-th diagonal (k > 0: above the main one), padding_value elsewhere.

    >>> diag([1.0, 2.0]).numpy()
    array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    x, k = operand(diagonal), _one(k, "diag")
    n = x.shape[-1]
    given = num_rows != -1 or num_cols != -1
    rows = int(num_rows) if num_rows != -1 else n + (max(0, -k) if given else abs(k))
    columns = int(num_cols) if num_cols != -1 else n + (max(0, k) if given else abs(k))
    return on_diagonal(x, k, rows, columns, padding_value)


@checked
@whole
def diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """The k-th diagonal of each matrix (k > 0: above the main one).

    >>> diag_part([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([1., 4.], dtype=float32)
    """
    x, k = _matrix(input, "diag_part", "fciub"), _one(k, "diag_part")
    return _core.diagonal(x, offset=k)


@checked
@whole
def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """A matrix with its k-th diagonal replaced (k > 0: above the main one).

    >>> set_diag([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]).numpy()
    array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    x, d = matched("set_diag", input, diagonal)
    return with_diagonal(x, d, _one(k, "set_diag"))


def _one(k: Any, subject: str) -> int:
    at = shape_of(k)
    if len(at) != 1:
        raise invalid(f"argument `k` of `{subject}`", "one diagonal", f"{list(at)}")
    return int(at[0])


@checked
@whole
def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """A tensor of twice the rank, with these entries on its generalized diagonal.

    >>> tensor_diag([1.0, 2.0]).shape
    TensorShape([2, 2])
    """
    x = operand(diagonal)
    flat = diag(reshape(x, (-1,)))
    return reshape(flat, (*x.shape, *x.shape))


@checked
@whole
def tensor_diag_part(input: Any, name: str | None = None) -> Any:
    """The generalized diagonal: entries at which both halves of the index agree.

    >>> tensor_diag_part([[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([1., 4.], dtype=float32)
    """
    x = operand(input)
    lead = tuple(x.shape[: x.ndim // 2])
    n = prod(lead)
    return reshape(diag_part(reshape(x, (n, n))), lead)
