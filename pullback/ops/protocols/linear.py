"""NumPy's products, and what is in `numpy.linalg` and `numpy.fft`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import inf, prod
from typing import Any

from ...core.cotangent import is_complex
from .picking import diagonal_of
from .table import array, pb, rule

# Products -----------------------------------------------------------------------------------


@rule("dot")
def dot_of(a: Any, b: Any) -> Any:
    """The last axis of a with the last but one of b."""
    a, b = array(a), array(b)
    ranks = len(a.shape), len(b.shape)
    if 0 in ranks:
        return pb.multiply(a, b)
    if ranks[1] == 1 or max(ranks) <= 2:
        return pb.matmul(a, b)
    return pb.tensordot(a, b, axes=((ranks[0] - 1,), (ranks[1] - 2,)))


@rule("inner")
def inner_of(a: Any, b: Any, /) -> Any:
    """The last axes of both."""
    a, b = array(a), array(b)
    ranks = len(a.shape), len(b.shape)
    if 0 in ranks:
        return pb.multiply(a, b)
    return pb.tensordot(a, b, axes=((ranks[0] - 1,), (ranks[1] - 1,)))


@rule("vdot")
def vdot_of(a: Any, b: Any, /) -> Any:
    """Σ conj(a) b of all entries."""
    return pb.vecdot(pb.ravel(array(a)), pb.ravel(array(b)))


@rule("outer")
def outer_of(a: Any, b: Any) -> Any:
    """Every entry of a times every entry of b."""
    return pb.outer(pb.ravel(array(a)), pb.ravel(array(b)))


@rule("linalg.outer")
def vectors_outer_of(x1: Any, x2: Any, /) -> Any:
    """The standard's spelling."""
    return pb.outer(array(x1), array(x2))


@rule("kron")
def kron_of(a: Any, b: Any) -> Any:
    """Blocks of b, one for each entry of a, times that."""
    a, b = array(a), array(b)
    rank = max(len(a.shape), len(b.shape))
    shapes = [(*(1,) * (rank - len(x.shape)), *x.shape) for x in (a, b)]
    left = pb.reshape(a, tuple(n for m in shapes[0] for n in (m, 1)))
    right = pb.reshape(b, tuple(n for m in shapes[1] for n in (1, m)))
    return pb.reshape(left * right, tuple(m * n for m, n in zip(*shapes, strict=True)))


