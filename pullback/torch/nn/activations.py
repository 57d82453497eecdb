"""Activation functions as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import full
from . import functional as F
from .configured import NEEDED, Configured
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
    "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh",
    "Tanhshrink", "Threshold",
]


class ReLU(Configured):
    """max(x, 0); with inplace=True, overwrites x.

    >>> import pullback.torch as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _options, _function = {"inplace": False}, staticmethod(F.relu)


class ReLU6(Configured):
    """x clamped to [0, 6]."""

    _options, _function = {"inplace": False}, staticmethod(F.relu6)


class LeakyReLU(Configured):
    """Leaky ReLU: x where x > 0, else negative_slope · x."""

    _options: ClassVar = {"negative_slope": 0.01, "inplace": False}
    _function = staticmethod(F.leaky_relu)


class ELU(Configured):
    """x where x > 0, else alpha · (exp(x) - 1)."""

    _options, _function = {"alpha": 1.0, "inplace": False}, staticmethod(F.elu)


class CELU(Configured):
    """x where x > 0, else alpha · (exp(x / alpha) - 1)."""

    _options, _function = {"alpha": 1.0, "inplace": False}, staticmethod(F.celu)


class SELU(Configured):
    """Self-normalizing ELU: keeps mean 0 and variance 1."""

    _options, _function = {"inplace": False}, staticmethod(F.selu)


class GELU(Configured):
    """x · Φ(x), Φ the standard normal CDF, or its tanh approximation."""

    _options, _function = {"approximate": "none"}, staticmethod(F.gelu)


class SiLU(Configured):
    """x · sigmoid(x)."""

    _options, _function = {"inplace": False}, staticmethod(F.silu)


class Mish(Configured):
    """x · tanh(softplus(x))."""

    _options, _function = {"inplace": False}, staticmethod(F.mish)


class Softplus(Configured):
    """log(1 + exp(beta · x)) / beta."""

    _options, _function = {"beta": 1.0, "threshold": 20.0}, staticmethod(F.softplus)


class Softsign(Configured):
    """x / (1 + |x|)."""

    _options, _function = {}, staticmethod(F.softsign)


class Tanh(Configured):
    """tanh(x)."""

    _options, _function = {}, staticmethod(F.tanh)


class Tanhshrink(Configured):
    """x - tanh(x)."""

    _options, _function = {}, staticmethod(F.tanhshrink)


class Sigmoid(Configured):
    """1 / (1 + exp(-x))."""

    _options, _function = {}, staticmethod(F.sigmoid)


class LogSigmoid(Configured):
    """log(sigmoid(x))."""

    _options, _function = {}, staticmethod(F.logsigmoid)


class Hardtanh(Configured):
    """x clamped to [min_val, max_val]."""

    _options: ClassVar = {"min_val": -1.0, "max_val": 1.0, "inplace": False}
    _function = staticmethod(F.hardtanh)


class Hardsigmoid(Configured):
    """x / 6 + 1/2, clamped to [0, 1]."""

    _options, _function = {"inplace": False}, staticmethod(F.hardsigmoid)

    def extra_repr(self) -> str:
        """Empty: there are no options to show."""
        return ""


class Hardswish(Hardsigmoid):
    """x · hardsigmoid(x)."""

    _options, _function = {"inplace": False}, staticmethod(F.hardswish)


class Hardshrink(Configured):
    """x where |x| > lambd, else 0."""

    _options, _function, _bare = {"lambd": 0.5}, staticmethod(F.hardshrink), True


class Softshrink(Configured):
    """x moved towards 0 by lambd, at most to 0."""

    _options, _function, _bare = {"lambd": 0.5}, staticmethod(F.softshrink), True


class Threshold(Configured):
    """x where it exceeds the threshold, else `value`."""

    _options: ClassVar = {"threshold": NEEDED, "value": NEEDED, "inplace": False}
    _function = staticmethod(F.threshold)


class GLU(Configured):
    """Gated linear unit: the first half along an axis times the sigmoid of the second half."""

    _options, _function = {"dim": -1}, staticmethod(F.glu)


class Softmax(Configured):
    """exp(x) / Σ exp(x) along an axis."""

    _options, _function = {"dim": None}, staticmethod(F.softmax)


class Softmin(Configured):
    """exp(-x) / Σ exp(-x) along an axis."""

    _options, _function = {"dim": None}, staticmethod(F.softmin)


class LogSoftmax(Configured):
    """log(softmax(x)) along an axis, computed without overflow."""

    _options, _function = {"dim": None}, staticmethod(F.log_softmax)


class Softmax2d(Module):
    """Softmax over the channels at each pixel of (batch, channels, height, width)."""

    def forward(self, input: Any) -> Any:
        """Compute the layer's output."""
        return F.softmax(input, -3)


class RReLU(Configured):
    """x where x > 0, else x times a slope, which is random in training."""

    _options: ClassVar = {"lower": 1.0 / 8, "upper": 1.0 / 3, "inplace": False}

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
