"""Rules of NumPy's products, and of `numpy.linalg` and `numpy.fft`."""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import reduce
from math import inf, prod
from typing import Any

import numpy

from ..composed.statistics import correlation, covariance
from ..core.cotangent import is_complex
from ..errors import ArgumentError
from .shapes import expand_dims_of
from .table import array, cast, entries, is_floating, pb, rule

# Products -----------------------------------------------------------------------------------


@rule("dot")
def dot_of(a: Any, b: Any) -> Any:
    """The product over the last axis of a and the second-to-last of b."""
    a, b = array(a), array(b)
    ranks = len(a.shape), len(b.shape)
    if 0 in ranks:
        return pb.multiply(a, b)
    if ranks[1] == 1 or max(ranks) <= 2:
        return pb.matmul(a, b)
    return pb.tensordot(a, b, axes=((ranks[0] - 1,), (ranks[1] - 2,)))


@rule("inner")
def inner_of(a: Any, b: Any, /) -> Any:
    """The product over the last axes of both."""
    a, b = array(a), array(b)
    ranks = len(a.shape), len(b.shape)
    if 0 in ranks:
        return pb.multiply(a, b)
    return pb.tensordot(a, b, axes=((ranks[0] - 1,), (ranks[1] - 1,)))


@rule("vdot")
def vdot_of(a: Any, b: Any, /) -> Any:
    """Σ conj(a) b over all entries."""
    return pb.vecdot(pb.ravel(array(a)), pb.ravel(array(b)))


@rule("outer")
def outer_of(a: Any, b: Any) -> Any:
    """Every entry of a times every entry of b."""
    return pb.outer(pb.ravel(array(a)), pb.ravel(array(b)))


@rule("kron")
def kron_of(a: Any, b: Any) -> Any:
    """The Kronecker product: each entry of a times a copy of b."""
    a, b = array(a), array(b)
    rank = max(len(a.shape), len(b.shape))
    shapes = [(*(1,) * (rank - len(x.shape)), *x.shape) for x in (a, b)]
    left = pb.reshape(a, tuple(n for m in shapes[0] for n in (m, 1)))
    right = pb.reshape(b, tuple(n for m in shapes[1] for n in (1, m)))
    return pb.reshape(left * right, tuple(m * n for m, n in zip(*shapes, strict=True)))


@rule("einsum")
def einsum_of(*operands: Any, optimize: Any = False) -> Any:
    """The Einstein summation; `optimize` is ignored, the contraction order is chosen here."""
    if isinstance(operands[0], str):
        return pb.einsum(operands[0], *operands[1:])
    arrays, axes = operands[: len(operands) // 2 * 2 : 2], operands[1::2]
    formula = ",".join(map(_letters, axes))
    if len(operands) % 2:
        formula += "->" + _letters(operands[-1])
    return pb.einsum(formula, *arrays)


def _letters(axes: Any) -> str:
    """einsum axes given as ints and `...`, converted to letters."""
    letters = string.ascii_uppercase + string.ascii_lowercase  # in numerical order
    return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)


