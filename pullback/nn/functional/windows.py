"""1-D to 3-D convolution, pooling and patches: x is (examples, channels, *lengths)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ... import ops
from ...arrays.batched import moved_to
from ...core.tensor import raw
from ...errors import ArgumentError, ShapeError
from ...ops.convolution import _convolved, one_per_axis, windows_of
from ...ops.pooling import max_pool, sum_pool

__all__ = [
    "adaptive_avg_pool", "adaptive_max_pool", "avg_pool", "conv3d", "conv_transpose1d", "fold",
    "lp_pool", "max_pool_nd", "unfold",
]


def conv3d(
    x: Any, w: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    """3-D convolution of x (n, c, *three lengths) with w (o, c / groups, *window).

    The arguments are those of `pullback.conv2d`.

    >>> import numpy as np
    >>> float(conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2)))[0, 0, 0, 0, 0])
    8.0
    """
    return _convolved(x, w, bias, stride, padding, dilation, groups, "conv3d", 3)


def conv_transpose1d(
    x: Any, w: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:
    """The transpose of `conv1d` in its input; arguments as for `conv_transpose2d`.

    >>> import numpy as np
    >>> conv_transpose1d(np.ones((1, 1, 2)), np.ones((1, 1, 2)), stride=2)
    array([[[1., 1., 1., 1.]]])
    """
    (s,), (p,), (e,), (d,) = (
        one_per_axis(v, 1, least, name, "conv_transpose1d") for v, least, name in (
            (stride, 1, "stride"), (padding, 0, "padding"), (output_padding, 0, "output_padding"),
            (dilation, 1, "dilation"),
        )
    )
    out = ops.conv_transpose2d(
        ops.expand_dims(x, axis=2), ops.expand_dims(w, axis=2), bias, stride=(1, s),
        padding=(0, p), output_padding=(0, e), dilation=(1, d), groups=groups,
    )
    return ops.squeeze(out, axis=2)


# Pools --------------------------------------------------------------------------------------


def _pool(
    x: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, subject: str
) -> Any:
    """The windows of a pool over all axes but two; `ceil` adds a window that exceeds the end."""
    d = len(x.shape) - 2
    lengths = one_per_axis(window, d, 1, "window", subject)
    strides = lengths if stride is None else one_per_axis(stride, d, 1, "stride", subject)
    apart = one_per_axis(dilation, d, 1, "dilation", subject)
    ends = one_per_axis(padding, d, 0, "padding", subject)
    for p, n in zip(ends, lengths, strict=True):
        if 2 * p > n:
            raise ArgumentError(
                f"argument `padding` of `{subject}`", "at most half the window", f"{p} for {n}"
            )
    pairs = []
    sizes = tuple(x.shape[2:])
    for size, n, s, a, p in zip(sizes, lengths, strides, apart, ends, strict=True):
        room = size + 2 * p - a * (n - 1) - 1
        count = -(-room // s) + 1 if ceil else room // s + 1
        if ceil and (count - 1) * s >= size + p:
            count -= 1  # a window must start in the input or in the padding before it
        pairs.append((p, p + max(0, (count - 1) * s - room)))
    return windows_of(sizes, lengths, strides, tuple(pairs), apart, subject)


def max_pool_nd(
    x: Any, window: Any, *, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """Max pooling along all axes except the first two.

    window, stride, padding, dilation  one int, or one per axis; the default stride is the window,
                                       and padding is -∞
    ceil_mode  add a last window that exceeds the end

    The first of several equal maxima receives the cotangent.

    >>> import numpy as np
    >>> max_pool_nd(np.array([[[1.0, 3.0, 2.0]]]), 2, ceil_mode=True)
    array([[[3., 2.]]])
    """
    return max_pool(x, windows=_pool(x, window, stride, padding, dilation, ceil_mode, "max_pool"))


def avg_pool(
    x: Any, window: Any, *, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor: int | None = None,
) -> Any:
    """Average pooling along all axes except the first two.

    count_include_pad  whether padding counts in the mean; entries beyond the padding never do
    divisor            divide by this number instead

    >>> import numpy as np
    >>> avg_pool(np.array([[[1.0, 3.0, 2.0]]]), 2, ceil_mode=True)
    array([[[2., 2.]]])
    """
    windows = _pool(x, window, stride, padding, 1, ceil_mode, "avg_pool")
    total = sum_pool(x, windows=windows)
    if divisor is not None:
        return total / divisor
    plain = not any(after != before for before, after in windows.padding)
    if plain and (count_include_pad or not any(before for before, _ in windows.padding)):
        return total / math.prod(windows.lengths)
    counts = numpy.ones(())
    for size, n, s, (before, after) in zip(x.shape[2:], *windows[:3], strict=True):
        entries = numpy.zeros(before + size + after)
        low, high = (0, size + 2 * before) if count_include_pad else (before, before + size)
        entries[low:high] = 1
        starts = range(0, len(entries) - n + 1, s)
        counts = counts[..., None] * numpy.array([entries[i : i + n].sum() for i in starts])
    return total / _beside(counts, x)


def lp_pool(
    x: Any, p: float, window: Any, *, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """(Σ xᵖ)^(1/p) of each window; where the sum is 0, value and gradient are 0.

    >>> import numpy as np
    >>> lp_pool(np.array([[[3.0, 4.0]]]), 2.0, 2)
    array([[[5.]]])
    """
    windows = _pool(x, window, stride, 0, 1, ceil_mode, "lp_pool")
    total = sum_pool(x**p, windows=windows)
    empty = total <= 0
    root = ops.where(empty, 1.0, total) ** (1.0 / p)
    return ops.where(empty, ops.zeros_like(total), root)


def _cells(length: int, count: int) -> list[tuple[int, int]]:
    """The start and end of each of `count` windows that cover a length evenly."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _out_sizes(x: Any, size: Any, subject: str) -> tuple[int, ...]:
    d = len(x.shape) - 2
    given = tuple(size) if isinstance(size, (tuple, list)) else (size,) * d
    if len(given) != d:
        raise ArgumentError(
            f"argument `size` of `{subject}`", f"an int or {d} ints", f"{len(given)}"
        )
    return tuple(n if m is None else m for m, n in zip(given, x.shape[2:], strict=True))


