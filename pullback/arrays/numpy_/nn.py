"""NumPy: kernels of neural operations where a plain formula would be slow or would warn.

Each has the name, arguments and meaning of its operation in `ops`, and takes arrays or NumPy
scalars. Pooling never copies padded windows: for each position in the window, `_taps` pairs the
entries of the input with those of the output. Convolutions are in `convolutions`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy import errstate, maximum

_Sizes = tuple[int, ...]
_Index = tuple[Any, ...]

# Activations --------------------------------------------------------------------------------


class _Zeros(dict[Any, Any]):
    """dtype -> a zero of this dtype; a Python 0 would be converted in each call."""

    def __missing__(self, dtype: Any) -> Any:
        self[dtype] = zero = numpy.zeros((), dtype)
        return zero


_zeros = _Zeros()
_BITS = {
    char: numpy.dtype(f"i{numpy.dtype(char).itemsize}") for char in "efdihlq"
}
"""Type of a number -> the integer type of the same width."""


class _ZeroRows(dict[Any, Any]):
    """dtype -> a row of zeros that fits into the L1 cache.

    `maximum` of two arrays is vectorized, `maximum` of an array and a number is not. From about
    10,000 entries on, a loop over rows takes two thirds of the time; below, it costs more.
    """

    def __missing__(self, dtype: Any) -> Any:
        row = self[dtype] = numpy.zeros(8192, dtype)
        return row


_zero_rows = _ZeroRows()


def relu(x: Any) -> Any:
    """max(x, 0)."""
    n = x.size
    if n < 6000 or x.__class__ is not numpy.ndarray or not x.flags.c_contiguous:
        return maximum(x, _zeros[x.dtype])
    row = _zero_rows[x.dtype]
    length = row.size
    out = numpy.empty_like(x)
    flat, result = x.reshape(-1), out.reshape(-1)
    for start in range(0, n, length):
        part = flat[start : start + length]
        maximum(part, row[: part.size], out=result[start : start + length])
    return out


def gate(x: Any, control: Any) -> Any:
    """x where control is not ≤ 0, else 0."""
    off = control <= 0
    if x.shape != off.shape or not off.shape:
        return numpy.where(off, _zeros[x.dtype], x)
    if off.size < 1000:
        kept = numpy.array(x)
        kept[off] = 0
        return kept
    return _select(x, numpy.logical_not(off, out=off))


def larger_share(x: Any, x1: Any, x2: Any) -> Any:
    """x where x1 is not less than x2, half of it where they tie, else 0."""
    less, ties = numpy.less(x1, x2), numpy.equal(x1, x2)
    if getattr(x, "shape", ()) != numpy.shape(less) or numpy.size(less) < 1000:
        return numpy.where(less, _zeros[x.dtype], numpy.where(ties, x / 2, x))
    found = _select(x, numpy.logical_not(less, out=less))
    if ties.any():
        numpy.divide(found, 2, out=found, where=ties)
    return found


def _select(x: Any, mask: Any) -> Any:
    """x where mask, else 0; overwrites mask.

    `numpy.where` branches at every entry: for large arrays and a random mask it takes 8 x longer.
    """
    bits = _BITS.get(x.dtype.char)
    if bits is None:
        return numpy.where(mask, x, _zeros[x.dtype])
    ones = mask.view(numpy.int8)
    ones = numpy.negative(ones, out=ones).astype(bits)  # all bits set, or none
    return numpy.bitwise_and(ones, x.view(bits), out=ones).view(x.dtype)


def where(condition: Any, x1: Any, x2: Any) -> Any:
    """x1 where the condition holds, else x2; `_select` says why it avoids `numpy.where`."""
    shape = getattr(condition, "shape", ())
    if math.prod(shape) < 20_000 or condition.dtype != numpy.bool:
        return numpy.where(condition, x1, x2)
    if x2.__class__ is int and x2 == 0 and getattr(x1, "shape", ()) == shape:
        return _select(x1, condition.copy())
    if x1.__class__ is int and x1 == 0 and getattr(x2, "shape", ()) == shape:
        return _select(x2, ~condition)
    same = getattr(x1, "dtype", 1) == getattr(x2, "dtype", 2) and x1.shape == x2.shape == shape
    bits = _BITS.get(x1.dtype.char) if same else None
    if bits is None:
        return numpy.where(condition, x1, x2)
    other = x2.view(bits)
    return (_select(x1.view(bits) ^ other, condition.copy()) ^ other).view(x1.dtype)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)); also right where exp is infinite."""
    with errstate(over="ignore"):
        power = numpy.exp(-_inexact(x))
    if power.size < 1000:
        return 1 / (1 + power)
    power += 1
    return numpy.divide(1, power, out=power)


def softmax(x: Any, axis: int) -> Any:
    """exp(x) / Σ exp(x), in one buffer."""
    x = _inexact(x)
    powers = numpy.asarray(x - _finite_max(x, axis))
    numpy.exp(powers, out=powers)
    total = powers.sum(axis=axis, keepdims=True)
    total[total == 0] = 1
    powers /= total
    return powers


def logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    """log Σ exp(x), with one buffer."""
    x = _inexact(x)
    axes = tuple(range(x.ndim)) if axis is None else axis
    largest = _finite_max(x, axes)
    powers = numpy.asarray(x - largest)
    numpy.exp(powers, out=powers)
    with errstate(divide="ignore"):
        total = numpy.log(powers.sum(axis=axes, keepdims=True)) + largest
    return total if keepdims else numpy.squeeze(total, axes)[()]


