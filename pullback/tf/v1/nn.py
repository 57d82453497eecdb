"""`tf.nn`: activations, losses, convolutions and pooling, with v1's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from .. import nn as _nn
from ..convert import checked, matched, operand, shape_of
from ..errors import invalid
from .arrays import shape as _shape
from .arrays import stop_gradient, zeros_like
from .functions import FUNCTIONS, MATH, _older
from .naming import graphed
from .random import random_uniform

__all__ = [
    "avg_pool", "avg_pool2d", "batch_normalization", "bias_add", "conv2d", "dropout", "elu",
    "embedding_lookup", "gelu", "in_top_k", "l2_loss", "l2_normalize", "leaky_relu",
    "log_softmax", "max_pool", "max_pool2d", "moments", "relu", "relu6", "relu_layer", "selu",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus",
    "softsign", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh", "top_k",
    "weighted_cross_entropy_with_logits", "xw_plus_b", "zero_fraction",
]

relu, relu6 = graphed(_nn.relu, "Relu"), graphed(_nn.relu6, "Relu6")
elu, selu = graphed(_nn.elu, "Elu"), graphed(_nn.selu, None, "Selu")
leaky_relu, gelu = graphed(_nn.leaky_relu, "LeakyRelu"), graphed(_nn.gelu, None, "Gelu")
silu = swish = graphed(_nn.silu, None, "swish")
softsign = graphed(_nn.softsign, None, "Softsign")
sigmoid, tanh, softplus, top_k = (MATH[n] for n in ("sigmoid", "tanh", "softplus", "top_k"))
l2_loss, bias_add = graphed(_nn.l2_loss, None, "L2Loss"), graphed(_nn.bias_add, "BiasAdd")
batch_normalization = graphed(_nn.batch_normalization, None, "batchnorm")
l2_normalize = FUNCTIONS["l2_normalize"]


def _softmax(name: str, default: str) -> Callable[..., Any]:
    function = getattr(_nn, name)

    def call(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
        return function(logits, _older(axis, dim, call.__name__, "axis"))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return graphed(call, default)


softmax, log_softmax = _softmax("softmax", "Softmax"), _softmax("log_softmax", "LogSoftmax")

# Losses -------------------------------------------------------------------------------------


def _check(sentinel: Any, labels: Any, logits: Any, subject: str) -> None:
    if sentinel is not None or labels is None or logits is None:
        raise invalid(f"`{subject}`", "labels=… and logits=… as keywords",
                      "positional arguments, or a missing one")


def _softmax_loss(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Any:
    """Cross entropy per example: -Σ labels · log(softmax(logits)); both have gradients."""
    axis = _older(axis, dim, "softmax_cross_entropy_with_logits_v2", "axis")
    return _nn.softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis)


def _softmax_loss_dim(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, dim: Any = -1,
    name: str | None = None, axis: Any = None,
) -> Any:
    """Cross entropy per example: -Σ labels · log(softmax(logits)); labels get no gradient."""
    _check(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    return _nn.softmax_cross_entropy_with_logits(
        stop_gradient(labels), logits, dim if axis is None else axis
    )


def _sparse_loss(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """Cross entropy of logits and integer labels: -log(softmax(logits)[label]) per example."""
    _check(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    return _nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


def _sigmoid_loss(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(logits), computed without overflow."""
    _check(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    return _nn.sigmoid_cross_entropy_with_logits(labels, logits)


def _weighted_loss(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None,
    targets: Any = None,
) -> Any:
    """`sigmoid_cross_entropy_with_logits` with a weight on the positive labels' term."""
    x, t, w = matched("weighted_cross_entropy_with_logits", logits,
                      labels if targets is None else targets, pos_weight)
    weight = 1 + (w - 1) * t
    slope = ops.log1p(ops.exp(-ops.abs(x))) + ops.relu(-x)
    return (1 - t) * x + weight * slope


softmax_cross_entropy_with_logits_v2 = graphed(
    _softmax_loss, None, "softmax_cross_entropy_with_logits"
)
softmax_cross_entropy_with_logits = graphed(
    _softmax_loss_dim, None, "softmax_cross_entropy_with_logits_sg"
)
sparse_softmax_cross_entropy_with_logits = graphed(
    _sparse_loss, None, "SparseSoftmaxCrossEntropyWithLogits"
)
sigmoid_cross_entropy_with_logits = graphed(_sigmoid_loss, None, "logistic_loss")
weighted_cross_entropy_with_logits = graphed(_weighted_loss, None, "logistic_loss")

# Convolutions and pooling -------------------------------------------------------------------


def _conv2d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None,
    use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Any = (1, 1, 1, 1),
    name: str | None = None, filters: Any = None,
) -> Any:
    """2-D convolution of images with filters of shape (height, width, in, out)."""
    chosen = _older(filter, filters, "conv2d", "filter")
    return _nn.conv2d(input, chosen, strides, padding, data_format, dilations)