def adaptive_avg_pool(x: Any, size: Any) -> Any:
    """Average pooling to an output size, along all axes except the first two.

    size  output length: one int, or one per axis (None keeps the length)

    >>> import numpy as np
    >>> adaptive_avg_pool(np.array([[[1.0, 3.0, 5.0]]]), 2)
    array([[[2., 4.]]])
    """
    for axis, count in enumerate(_out_sizes(x, size, "adaptive_avg_pool"), 2):
        length = x.shape[axis]
        matrix = numpy.zeros((length, count))
        for i, (start, end) in enumerate(_cells(length, count)):
            matrix[start:end, i] = 1 / (end - start)
        x = along_axis(x, matrix, axis)
    return x


def along_axis(x: Any, matrix: Any, axis: int) -> Any:
    """Multiply along one axis by a matrix (length, new length)."""
    moved = ops.moveaxis(x, axis, -1)
    return ops.moveaxis(ops.matmul(moved, _beside(matrix, x)), -1, axis)


def _beside(array: Any, x: Any) -> Any:
    """A NumPy array converted to the library and dtype of x."""
    return moved_to(array, raw(x), raw(x).dtype)


def adaptive_max_pool(x: Any, size: Any) -> Any:
    """Max pooling to an output size; see `adaptive_avg_pool`.

    >>> import numpy as np
    >>> adaptive_max_pool(np.array([[[1.0, 3.0, 5.0]]]), 2)
    array([[[3., 5.]]])
    """
    for axis, count in enumerate(_out_sizes(x, size, "adaptive_max_pool"), 2):
        index: list[Any] = [slice(None)] * len(x.shape)
        parts = []
        for start, end in _cells(x.shape[axis], count):
            index[axis] = slice(start, end)
            window = [1] * (len(x.shape) - 2)
            window[axis - 2] = end - start
            parts.append(max_pool_nd(ops.getitem(x, tuple(index)), tuple(window)))
        x = ops.concat(parts, axis=axis)
    return x


# Patches ------------------------------------------------------------------------------------


def _picker(x: Any, channels: int, lengths: tuple[int, ...]) -> Any:
    """Convolution weights with one output channel per window entry."""
    count = math.prod(lengths)
    one = numpy.eye(count).reshape(count, 1, *lengths)
    return _beside(numpy.tile(one, (channels, *(1,) * (len(lengths) + 1))), x)


def unfold(
    x: Any, window: Any, *, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The entries of each window of x (n, c, height, width) as a column: (n, c · window, windows).

    >>> import numpy as np
    >>> unfold(np.arange(4.0).reshape(1, 1, 2, 2), (1, 2))
    array([[[0., 2.],
            [1., 3.]]])
    """
    _check_images(x, "unfold", 4)
    lengths, channels = one_per_axis(window, 2, 1, "window", "unfold"), x.shape[1]
    out = ops.conv2d(
        x, _picker(x, channels, lengths), stride=stride, padding=padding, dilation=dilation,
        groups=channels,
    )
    return ops.reshape(out, (*out.shape[:2], math.prod(out.shape[2:])))


def fold(
    x: Any, size: Any, window: Any, *, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The transpose of `unfold`: sum columns into their windows in (height, width).

    Raises `ShapeError` if the columns do not match such windows.

    >>> import numpy as np
    >>> fold(np.ones((1, 2, 2)), (1, 3), (1, 2))
    array([[[[1., 2., 1.]]]])
    """
    _check_images(x, "fold", 3)
    subject, lengths = "fold", one_per_axis(window, 2, 1, "window", "fold")
    sizes, s, p, a = (
        one_per_axis(v, 2, least, name, subject) for v, least, name in (
            (size, 1, "size"), (stride, 1, "stride"), (padding, 0, "padding"),
            (dilation, 1, "dilation"),
        )
    )
    counts = windows_of(sizes, lengths, s, p, a, subject).outs(sizes)
    channels, rest = divmod(x.shape[1], math.prod(lengths))
    if rest or math.prod(counts) != x.shape[2]:
        raise ShapeError(
            "argument `x` of `fold`",
            f"shape (n, c · {math.prod(lengths)}, {math.prod(counts)})", f"shape {tuple(x.shape)}",
        )
    extra = tuple(
        size - ((n - 1) * s_ - 2 * p_ + a_ * (k - 1) + 1)
        for size, n, s_, p_, a_, k in zip(sizes, counts, s, p, a, lengths, strict=True)
    )
    return ops.conv_transpose2d(
        ops.reshape(x, (*x.shape[:2], *counts)), _picker(x, channels, lengths), stride=s,
        padding=p, output_padding=extra, dilation=a, groups=channels,
    )


def _check_images(x: Any, subject: str, axes: int) -> None:
    if len(x.shape) != axes:
        raise ShapeError(f"argument `x` of `{subject}`", f"{axes} axes", f"shape {tuple(x.shape)}")
