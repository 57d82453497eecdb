"""Fourier transforms, public as `pullback.fft`.

Four operations on axes of the right lengths do all the work: to and from complex spectra (`fftn`,
`ifftn`), and between real signals and half spectra (`rfftn`, `irfftn`). Padding, cutting and the
other functions are composed of them. A transform is a symmetric matrix along each axis, so `fftn`
and `ifftn` are their own transposes. `rfftn` and `irfftn` are each other's transpose up to a factor
of 2: entries of the half spectrum that have a mirror image in the other half count twice in the
signal; frequency zero and, for even lengths, the Nyquist frequency count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from ..core.cotangent import is_complex
from ..core.tensor import is_inexact
from ..errors import ArgumentError, ArgumentTypeError, DtypeError
from ..kinds.shapes import axes_of, changed, requested
from ..kinds.symbols import whole
from .complex_ import conj
from .creation import arange
from .declaring import face_of, known_as, op
from .dtypes import astype, float64
from .indexing import getitem
from .joining import concat, pad
from .operands import array_of
from .shaping import hidden_axes, roll

__all__: list[str] = []

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""norm -> the norm of the inverse transform that has the same factor."""

# The four operations ------------------------------------------------------------------------


@op(name="fftn", linear=True, shape="x")
def _fftn(xp: Any, x: Any, /, *, axes: tuple[int, ...], norm: str) -> Any:
    if len(axes) == 1:  # NumPy's 1-D transform is twice as fast
        return xp.fft.fft(x, axis=axes[0], norm=norm)
    return xp.fft.fftn(x, axes=axes, norm=norm)


