"""JAX: convolutions and pooling by XLA; their adjoints by JAX's transposition.

The windows of a pool are slices, one per position in the window, stacked on a new axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

_Sizes = tuple[int, ...]


def _transposed(linear: Callable[[Any], Any], shape: _Sizes, g: Any) -> Any:
    """The transpose of a linear function of arrays of a shape, applied to g."""
    (found,) = jax.linear_transpose(linear, jax.ShapeDtypeStruct(shape, g.dtype))(g)
    return found


def _together(*arrays: Any) -> tuple[Any, ...]:
    """The arrays in their common dtype."""
    dtype = jnp.result_type(*arrays)
    return tuple([a.astype(dtype) for a in arrays])


def convolution(x: Any, w: Any, windows: Any, groups: int) -> Any:
    """Each entry of the output is the product of w and a window of x."""
    x, w = _together(x, w)
    return lax.conv_general_dilated(
        x, w, windows.strides, windows.padding, rhs_dilation=windows.dilation,
        feature_group_count=groups,
    )


def convolution_input_adjoint(y: Any, w: Any, windows: Any, sizes: _Sizes, groups: int) -> Any:
    """The transpose of `convolution` with respect to x."""
    y, w = _together(y, w)
    shape = (y.shape[0], w.shape[1] * groups, *sizes)
    return _transposed(lambda x: convolution(x, w, windows, groups), shape, y)


def convolution_weight_adjoint(y: Any, x: Any, windows: Any, groups: int) -> Any:
    """The transpose of `convolution` with respect to w."""
    y, x = _together(y, x)
    shape = (y.shape[1], x.shape[1] // groups, *windows.lengths)
    return _transposed(lambda w: convolution(x, w, windows, groups), shape, y)


def _windows(x: Any, windows: Any, fill: Any) -> Any:
    """The entries of all windows: (positions in the window, examples, channels, windows…)."""
    outs = windows.outs(x.shape[2:])
    x = jnp.pad(x, ((0, 0), (0, 0), *windows.padding), constant_values=fill)
    taken = []
    for position in itertools.product(*map(range, windows.lengths)):
        starts = [k * apart for k, apart in zip(position, windows.dilation, strict=True)]
        parts = [
            slice(start, start + (n - 1) * stride + 1, stride)
            for start, n, stride in zip(starts, outs, windows.strides, strict=True)
        ]
        taken.append(x[(slice(None), slice(None), *parts)])
    return jnp.stack(taken)


def sum_pool(x: Any, windows: Any) -> Any:
    """The sum of each window."""
    return jnp.sum(_windows(x, windows, 0), axis=0, dtype=x.dtype)


def sum_pool_adjoint(y: Any, windows: Any, sizes: _Sizes) -> Any:
    """Adds each entry of y to all positions of its window."""
    return _transposed(lambda x: sum_pool(x, windows), (*y.shape[:2], *sizes), y)


def max_pool(x: Any, windows: Any) -> Any:
    """The largest entry of each window."""
    least = -jnp.inf if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.iinfo(x.dtype).min
    return jnp.max(_windows(x, windows, least), axis=0)


def _firsts(x: Any, largest: Any, windows: Any) -> Any:
    """For each position in the window, whether it is the first maximum."""
    inside = _windows(jnp.ones(x.shape, bool), windows, False)
    hit = inside & ~(_windows(x, windows, 0) < largest)  # for NaN, the window's first entry counts
    return hit & (jnp.cumsum(hit, axis=0) == 1)


def max_pool_gather(y: Any, x: Any, largest: Any, windows: Any) -> Any:
    """The entry of y at the first maximum of each window of x."""
    return _picked(y, _firsts(x, largest, windows), windows)


def max_pool_scatter(y: Any, x: Any, largest: Any, windows: Any) -> Any:
    """Adds each entry of y at the first maximum of its window."""
    first = _firsts(x, largest, windows)
    return _transposed(lambda h: _picked(h, first, windows), x.shape, y)


def _picked(y: Any, first: Any, windows: Any) -> Any:
    return jnp.sum(jnp.where(first, _windows(y, windows, 0), 0), axis=0, dtype=y.dtype)


KERNELS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        convolution, convolution_input_adjoint, convolution_weight_adjoint, max_pool,
        max_pool_gather, max_pool_scatter, sum_pool, sum_pool_adjoint,
    )
}
