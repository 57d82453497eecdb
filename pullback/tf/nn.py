"""`tf.nn`: activations, losses, convolutions, pools and normalising, channels last."""

from __future__ import annotations

from typing import Any

from .. import ops
from .. import random as _random
from ..core.tensor import raw
from .convert import axis_of, checked, matched, operand, shape_of
from .errors import invalid
from .linalg import l2_normalize as l2_normalize
from .math import _unary, sigmoid, softplus, tanh, top_k
from .random import _seed

__all__ = [
    "avg_pool2d", "batch_normalization", "bias_add", "conv2d", "dropout", "elu",
    "embedding_lookup", "gelu", "l2_loss", "l2_normalize", "leaky_relu",
    "log_softmax", "max_pool2d", "moments", "relu", "relu6", "selu",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign",
    "sparse_softmax_cross_entropy_with_logits", "swish", "tanh", "top_k",
]

# Activations --------------------------------------------------------------------------------

relu = _unary("relu", "fiu")
_elu = _unary("elu", "f")


def elu(features: Any, name: str | None = None) -> Any:
    """x above 0, exp(x) - 1 elsewhere.

    >>> elu([0.0, 1.0]).numpy()
    array([0., 1.], dtype=float32)
    """
    return _elu(features)


def selu(features: Any, name: str | None = None) -> Any:
    """1.0507 x above 0, 1.7581 (exp(x) - 1) elsewhere: the scaled elu.

    >>> selu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    x = operand(features, "f", "selu")
    return ops.elu(x, 1.6732632423543772848) * 1.0507009873554804934


def relu6(features: Any, name: str | None = None) -> Any:
    """x limited to [0, 6]; the derivative is 1 strictly inside and 0 elsewhere.

    >>> relu6([-1.0, 3.0, 7.0]).numpy()
    array([0., 3., 6.], dtype=float32)
    """
    return ops.hard_tanh(operand(features, "f", "relu6"), 0.0, 6.0)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """x above 0, alpha · x elsewhere.

    >>> leaky_relu([-1.0, 1.0]).numpy()
    array([-0.2,  1. ], dtype=float32)
    """
    return ops.leaky_relu(operand(features, "f", "leaky_relu"), float(raw(alpha)))


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """x · Φ(x) with the normal distribution function Φ, or its approximation by a tanh.

    >>> gelu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    x = operand(features, "f", "gelu")
    return ops.gelu(x, approximate="tanh" if approximate else "none")


def silu(features: Any, beta: Any = 1.0, name: str | None = None) -> Any:
    """x · sigmoid(beta · x).

    >>> silu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    x = operand(features, "f", "silu")
    if isinstance(beta, (int, float)) and beta == 1:
        return ops.silu(x)
    return x * ops.sigmoid(x * beta)


swish = silu


def softsign(features: Any, name: str | None = None) -> Any:
    """x / (1 + |x|).

    >>> softsign([1.0]).numpy()
    array([0.5], dtype=float32)
    """
    x = operand(features, "f", "softsign")
    return x / (1 + ops.abs(x))


@checked
def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(x) / Σ exp(x) along an axis, the last when left out.

    >>> softmax([1.0, 1.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return ops.softmax(operand(logits, "f", "softmax"), axis=-1 if axis is None else axis)


@checked
def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """log(softmax(x)), with no overflow.

    >>> log_softmax([1000.0, 0.0]).numpy()
    array([    0., -1000.], dtype=float32)
    """
    return ops.log_softmax(operand(logits, "f", "log_softmax"), axis=-1 if axis is None else axis)


# Losses -------------------------------------------------------------------------------------


@checked
def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Any:
    """-log(softmax(logits)[label]) for each example, from labels that are integers.

    >>> sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    classes = operand(labels, "iu", "sparse_softmax_cross_entropy_with_logits")
    x = operand(logits, "f", "sparse_softmax_cross_entropy_with_logits")
    return ops.cross_entropy(x, classes, axis=-1, reduction="none")


@checked
def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Any:
    """-Σ labels · log(softmax(logits)) for each example; both have gradients.

    >>> softmax_cross_entropy_with_logits(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    x, q = matched("softmax_cross_entropy_with_logits", logits, labels)
    return ops.cross_entropy(x, q, axis=axis, reduction="none")


@checked
def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(logits), with no overflow.

    >>> sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0]).numpy()
    array([0.6931472], dtype=float32)
    """
    x, t = matched("sigmoid_cross_entropy_with_logits", logits, labels)
    if x.shape != t.shape:
        raise invalid("`sigmoid_cross_entropy_with_logits`", "labels and logits of one shape",
                      f"{t.shape} and {x.shape}")
    return ops.binary_cross_entropy_with_logits(x, t, reduction="none")