@rule("cross")
def cross_of(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of 3-vectors."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = pb.moveaxis(array(a), axisa, -1), pb.moveaxis(array(b), axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        return NotImplemented
    return pb.moveaxis(pb.linalg.cross(a, b), -1, axisc)


@rule("linalg.multi_dot")
def multi_dot_of(arrays: Any) -> Any:
    """The product of several matrices, from left to right."""
    return reduce(pb.matmul, arrays)


@rule("cov")
def cov_of(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None,
) -> Any:
    """The covariance matrix; each row is a variable."""
    given = [array(x) for x in (m, y) if x is not None]
    if any(len(x.shape) > 2 for x in given):
        return NotImplemented
    rows = [
        x[None] if len(x.shape) < 2 else x if rowvar else pb.matrix_transpose(x) for x in given
    ]
    x = pb.concat(rows, axis=0) if len(rows) > 1 else rows[0]
    x = cast(x, pb.result_type(x.dtype, pb.float64))
    counts, shares = (None if w is None else cast(array(w), x.dtype) for w in (fweights, aweights))
    found = covariance(x, int(not bias) if ddof is None else ddof, counts, shares)
    return found[0, 0] if found.shape[0] == 1 else found


@rule("corrcoef")
def corrcoef_of(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlation coefficients; each row is a variable."""
    c = cov_of(x, y, rowvar)
    return c if c is NotImplemented else correlation(c)


# numpy.linalg -------------------------------------------------------------------------------


@rule("linalg.tensorsolve")
def tensorsolve_of(a: Any, b: Any) -> Any:
    """The solution of linear equations whose unknowns span several axes."""
    shape = tuple(a.shape[len(b.shape) :])
    flat = pb.reshape(b, (-1,))
    found = pb.linalg.solve(pb.reshape(a, (flat.shape[0], -1)), flat)
    return pb.reshape(found, shape)


@rule("linalg.tensorinv")
def tensorinv_of(a: Any, ind: int = 2) -> Any:
    """The inverse of a linear map between arrays of several axes."""
    out, into = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return pb.reshape(pb.linalg.inv(pb.reshape(a, (prod(out), -1))), into + out)


def _hermitian(a: Any, triangle: str, subject: str) -> Any:
    """The Hermitian matrix given by one triangle of a, so that the other has derivative 0.

    This is the exact derivative of NumPy's functions. Those of `pullback.linalg`, which also read
    only the lower triangle, are differentiated along Hermitian tangents.
    """
    if triangle.upper() not in ("L", "U"):
        raise ArgumentError(
            f"argument `UPLO` of numpy.linalg.{subject}", "'L' or 'U'", repr(triangle)
        )
    lower = triangle.upper() == "L"
    half = pb.tril(a, k=-1) if lower else pb.matrix_transpose(pb.conj(pb.triu(a, k=1)))
    middle = pb.real(a) if is_complex(a) else a
    eye = pb.eye(a.shape[-1], dtype=pb.bool)
    return half + pb.matrix_transpose(pb.conj(half)) + pb.where(eye, middle, 0)


@rule("linalg.cholesky")
def cholesky_of(a: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor."""
    whole = _hermitian(array(a), "U" if upper else "L", "cholesky")
    return pb.linalg.cholesky(whole, upper=upper)


@rule("linalg.eigh")
def eigh_of(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues and eigenvectors of a Hermitian matrix."""
    return pb.linalg.eigh(_hermitian(array(a), UPLO, "eigh"))


@rule("linalg.eigvalsh")
def eigvalsh_of(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of a Hermitian matrix."""
    return pb.linalg.eigvalsh(_hermitian(array(a), UPLO, "eigvalsh"))


@rule("linalg.qr")
def qr_of(a: Any, mode: str = "reduced") -> Any:
    """The QR decomposition."""
    if mode == "r":
        return pb.linalg.qr(a)[1]
    return pb.linalg.qr(a, mode=mode) if mode in ("reduced", "complete") else NotImplemented


@rule("linalg.svd")
def svd_of(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition."""
    if not compute_uv:
        return pb.linalg.svdvals(a)
    return pb.linalg.svd(a, full_matrices=full_matrices)


@rule("linalg.pinv")
def pinv_of(a: Any, rcond: Any = None, *, rtol: Any = numpy._NoValue) -> Any:
    """The pseudo-inverse; the default tolerance is NumPy's 1e-15, `rtol=None` the standard's."""
    if rtol is numpy._NoValue:
        rtol = 1e-15 if rcond is None else rcond
    elif rcond is not None:
        raise ArgumentError("numpy.linalg.pinv", "`rcond` or `rtol`", "both")
    return pb.linalg.pinv(a, rtol=rtol)


@rule("linalg.norm")
def norm_of(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors (one axis), of matrices (two axes), or of all entries."""
    x = array(x)
    x = x if is_floating(x) else cast(x, pb.float64)
    rank = len(x.shape)
    if ord is None and axis is None:
        return pb.vector_norm(x, keepdims=keepdims)
    axes = tuple(range(rank)) if axis is None else entries(axis)
    if len(axes) == 1:
        return pb.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        return NotImplemented
    if ord in (None, "fro"):
        return pb.vector_norm(x, axis=axes, keepdims=keepdims)
    found = pb.linalg.matrix_norm(pb.moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims_of(found, tuple(i % rank for i in axes)) if keepdims else found


@rule("linalg.cond")
def cond_of(x: Any, p: Any = None) -> Any:
    """The condition number: for p=None the ratio of the extreme singular values."""
    if p in (None, 2, -2):
        values = pb.linalg.svdvals(x)
        ends = values[..., 0], values[..., -1]
        above, below = ends[::-1] if p == -2 else ends
        none = below == 0
        return pb.where(none, inf, above / pb.where(none, 1, below))
    if p not in (1, -1, inf, -inf, "fro", "nuc"):
        return NotImplemented
    norm = pb.linalg.matrix_norm
    return norm(x, ord=p) * norm(pb.linalg.inv(x), ord=p)


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
