"""Rules of NumPy's elementwise functions, ufuncs and others, as short compositions."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy

from ..arrays import SCALARS
from ..composed.calculus import slopes, strips
from ..composed.elementwise import fmod, logaddexp2, nan_to_num
from ..core.cotangent import is_complex
from ..core.tensor import raw
from ..errors import ArgumentError, ShapeError
from .table import array, cast, cast_if_it_fits, entries, is_floating, pb, rule

# Ufuncs -------------------------------------------------------------------------------------


def _float_power(x1: Any, x2: Any) -> Any:
    x1, x2 = array(x1), array(x2)
    dtype = pb.complex128 if is_complex(x1) or is_complex(x2) else pb.float64
    return pb.pow(cast(x1, dtype), cast(x2, dtype))


def _divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    return pb.floor_divide(x1, x2), pb.remainder(x1, x2)


def _modf(x: Any) -> tuple[Any, Any]:
    """The fractional part, with derivative 1, and the integral part, with derivative 0."""
    finite = pb.where(pb.isinf(x), 0, x)
    return finite - pb.trunc(finite), pb.trunc(x)


def _heaviside(x1: Any, x2: Any) -> Any:
    """0 for x1 < 0, x2 for x1 = 0, 1 for x1 > 0; the derivative in x1 is 0, also at 0."""
    return pb.where(x1 == 0, x2, (pb.sign(x1) + 1) / 2)


def _fmax(x1: Any, x2: Any) -> Any:
    x1, x2 = array(x1), array(x2)
    larger = pb.maximum(x1, x2)
    return pb.where(pb.isnan(x1), x2, pb.where(pb.isnan(x2), x1, larger))


def _fmin(x1: Any, x2: Any) -> Any:
    x1, x2 = array(x1), array(x2)
    smaller = pb.minimum(x1, x2)
    return pb.where(pb.isnan(x1), x2, pb.where(pb.isnan(x2), x1, smaller))


def _ldexp(x1: Any, x2: Any) -> Any:
    """x1 · 2**x2, as two factors, because 2**x2 alone may overflow or underflow."""
    x1, x2 = array(x1), array(x2)
    x1 = x1 if is_floating(x1) else cast(x1, pb.float64)
    half = x2 // 2
    return x1 * pb.exp2(cast(half, x1.dtype)) * pb.exp2(cast(x2 - half, x1.dtype))


def _degrees(x: Any) -> Any:
    return x * (180 / pi)


def _radians(x: Any) -> Any:
    return x * (pi / 180)


def _matvec(x1: Any, x2: Any) -> Any:
    return pb.matmul(x1, pb.expand_dims(x2, -1))[..., 0]


def _vecmat(x1: Any, x2: Any) -> Any:
    return pb.matmul(pb.expand_dims(pb.conj(x1), -2), x2)[..., 0, :]


COMPOSED = {
    "deg2rad": _radians, "degrees": _degrees, "divmod": _divmod, "float_power": _float_power,
    "fmax": _fmax, "fmin": _fmin, "fmod": fmod, "heaviside": _heaviside, "ldexp": _ldexp,
    "logaddexp2": logaddexp2, "matvec": _matvec, "modf": _modf, "rad2deg": _degrees,
    "radians": _radians, "vecmat": _vecmat,
}
"""ufunc -> its composition of operations, if it is not an operation itself."""

# Functions ----------------------------------------------------------------------------------


@rule("where")
def where_of(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; with only a condition, its nonzero indices."""
    if x is None and y is None:
        return pb.nonzero(condition)
    return pb.where(condition, x, y)


