"""PyTorch: linear algebra and Fourier transforms, with the library's error messages.

Special functions that PyTorch lacks are computed by SciPy on the CPU: `by_numpy`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import Tensor

from .. import adapters
from ..matrices import check_matrices, check_right_side, diverged, indefinite, singular
from .dtypes import inexact, matched


def _floats(x: Any, subject: str, *, square: bool = False, argument: str = "x") -> Any:
    """x as floats; checks that it is a matrix or a stack of matrices."""
    check_matrices(x.shape, subject, square=square, argument=argument)
    return inexact(x)


def solve(x1: Any, x2: Any) -> Any:
    """The solution of x1 @ x = x2.

    Raises `SingularMatrixError`, and `ShapeError` for shapes that are not square or do not match.
    """
    x1, x2 = matched(x1, x2)
    x1, x2 = _floats(x1, "solve", square=True, argument="x1"), inexact(x2)
    check_right_side(x1.shape[-1], x2.shape, "solve", "x2")
    vector = x2.ndim == 1
    x2 = x2[:, None] if vector else x2
    if x2.ndim < x1.ndim:  # PyTorch could read this as a stack of vectors
        x2 = x2[(None,) * (x1.ndim - x2.ndim)]
    try:
        out = torch.linalg.solve(x1, x2)
    except torch.linalg.LinAlgError:
        raise singular("solve", x1.shape) from None
    return out[..., 0] if vector else out


def inv(x: Any) -> Any:
    """The inverse of x; raises `SingularMatrixError`."""
    x = _floats(x, "inv", square=True)
    try:
        return torch.linalg.inv(x)
    except torch.linalg.LinAlgError:
        raise singular("inv", x.shape) from None


def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
    """The solution of a @ x = b; raises `SingularMatrixError` for a 0 on the diagonal."""
    a, b = matched(a, b)
    a, b = inexact(a), inexact(b)
    if not unit_diagonal and not torch.diagonal(a, dim1=-2, dim2=-1).all():
        raise singular("triangular_solve", a.shape)
    return torch.linalg.solve_triangular(a, b, upper=not lower, unitriangular=unit_diagonal)


def expm(x: Any) -> Any:
    """The exponential of x."""
    return torch.linalg.matrix_exp(_floats(x, "expm", square=True))


def cholesky(x: Any, upper: bool) -> Any:
    """The Cholesky factor; raises `SingularMatrixError` unless x is positive definite."""
    x = _floats(x, "cholesky", square=True)
    try:
        return torch.linalg.cholesky(x, upper=upper)
    except torch.linalg.LinAlgError:
        raise indefinite(x.shape) from None


def lu(x: Any) -> Any:
    """P, L and U with x = P @ L @ U; P is real."""
    x = _floats(x, "lu")
    p, low, up = torch.linalg.lu(x)
    return torch.real(p).contiguous(), low, up


def _checked(name: str, *, square: bool = False) -> Callable[..., Any]:
    """PyTorch's function of this name; raises `ConvergenceError` if LAPACK fails."""
    function = getattr(torch.linalg, name)

    def kernel(x: Any, **attrs: Any) -> Any:
        x = _floats(x, name, square=square)
        try:
            found = function(x, **attrs)
        except RuntimeError as error:
            text = str(error).partition("\n")[0]
            raise diverged(name, bool(torch.isfinite(x).all()), text) from None
        return found if isinstance(found, Tensor) else tuple(found)

    return kernel


def pinv(x: Any, rtol: Any) -> Any:
    """The pseudo-inverse; `rtol` can come from any library."""
    return _pinv(x, rtol=None if rtol is None else torch.as_tensor(rtol, device=x.device))


_pinv = _checked("pinv")


def _fourier(name: str) -> Callable[..., Any]:
    """A Fourier transform; PyTorch itself rejects empty batches."""
    function = getattr(torch.fft, name)

    def kernel(x: Any, *, axes: tuple[int, ...], norm: str, n: int | None = None) -> Any:
        lengths = [x.shape[axis] for axis in axes]
        if n is not None:
            lengths[-1] = n
        if x.numel() or not all(lengths):
            x = inexact(x)
            return function(x, dim=axes, norm=norm) if n is None else function(
                x, lengths, dim=axes, norm=norm
            )
        shape = list(x.shape)
        if name == "rfftn":
            shape[axes[-1]] = lengths[-1] // 2 + 1
        elif n is not None:
            shape[axes[-1]] = n
        dtype = inexact(x).dtype
        dtype = dtype.to_real() if name == "irfftn" else dtype.to_complex()
        return x.new_zeros(shape, dtype=dtype)

    return kernel


def by_numpy(name: str) -> Callable[..., Any]:
    """NumPy's kernel of an operation, on the memory of a CPU tensor, else on a copy."""
    kernel = adapters[numpy.ndarray].kernel(name, numpy.ndarray)
    adapter = adapters[Tensor]

    def call(*args: Any, **attrs: Any) -> Any:
        device = next(a.device for a in args if isinstance(a, Tensor))
        given = [adapter.numpy(a) if isinstance(a, Tensor) else a for a in args]
        return torch.as_tensor(numpy.asarray(kernel(*given, **attrs)), device=device)

    return call


KERNELS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (cholesky, expm, inv, lu, pinv, solve, triangular_solve)},
    **{name: _fourier(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _checked(name, square=True) for name in ("det", "eig", "eigh", "eigvalsh", "slogdet")},
    **{name: _checked(name) for name in ("qr", "svd", "svdvals")},
}
