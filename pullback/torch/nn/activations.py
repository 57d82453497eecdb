"""Activation functions as modules."""

from __future__ import annotations

from typing import Any

from ..creation import full
from . import functional as F
from .configured import Configured
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
    "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold",
]


class ReLU(Configured, function=F.relu):
    """max(x, 0); with inplace=True, overwrites x.

    >>> import pullback.torch as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


class ReLU6(Configured, function=F.relu6):
    """x clamped to [0, 6]."""


class LeakyReLU(Configured, function=F.leaky_relu):
    """Leaky ReLU: x where x > 0, else negative_slope · x."""


class ELU(Configured, function=F.elu):
    """x where x > 0, else alpha · (exp(x) - 1)."""


class CELU(Configured, function=F.celu):
    """x where x > 0, else alpha · (exp(x / alpha) - 1)."""


class SELU(Configured, function=F.selu):
    """Self-normalizing ELU: keeps mean 0 and variance 1."""


class GELU(Configured, function=F.gelu):
    """x · Φ(x), Φ the standard normal CDF, or its tanh approximation."""


class SiLU(Configured, function=F.silu):
    """x · sigmoid(x)."""


class Mish(Configured, function=F.mish):
    """x · tanh(softplus(x))."""


class Softplus(Configured, function=F.softplus):
    """log(1 + exp(beta · x)) / beta."""


class Softsign(Configured, function=F.softsign):
    """x / (1 + |x|)."""


class Tanh(Configured, function=F.tanh):
    """tanh(x)."""


class Tanhshrink(Configured, function=F.tanhshrink):
    """x - tanh(x)."""


class Sigmoid(Configured, function=F.sigmoid):
    """1 / (1 + exp(-x))."""


class LogSigmoid(Configured, function=F.logsigmoid):
    """log(sigmoid(x))."""


class Hardtanh(Configured, function=F.hardtanh):
    """x clamped to [min_val, max_val]."""


class Hardsigmoid(Configured, function=F.hardsigmoid, show=""):
    """x / 6 + 1/2, clamped to [0, 1]."""


class Hardswish(Configured, function=F.hardswish, show=""):
    """x · hardsigmoid(x)."""


class Hardshrink(Configured, function=F.hardshrink, bare=True):
    """x where |x| > lambd, else 0."""


class Softshrink(Configured, function=F.softshrink, bare=True):
    """x moved towards 0 by lambd, at most to 0."""


class Threshold(Configured, function=F.threshold):
    """x where it exceeds the threshold, else `value`."""


class GLU(Configured, function=F.glu):
    """Gated linear unit: the first half along an axis times the sigmoid of the second half."""


class Softmax(Configured, function=F.softmax):
    """exp(x) / Σ exp(x) along an axis."""


class Softmin(Configured, function=F.softmin):
    """exp(-x) / Σ exp(-x) along an axis."""


class LogSoftmax(Configured, function=F.log_softmax):
    """log(softmax(x)) along an axis, computed without overflow."""


class Softmax2d(Module):
    """Softmax over the channels at each pixel of (batch, channels, height, width)."""

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.softmax(input, -3)


class RReLU(Configured, options={"lower": 1.0 / 8, "upper": 1.0 / 3, "inplace": False}):
    """x where x > 0, else x times a slope, which is random in training."""

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """x where x > 0, else weight · x, with one learned weight, or one per channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype))

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"
