"""CuPy: linear algebra and Fourier transforms, with the library's error messages.

CuPy checks the status of a factorization only on request, because this waits for the GPU. These
kernels request it: a singular matrix is an error, as on the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy

from ...errors import ConvergenceError, ShapeError, SingularMatrixError
from .kernels import compat


def _matrices(x: Any, subject: str, *, square: bool, argument: str = "x") -> Any:
    """Checks that x is a matrix or a stack of matrices; converts integers to float64."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(
            f"argument `{argument}` of `{subject}`", f"{kind}, on the last two axes",
            f"shape {x.shape}",
        )
    return x if x.dtype.kind in "fc" else x.astype(numpy.float64)


def _singular(subject: str, x: Any) -> SingularMatrixError:
    return SingularMatrixError(
        f"`{subject}`", "matrices that have an inverse", f"a singular one among shape {x.shape}",
        "add a small multiple of the identity, or use least squares",
    )


def _stacks(a: Any, b: Any) -> tuple[Any, Any]:
    """Matrices a and b with a common dtype and common leading axes."""
    dtype = cupy.result_type(a, b)
    lead = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return tuple([
        cupy.broadcast_to(x, (*lead, *x.shape[-2:])).astype(dtype, copy=False) for x in (a, b)
    ])


def solve(x1: Any, x2: Any) -> Any:
    """The solution of x1 @ x = x2.

    Raises `SingularMatrixError`, and `ShapeError` unless x1 is square.
    """
    x1 = _matrices(x1, "solve", square=True, argument="x1")
    vector = x2.ndim == 1
    a, b = _stacks(x1, x2[:, None] if vector else x2)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{x1.shape[-1]} rows of x1, {b.shape[-2]} of x2")
    try:
        with cupyx.errstate(linalg="raise"):
            found = cupy.linalg.solve(a, b)
    except numpy.linalg.LinAlgError:
        raise _singular("solve", x1) from None
    return found[..., 0] if vector else found


def inv(x: Any) -> Any:
    """The inverse of x; raises `SingularMatrixError`."""
    x = _matrices(x, "inv", square=True)
    try:
        with cupyx.errstate(linalg="raise"):
            return cupy.linalg.inv(x)
    except numpy.linalg.LinAlgError:
        raise _singular("inv", x) from None


def cholesky(x: Any, upper: bool) -> Any:
    """The Cholesky factor; raises `SingularMatrixError` unless x is positive definite."""
    x = _matrices(x, "cholesky", square=True)
    try:
        with cupyx.errstate(linalg="raise"):
            return compat.linalg.cholesky(x, upper=upper)
    except numpy.linalg.LinAlgError:
        raise SingularMatrixError(
            "`cholesky`", "positive definite matrices", f"another one among shape {x.shape}",
            "add a small multiple of the identity, or use eigh",
        ) from None


def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
    """The solution of a @ x = b; raises `SingularMatrixError` for a 0 on the diagonal."""
    from cupyx.scipy.linalg import solve_triangular

    if not unit_diagonal and not cupy.diagonal(a, axis1=-2, axis2=-1).all():
        raise _singular("triangular_solve", a)
    a, b = _stacks(_matrices(a, "triangular_solve", square=True, argument="a"), b)
    if not a.size or not b.size:
        return cupy.zeros(b.shape, b.dtype)
    return solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal, check_finite=False)


def _each(function: Callable[..., Any], x: Any) -> list[Any]:
    """The results of a function of one matrix for each matrix of a stack."""
    return [function(matrix) for matrix in x.reshape(-1, *x.shape[-2:])]


def _stacked(parts: list[Any], x: Any) -> Any:
    return cupy.stack(parts).reshape(*x.shape[:-2], *parts[0].shape)


def expm(x: Any) -> Any:
    """The matrix exponential of x, one matrix at a time."""
    from cupyx.scipy.linalg import expm

    x = _matrices(x, "expm", square=True)
    if not x.size:
        return x.copy()
    return expm(x) if x.ndim == 2 else _stacked(_each(expm, x), x)


def lu(x: Any) -> tuple[Any, ...]:
    """P, L and U with x = P @ L @ U, one matrix at a time; P is real."""
    from cupyx.scipy.linalg import lu

    x = _matrices(x, "lu", square=False)
    *stack, m, n = x.shape
    if not x.size:
        k, real = min(m, n), x.real.dtype
        return tuple([
            cupy.broadcast_to(cupy.eye(*shape, dtype=dtype), (*stack, *shape)).copy()
            for shape, dtype in (((m, m), real), ((m, k), x.dtype), ((k, n), x.dtype))
        ])
    if x.ndim == 2:
        return tuple(lu(x))
    return tuple([_stacked(list(parts), x) for parts in zip(*_each(lu, x), strict=True)])


def _checked(name: str, *, square: bool) -> Callable[..., Any]:
    """A function of the standard; raises `ConvergenceError` if the GPU library fails."""
    function = getattr(compat.linalg, name)

    def kernel(x: Any, **attrs: Any) -> Any:
        x = _matrices(x, name, square=square)
        try:
            with cupyx.errstate(linalg="raise"):
                return function(x, **attrs)
        except numpy.linalg.LinAlgError as error:
            finite = bool(cupy.isfinite(x).all())
            raise ConvergenceError(
                f"`{name}`", "matrices with finite entries",
                str(error) if finite else "entries that are NaN or infinite",
            ) from None

    return kernel


_eig = _checked("eig", square=True)


def eig(x: Any) -> Any:
    """Eigenvalues and eigenvectors; always complex."""
    w, v = _eig(x)
    dtype = cupy.result_type(w.dtype, numpy.complex64)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def _fourier(name: str) -> Callable[..., Any]:
    """A Fourier transform; CuPy itself rejects empty batches."""
    function = getattr(compat.fft, name)

    def kernel(x: Any, *, axes: tuple[int, ...], norm: str, n: int | None = None) -> Any:
        lengths = [x.shape[axis] for axis in axes]
        if n is not None:
            lengths[-1] = n
        if x.size or not all(lengths):
            return function(x, axes=axes, norm=norm) if n is None else function(
                x, s=lengths, axes=axes, norm=norm
            )
        shape = list(x.shape)
        if name == "rfftn":
            shape[axes[-1]] = lengths[-1] // 2 + 1
        elif n is not None:
            shape[axes[-1]] = n
        narrow = x.dtype.char in "fF"
        return cupy.zeros(shape, _EMPTY[name == "irfftn", narrow])

    return kernel


_EMPTY = {(True, True): "f", (True, False): "d", (False, True): "F", (False, False): "D"}


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors; 0 for vectors without entries."""
    count = math.prod(x.shape) if axis is None else math.prod([
        x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))
    ])
    if not count:
        return cupy.sum(abs(x), axis=axis, keepdims=keepdims)
    return compat.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


KERNELS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (
        cholesky, eig, expm, inv, lu, solve, triangular_solve, vector_norm,
    )},
    **{name: _fourier(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _checked(name, square=True) for name in ("eigh", "eigvalsh")},
    **{name: _checked(name, square=False) for name in ("qr", "svd", "svdvals")},
}