@rule("tensordot")
def tensordot_of(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums over axes of both."""
    if not isinstance(axes, int):
        axes = tuple([(i,) if isinstance(i, int) else tuple(i) for i in axes])
    return pb.tensordot(array(a), array(b), axes=axes)


@rule("linalg.tensordot")
def standard_tensordot_of(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The standard's spelling."""
    return tensordot_of(x1, x2, axes)


@rule("linalg.matmul")
def matmul_of(x1: Any, x2: Any, /) -> Any:
    """The product of matrices."""
    return pb.matmul(x1, x2)


@rule("linalg.vecdot")
def vecdot_of(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Σ conj(x1) x2 along an axis."""
    return pb.vecdot(array(x1), array(x2), axis=axis)


@rule("einsum")
def einsum_of(*operands: Any, optimize: Any = False) -> Any:
    """Einstein's sums; the order of several products is chosen here, whatever is asked."""
    if not isinstance(operands[0], str):
        return NotImplemented
    return pb.einsum(operands[0], *operands[1:])


@rule("cross")
def cross_of(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The vector product of vectors of three entries."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = pb.moveaxis(array(a), axisa, -1), pb.moveaxis(array(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        return NotImplemented
    (a0, a1, a2), (b0, b1, b2) = pb.unstack(a, axis=-1), pb.unstack(b, axis=-1)
    found = pb.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)
    return pb.moveaxis(found, -1, axisc)


@rule("linalg.cross")
def standard_cross_of(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The standard's spelling."""
    return cross_of(x1, x2, axis=axis)


@rule("linalg.multi_dot")
def multi_dot_of(arrays: Any) -> Any:
    """The product of several matrices, from the left."""
    return reduce(pb.matmul, arrays)


@rule("cov")
def cov_of(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """The covariances of rows."""
    rows = [
        x[None] if len(x.shape) < 2 else x if rowvar else pb.matrix_transpose(x)
        for x in [array(x) for x in (m, y) if x is not None]
    ]
    x = pb.concat(rows, axis=0) if len(rows) > 1 else rows[0]
    apart = x - pb.mean(x, axis=1, keepdims=True)
    n = x.shape[1] - (int(not bias) if ddof is None else ddof)
    found = pb.matmul(apart, pb.matrix_transpose(pb.conj(apart))) / n
    return found[0, 0] if found.shape[0] == 1 else found


@rule("corrcoef")
def corrcoef_of(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of rows."""
    c = cov_of(x, y, rowvar)
    if not len(c.shape):
        return c / c
    scale = pb.sqrt(pb.real(diagonal_of(c)))
    return c / scale[:, None] / scale[None, :]


# numpy.linalg -------------------------------------------------------------------------------


def _linalg(name: str) -> Any:
    """A function of `pullback.linalg`."""
    return getattr(pb.linalg, name)


def _matrices(numpy_name: str, name: str | None = None) -> None:
    """The rule of a function of one array, `a`."""

    def of_matrix(a: Any) -> Any:
        return _linalg(name or numpy_name)(a)

    rule(f"linalg.{numpy_name}")(of_matrix)


for _name in ("det", "inv", "slogdet", "eig", "eigvals"):
    _matrices(_name)


@rule("linalg.svdvals")
def svdvals_of(x: Any, /) -> Any:
    """The singular values."""
    return _linalg("svdvals")(x)


@rule("linalg.solve")
def solve_of(a: Any, b: Any) -> Any:
    """The solution of linear equations."""
    return pb.linalg.solve(array(a), array(b))


@rule("linalg.tensorsolve")
def tensorsolve_of(a: Any, b: Any) -> Any:
    """The solution of linear equations, the unknowns on several axes."""
    shape = tuple(a.shape[len(b.shape) :])
    flat = pb.reshape(b, (-1,))
    found = pb.linalg.solve(pb.reshape(a, (flat.shape[0], -1)), flat)
    return pb.reshape(found, shape)


@rule("linalg.tensorinv")
def tensorinv_of(a: Any, ind: int = 2) -> Any:
    """The inverse of a linear map between arrays of several axes."""
    out, into = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return pb.reshape(_linalg("inv")(pb.reshape(a, (prod(out), -1))), into + out)


@rule("linalg.cholesky")
def cholesky_of(a: Any, /, *, upper: bool = False) -> Any:
    """A triangular root."""
    return _linalg("cholesky")(a, upper=upper)


@rule("linalg.qr")
def qr_of(a: Any, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    if mode == "r":
        return _linalg("qr")(a)[1]
    return _linalg("qr")(a, mode=mode) if mode in ("reduced", "complete") else NotImplemented


def _lower(a: Any, UPLO: str) -> Any:  # noqa: N803  # NumPy's name
    """The Hermitian matrix that one triangle of a stands for."""
    half = pb.tril(a, k=-1) if UPLO == "L" else pb.matrix_transpose(pb.conj(pb.triu(a, k=1)))
    middle = pb.real(a) if is_complex(a) else a
    eye = pb.eye(a.shape[-1], dtype=pb.bool)
    return half + pb.matrix_transpose(pb.conj(half)) + pb.where(eye, middle, 0)


@rule("linalg.eigh")
def eigh_of(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues and eigenvectors of a Hermitian matrix."""
    return _linalg("eigh")(_lower(a, UPLO))


@rule("linalg.eigvalsh")
def eigvalsh_of(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of a Hermitian matrix."""
    return _linalg("eigvalsh")(_lower(a, UPLO))


@rule("linalg.svd")
def svd_of(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors."""
    if not compute_uv:
        return _linalg("svdvals")(a)
    return _linalg("svd")(a, full_matrices=full_matrices)


@rule("linalg.pinv")
def pinv_of(a: Any, rcond: Any = None, *, rtol: Any = None) -> Any:
    """The pseudo-inverse."""
    return _linalg("pinv")(a, rtol=rcond if rtol is None else rtol)


@rule("linalg.matrix_power")
def matrix_power_of(a: Any, n: int) -> Any:
    """A product of a matrix with itself."""
    return _linalg("matrix_power")(a, n)


@rule("linalg.norm")
def norm_of(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors (along one axis), of matrices (along two), of all entries."""
    x = array(x)
    rank = len(x.shape)
    if ord is None or (axis is None and rank == 1):
        return pb.vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)
    if axis is None:
        axis = tuple(range(rank))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return pb.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=ord)
    if ord == "fro":
        return pb.vector_norm(x, axis=axes, keepdims=keepdims)
    if axes not in ((rank - 2, rank - 1), (-2, -1)):
        x = pb.moveaxis(x, axes, (-2, -1))
        if keepdims:
            return NotImplemented
    return _linalg("matrix_norm")(x, keepdims=keepdims, ord=ord)


@rule("linalg.vector_norm")
def vector_norm_of(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors."""
    return pb.vector_norm(array(x), axis=axis, keepdims=keepdims, ord=ord)


@rule("linalg.matrix_norm")
def matrix_norm_of(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices."""
    return _linalg("matrix_norm")(x, keepdims=keepdims, ord=ord)


@rule("linalg.cond")
def cond_of(x: Any, p: Any = None) -> Any:
    """The ratio of the largest singular value to the smallest."""
    if p in (None, 2):
        values = _linalg("svdvals")(x)
        return values[..., 0] / values[..., -1]
    if p not in (1, -1, inf, -inf, "fro", "nuc", -2):
        return NotImplemented
    norm = _linalg("matrix_norm")
    return norm(x, ord=p) * norm(_linalg("inv")(x), ord=p)


# numpy.fft ----------------------------------------------------------------------------------


def _one_axis(name: str) -> None:
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return getattr(pb.fft, name)(a, n=n, axis=axis, norm=norm or "backward")

    rule(f"fft.{name}")(transform)


def _several_axes(name: str, axes_default: Any, target: str) -> Callable[..., Any]:
    def transform(a: Any, s: Any = None, axes: Any = axes_default, norm: Any = None) -> Any:
        return getattr(pb.fft, target)(a, s=s, axes=axes, norm=norm or "backward")

    return rule(f"fft.{name}")(transform)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _one_axis(_name)
for _name in ("fft", "ifft", "rfft", "irfft"):
    _several_axes(f"{_name}n", None, f"{_name}n")
    _several_axes(f"{_name}2", (-2, -1), f"{_name}n")


@rule("fft.fftshift")
def fftshift_of(x: Any, axes: Any = None) -> Any:
    """Frequency 0 in the middle."""
    return _shifted(x, axes, 1)


@rule("fft.ifftshift")
def ifftshift_of(x: Any, axes: Any = None) -> Any:
    """Frequency 0 in front."""
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    if axes is None:
        axes = tuple(range(len(x.shape)))
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    shift = tuple(x.shape[i] // 2 if sign > 0 else -(x.shape[i] // 2) for i in axes)
    return pb.roll(x, shift, axis=axes)
