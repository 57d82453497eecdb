"""`torch.fft`: Fourier transforms with PyTorch's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import fft as _core
from .. import ops
from ..core.tensor import is_inexact, raw
from .creation import made
from .dtypes import floating, get_default_dtype
from .errors import guarded

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]


def _line(operation: Callable[..., Any], name: str) -> Any:
    """A transform over one axis."""
    def call(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return operation(floating(input), n=n, axis=dim, norm=norm or "backward")

    call.__doc__ = (operation.__doc__ or "").partition("\n")[0]
    return guarded(call, name)


def _grid(operation: Callable[..., Any], name: str, usual: Any) -> Any:
    """A transform over several axes: by default all, or the last two."""
    def call(input: Any, s: Any = None, dim: Any = usual, norm: str | None = None) -> Any:
        if isinstance(dim, int):
            dim = (dim,)
        if s is not None and dim is None:
            dim = tuple(range(-len(s), 0))
        rank = len(input.shape)
        along = dim if dim is not None else range(rank)
        if s is not None and -1 in s:
            s = [input.shape[d] if n == -1 else n for n, d in zip(s, along, strict=True)]
        return operation(floating(input), s=s, axes=tuple(along), norm=norm or "backward")

    call.__doc__ = (operation.__doc__ or "").partition("\n")[0]
    return guarded(call, name)


fft, ifft = _line(_core.fft, "fft"), _line(_core.ifft, "ifft")
rfft, irfft = _line(_core.rfft, "rfft"), _line(_core.irfft, "irfft")
hfft, ihfft = _line(_core.hfft, "hfft"), _line(_core.ihfft, "ihfft")
fftn, ifftn = _grid(_core.fftn, "fftn", None), _grid(_core.ifftn, "ifftn", None)
rfftn, irfftn = _grid(_core.rfftn, "rfftn", None), _grid(_core.irfftn, "irfftn", None)
fft2, ifft2 = _grid(_core.fftn, "fft2", (-2, -1)), _grid(_core.ifftn, "ifft2", (-2, -1))
rfft2, irfft2 = _grid(_core.rfftn, "rfft2", (-2, -1)), _grid(_core.irfftn, "irfft2", (-2, -1))


def _frequencies(of: Any, name: str) -> Any:
    def call(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Any:
        return made(raw(of(n, d=d, dtype=dtype or get_default_dtype())), requires_grad)

    call.__name__ = name
    call.__doc__ = f"The sample frequencies of `{name[:-4]}` for n samples with spacing d."
    return call


fftfreq = _frequencies(_core.fftfreq, "fftfreq")
rfftfreq = _frequencies(_core.rfftfreq, "rfftfreq")


@guarded
def fftshift(input: Any, dim: Any = None) -> Any:
    """Moves the zero frequency to the middle."""
    return _core.fftshift(input, axes=dim) if is_inexact(input) else _turned(input, dim, 1)


@guarded
def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _core.ifftshift(input, axes=dim) if is_inexact(input) else _turned(input, dim, -1)


def _turned(input: Any, dim: Any, sign: int) -> Any:
    along = range(len(input.shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    shifts = [input.shape[d] // 2 if sign > 0 else -(input.shape[d] // 2) for d in along]
    return ops.roll(input, tuple(shifts), axis=tuple(along))
