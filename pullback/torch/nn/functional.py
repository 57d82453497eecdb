"""`torch.nn.functional`: activations, losses and layers as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ... import ops
from ...core.inplace import overwrite
from ...core.state import no_grad
from ...core.tensor import raw
from ...errors import ArgumentError, DtypeError
from ..creation import made
from ..elementwise import log_softmax, sigmoid, softmax, tanh  # type: ignore[attr-defined]
from ..errors import as_runtime, guarded
from ..operators import in_place
from ..reductions import norm
from ..shaping import lengths

__all__ = [
    "avg_pool2d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "conv1d", "conv2d", "conv_transpose2d", "cross_entropy", "dropout", "elu", "embedding", "gelu",
    "hardsigmoid", "hardtanh", "huber_loss", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "max_pool2d", "mse_loss", "nll_loss", "normalize", "one_hot",
    "pad", "relu", "relu6", "rms_norm", "sigmoid", "silu", "softmax", "softmin", "softplus", "tanh",
]

# Activations --------------------------------------------------------------------------------


def _placed(function: Callable[[Any], Any], input: Any, inplace: bool) -> Any:
    return in_place(function, "activation_")(input) if inplace else function(input)


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0)."""
    return _placed(ops.relu, input, inplace)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where it is positive, else slope · x."""
    return _placed(lambda x: ops.leaky_relu(x, negative_slope), input, inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where it is positive, else alpha · (exp(x) - 1)."""
    return _placed(lambda x: ops.elu(x, alpha), input, inplace)


def gelu(input: Any, approximate: str = "none") -> Any:
    """x · Φ(x), or its approximation by a tanh."""
    return ops.gelu(input, approximate)


def silu(input: Any, inplace: bool = False) -> Any:
    """x · sigmoid(x)."""
    return _placed(ops.silu, input, inplace)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta · x)) / beta, which never overflows, so that no threshold is needed."""
    return ops.softplus(input, beta)


def logsigmoid(input: Any) -> Any:
    """log(sigmoid(x))."""
    return ops.log_sigmoid(input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """The entries put between two bounds; the derivative at these is 0."""
    return ops.hard_tanh(input, min_val, max_val)


def relu6(input: Any) -> Any:
    """The entries put between 0 and 6."""
    return ops.hard_tanh(input, 0.0, 6.0)


def hardsigmoid(input: Any) -> Any:
    """x / 6 + 1/2, put between 0 and 1."""
    return ops.hard_sigmoid(input)


def softmin(input: Any, dim: int) -> Any:
    """exp(-x) / Σ exp(-x) along an axis."""
    return ops.softmax(-input, axis=dim)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Divided by the p-norm along an axis, or by eps where that is larger."""
    return input / ops.clip(norm(input, p, dim, keepdim=True), eps)


# Losses -------------------------------------------------------------------------------------


def _classes(input: Any) -> int:
    """The axis of the classes."""
    return 1 if len(input.shape) > 1 else 0