def _pool(name: str, default: str, whole: str) -> Callable[..., Any]:
    function = getattr(_nn, whole)

    def call(
        value: Any = None, ksize: Any = None, strides: Any = None, padding: Any = None,
        data_format: str = "NHWC", name: str | None = None, input: Any = None,
    ) -> Any:
        return function(_older(value, input, call.__name__, "value"), ksize, strides, padding,
                        data_format)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return graphed(call, None, default)


conv2d = graphed(_conv2d, None, "Conv2D")
max_pool, avg_pool = _pool("max_pool", "MaxPool", "max_pool2d"), _pool(
    "avg_pool", "AvgPool", "avg_pool2d"
)
max_pool2d = graphed(_nn.max_pool2d, None, "MaxPool2d")
avg_pool2d = graphed(_nn.avg_pool2d, None, "AvgPool2D")

# Layers of a few operations -----------------------------------------------------------------


def _xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """x · weights + biases."""
    return _nn.bias_add(FUNCTIONS["matmul"](x, weights), biases)


def _relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """relu(x · weights + biases)."""
    return _nn.relu(_xw_plus_b(x, weights, biases))


def _moments(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Any, Any]:
    """The mean and the (population) variance over the given axes."""
    keep = bool(_older(keepdims, keep_dims, "moments", "keepdims"))
    return _nn.moments(x, axes, None, keep)


def _embedding(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None,
    validate_indices: bool = True, max_norm: Any = None,
) -> Any:
    """Looks up the rows of a table for integer ids; max_norm limits the rows' norms."""
    table = params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params
    return _nn.embedding_lookup(table, ids, max_norm)


def _zero_fraction(value: Any, name: str | None = None) -> Any:
    """The fraction of entries that are zero."""
    x = operand(value)
    return ops.mean(ops.astype(ops.equal(x, 0), "float32"))


def _in_top_k(predictions: Any, targets: Any, k: int, name: str | None = None) -> Any:
    """Whether each target's entry is among the k largest of its row."""
    x, at = operand(predictions, "f", "in_top_k"), operand(targets, "iu", "in_top_k")
    own = ops.take_along_axis(x, ops.expand_dims(at, axis=-1), axis=-1)
    return ops.less(ops.count_nonzero(ops.greater(x, own), axis=-1), int(k))


@checked
def _dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None,
    name: str | None = None, rate: Any = None,
) -> Any:
    """Dropout: sets entries to 0 with probability `rate` and scales the others by 1 / (1 - rate).

    keep_prob    1 - rate; either may be a graph tensor
    noise_shape  the shape of the mask; along axes of length 1, all entries share one decision
    """
    if (keep_prob is None) == (rate is None):
        raise invalid("`dropout`", "exactly one of `rate` and `keep_prob`",
                      "neither" if rate is None else "both")
    x = operand(x, "f", "dropout")
    kept = keep_prob if rate is None else 1 - rate
    if isinstance(kept, (int, float)) and not 0 < kept <= 1:
        raise invalid("`dropout`", "a rate in [0, 1)", f"{1 - kept}")
    if isinstance(kept, (int, float)) and kept == 1:
        return x
    noise = random_uniform(_shape(x) if noise_shape is None else shape_of(noise_shape),
                           dtype=x.dtype, seed=seed)
    return ops.where(ops.less(noise, kept), x / kept, zeros_like(x))


dropout = graphed(_dropout, None, "dropout")
xw_plus_b = graphed(_xw_plus_b, None, "xw_plus_b")
relu_layer = graphed(_relu_layer, None, "relu_layer")
moments, in_top_k = graphed(_moments, None, "moments"), graphed(_in_top_k, None, "in_top_k")
embedding_lookup = graphed(_embedding, "embedding_lookup", "embedding_lookup")
zero_fraction = graphed(_zero_fraction, None, "zero_fraction")
