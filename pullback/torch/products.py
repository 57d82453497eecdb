"""More matrix products and matrix functions; also tensor methods."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from .. import linalg as _core
from .. import ops
from ..core.tensor import raw
from ..errors import ArgumentError, ShapeError
from ..protocols.linear import kron_of
from . import linalg
from .errors import as_runtime, guarded
from .indexing import _axes, bmm, dot, mm, mv, outer
from .linalg import cholesky as _cholesky
from .linalg import det as det
from .linalg import inv as inverse
from .linalg import matrix_exp as matrix_exp
from .linalg import matrix_power as matrix_power
from .linalg import pinv as pinverse
from .linalg import slogdet as slogdet

__all__ = [
    "addbmm", "addmv", "addr", "cdist", "chain_matmul", "cholesky", "cholesky_inverse",
    "cholesky_solve", "cross", "det", "dist", "ger", "inverse", "kron", "logdet", "matrix_exp",
    "matrix_power", "pinverse", "qr", "renorm", "slogdet", "svd", "vdot",
]

ger = outer


def _mixed(input: Any, product: Any, beta: float, alpha: float) -> Any:
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · input + alpha · mat @ vec."""
    return _mixed(input, mv(mat, vec), beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · input + alpha · the outer product of vec1 and vec2."""
    return _mixed(input, outer(vec1, vec2), beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta · input + alpha · Σ batch1[i] @ batch2[i]."""
    return _mixed(input, ops.sum(bmm(batch1, batch2), axis=0), beta, alpha)


@guarded
def vdot(input: Any, other: Any) -> Any:
    """The dot product of two vectors; the first is conjugated."""
    _axes("vdot", (input, 1), (other, 1))
    return dot(ops.conj(input), other)


@guarded
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross products of 3-vectors, along the first axis of length 3."""
    if dim is None:
        found = [i for i, n in enumerate(input.shape) if n == 3]
        if not found:
            raise ShapeError("`cross`", "an axis of length 3", f"shape {tuple(input.shape)}")
        dim = found[0] - len(input.shape)
    return _core.cross(input, other, axis=dim)


@guarded
def kron(input: Any, other: Any) -> Any:
    """Kronecker product: each entry of input times all of other.

    >>> import pullback.torch as torch
    >>> torch.kron(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([ 1., 10.,  2., 20.])
    """
    return kron_of(input, other)


def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices."""
    return reduce(mm, matrices)


@guarded
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of input - other."""
    return ops.vector_norm(input - other, ord=float(p))


@guarded
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    """Pairwise distances: the p-norms of differences of rows; the derivative at 0 is 0.

    >>> import pullback.torch as torch
    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    gap = ops.expand_dims(x1, axis=-2) - ops.expand_dims(x2, axis=-3)
    return ops.vector_norm(gap, axis=-1, ord=float(p))


@guarded
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Scales slices along an axis with a larger p-norm down to `maxnorm`."""
    others = tuple(d for d in range(len(input.shape)) if d != dim % len(input.shape))
    size = ops.vector_norm(input, axis=others, ord=float(p), keepdims=True)
    return input * ops.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


# Matrix functions -----------------------------------------------------------------------------


@guarded
def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN if a real determinant is negative."""
    sign, size = _core.slogdet(input)
    if input.dtype.kind == "c":
        return ops.log(sign) + size
    return ops.where(sign < 0, float("nan"), size)


def cholesky(input: Any, upper: bool = False) -> Any:
    """Cholesky factor: lower triangular L with input = L Lᴴ, or U with input = Uᴴ U."""
    return _cholesky(input, upper=upper)


@guarded
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:
    """Solves A X = input for X, given the Cholesky factor L of A."""
    low = ops.conj(ops.matrix_transpose(L)) if upper else L
    back = ops.conj(ops.matrix_transpose(low))
    return _core.triangular_solve(back, _core.triangular_solve(low, input, lower=True))


@guarded
def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of A, given its Cholesky factor L."""
    unit = ops.eye(L.shape[-1], dtype=L.dtype)
    return cholesky_solve(ops.broadcast_to(raw(unit), tuple(L.shape)), L, upper)


class USV(NamedTuple):
    """The factors of a singular value decomposition."""

    U: Any
    S: Any
    V: Any


@guarded
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S, V with input = U diag(S) Vᴴ."""
    if not compute_uv:
        raise as_runtime(ArgumentError(
            "argument `compute_uv` of `svd`", "True", "False", "use torch.linalg.svdvals"
        ))
    u, s, vh = _core.svd(input, full_matrices=not some)
    return USV(u, s, ops.conj(ops.matrix_transpose(vh)))


def qr(input: Any, some: bool = True) -> Any:
    """Q with orthonormal columns and upper triangular R, with input = Q R."""
    return linalg.qr(input, "reduced" if some else "complete")


