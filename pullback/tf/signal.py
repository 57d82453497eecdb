"""`tf.signal`: Fourier transforms over the last axes, frames and windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import fft as _core
from ..composed.frames import cosine_window, frames, overlapping_sum
from ..core.tensor import raw, wrap
from ..kinds.symbols import whole
from .convert import axis_of, checked, operand, shape_of
from .dtypes import array_dtype
from .errors import invalid
from .tensor import Tensor

__all__ = [
    "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "ifft",
    "ifft2d", "ifft3d", "ifftshift", "irfft", "irfft2d", "irfft3d", "overlap_and_add", "rfft",
    "rfft2d", "rfft3d",
]


def _complex(name: str, core: str, count: int) -> Callable[..., Any]:
    function = getattr(_core, core)

    def call(input: Any, name: str | None = None) -> Any:
        x = _with_axes(operand(input, "c", call.__name__), count, call.__name__)
        return function(x, axes=tuple(range(-count, 0)))

    return _named(call, name, core, count)


def _real(name: str, core: str, count: int) -> Callable[..., Any]:
    function, kinds = getattr(_core, core), "f" if core == "rfftn" else "c"

    def call(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Any:
        x = _with_axes(operand(input_tensor, kinds, call.__name__), count, call.__name__)
        lengths = None if fft_length is None else shape_of(fft_length)
        return function(x, s=lengths, axes=tuple(range(-count, 0)))

    return _named(call, name, core, count)


def _named(call: Any, name: str, core: str, count: int) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    over = "the last axis" if count == 1 else f"the last {count} axes"
    call.__doc__ = f"The Fourier transform over {over}; see `pullback.fft.{core}`."
    return checked(call)


def _with_axes(x: Any, count: int, subject: str) -> Any:
    if x.ndim < count:
        raise invalid(f"`{subject}`", f"{count} axes or more", f"shape {x.shape}")
    return x


fft, fft2d, fft3d = (_complex(n, "fftn", i + 1) for i, n in enumerate(("fft", "fft2d", "fft3d")))
ifft, ifft2d, ifft3d = (
    _complex(n, "ifftn", i + 1) for i, n in enumerate(("ifft", "ifft2d", "ifft3d"))
)
rfft, rfft2d, rfft3d = (
    _real(n, "rfftn", i + 1) for i, n in enumerate(("rfft", "rfft2d", "rfft3d"))
)
irfft, irfft2d, irfft3d = (
    _real(n, "irfftn", i + 1) for i, n in enumerate(("irfft", "irfft2d", "irfft3d"))
)


@checked
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """Moves the zero frequency from the start to the middle, along the given axes or all.

    >>> fftshift([0.0, 1.0, 2.0, 3.0]).numpy()
    array([2., 3., 0., 1.], dtype=float32)
    """
    return _core.fftshift(operand(x), axes=axis_of(axes))


@checked
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Any:
    """The inverse of `fftshift`.

    >>> ifftshift([2.0, 3.0, 0.0, 1.0]).numpy()
    array([0., 1., 2., 3.], dtype=float32)
    """
    return _core.ifftshift(operand(x), axes=axis_of(axes))


# Frames and windows ---------------------------------------------------------------------------


@checked
@whole
def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0,
    axis: int = -1, name: str | None = None,
) -> Any:
    """Splits an axis into frames that may overlap: the axis becomes (frames, frame_length).

    pad_end  pad with pad_value at the end, so that a frame begins at every step

    >>> frame([1.0, 2.0, 3.0, 4.0], 2, 1).shape
    TensorShape([3, 2])
    """
    x, length, step = operand(signal), int(raw(frame_length)), int(raw(frame_step))
    return frames(x, length, step, axis, raw(pad_value) if pad_end else None)


@checked
@whole
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Adds overlapping frames (…, frames, frame_length), shifted by frame_step each.

    >>> overlap_and_add([[1.0, 1.0], [1.0, 1.0]], 1).numpy()
    array([1., 2., 1.], dtype=float32)
    """
    return overlapping_sum(operand(signal), int(raw(frame_step)))


def hann_window(
    window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Hann window: (1 - cos(2π i / n)) / 2.

    >>> hann_window(2).numpy()
    array([0., 1.], dtype=float32)
    """
    return _cosine(window_length, periodic, dtype, 0.5)


def hamming_window(
    window_length: Any, periodic: bool = True, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Hamming window: 0.54 - 0.46 cos(2π i / n).

    >>> hamming_window(2).numpy()
    array([0.08, 1.  ], dtype=float32)
    """
    return _cosine(window_length, periodic, dtype, 0.54)


def _cosine(length: Any, periodic: bool, dtype: Any, mean: float) -> Any:
    found = cosine_window(int(raw(length)), mean, periodic)
    return wrap(Tensor, found.astype(array_dtype(dtype)))