@_fftn.pullback("x")
def pullback_fftn(g: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return _fftn(g, axes=axes, norm=norm)


@_fftn.batching
def batch_fftn(x: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return _fftn(x, axes=hidden_axes(axes, len(x.shape) - 1, "fftn"), norm=norm)


@op(name="ifftn", linear=True, shape="x")
def _ifftn(xp: Any, x: Any, /, *, axes: tuple[int, ...], norm: str) -> Any:
    if len(axes) == 1:
        return xp.fft.ifft(x, axis=axes[0], norm=norm)
    return xp.fft.ifftn(x, axes=axes, norm=norm)


@_ifftn.pullback("x")
def pullback_ifftn(g: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return _ifftn(g, axes=axes, norm=norm)


@_ifftn.batching
def batch_ifftn(x: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return _ifftn(x, axes=hidden_axes(axes, len(x.shape) - 1, "ifftn"), norm=norm)


@op(name="rfftn", linear=True)
def _rfftn(xp: Any, x: Any, /, *, axes: tuple[int, ...], norm: str) -> Any:
    if len(axes) == 1:
        return xp.fft.rfft(x, axis=axes[0], norm=norm)
    return xp.fft.rfftn(x, axes=axes, norm=norm)


@_rfftn.pullback("x")
def pullback_rfftn(g: Any, shape: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    n = shape[axes[-1]]
    return _irfftn(_mirrored(conj(g), 0.5, n, axes[-1]), n=n, axes=axes, norm=_SWAPPED[norm])


@_rfftn.batching
def batch_rfftn(x: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return _rfftn(x, axes=hidden_axes(axes, len(x.shape) - 1, "rfftn"), norm=norm)


@_rfftn.shaping
def shape_rfftn(x: Any, *, axes: tuple[int, ...], norm: str) -> Any:
    return changed(x, axes[-1], lambda n: n // 2 + 1, "rfftn")


@op(name="irfftn", linear=True)
def _irfftn(xp: Any, x: Any, /, *, n: int, axes: tuple[int, ...], norm: str) -> Any:
    if len(axes) == 1:
        return xp.fft.irfft(x, n=n, axis=axes[0], norm=norm)
    lengths = (*(x.shape[axis] for axis in axes[:-1]), n)
    return xp.fft.irfftn(x, s=lengths, axes=axes, norm=norm)


@_irfftn.pullback("x")
def pullback_irfftn(g: Any, *, n: int, axes: tuple[int, ...], norm: str) -> Any:
    return _mirrored(conj(_rfftn(g, axes=axes, norm=_SWAPPED[norm])), 2, n, axes[-1])


@_irfftn.batching
def batch_irfftn(x: Any, *, n: int, axes: tuple[int, ...], norm: str) -> Any:
    return _irfftn(x, n=n, axes=hidden_axes(axes, len(x.shape) - 1, "irfftn"), norm=norm)


@_irfftn.shaping
def shape_irfftn(x: Any, *, n: Any, axes: tuple[int, ...], norm: str) -> Any:
    return (*x.shape[: axes[-1]], *requested(n), *x.shape[axes[-1] + 1 :])


def _mirrored(half: Any, factor: float, n: int, axis: int) -> Any:
    """Half a spectrum of n frequencies, with a factor on the entries that have a mirror image."""

    def part(start: int, stop: int | None) -> Any:
        return getitem(half, (slice(None),) * axis + (slice(start, stop),))

    nyquist = (n + 1) // 2  # for odd n this is beyond the end
    return concat([part(0, 1), part(1, nyquist) * factor, part(nyquist, None)], axis=axis)


# Checking and fitting arguments -------------------------------------------------------------


def _known(norm: str, subject: str) -> str:
    """A valid norm."""
    if not isinstance(norm, str) or norm not in _SWAPPED:
        raise ArgumentError(
            f"argument `norm` of `{subject}`", f"one of {list(_SWAPPED)}", repr(norm)
        )
    return norm


def _number(n: Any, subject: str) -> int:
    """A valid length of a transform."""
    if not hasattr(n, "__index__"):
        raise ArgumentTypeError(f"a length in `{subject}`", "an integer", repr(n))
    if n < 1:
        raise ArgumentError(
            f"a length in `{subject}`", "1 or more", str(n), "an empty transform is not defined"
        )
    return int(n)


def _one(n: Any, subject: str) -> tuple[int, ...] | None:
    """The argument `s` equivalent to `n`."""
    return None if n is None else (_number(n, subject),)


def _axes(x: Any, s: Any, axes: Any, subject: str) -> tuple[int, ...]:
    """The axes to transform: the given ones, else the last len(s), or all."""
    if s is not None and not isinstance(s, Sequence):
        raise ArgumentTypeError(f"argument `s` of `{subject}`", "a sequence of lengths", repr(s))
    if axes is None and s is not None:
        axes = tuple(range(-len(s), 0))
    found = axes_of(axes, len(x.shape), subject)
    if not found:
        raise ArgumentError(f"`{subject}`", "at least one axis to transform", "none")
    return found


def _lengths(known: list[int], s: Any, subject: str) -> tuple[int, ...]:
    """The lengths of the transforms along their axes; -1 in `s` keeps the array's length."""
    given = (-1,) * len(known) if s is None else tuple(s)
    if len(given) != len(known):
        raise ArgumentError(
            f"argument `s` of `{subject}`", f"{len(known)} lengths, one per axis", str(given)
        )
    return tuple([
        _number(k if n == -1 else n, subject) for n, k in zip(given, known, strict=True)
    ])


def _fitted(x: Any, lengths: Sequence[int], axes: tuple[int, ...]) -> Any:
    """x cut or zero-padded at the end to a length along each of some axes."""
    cuts = [slice(None)] * len(x.shape)
    widths = [(0, 0)] * len(x.shape)
    for axis, n in zip(axes, lengths, strict=True):
        own = x.shape[axis]
        if n < own:
            cuts[axis] = slice(0, n)
        else:
            widths[axis] = (0, n - own)
    if any(cut.stop is not None for cut in cuts):
        x = getitem(x, tuple(cuts))
    return pad(x, widths) if any(after for _, after in widths) else x


def _transform(transform: Any, x: Any, s: Any, axes: Any, norm: str, subject: str) -> Any:
    """A transform of complex data, which keeps the lengths."""
    axes = _axes(x, s, axes, subject)
    lengths = _lengths([x.shape[axis] for axis in axes], s, subject)
    return transform(_fitted(x, lengths, axes), axes=axes, norm=_known(norm, subject))


def _to_half(x: Any, s: Any, axes: Any, norm: str, subject: str) -> Any:
    """The half spectrum of a real signal."""
    axes = _axes(x, s, axes, subject)
    if is_complex(x):
        raise DtypeError(
            f"`{subject}`", "real numbers", f"dtype {x.dtype}",
            "take pullback.real(x), or the full spectrum with pullback.fft.fftn",
        )
    return _transform(_rfftn, x, s, axes, norm, subject)


def _from_half(x: Any, s: Any, axes: Any, norm: str, subject: str) -> Any:
    """The real signal of a half spectrum."""
    axes = _axes(x, s, axes, subject)
    known = [x.shape[axis] for axis in axes]
    *others, n = _lengths([*known[:-1], 2 * (known[-1] - 1)], s, subject)
    x = _fitted(x, (*others, n // 2 + 1), axes)
    return _irfftn(x, n=n, axes=axes, norm=_known(norm, subject))


# In one dimension ---------------------------------------------------------------------------


@whole
def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The discrete Fourier transform Σⱼ x[j] exp(-2πi jk/n) along an axis; complex, also of real x.

    n      length of the transform: x is cut or zero-padded to it; default the length of x
    norm   the factor: "backward" is 1 here and 1/n in the inverse, "forward" the reverse,
           "ortho" 1/√n in both
    The result has the precision of x: complex64 for float32.
    Raises `ArgumentError` for a length less than 1, `PositionError` for an axis out of range.

    >>> import numpy as np
    >>> fft(np.array([1.0, 2.0, 1.0]))
    array([ 4. +0.j       , -0.5-0.8660254j, -0.5+0.8660254j])
    """
    return _transform(_fftn, array_of(x), _one(n, "fft"), (axis,), norm, "fft")


@whole
def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Σₖ x[k] exp(2πi jk/n) / n along an axis: the inverse of `fft`, with its arguments.

    >>> import numpy as np
    >>> ifft(np.array([4.0, 2.0, 0.0, 2.0]))
    array([2.+0.j, 1.+0.j, 0.+0.j, 1.+0.j])
    """
    return _transform(_ifftn, array_of(x), _one(n, "ifft"), (axis,), norm, "ifft")


@whole
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The first n // 2 + 1 entries of `fft` of real x; the others are conjugates of these.

    Raises `DtypeError` for complex x; other errors as for `fft`.

    >>> import numpy as np
    >>> rfft(np.array([1.0, 2.0, 1.0, 0.0]))
    array([4.+0.j, 0.-2.j, 0.+0.j])
    """
    return _to_half(array_of(x), _one(n, "rfft"), (axis,), norm, "rfft")


@whole
def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `rfft`: the real signal whose half spectrum is x.

    n   length of the signal, default 2 · (length - 1); x is cut or padded to n // 2 + 1 entries
    The imaginary parts at frequency zero and, for even n, at the Nyquist frequency are ignored,
    with derivative 0, because real signals have none there.

    >>> import numpy as np
    >>> irfft(np.array([4.0, -2j, 0.0]))
    array([1., 2., 1., 0.])
    """
    return _from_half(array_of(x), _one(n, "irfft"), (axis,), norm, "irfft")


@whole
def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The real spectrum of a Hermitian-symmetric signal, given the first half of the signal.

    n   length of the spectrum, default 2 · (length - 1); x is cut or padded to n // 2 + 1
    Imaginary parts that such a signal does not have are ignored, as by `irfft`.

    >>> import numpy as np
    >>> hfft(np.array([1.0, 1j, 0.0]))
    array([ 1.,  3.,  1., -1.])
    """
    back = _SWAPPED[_known(norm, "hfft")]
    return _from_half(conj(array_of(x)), _one(n, "hfft"), (axis,), back, "hfft")


@whole
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `hfft`: the first half of the signal whose spectrum is real x.

    Raises `DtypeError` for complex x.

    >>> import numpy as np
    >>> ihfft(np.array([1.0, 3.0, 1.0, -1.0]))
    array([1.-0.j, 0.+1.j, 0.-0.j])
    """
    back = _SWAPPED[_known(norm, "ihfft")]
    return conj(_to_half(array_of(x), _one(n, "ihfft"), (axis,), back, "ihfft"))


# In several dimensions ----------------------------------------------------------------------


@face_of(_fftn)
@whole
def fftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """`fft` along each of several axes.

    s      the lengths along the axes; -1 keeps the length of x
    axes   default all, or the last len(s)
    norm   as in `fft`, where n is the number of entries of one transform
    Raises `ArgumentError` for no axes, a repeated axis, or a number of lengths other than of axes.

    >>> import numpy as np
    >>> fftn(np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([[ 3.+0.j, -1.+0.j],
           [-1.+0.j,  3.+0.j]])
    """
    return _transform(_fftn, array_of(x), s, axes, norm, "fftn")


@face_of(_ifftn)
@whole
def ifftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """`ifft` along each of several axes: the inverse of `fftn`, with its arguments.

    >>> import numpy as np
    >>> ifftn(np.array([[3.0, -1.0], [-1.0, 3.0]]))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _transform(_ifftn, array_of(x), s, axes, norm, "ifftn")


@face_of(_rfftn)
@whole
def rfftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """`rfft` of real x along the last of several axes, then `fft` along the others.

    Raises `DtypeError` for complex x; other errors as for `fftn`.

    >>> import numpy as np
    >>> rfftn(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])).shape
    (2, 2)
    """
    return _to_half(array_of(x), s, axes, norm, "rfftn")


@face_of(_irfftn)
@whole
def irfftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """The inverse of `rfftn`: `ifft` along the axes before the last, then `irfft` along it.

    s   the lengths of the signal; the last defaults to 2 · (length - 1)

    >>> import numpy as np
    >>> irfftn(np.array([[3.0, -1.0], [-1.0, 3.0]]))
    array([[1., 0.],
           [0., 2.]])
    """
    return _from_half(array_of(x), s, axes, norm, "irfftn")


@known_as(numpy="fft.fftshift")
@whole
def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """x with frequency zero moved to the middle of one axis, of several, or of all.

    >>> import numpy as np
    >>> fftshift(np.array([0.0, 1.0, 2.0, -2.0, -1.0]))
    array([-2., -1.,  0.,  1.,  2.])
    """
    return _shifted(array_of(x), axes, 1, "fftshift")


@known_as(numpy="fft.ifftshift")
@whole
def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The inverse of `fftshift` (for odd lengths the two differ).

    >>> import numpy as np
    >>> ifftshift(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    array([ 0.,  1.,  2., -2., -1.])
    """
    return _shifted(array_of(x), axes, -1, "ifftshift")


def _shifted(x: Any, axes: Any, way: int, subject: str) -> Any:
    axes = axes_of(axes, len(x.shape), subject)
    return roll(x, tuple([way * (x.shape[a] // 2) for a in axes]), axis=axes) if axes else x


def fftfreq(n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the entries of `fft` of n samples with spacing d, in cycles per unit of d.

    d       a number, or a one-entry Tensor, which stays tracked
    dtype   a real floating dtype; default float64
    Raises `ArgumentError` for n < 1 and d = 0, `DtypeError` for another dtype.

    >>> fftfreq(4, d=0.5)
    Tensor([ 0. ,  0.5, -1. , -0.5])
    """
    n = _number(n, "fftfreq")
    counted = arange(-(n // 2), n - n // 2, dtype=float64, device=device)
    return _frequencies(ifftshift(counted), n, d, dtype, "fftfreq")


def rfftfreq(n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the entries of `rfft` of n samples with spacing d; none is negative.

    Arguments and errors are those of `fftfreq`.

    >>> rfftfreq(4, d=0.5)
    Tensor([0. , 0.5, 1. ])
    """
    n = _number(n, "rfftfreq")
    counted = arange(0, n // 2 + 1, dtype=float64, device=device)
    return _frequencies(counted, n, d, dtype, "rfftfreq")


def _frequencies(counted: Any, n: int, d: Any, dtype: Any, subject: str) -> Any:
    if not hasattr(d, "shape") and (not isinstance(d, Real) or not d):
        raise ArgumentError(f"argument `d` of `{subject}`", "a number other than 0", repr(d))
    made = astype(counted * (1.0 / (n * d)), float64 if dtype is None else dtype, copy=False)
    if not is_inexact(made) or is_complex(made):
        raise DtypeError(f"argument `dtype` of `{subject}`", "a real floating dtype", str(dtype))
    return made