@rule("clip")
def clip_of(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    """a clamped to bounds."""
    return pb.clip(a, a_min if min is None else min, a_max if max is None else max)


@rule("select")
def select_of(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each entry, the choice of the first condition that holds."""
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        default = pb.where(condition, choice, default)
    return default


@rule("round", "around")
def round_of(a: Any, decimals: int = 0) -> Any:
    """a rounded to `decimals` decimal places; its derivative is 0."""
    if decimals == 0 or (decimals > 0 and not is_floating(a)):
        return pb.round(a)
    if not is_floating(a):
        return NotImplemented
    if decimals < 0:
        return pb.round(a / 10.0**-decimals) * 10.0**-decimals
    return pb.round(a * 10.0**decimals) / 10.0**decimals


@rule("angle")
def angle_of(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers."""
    found = pb.angle(z)
    return found * (180 / pi) if deg else found


@rule("real")
def real_of(val: Any) -> Any:
    """The real part; real arrays unchanged."""
    return pb.real(val) if is_complex(val) else val


@rule("imag")
def imag_of(val: Any) -> Any:
    """The imaginary part; 0 for real arrays."""
    return pb.imag(val) if is_complex(val) else pb.zeros_like(val)


@rule("sinc")
def sinc_of(x: Any) -> Any:
    """sin(πx) / πx, and 1 at 0."""
    return pb.special.sinc(x if is_floating(x) else cast(x, pb.float64))


@rule("i0")
def i0_of(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    return pb.special.i0(x if is_floating(x) else cast(x, pb.float64))


@rule("nan_to_num")
def nan_to_num_of(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with NaN and infinities replaced by numbers, where the derivative is 0."""
    if not copy or is_complex(x):
        return NotImplemented
    return nan_to_num(x, nan, posinf, neginf) if is_floating(x) else x


@rule("interp")
def interp_of(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None
) -> Any:
    """Piecewise linear interpolation; at a data point, the derivative is the slope on its right."""
    x, xp, fp = pb.asarray(x), array(xp), array(fp)
    last = xp.shape[0] - 1
    if last < 1:
        return NotImplemented
    flat = pb.reshape(x, (-1,))
    i = pb.clip(pb.searchsorted(raw(xp), raw(flat), side="right") - 1, 0, last - 1)
    left_x, right_x, left_f, right_f = (pb.take(a, i + j) for a in (xp, fp) for j in (0, 1))
    width = right_x - left_x
    width = pb.where(width == 0, 1, width)  # 0 for the last point, whose value is used directly
    found = left_f + (right_f - left_f) / width * (flat - left_x)
    found = pb.where(flat < xp[0], fp[0] if left is None else left, found)
    found = pb.where(flat > xp[last], fp[last] if right is None else right, found)
    found = pb.where(flat == xp[last], fp[last], found)
    return pb.reshape(found, tuple(x.shape))


@rule("polyval")
def polyval_of(p: Any, x: Any) -> Any:
    """The value of the polynomial with these coefficients, the highest degree first."""
    x, p = array(x), array(p)
    found = pb.zeros_like(x)
    for i in range(p.shape[0]):
        found = found * x + p[i]
    return found


@rule("vander")
def vander_of(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803  # NumPy's
    """The Vandermonde matrix: one column per power of x."""
    powers = numpy.arange(x.shape[0] if N is None else N)
    return pb.pow(x[:, None], powers if increasing else powers[::-1])


@rule("trapezoid")
def trapezoid_of(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    return pb.sum(strips(array(y), None if x is None else array(x), dx, axis), axis=axis)


@rule("diff")
def diff_of(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of neighbours."""
    a, ends = array(a), []
    shape = [*a.shape]
    shape[axis] = 1
    for end in (prepend, append):
        if end is not None and not getattr(end, "shape", ()):
            end = pb.broadcast_to(pb.asarray(end), tuple(shape))
        ends.append(end)
    return pb.diff(a, axis=axis, n=n, prepend=ends[0], append=ends[1])


@rule("ediff1d")
def ediff1d_of(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of the flattened array."""
    found = pb.diff(pb.ravel(array(ary)))
    ends = [
        None if e is None else cast_if_it_fits("ediff1d", pb.ravel(array(e)), found.dtype)
        for e in (to_begin, to_end)
    ]
    parts = [part for part in (ends[0], found, ends[1]) if part is not None]
    return pb.concat(parts) if len(parts) > 1 else found


@rule("gradient")
def gradient_of(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """The gradient by finite differences, second-order accurate inside, along axes.

    `varargs` is one spacing for all axes or one per axis: a number, or coordinates along the axis.
    """
    f = array(f)
    f = f if is_floating(f) else cast(f, pb.float64)
    axes = tuple(range(len(f.shape))) if axis is None else entries(axis)
    spacings = varargs if len(varargs) > 1 else (varargs or (1.0,)) * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        return NotImplemented
    found = [_sloped(f, d, i, edge_order) for d, i in zip(spacings, axes, strict=True)]
    return found[0] if len(axes) == 1 else tuple(found)


def _sloped(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    y, n = pb.moveaxis(f, axis, 0), f.shape[axis]
    if n < edge_order + 1:
        raise ShapeError(
            "numpy.gradient", f"at least {edge_order + 1} samples along axis {axis}", str(n)
        )
    spacing = spacing if isinstance(spacing, SCALARS) else array(spacing)
    known = isinstance(spacing, SCALARS) or not spacing.shape
    gaps = spacing * numpy.ones(n - 1) if known else pb.diff(spacing)
    gaps = pb.reshape(gaps, (n - 1, *(1,) * (len(y.shape) - 1)))
    return pb.moveaxis(cast(slopes(y, gaps, edge_order), y.dtype), 0, axis)


@rule("linspace")
def linspace_of(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:
    """Evenly spaced numbers; start and stop may be arrays."""
    steps = num - 1 if endpoint else num
    if dtype is not None or (retstep and steps < 1):
        return NotImplemented
    steps = max(steps, 1)
    start, stop = (x if isinstance(x, SCALARS) else array(x) for x in (start, stop))
    step = (stop - start) / steps
    at = numpy.reshape(numpy.arange(num), (-1, *(1,) * len(step.shape)))
    found = start + step * cast(pb.asarray(at), step.dtype)
    if endpoint:  # make the last number exact
        found = pb.where(at == steps, stop, found)
    found = pb.moveaxis(found, 0, axis)
    return (found, step) if retstep else found


@rule("logspace")
def logspace_of(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, *,
    axis: int = 0,
) -> Any:
    """base ** linspace(start, stop, num)."""
    if len(array(base).shape):
        return NotImplemented
    found = linspace_of(start, stop, num, endpoint, axis=axis)
    return found if found is NotImplemented else pb.pow(base, found)


@rule("convolve")
def convolve_of(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution Σ a[k] v[n - k] of two vectors."""
    a, v = array(a), array(v)
    if len(v.shape) and len(a.shape) and v.shape[0] > a.shape[0]:
        a, v = v, a
    if len(a.shape) != 1 or len(v.shape) != 1 or mode not in ("full", "same", "valid"):
        return NotImplemented
    n, k = a.shape[0], v.shape[0]
    full = pb.conv1d(a[None, None], pb.flip(v)[None, None], padding=k - 1)[0, 0]
    if mode == "full":
        return full
    start, length = ((k - 1) // 2, n) if mode == "same" else (k - 1, n - k + 1)
    return full[start : start + length]


@rule("correlate")
def correlate_of(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation Σ a[n + k] conj(v[k]) of two vectors."""
    a, v = array(a), array(v)
    if len(v.shape) != 1 or len(a.shape) != 1:
        return NotImplemented
    if v.shape[0] > a.shape[0]:
        return pb.flip(pb.conj(convolve_of(v, pb.flip(pb.conj(a)), mode)))
    return convolve_of(a, pb.flip(pb.conj(v)), mode)


@rule("bincount")
def bincount_of(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The sum of the weights of each integer, or its number of occurrences."""
    if weights is None:
        return NotImplemented
    places = raw(array(x))
    if numpy.any(places < 0):
        raise ArgumentError("argument `x` of numpy.bincount", "no negative numbers", str(places))
    length = int(numpy.max(places, initial=-1)) + 1
    weights = cast(array(weights), pb.float64)
    return pb.add_at(pb.zeros(max(length, minlength)), weights, places)
