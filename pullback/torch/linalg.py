"""`torch.linalg`: linear algebra with PyTorch's names and arguments."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from .. import linalg as _core
from .. import ops
from ..arrays.batched import Batched
from ..core.tensor import raw
from ..errors import ArgumentError
from ..errors import SingularMatrixError as LinAlgError
from ..protocols.linear import cond_of, tensorinv_of, tensorsolve_of
from .aliases import alias
from .creation import as_tensor, zeros
from .dtypes import cast, dtype_of, finfo, int32
from .errors import as_runtime, guarded
from .indexing import matmul as matmul
from .reductions import axes
from .scalars import of_scalars
from .views import diagonal as _diagonal

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "inv", "inv_ex", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]


cholesky, matrix_exp, matrix_power, inv = (
    alias(f"linalg.{name}") for name in ("cholesky", "matrix_exp", "matrix_power", "inv")
)
det, slogdet, eig, eigvals = (
    alias(f"linalg.{name}") for name in ("det", "slogdet", "eig", "eigvals")
)
cross, vecdot = alias("linalg.cross"), alias("linalg.vecdot")


class WithInfo(NamedTuple):
    """A result, and an error code that is 0."""

    result: Any
    info: Any


def _no_failure(A: Any) -> Any:
    return zeros(A.shape[:-2], dtype=int32)


def inv_ex(A: Any, *, check_errors: bool = False) -> WithInfo:
    """The inverse, and 0; raises an error for a singular matrix."""
    return WithInfo(inv(A), _no_failure(A))


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> WithInfo:
    """L, and 0; raises an error for a matrix that is not positive definite."""
    return WithInfo(cholesky(A, upper=upper), _no_failure(A))


def _triangle(A: Any, UPLO: str) -> Any:
    """A Hermitian matrix built from one triangle and the real part of the diagonal.

    The derivatives are those of a Hermitian matrix: both triangles count equally.
    """
    seen = A.detach()
    low = ops.tril(seen) if UPLO == "L" else ops.conj(ops.matrix_transpose(ops.triu(seen)))
    once = ops.real(ops.triu(low))
    return A + (low + ops.conj(ops.matrix_transpose(low)) - once - seen)


@guarded
def eigh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order, and orthonormal eigenvectors."""
    return _core.eigh(A if UPLO == "L" else _triangle(A, UPLO))


@guarded
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order."""
    return _core.eigvalsh(A if UPLO == "L" else _triangle(A, UPLO))


@guarded
def svd(A: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """U, S, Vh with A = U diag(S) Vh; singular values in descending order."""
    return _core.svd(A, full_matrices=full_matrices)


@guarded
def svdvals(A: Any, *, driver: Any = None) -> Any:
    """The singular values, in descending order."""
    return _core.svdvals(A)


@guarded
def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R, with A = Q R.

    mode  "reduced"; "complete" (square Q); "r" (an empty Q)
    """
    if mode == "r":
        return _core.qr(A)._replace(Q=ops.reshape(A, (-1,))[:0])
    return _core.qr(A, mode=mode)


@guarded
def lu(A: Any, *, pivot: bool = True) -> Any:
    """LU decomposition: P, L, U with A = P L U."""
    found = _core.lu(A)
    return found._replace(P=ops.astype(found.P, A.dtype))  # so that P @ L @ U works


@guarded
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """Solves A X = B for X; with left=False, X A = B.

    >>> import pullback.torch as torch
    >>> torch.linalg.solve(torch.eye(2) * 2, torch.tensor([2.0, 4.0]))
    tensor([1., 2.])
    """
    if not left:
        return ops.matrix_transpose(solve(ops.matrix_transpose(A), ops.matrix_transpose(B)))
    shape, given = tuple(A.shape), tuple(B.shape)
    if len(given) > 1 and given == shape[:-1]:  # a stack of vectors
        return ops.squeeze(_core.solve(A, ops.expand_dims(B, axis=-1)), axis=-1)
    return _core.solve(A, B)


@guarded
def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """Solves A X = B (left=False: X A = B) for X; reads only one triangle of A."""
    if left:
        return _core.triangular_solve(A, B, lower=not upper, unit_diagonal=unitriangular)
    back = _core.triangular_solve(
        ops.matrix_transpose(A), ops.matrix_transpose(B), lower=upper, unit_diagonal=unitriangular
    )
    return ops.matrix_transpose(back)


