"""CuPy: convolutions and pooling: window views, and one matrix product.

Writes only to new memory, and looks nothing up on the host.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy

_Sizes = tuple[int, ...]


def _padded(x: Any, windows: Any, fill: Any) -> Any:
    return cupy.pad(x, ((0, 0), (0, 0), *windows.padding), mode="constant", constant_values=fill)


def _places(outs: _Sizes, windows: Any) -> Iterator[tuple[Any, ...]]:
    """For each position in the window, the index of its entries in the padded input."""
    for position in itertools.product(*map(range, windows.lengths)):
        starts = [k * apart for k, apart in zip(position, windows.dilation, strict=True)]
        yield (..., *[
            slice(start, start + (n - 1) * stride + 1 if n else start, stride)
            for start, n, stride in zip(starts, outs, windows.strides, strict=True)
        ])


def _windows(x: Any, windows: Any, fill: Any) -> Any:
    """The entries of all windows: (positions in the window, examples, channels, windows…)."""
    outs = windows.outs(x.shape[2:])
    x = _padded(x, windows, fill)
    return cupy.stack([x[at] for at in _places(outs, windows)])


def _unfolded(parts: Any, windows: Any, sizes: _Sizes) -> Any:
    """The adjoint of `_windows`, for zero padding: adds each entry to its position in the input."""
    whole = [n + sum(ends) for n, ends in zip(sizes, windows.padding, strict=True)]
    total = cupy.zeros((*parts.shape[1:3], *whole), parts.dtype)
    for part, at in zip(parts, _places(parts.shape[3:], windows), strict=True):
        total[at] += part
    inner = [slice(p, p + n) for n, (p, _) in zip(sizes, windows.padding, strict=True)]
    return cupy.ascontiguousarray(total[(..., *inner)])


# Convolutions -------------------------------------------------------------------------------


def _columns(x: Any, windows: Any, groups: int) -> Any:
    """(groups, inputs of a group · window, examples · places)."""
    parts = _windows(x, windows, 0)
    count, n, channels = parts.shape[:3]
    order = (2, 0, 1, *range(3, parts.ndim))
    rest = n * math.prod(parts.shape[3:])
    return parts.transpose(order).reshape(groups, channels // groups * count, rest)


def _matrices(w: Any, groups: int) -> Any:
    """(groups, outputs of a group, inputs of a group · window)."""
    return w.reshape(groups, len(w) // groups, math.prod(w.shape[1:]))


def _rows(y: Any, groups: int) -> Any:
    """(groups, outputs of a group, examples · places)."""
    n, channels = y.shape[:2]
    rest = n * math.prod(y.shape[2:])
    return y.swapaxes(0, 1).reshape(groups, channels // groups, rest)


def convolution(x: Any, w: Any, windows: Any, groups: int) -> Any:
    """Each entry of the output is the product of w and a window of x."""
    product = cupy.matmul(_matrices(w, groups), _columns(x, windows, groups))
    outs = windows.outs(x.shape[2:])
    return cupy.ascontiguousarray(product.reshape(len(w), len(x), *outs).swapaxes(0, 1))


def convolution_weight_adjoint(y: Any, x: Any, windows: Any, groups: int) -> Any:
    """The transpose of `convolution` with respect to w."""
    columns = _columns(x, windows, groups)
    product = cupy.matmul(_rows(y, groups), columns.swapaxes(1, 2))
    return product.reshape(y.shape[1], x.shape[1] // groups, *windows.lengths)


def convolution_input_adjoint(y: Any, w: Any, windows: Any, sizes: _Sizes, groups: int) -> Any:
    """The transpose of `convolution` with respect to x."""
    n, outs, channels = len(y), y.shape[2:], groups * w.shape[1]
    columns = cupy.matmul(_matrices(w, groups).swapaxes(1, 2), _rows(y, groups))
    parts = columns.reshape(channels, math.prod(windows.lengths), n, *outs)
    return _unfolded(parts.transpose(1, 2, 0, *range(3, parts.ndim)), windows, sizes)


# Pooling ------------------------------------------------------------------------------------


def sum_pool(x: Any, windows: Any) -> Any:
    """The sum of each window."""
    return cupy.sum(_windows(x, windows, 0), axis=0, dtype=x.dtype)


def sum_pool_adjoint(y: Any, windows: Any, sizes: _Sizes) -> Any:
    """Adds each entry of y to all positions of its window."""
    parts = cupy.broadcast_to(y, (math.prod(windows.lengths), *y.shape))
    return _unfolded(parts, windows, sizes)


def max_pool(x: Any, windows: Any) -> Any:
    """The largest entry of each window."""
    least = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
    return cupy.max(_windows(x, windows, least), axis=0)


def _firsts(x: Any, largest: Any, windows: Any) -> Any:
    """For each position in the window, whether it is the first maximum."""
    inside = _windows(cupy.ones(x.shape, bool), windows, False)
    hit = inside & ~(_windows(x, windows, 0) < largest)  # for NaN, the window's first entry counts
    return hit & (cupy.cumsum(hit, axis=0) == 1)


def max_pool_gather(y: Any, x: Any, largest: Any, windows: Any) -> Any:
    """The entry of y at the first maximum of each window of x."""
    taken = cupy.where(_firsts(x, largest, windows), _windows(y, windows, 0), 0)
    return cupy.sum(taken, axis=0, dtype=y.dtype)


def max_pool_scatter(y: Any, x: Any, largest: Any, windows: Any) -> Any:
    """Adds each entry of y at the first maximum of its window."""
    parts = cupy.where(_firsts(x, largest, windows), y, 0).astype(y.dtype, copy=False)
    return _unfolded(parts, windows, x.shape[2:])


KERNELS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        convolution, convolution_input_adjoint, convolution_weight_adjoint, max_pool,
        max_pool_gather, max_pool_scatter, sum_pool, sum_pool_adjoint,
    )
}
