"""Other forms of moments and normalization: `tf.nn.weighted_moments` and related functions."""

from __future__ import annotations

from math import prod
from typing import Any

from .. import ops
from ..core.tensor import wrap
from ..kinds.symbols import whole
from ..nn import functional
from .convert import axis_of, checked, matched, operand
from .tensor import Tensor

__all__ = [
    "batch_norm_with_global_normalization", "local_response_normalization", "lrn",
    "normalize_moments", "sufficient_statistics", "weighted_moments",
]


@checked
def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The weighted mean and variance over the given axes.

    >>> [m.numpy() for m in weighted_moments([1.0, 5.0], [0], [3.0, 1.0])]
    [np.float32(2.0), np.float32(3.0)]
    """
    x, weights = matched("weighted_moments", x, frequency_weights)
    axis = axis_of(axes)
    weights = weights + ops.zeros_like(x)
    total = ops.sum(weights, axis=axis, keepdims=True)
    mean = ops.sum(x * weights, axis=axis, keepdims=True) / total
    apart = x - mean
    variance = ops.sum(weights * apart * apart, axis=axis, keepdims=True) / total
    if keepdims:
        return mean, variance
    return ops.squeeze(mean, axis=axis), ops.squeeze(variance, axis=axis)


@checked
@whole
def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """The count, Σ (x - shift), Σ (x - shift)² and the shift, over the given axes.

    >>> [None if s is None else s.numpy() for s in sufficient_statistics([1.0, 3.0], [0])]
    [np.float32(2.0), np.float32(4.0), np.float32(10.0), None]
    """
    x, axis = operand(x, "f", "sufficient_statistics"), axis_of(axes)
    if shift is not None:
        x, shift = matched("sufficient_statistics", x, shift)
    lengths = [x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))]
    count = wrap(Tensor, ops.full((), prod(lengths), dtype=x._data.dtype)._data)
    moved = x if shift is None else x - shift
    return (count, ops.sum(moved, axis=axis, keepdims=keepdims),
            ops.sum(moved * moved, axis=axis, keepdims=keepdims), shift)


@checked
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance from the results of `sufficient_statistics`.

    >>> [m.numpy() for m in normalize_moments(2.0, 4.0, 10.0, None)]
    [np.float32(2.0), np.float32(1.0)]
    """
    counts, mean_ss, variance_ss = matched("normalize_moments", counts, mean_ss, variance_ss)
    apart = mean_ss / counts
    mean = apart if shift is None else apart + operand(shift)
    return mean, variance_ss / counts - apart * apart


@checked
def batch_norm_with_global_normalization(
    input: Any, mean: Any, variance: Any, beta: Any, gamma: Any, variance_epsilon: float,
    scale_after_normalization: bool, name: str | None = None,
) -> Any:
    """`tf.nn.batch_normalization` under its older name.

    >>> batch_norm_with_global_normalization([3.0], [1.0], [4.0], [0.0], [2.0], 0.0, True).numpy()
    array([2.], dtype=float32)
    """
    x, mean, variance, beta = matched("batch_normalization", input, mean, variance, beta)
    factor = ops.rsqrt(variance + variance_epsilon)
    factor = factor * operand(gamma) if scale_after_normalization else factor
    return x * factor + (beta - mean * factor)


@checked
@whole
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5,
    name: str | None = None,
) -> Any:
    """Local response normalization: x / (bias + alpha Σ x²)^beta, summed over adjacent channels.

    >>> local_response_normalization([[[[3.0]]]], bias=0.0).numpy().ravel()
    array([1.], dtype=float32)
    """
    x = operand(input, "f", "local_response_normalization")
    size = 2 * depth_radius + 1
    first = ops.moveaxis(x, -1, 1)
    found = functional.local_response_norm(first, size, alpha * size, float(beta), bias)
    return ops.moveaxis(found, 1, -1)


lrn = local_response_normalization