class Solution(NamedTuple):
    """The results of `lstsq`."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@guarded
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Solution:
    """Least squares: the X that minimizes ‖A X - B‖, and the details of the LAPACK driver.

    driver  "gelsy" (default) returns the rank; "gels" the squared residuals; "gelss" and
            "gelsd" both, and the singular values. Other fields are empty
    """
    found = _core.lstsq(A, B, rtol=rcond)
    rows, columns = A.shape[-2:]
    sizes = _core.svdvals(A.detach())
    none = sizes.new_zeros(0)
    rank = _core.matrix_rank(A)
    known = not isinstance(raw(rank), Batched)
    full = rows > columns and known and bool(ops.all(raw(rank) == columns))
    told = full and driver not in (None, "gelsy")
    gap = ops.sum(ops.square(ops.abs(matmul(A, found) - B)), axis=-2) if told else none
    if driver == "gels":
        rank = rank.new_zeros(0)
    return Solution(found, gap, rank, sizes if driver in ("gelss", "gelsd") else none)


def _tolerance(A: Any, rtol: Any, atol: Any) -> Any:
    """The larger of two tolerances, relative to the largest singular value."""
    if atol is None or 0 in A.shape:
        return rtol
    sizes = _core.svdvals(A.detach())
    if rtol is None:  # the default applies only without atol
        usual = max(A.shape[-2:]) * float(finfo(sizes.dtype).eps)
        rtol = ops.where(as_tensor(atol) > 0, 0.0, usual)
    largest = ops.max(sizes, axis=-1)
    part = as_tensor(atol) / ops.where(largest > 0, largest, 1.0)
    return ops.maximum(cast(part, sizes.dtype), cast(as_tensor(rtol), sizes.dtype))


@guarded
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None,
         atol: Any = None) -> Any:
    """The pseudo-inverse; hermitian=True reads only the lower triangles."""
    A = _triangle(A, "L") if hermitian else A
    return _core.pinv(A, rtol=_tolerance(A, rcond if rcond is not None else rtol, atol))


@guarded
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None,
                atol: Any = None) -> Any:
    """The number of singular values above the larger of the tolerances atol and rtol."""
    A = _triangle(A, "L") if hermitian else A
    return _core.matrix_rank(A, rtol=_tolerance(A, rtol, tol if tol is not None else atol))


@guarded
def multi_dot(tensors: Any) -> Any:
    """The product of several matrices; the first and the last may be vectors."""
    return reduce(matmul, tensors)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A diagonal of two axes, as the last axis: a view."""
    return _diagonal(A, offset, dim1, dim2)


@guarded
def vander(x: Any, N: int | None = None) -> Any:
    """Vandermonde matrix: the powers 0 to N - 1 of each entry, one row per entry."""
    x = x if x.shape else ops.reshape(x, (1,))
    count = x.shape[-1] if N is None else N
    powers = [ops.ones_like(x), *[x**i for i in range(1, count)]]
    return ops.stack(powers[:count], axis=-1)


# Norms ----------------------------------------------------------------------------------------


@guarded
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Vector norm (Σ |x|^ord)^(1/ord) over all or the given axes. Its derivative at 0 is 0."""
    return _vector_norm(cast(x, dtype_of(dtype)), axes(dim), keepdim, ord)


@of_scalars
def _vector_norm(x: Any, axis: Any, keepdims: bool, ord: Any) -> Any:
    return ops.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


@guarded
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Matrix norm: "fro", "nuc", or an operator norm ±1, ±2, ±inf."""
    rank = len(A.shape)
    first, second = (d % rank for d in dim)
    moved = ops.moveaxis(cast(A, dtype_of(dtype)), (first, second), (-2, -1))
    found = _core.matrix_norm(moved, ord=ord)
    return ops.expand_dims(found, axis=tuple(sorted((first, second)))) if keepdim else found


@guarded
def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A vector norm or, for two axes with an order, a matrix norm.

    >>> import pullback.torch as torch
    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if isinstance(dim, int) or (dim is not None and len(dim) == 1) or (
        dim is None and len(A.shape) == 1
    ):
        return vector_norm(A, ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


@guarded
def cond(A: Any, p: Any = None) -> Any:
    """The condition number ‖A‖ ‖A⁻¹‖, of the 2-norm if p is None."""
    found = cond_of(A, p)
    if found is NotImplemented:
        raise as_runtime(ArgumentError("argument `p` of `cond`", "the order of a norm", repr(p)))
    return found


# Tensors as linear maps -----------------------------------------------------------------------


@guarded
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a linear map from its last axes to its first `ind` axes."""
    return tensorinv_of(A, ind)


@guarded
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """Solves `tensordot(A, X, X.ndim) = B` for X."""
    if dims is not None:
        A = ops.moveaxis(A, tuple(dims), tuple(range(len(A.shape) - len(dims), len(A.shape))))
    return tensorsolve_of(A, B)
