"""`tf.nn`: activations, losses, convolutions, pooling and normalization; channels last."""

from __future__ import annotations

from typing import Any

from .. import ops
from .. import random as _random
from ..core.tensor import raw
from .activations import (
    crelu,
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    silu,
    softmax,
    softsign,
    swish,
)
from .convert import axis_of, checked, matched, operand, shape_of
from .convolutions import (
    atrous_conv2d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depthwise_conv2d,
    separable_conv2d,
)
from .errors import invalid
from .indexed_slices import looked_up
from .linalg import l2_normalize as l2_normalize
from .losses import (
    l2_loss,
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from .math import in_top_k, sigmoid, softplus, tanh, top_k, zero_fraction
from .normalising import (
    batch_norm_with_global_normalization,
    local_response_normalization,
    lrn,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from .pools import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    depth_to_space,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pool,
    space_to_depth,
)
from .random import _seed

__all__ = [
    "atrous_conv2d", "avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "batch_norm_with_global_normalization", "batch_normalization", "bias_add", "conv1d",
    "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "conv_transpose", "convolution", "crelu", "depth_to_space", "depthwise_conv2d", "dropout",
    "elu", "embedding_lookup", "gelu", "in_top_k", "l2_loss", "l2_normalize", "leaky_relu",
    "local_response_normalization", "log_poisson_loss", "log_softmax", "lrn", "max_pool",
    "max_pool1d", "max_pool2d", "max_pool3d", "moments", "normalize_moments", "pool", "relu",
    "relu6", "selu", "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu",
    "softmax", "softmax_cross_entropy_with_logits", "softplus", "softsign", "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "swish", "tanh", "top_k",
    "weighted_cross_entropy_with_logits", "weighted_moments", "zero_fraction",
]

# Normalization, dropout, embeddings -----------------------------------------------------------


@checked
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Any:
    """Adds a bias, one number per channel: on the last axis, or the second for "NC…".

    >>> bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
    array([[11., 22.]], dtype=float32)
    """
    x, b = matched("bias_add", value, bias)
    first = data_format is not None and data_format.startswith("NC")
    if b.ndim != 1 or x.shape[1 if first else -1] not in (b.shape[0], None):
        raise invalid("argument `bias` of `bias_add`", "one number per channel", f"shape {b.shape}")
    return x + (ops.reshape(b, (-1,) + (1,) * (x.ndim - 2)) if first else b)


@checked
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the (population) variance over the given axes.

    >>> [m.numpy() for m in moments([1.0, 3.0], [0])]
    [np.float32(2.0), np.float32(1.0)]
    """
    x, axis = operand(x, "f", "moments"), axis_of(axes)
    mean = ops.mean(x, axis=axis, keepdims=keepdims)
    return mean, ops.var(x, axis=axis, keepdims=keepdims)


@checked
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float,
    name: str | None = None,
) -> Any:
    """Batch normalization: (x - mean) / √(variance + ε) · scale + offset; either may be None.

    >>> batch_normalization([3.0], [1.0], [4.0], None, [2.0], 0.0).numpy()
    array([2.], dtype=float32)
    """
    x, mean, variance = matched("batch_normalization", x, mean, variance)
    factor = ops.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor
    return x * factor + (shift if offset is None else shift + offset)


@checked
def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Any:
    """Dropout: sets entries to 0 with probability `rate` and scales the others by 1 / (1 - rate).

    noise_shape  the shape of the mask; along axes of length 1, all entries share one decision

    >>> dropout([1.0, 2.0], rate=0.0).numpy()
    array([1., 2.], dtype=float32)
    """
    x, rate = operand(x, "f", "dropout"), float(raw(rate))
    if not 0 <= rate < 1:
        raise invalid("argument `rate` of `dropout`", "a number in [0, 1)", f"{rate}")
    generator = None if seed is None else _random.Generator(_seed(seed))
    if noise_shape is None:
        return ops.dropout(x, rate, generator=generator)
    mask = ops.ones_like(ops.getitem(x, tuple(slice(0, n) for n in shape_of(noise_shape))))
    return x * ops.dropout(mask, rate, generator=generator)


@checked
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Any:
    """Looks up the rows of a table for integer ids; max_norm limits the rows' norms.

    >>> embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1]).numpy()
    array([[3., 4.]], dtype=float32)
    """
    table, at = operand(params), operand(ids, "iu", "embedding_lookup")
    looked_up(table)
    rows = ops.embedding(table, at)
    if max_norm is None:
        return rows
    sizes = ops.vector_norm(rows, axis=-1, keepdims=True)
    return rows * max_norm / ops.maximum(sizes, float(max_norm))
