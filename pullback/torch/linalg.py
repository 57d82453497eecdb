"""`torch.linalg`: linear algebra in PyTorch's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, prod
from typing import Any, NamedTuple

import numpy

from .. import linalg as _core
from .. import ops
from ..core.tensor import raw, wrap
from ..errors import ArgumentError
from ..errors import SingularMatrixError as LinAlgError
from .creation import as_tensor
from .dtypes import cast
from .errors import as_runtime, guarded
from .indexing import matmul as matmul
from .reductions import axes
from .scalars import of_scalars
from .tensor import Tensor
from .views import diagonal as _diagonal

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "inv", "inv_ex", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]


def _same(operation: Callable[..., Any], name: str) -> Any:
    """A function of one tensor that is called as the core's."""
    def call(A: Any) -> Any:
        return operation(A)

    call.__doc__ = (operation.__doc__ or "").partition("\n")[0]
    return guarded(call, name)


det, slogdet, inv = (_same(getattr(_core, n), n) for n in ("det", "slogdet", "inv"))
eig, eigvals, matrix_exp = (
    _same(getattr(_core, o), n) for o, n in
    (("eig", "eig"), ("eigvals", "eigvals"), ("expm", "matrix_exp"))
)


class WithInfo(NamedTuple):
    """A result and an integer that is 0 where it could be computed."""

    result: Any
    info: Any


def _no_failure(A: Any) -> Any:
    return wrap(Tensor, numpy.zeros(tuple(A.shape[:-2]), numpy.int32))


def inv_ex(A: Any, *, check_errors: bool = False) -> WithInfo:
    """The inverse, and 0; what has none is an error."""
    return WithInfo(inv(A), _no_failure(A))


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> WithInfo:
    """L, and 0; a matrix that is not positive definite is an error."""
    return WithInfo(cholesky(A, upper=upper), _no_failure(A))


@guarded
def cholesky(A: Any, *, upper: bool = False) -> Any:
    """L, lower triangular, of positive definite A = L Lᴴ; or U with A = Uᴴ U.

    >>> import pullback.torch as torch
    >>> torch.linalg.cholesky(torch.eye(2) * 4)
    tensor([[2., 0.],
            [0., 2.]])
    """
    return _core.cholesky(A, upper=upper)


def _triangle(A: Any, UPLO: str) -> Any:
    """A Hermitian matrix of which one triangle is to be read, and of its diagonal the real part.

    Derivatives are those of a matrix that is Hermitian, with no difference between its triangles.
    """
    seen = A.detach()
    low = ops.tril(seen) if UPLO == "L" else ops.conj(ops.matrix_transpose(ops.triu(seen)))
    once = ops.where(numpy.eye(A.shape[-1], dtype=bool), ops.real(low), 0.0)
    return A + (low + ops.conj(ops.matrix_transpose(low)) - once - seen)


@guarded
def eigh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, in rising order, and orthonormal eigenvectors."""
    return _core.eigh(A if UPLO == "L" else _triangle(A, UPLO))


@guarded
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, in rising order."""
    return _core.eigvalsh(A if UPLO == "L" else _triangle(A, UPLO))


@guarded
def svd(A: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """U, S, Vh with A = U diag(S) Vh, the singular values falling."""
    return _core.svd(A, full_matrices=full_matrices)


@guarded
def svdvals(A: Any, *, driver: Any = None) -> Any:
    """The singular values, falling."""
    return _core.svdvals(A)


@guarded
def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, an upper triangle, with A = Q R."""
    return _core.qr(A, mode=mode)


@guarded
def lu(A: Any, *, pivot: bool = True) -> Any:
    """P, L, U with A = P L U."""
    found = _core.lu(A)
    return found._replace(P=ops.astype(found.P, A.dtype))  # to be multiplied with the others


@guarded
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B; or, not left, with X A = B.

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
    """X with A X = B, of which one triangle of A is read; or, not left, with X A = B."""
    if left:
        return _core.triangular_solve(A, B, lower=not upper, unit_diagonal=unitriangular)
    back = _core.triangular_solve(
        ops.matrix_transpose(A), ops.matrix_transpose(B), lower=upper, unit_diagonal=unitriangular
    )
    return ops.matrix_transpose(back)


class Solution(NamedTuple):
    """What `lstsq` finds."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@guarded
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Solution:
    """The X for which ‖A X - B‖ is smallest, and what else each of LAPACK's drivers tells.

    driver  "gelsy", where None is given: the rank; "gels": the squared residuals; "gelss" or
            "gelsd": both, and the singular values. What is not told is empty
    """
    found = _core.lstsq(A, B, rtol=rcond)
    rows, columns = A.shape[-2:]
    sizes = _core.svdvals(A.detach())
    none = sizes.new_zeros(0)
    rank = _core.matrix_rank(A)
    known = isinstance(raw(rank), (numpy.ndarray, numpy.generic))  # not inside vmap
    full = rows > columns and known and bool(numpy.all(raw(rank) == columns))
    told = full and driver not in (None, "gelsy")
    gap = ops.sum(ops.square(ops.abs(matmul(A, found) - B)), axis=-2) if told else none
    if driver == "gels":
        rank = rank.new_zeros(0)
    return Solution(found, gap, rank, sizes if driver in ("gelss", "gelsd") else none)


def _tolerance(A: Any, rtol: Any, atol: Any) -> Any:
    """What the larger of two tolerances is, relative to the largest singular value."""
    sizes = _core.svdvals(A.detach())
    if atol is None or not sizes.numel():
        return rtol
    if rtol is None:  # which then counts only where there is no other
        usual = max(A.shape[-2:]) * float(numpy.finfo(sizes.dtype).eps)
        rtol = ops.where(as_tensor(atol) > 0, 0.0, usual)
    largest = ops.max(sizes, axis=-1)
    part = as_tensor(atol) / ops.where(largest > 0, largest, 1.0)
    return ops.maximum(cast(part, sizes.dtype), cast(as_tensor(rtol), sizes.dtype))


@guarded
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None,
         atol: Any = None) -> Any:
    """The pseudo-inverse; of the lower triangles of Hermitian matrices, if they are such."""
    A = _triangle(A, "L") if hermitian else A
    return _core.pinv(A, rtol=_tolerance(A, rcond if rcond is not None else rtol, atol))


