"""PyTorch: kernels of linear algebra and Fourier transforms; failures in the library's words.

Special functions that PyTorch has not are SciPy's, on the CPU: `by_numpy`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import Tensor

from ..errors import ConvergenceError, PullbackError, ShapeError, SingularMatrixError
from . import adapters
from .torch_dtypes import inexact, matched


def _matrices(x: Any, who: str, *, square: bool, argument: str = "x") -> Any:
    """x as floats, if it is a matrix or a stack of them."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(
            f"argument `{argument}` of `{who}`", f"{kind}, on the last two axes",
            f"shape {tuple(x.shape)}",
        )
    return inexact(x)


def _singular(who: str, x: Any) -> PullbackError:
    return SingularMatrixError(
        f"`{who}`", "matrices that have an inverse", f"a singular one among shape {tuple(x.shape)}",
        "add a small multiple of the identity, or use least squares",
    )


def solve(x1: Any, x2: Any) -> Any:
    """The solution of x1 @ x = x2.

    Raises `SingularMatrixError`, and `ShapeError` for what is not square.
    """
    x1, x2 = matched(x1, x2)
    x1, x2 = _matrices(x1, "solve", square=True, argument="x1"), inexact(x2)
    vector = x2.ndim == 1
    x2 = x2[:, None] if vector else x2
    if x2.ndim < x1.ndim:  # which PyTorch might take for a stack of vectors
        x2 = x2[(None,) * (x1.ndim - x2.ndim)]
    try:
        out = torch.linalg.solve(x1, x2)
    except torch.linalg.LinAlgError:
        raise _singular("solve", x1) from None
    return out[..., 0] if vector else out


def inv(x: Any) -> Any:
    """The inverse of x; raises `SingularMatrixError`."""
    x = _matrices(x, "inv", square=True)
    try:
        return torch.linalg.inv(x)
    except torch.linalg.LinAlgError:
        raise _singular("inv", x) from None


def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
    """The solution of a @ x = b; raises `SingularMatrixError` for a 0 on the diagonal."""
    a, b = matched(a, b)
    if not unit_diagonal and not torch.diagonal(a, dim1=-2, dim2=-1).all():
        raise _singular("triangular_solve", a)
    return torch.linalg.solve_triangular(a, b, upper=not lower, unitriangular=unit_diagonal)


def expm(x: Any) -> Any:
    """The exponential of x."""
    return torch.linalg.matrix_exp(_matrices(x, "expm", square=True))


def cholesky(x: Any, upper: bool) -> Any:
    """The triangular factor; raises `SingularMatrixError` where there is none."""
    x = _matrices(x, "cholesky", square=True)
    try:
        return torch.linalg.cholesky(x, upper=upper)
    except torch.linalg.LinAlgError:
        raise SingularMatrixError(
            "`cholesky`", "positive definite matrices", f"another one among shape {tuple(x.shape)}",
            "add a small multiple of the identity, or use eigh",
        ) from None


def lu(x: Any) -> Any:
    """P, L and U with x = P @ L @ U; P real."""
    x = _matrices(x, "lu", square=False)
    p, low, up = torch.linalg.lu(x)
    return torch.real(p).contiguous(), low, up


def _told(name: str, *, square: bool) -> Callable[..., Any]:
    """PyTorch's function of a name; what LAPACK gives up on is a `ConvergenceError`."""
    function = getattr(torch.linalg, name)

    def kernel(x: Any, **attrs: Any) -> Any:
        x = _matrices(x, name, square=square)
        try:
            found = function(x, **attrs)
        except RuntimeError as error:
            finite = bool(torch.isfinite(x).all())
            raise ConvergenceError(
                f"`{name}`", "matrices with finite entries",
                str(error).partition("\n")[0] if finite else "entries that are NaN or infinite",
            ) from None
        return found if isinstance(found, Tensor) else tuple(found)

    return kernel


def _fourier(name: str) -> Callable[..., Any]:
    """A Fourier transform, of which PyTorch refuses those of no examples."""
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
    """NumPy's kernel of an operation, on the memory of a tensor on the CPU, else on a copy."""
    kernel = adapters[numpy.ndarray].kernel(name, numpy.ndarray)
    adapter = adapters[Tensor]

    def call(*args: Any, **attrs: Any) -> Any:
        device = next(a.device for a in args if isinstance(a, Tensor))
        given = [adapter.numpy(a) if isinstance(a, Tensor) else a for a in args]
        return torch.as_tensor(numpy.asarray(kernel(*given, **attrs)), device=device)

    return call


KERNELS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (cholesky, expm, inv, lu, solve, triangular_solve)},
    **{name: _fourier(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _told(name, square=True) for name in ("eig", "eigh", "eigvalsh")},
    **{name: _told(name, square=False) for name in ("qr", "svd", "svdvals")},
}