@guarded
def cross_entropy(
    input: Any, target: Any, *, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    """-log(softmax(input)) of the target's class, which is an integer or given by probabilities.

    Classes are axis 1, or the only axis.

    >>> import pullback.torch as torch
    >>> cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    return ops.cross_entropy(
        input, target, axis=_classes(input), reduction=reduction, label_smoothing=label_smoothing
    )


@guarded
def nll_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """-input of the target's class; classes are axis 1, or the only axis."""
    return ops.nll_loss(input, target, axis=_classes(input), reduction=reduction)


@guarded
def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """(input - target)²."""
    return ops.mse_loss(input, target, reduction=reduction)


@guarded
def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """|input - target|."""
    return ops.l1_loss(input, target, reduction=reduction)


@guarded
def huber_loss(input: Any, target: Any, *, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Quadratic within delta of the target, linear beyond."""
    return ops.huber_loss(input, target, reduction=reduction, delta=delta)


@guarded
def binary_cross_entropy_with_logits(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(input), without overflow."""
    return ops.binary_cross_entropy_with_logits(input, target, reduction=reduction)


@guarded
def binary_cross_entropy(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """-t log(p) - (1 - t) log(1 - p) for probabilities p; logarithms are not below -100."""
    with numpy.errstate(divide="ignore"):
        logs = ops.clip(ops.log(input), -100), ops.clip(ops.log1p(-input), -100)
    losses = -(target * logs[0] + (1 - target) * logs[1])
    if reduction == "none":
        return losses
    return ops.sum(losses) if reduction == "sum" else ops.mean(losses)


# Layers -------------------------------------------------------------------------------------


@guarded
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias."""
    turned = ops.matrix_transpose(weight) if len(weight.shape) == 2 else weight
    out = ops.matmul(input, turned)
    return out if bias is None else out + bias


@guarded
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    """The convolution of (examples, channels, length)."""
    return ops.conv1d(input, weight, bias, stride=stride, padding=padding, dilation=dilation,
                      groups=groups)


@guarded
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    """The convolution of (examples, channels, height, width)."""
    return ops.conv2d(input, weight, bias, stride=stride, padding=padding, dilation=dilation,
                      groups=groups)


@guarded
def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:
    """The transpose of a convolution, as a layer."""
    return ops.conv_transpose2d(input, weight, bias, stride=stride, padding=padding,
                                output_padding=output_padding, dilation=dilation, groups=groups)


@guarded
def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1
) -> Any:
    """The largest entry of each window."""
    return ops.max_pool2d(input, kernel_size, stride=stride, padding=padding, dilation=dilation)


@guarded
def avg_pool2d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The mean of each window, zeros of the padding among its entries."""
    return ops.avg_pool2d(input, kernel_size, stride=stride, padding=padding)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Entries set to 0 with probability p and the others divided by 1 - p, in training."""
    if not 0 <= p <= 1:
        raise as_runtime(ArgumentError("argument `p` of `dropout`", "a number in [0, 1]", f"{p}"))
    return _placed(lambda x: ops.dropout(x, p, training=training), input, inplace and training)


@guarded
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Brought to mean 0 and variance 1 over the last axes, then scaled and shifted."""
    return ops.layer_norm(input, weight, bias, axes=_last(input, normalized_shape), eps=eps)


@guarded
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Divided by the root of the mean square over the last axes, then scaled."""
    eps = numpy.finfo(input.dtype).eps if eps is None else eps
    return ops.rms_norm(input, weight, axes=_last(input, normalized_shape), eps=float(eps))


def _last(input: Any, shape: Any) -> tuple[int, ...]:
    shape = lengths([shape])
    if tuple(input.shape)[len(input.shape) - len(shape) :] != shape:
        raise ArgumentError("argument `normalized_shape`", f"the last axes of {input.shape}",
                            f"{shape}")
    return tuple(range(-len(shape), 0))


@guarded
def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:
    """Each channel (axis 1) brought to mean 0 and variance 1, then scaled and shifted.

    In training by the batch's own statistics, which enter the running ones; else by these.
    """
    if not training:
        return ops.batch_norm(input, weight, bias, mean=running_mean, variance=running_var, eps=eps)
    if running_mean is not None:
        mean, variance = ops.batch_statistics(input.detach())
        n = raw(input).size / input.shape[1]
        with no_grad():
            for kept, new in ((running_mean, mean), (running_var, variance * (n / (n - 1)))):
                overwrite(kept, kept * (1 - momentum) + new * momentum, "batch_norm")
    return ops.batch_norm(input, weight, bias, eps=eps)


@guarded
def embedding(input: Any, weight: Any) -> Any:
    """The row of a table for each integer."""
    return ops.embedding(weight, input)


@guarded
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """For each integer a row of zeros with a 1 at its place.

    >>> import pullback.torch as torch
    >>> one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    classes = numpy.asarray(raw(tensor))
    if classes.dtype.kind != "i":
        raise DtypeError("`one_hot`", "integers", f"{classes.dtype}", "write x.long()")
    count = int(classes.max()) + 1 if num_classes == -1 else num_classes
    if classes.size and not 0 <= classes.min() <= classes.max() < count:
        raise ArgumentError("`one_hot`", f"classes from 0 to {count - 1}", f"{classes.tolist()}")
    return made((classes[..., None] == numpy.arange(count)).astype(numpy.int64))


@guarded
def pad(input: Any, pad: Any, mode: str = "constant", value: float = 0.0) -> Any:
    """Entries put around the last axes: (before, after) of the last, of the one before, ….

    >>> import pullback.torch as torch
    >>> torch.nn.functional.pad(torch.ones(1), (1, 2))
    tensor([0., 1., 0., 0.])
    """
    if mode != "constant":
        raise ArgumentError("argument `mode` of `pad`", "'constant'", repr(mode))
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    width = [(0, 0)] * (len(input.shape) - len(pairs)) + pairs
    return ops.pad(input, width, constant_values=value)
