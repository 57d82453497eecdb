"""`torch.nn.init`: first values, written over a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.state import no_grad
from ...nn import init as _init
from ...nn.init import fans

__all__ = [
    "constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "uniform_",
    "xavier_normal_", "xavier_uniform_", "zeros_",
]


@no_grad()
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Fill with numbers from [a, b), all equally likely."""
    return tensor.uniform_(a, b)


@no_grad()
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Fill with normal numbers."""
    return tensor.normal_(mean, std)


@no_grad()
def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number."""
    return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def _glorot(draw: Callable[..., Any], name: str) -> Callable[..., Any]:
    @no_grad()
    def call(tensor: Any, gain: float = 1.0) -> Any:
        return tensor.copy_(draw(tensor.shape, dtype=tensor.dtype) * gain)

    call.__name__ = name
    call.__doc__ = "Fill with numbers whose variance is gain² · 2 / (inputs + outputs)."
    return call


xavier_uniform_ = _glorot(_init.glorot_uniform, "xavier_uniform_")
xavier_normal_ = _glorot(_init.glorot_normal, "xavier_normal_")


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    gains = {"relu": 2.0, "leaky_relu": 2 / (1 + a * a), "linear": 1.0, "tanh": 25 / 9}
    inputs, outputs = fans(tuple(tensor.shape))
    return math.sqrt(gains[nonlinearity] / (inputs if mode == "fan_in" else outputs))


def kaiming_uniform_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill with uniform numbers whose variance keeps that of what passes through."""
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill with normal numbers whose variance keeps that of what passes through."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity))