def _finite_max(x: Any, axis: Any) -> Any:
    """The maximum (for complex numbers, of the real parts); 0 where it is infinite."""
    x = x.real if x.dtype.kind == "c" else x
    largest = numpy.asarray(x.max(axis=axis, keepdims=True, initial=-numpy.inf))
    largest[~numpy.isfinite(largest)] = 0
    return largest


def _inexact(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else numpy.asarray(x, numpy.float64)


# Losses and normalization -------------------------------------------------------------------


def cross_entropy_slope(logits: Any, targets: Any, axis: int, label_smoothing: float) -> Any:
    """softmax(logits) - q, in one buffer; see the operation for q."""
    slope = softmax(logits, axis)
    share = label_smoothing / logits.shape[axis] if label_smoothing else 0.0
    if targets.dtype.kind == "f":
        q = targets * (1 - label_smoothing) + share if label_smoothing else targets
        slope *= q.sum(axis=axis, keepdims=True)
        slope -= q
        return slope
    at = numpy.expand_dims(targets, axis)
    hit = numpy.take_along_axis(slope, at, axis) - (1 - label_smoothing)
    numpy.put_along_axis(slope, at, hit, axis)
    if share:
        slope -= share
    return slope


def normalise(x: Any, axes: _Sizes, eps: float, centred: bool) -> Any:
    """(x - mean) / √(variance + eps), or x / √(mean square + eps), in one buffer and a half."""
    if not x.size:
        return numpy.array(x)
    out = x - x.mean(axis=axes, keepdims=True) if centred else numpy.array(x)
    square = numpy.square(out).mean(axis=axes, keepdims=True)
    out /= numpy.sqrt(square + eps)
    return out


# Windows ------------------------------------------------------------------------------------


def _axis_overlap(
    size: int, outs: int, position: int, stride: int, before: int
) -> tuple[slice, slice]:
    """The entries of the input, and of the output, that meet at a position in the window."""
    shift = position - before
    first = max(0, -(shift // stride))
    last = min(outs, (size - 1 - shift) // stride + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    start = first * stride + shift
    return slice(start, (last - 1) * stride + shift + 1, stride), slice(first, last)


def _taps(sizes: _Sizes, outs: _Sizes, windows: Any) -> Iterator[tuple[_Sizes, _Index, _Index]]:
    """For each position in the window: the position, the input index and the output index."""
    per_axis = [
        [_axis_overlap(size, out, k * apart, stride, before) for k in range(length)]
        for size, out, length, stride, (before, _), apart in zip(
            sizes, outs, *windows, strict=True
        )
    ]
    for position in itertools.product(*map(range, windows.lengths)):
        pairs = [overlaps[k] for overlaps, k in zip(per_axis, position, strict=True)]
        yield position, (..., *(p[0] for p in pairs)), (..., *(p[1] for p in pairs))


# Pooling ------------------------------------------------------------------------------------


def sum_pool(x: Any, windows: Any) -> Any:
    """The sum of each window."""
    lead, sizes = x.shape[:2], x.shape[2:]
    total = numpy.zeros((*lead, *windows.outs(sizes)), x.dtype)
    for _, at_x, at_out in _taps(sizes, total.shape[2:], windows):
        total[at_out] += x[at_x]
    return total


def sum_pool_adjoint(g: Any, windows: Any, sizes: _Sizes) -> Any:
    """Adds each entry of g to all positions of its window."""
    total = numpy.zeros((*g.shape[:2], *sizes), g.dtype)
    for _, at_x, at_out in _taps(sizes, g.shape[2:], windows):
        total[at_x] += g[at_out]
    return total


def max_pool(x: Any, windows: Any) -> Any:
    """The largest entry of each window."""
    lead, sizes = x.shape[:2], x.shape[2:]
    least = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
    out = numpy.full((*lead, *windows.outs(sizes)), least, x.dtype)
    for _, at_x, at_out in _taps(sizes, out.shape[2:], windows):
        maximum(out[at_out], x[at_x], out=out[at_out])
    return out


def _firsts(x: Any, out: Any, windows: Any) -> Iterator[tuple[_Index, _Index, Any]]:
    """For each position in the window: the windows whose first maximum it is."""
    free = numpy.ones(out.shape, numpy.bool)
    for _, at_x, at_out in _taps(x.shape[2:], out.shape[2:], windows):
        less = x[at_x] < out[at_out]  # false for NaN: the window's first entry counts
        first = numpy.greater(free[at_out], less, out=less)
        free[at_out] ^= first
        yield at_x, at_out, first


def max_pool_scatter(g: Any, x: Any, out: Any, windows: Any) -> Any:
    """Adds each entry of g at the first maximum of its window."""
    total = numpy.zeros(x.shape, g.dtype)
    for at_x, at_out, first in _firsts(x, out, windows):
        total[at_x] += _select(g[at_out], first)
    return total


def max_pool_gather(h: Any, x: Any, out: Any, windows: Any) -> Any:
    """The entry of h at the first maximum of each window of x."""
    total = numpy.zeros(out.shape, h.dtype)
    for at_x, at_out, first in _firsts(x, out, windows):
        total[at_out] += _select(h[at_x], first)
    return total


KERNELS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        cross_entropy_slope, gate, larger_share, logsumexp, max_pool, max_pool_gather,
        max_pool_scatter, normalise, relu, sigmoid, softmax, sum_pool, sum_pool_adjoint, where,
    )
}
