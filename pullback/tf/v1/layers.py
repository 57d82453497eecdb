"""`tf.layers`: layers as functions that create their variables."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ArgumentError
from . import nn as _nn
from .arrays import reshape as _reshape
from .arrays import shape as _shape
from .functions import FUNCTIONS
from .initializers import Zeros
from .scopes import get_variable, variable_scope

__all__ = ["conv2d", "dense", "dropout", "flatten"]


def _known(inputs: Any, axis: int, subject: str) -> int:
    length = inputs.shape.as_list()[axis] if inputs.shape.rank is not None else None
    if length is None:
        raise ArgumentError(f"`layers.{subject}`", "inputs with a known last length",
                            f"shape {inputs.shape}", "use set_shape")
    return int(length)


def dense(
    inputs: Any, units: int, activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = None, kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Dense layer: activation(inputs · kernel + bias), with variables `kernel` and `bias`.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.dense(tf.zeros([2, 3]), 4, activation=tf.nn.relu)
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (2, 4) ['dense/kernel:0', 'dense/bias:0']
    """
    length = _known(inputs, -1, "dense")
    with variable_scope(name, "dense", reuse=reuse):
        kernel = get_variable("kernel", [length, units], inputs.dtype, kernel_initializer,
                              kernel_regularizer, trainable, constraint=kernel_constraint)
        if inputs.shape.rank == 2:
            out = FUNCTIONS["matmul"](inputs, kernel)
        else:
            out = FUNCTIONS["tensordot"](inputs, kernel, 1)
        if use_bias:
            bias = get_variable("bias", [units], inputs.dtype, bias_initializer or Zeros(),
                                bias_regularizer, trainable, constraint=bias_constraint)
            out = _nn.bias_add(out, bias)
        return out if activation is None else activation(out)


def conv2d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1), activation: Any = None,
    use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = None,
    kernel_regularizer: Any = None, trainable: bool = True, name: str | None = None,
    reuse: Any = None,
) -> Any:
    """2-D convolution layer, with variables `kernel` and `bias`."""
    last = data_format == "channels_last"
    order = "NHWC" if last else "NCHW"
    size = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    length = _known(inputs, -1 if last else 1, "conv2d")
    with variable_scope(name, "conv2d", reuse=reuse):
        kernel = get_variable("kernel", [*size, length, filters], inputs.dtype, kernel_initializer,
                              kernel_regularizer, trainable)
        out = _nn.conv2d(inputs, kernel, strides, padding.upper(), data_format=order,
                         dilations=dilation_rate)
        if use_bias:
            bias = get_variable("bias", [filters], inputs.dtype, bias_initializer or Zeros(), None,
                                trainable)
            out = _nn.bias_add(out, bias, order)
        return out if activation is None else activation(out)


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Flattens all axes but the first."""
    lengths = inputs.shape.as_list()[1:]
    total = -1 if None in lengths else math.prod(lengths)
    first = inputs.shape.as_list()[0]
    shape = [-1 if first is None else first, total]
    if first is None and total == -1:
        shape = [_shape(inputs)[0], -1]
    return _reshape(inputs, shape, name or "flatten")


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: Any = None,
            training: bool = False, name: str | None = None) -> Any:
    """`tf.nn.dropout` in training; otherwise the inputs unchanged."""
    return _nn.dropout(inputs, rate=rate, noise_shape=noise_shape, seed=seed, name=name) if (
        training
    ) else inputs