def l2_loss(t: Any, name: str | None = None) -> Any:
    """Σ t² / 2.

    >>> l2_loss([3.0, 4.0]).numpy()
    np.float32(12.5)
    """
    x = operand(t, "f", "l2_loss")
    return ops.sum(x * x) / 2


# Convolutions and pools ---------------------------------------------------------------------


@checked
def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = None, name: str | None = None,
) -> Any:
    """The convolution of images with filters of shape (height, width, in, out).

    strides, dilations  one number, two, or one an axis
    padding             "SAME", "VALID", or a pair an axis
    data_format         "NHWC" or "NCHW"

    >>> conv2d([[[[1.0], [2.0]]]], [[[[10.0]]]], 1, "VALID").numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    x, w = matched("conv2d", input, filters)
    out = ops.conv2d(
        _first(x, data_format, "conv2d"), ops.permute_dims(w, (3, 2, 0, 1)),
        stride=_spatial(strides, data_format), padding=_padding(padding, data_format, "conv2d"),
        dilation=_spatial(1 if dilations is None else dilations, data_format),
    )
    return _last(out, data_format)


@checked
def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The largest entry of each window; of equal ones the first receives the gradient.

    >>> max_pool2d([[[[1.0], [2.0]]]], [1, 2], 1, "VALID").numpy().ravel()
    array([2.], dtype=float32)
    """
    x = _first(operand(input, "f", "max_pool2d"), data_format, "max_pool2d")
    out = ops.max_pool2d(
        x, _spatial(ksize, data_format), stride=_spatial(strides, data_format),
        padding=_padding(padding, data_format, "max_pool2d"),
    )
    return _last(out, data_format)


@checked
def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The mean of each window, of the entries that are there: padding does not count.

    >>> avg_pool2d([[[[1.0], [2.0]]]], [1, 2], 1, "VALID").numpy().ravel()
    array([1.5], dtype=float32)
    """
    x = _first(operand(input, "f", "avg_pool2d"), data_format, "avg_pool2d")
    window, stride = _spatial(ksize, data_format), _spatial(strides, data_format)
    ends = _padding(padding, data_format, "avg_pool2d")
    out = ops.avg_pool2d(x, window, stride=stride, padding=ends)
    if ends != "valid":
        out = out / ops.avg_pool2d(ops.ones_like(x), window, stride=stride, padding=ends)
    return _last(out, data_format)


def _first(x: Any, data_format: str, who: str) -> Any:
    """Channels first, as the core has them."""
    if data_format not in ("NHWC", "NCHW"):
        raise invalid(f"argument `data_format` of `{who}`", "NHWC or NCHW", repr(data_format))
    if x.ndim != 4:
        raise invalid(f"argument `input` of `{who}`", "4 axes", f"shape {x.shape}")
    return ops.permute_dims(x, (0, 3, 1, 2)) if data_format == "NHWC" else x


def _last(x: Any, data_format: str) -> Any:
    return ops.permute_dims(x, (0, 2, 3, 1)) if data_format == "NHWC" else x


def _spatial(value: Any, data_format: str) -> Any:
    """The two numbers of height and width."""
    given = shape_of(value)
    if len(given) == 1:
        return given * 2
    if len(given) == 2:
        return given
    return given[1:3] if data_format == "NHWC" else given[2:]


def _padding(padding: Any, data_format: str, who: str) -> Any:
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise invalid(f"argument `padding` of `{who}`", "SAME, VALID or pairs", repr(padding))
        return padding.lower()
    pairs = [tuple(int(n) for n in pair) for pair in padding]
    return tuple(pairs[1:3] if data_format == "NHWC" else pairs[2:])


@checked
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Any:
    """value + bias, one number a channel: on the last axis, or the second for "NC…".

    >>> bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
    array([[11., 22.]], dtype=float32)
    """
    x, b = matched("bias_add", value, bias)
    first = data_format is not None and data_format.startswith("NC")
    if b.ndim != 1 or b.shape[0] != x.shape[1 if first else -1]:
        raise invalid("argument `bias` of `bias_add`", "one number a channel", f"shape {b.shape}")
    return x + (ops.reshape(b, (-1,) + (1,) * (x.ndim - 2)) if first else b)


# Normalising, dropping, looking up ----------------------------------------------------------


@checked
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance (of the population) over some axes.

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
    """(x - mean) / √(variance + ε) · scale + offset; scale and offset may be None.

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
    """x with entries set to 0 with a probability and the others divided by the rest of it.

    noise_shape  one decision for all entries along the axes on which it is 1

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
    """The row of a table for each integer, in the integers' shape, at most of a norm.

    >>> embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1]).numpy()
    array([[3., 4.]], dtype=float32)
    """
    table, at = operand(params), operand(ids, "iu", "embedding_lookup")
    rows = ops.embedding(table, at)
    if max_norm is None:
        return rows
    sizes = ops.vector_norm(rows, axis=-1, keepdims=True)
    return rows * max_norm / ops.maximum(sizes, float(max_norm))
