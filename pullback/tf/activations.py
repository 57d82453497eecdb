"""Activation functions of `tf.nn`."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.tensor import raw
from ..nn.functional import activations as core
from .convert import checked, operand
from .elementwise import unary

__all__ = [
    "crelu", "elu", "gelu", "leaky_relu", "log_softmax", "relu", "relu6", "selu", "silu",
    "softmax", "softsign", "swish",
]

relu = unary("relu", "fiu")
_elu = unary("elu", "f")


def elu(features: Any, name: str | None = None) -> Any:
    """Exponential linear unit: x where x > 0, exp(x) - 1 elsewhere.

    >>> elu([0.0, 1.0]).numpy()
    array([0., 1.], dtype=float32)
    """
    return _elu(features)


def selu(features: Any, name: str | None = None) -> Any:
    """Scaled ELU: 1.0507 x where x > 0, 1.7581 (exp(x) - 1) elsewhere.

    >>> selu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    return core.selu(operand(features, "f", "selu"))


def relu6(features: Any, name: str | None = None) -> Any:
    """x clipped to [0, 6]; the derivative is 1 strictly inside and 0 elsewhere.

    >>> relu6([-1.0, 3.0, 7.0]).numpy()
    array([0., 3., 6.], dtype=float32)
    """
    return ops.hard_tanh(operand(features, "f", "relu6"), 0.0, 6.0)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """Leaky ReLU: x where x > 0, alpha · x elsewhere.

    >>> leaky_relu([-1.0, 1.0]).numpy()
    array([-0.2,  1. ], dtype=float32)
    """
    return ops.leaky_relu(operand(features, "f", "leaky_relu"), float(raw(alpha)))


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """Gaussian error linear unit: x · Φ(x), Φ the standard normal CDF, or its tanh approximation.

    >>> gelu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    x = operand(features, "f", "gelu")
    return ops.gelu(x, approximate="tanh" if approximate else "none")


def silu(features: Any, beta: Any = 1.0, name: str | None = None) -> Any:
    """Sigmoid linear unit (swish): x · sigmoid(beta · x).

    >>> silu([0.0]).numpy()
    array([0.], dtype=float32)
    """
    x = operand(features, "f", "silu")
    if isinstance(beta, (int, float)) and beta == 1:
        return ops.silu(x)
    return x * ops.sigmoid(x * beta)


swish = silu


def softsign(features: Any, name: str | None = None) -> Any:
    """Softsign: x / (1 + |x|).

    >>> softsign([1.0]).numpy()
    array([0.5], dtype=float32)
    """
    x = operand(features, "f", "softsign")
    return x / (1 + ops.abs(x))


@checked
def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """exp(x) / Σ exp(x) along an axis; the last axis by default.

    >>> softmax([1.0, 1.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return ops.softmax(operand(logits, "f", "softmax"), axis=-1 if axis is None else axis)


@checked
def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Any:
    """log(softmax(x)), computed without overflow.

    >>> log_softmax([1000.0, 0.0]).numpy()
    array([    0., -1000.], dtype=float32)
    """
    return ops.log_softmax(operand(logits, "f", "log_softmax"), axis=-1 if axis is None else axis)


@checked
def crelu(features: Any, axis: int = -1, name: str | None = None) -> Any:
    """Concatenated ReLU: relu(x) followed by relu(-x) along an axis.

    >>> crelu([1.0, -2.0]).numpy()
    array([1., 0., 0., 2.], dtype=float32)
    """
    x = operand(features, "f", "crelu")
    return ops.concat([ops.relu(x), ops.relu(-x)], axis=axis)