@guarded
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None,
                atol: Any = None) -> Any:
    """How many singular values are above the larger of two tolerances, one of them relative."""
    A = _triangle(A, "L") if hermitian else A
    return _core.matrix_rank(A, rtol=_tolerance(A, rtol, tol if tol is not None else atol))


@guarded
def matrix_power(A: Any, n: int) -> Any:
    """A multiplied with itself, n factors; for n < 0 those of the inverse."""
    return _core.matrix_power(A, n)


@guarded
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector products of vectors of three along an axis."""
    return _core.cross(input, other, axis=dim)


@guarded
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The products of vectors along an axis, the first conjugated."""
    return ops.vecdot(x, y, axis=dim)


@guarded
def multi_dot(tensors: Any) -> Any:
    """The product of several matrices, of which the first and the last may be vectors."""
    return reduce(matmul, tensors)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The entries on a diagonal of two axes, as the last axis: a view."""
    return _diagonal(A, offset, dim1, dim2)


@guarded
def vander(x: Any, N: int | None = None) -> Any:
    """The powers from 0 to N - 1 of each entry, a row for each."""
    x = x if x.shape else ops.reshape(x, (1,))
    count = x.shape[-1] if N is None else N
    powers = [ops.ones_like(x), *[x**i for i in range(1, count)]]
    return ops.stack(powers[:count], axis=-1)


# Norms ----------------------------------------------------------------------------------------


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else ops.astype(x, numpy.dtype(dtype))


@guarded
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """(Σ |x|^ord)^(1/ord) over all axes, or some. The derivative at 0 is 0."""
    return _vector_norm(_cast(x, dtype), axes(dim), keepdim, ord)


@of_scalars
def _vector_norm(x: Any, axis: Any, keepdims: bool, ord: Any) -> Any:
    return ops.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


@guarded
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of matrices: "fro", "nuc", or ±1, ±2, ±inf for that of their operator."""
    rank = len(A.shape)
    first, second = (d % rank for d in dim)
    moved = ops.moveaxis(_cast(A, dtype), (first, second), (-2, -1))
    found = _core.matrix_norm(moved, ord=ord)
    return ops.expand_dims(found, axis=tuple(sorted((first, second)))) if keepdim else found


@guarded
def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A vector's norm or, for two axes with an order, a matrix's.

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
    """How much errors grow in solving with a matrix: ‖A‖ ‖A⁻¹‖, of the 2-norm if p is None."""
    if p in (None, 2, -2):
        s = _core.svdvals(A)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    if p not in ("fro", "nuc", 1, -1, inf, -inf):
        raise as_runtime(ArgumentError("argument `p` of `cond`", "the order of a norm", repr(p)))
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


# Tensors as matrices --------------------------------------------------------------------------


@guarded
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a map from its last axes to its first `ind`."""
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    return ops.reshape(inv(ops.reshape(A, (prod(first), prod(last)))), (*last, *first))


@guarded
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with `tensordot(A, X, X.ndim) = B`."""
    if dims is not None:
        A = ops.moveaxis(A, tuple(dims), tuple(range(len(A.shape) - len(dims), len(A.shape))))
    shape = tuple(A.shape[len(B.shape) :])
    square = ops.reshape(A, (-1, prod(shape)))
    return ops.reshape(solve(square, ops.reshape(B, (-1,))), shape)
