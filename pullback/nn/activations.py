"""Activation functions, and softmax, as modules."""

from __future__ import annotations

from typing import Any

from .. import ops
from .module import Module


class ReLU(Module):
    """max(x, 0); see `pullback.relu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> ReLU()(pb.tensor([-1.0, 2.0]))
    Tensor([0., 2.])
    """

    def forward(self, x: Any) -> Any:
        return ops.relu(x)


class LeakyReLU(Module):
    """x where it is positive, else slope · x; see `pullback.leaky_relu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> LeakyReLU(0.5)(pb.tensor([-1.0, 2.0]))
    Tensor([-0.5,  2. ])
    """

    def __init__(self, slope: float = 0.01) -> None:
        self.slope = slope

    def forward(self, x: Any) -> Any:
        return ops.leaky_relu(x, self.slope)

    def extra_repr(self) -> str:
        return f"{self.slope}"


class Tanh(Module):
    """tanh(x).

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Tanh()(pb.tensor([0.0, 100.0]))
    Tensor([0., 1.])
    """

    def forward(self, x: Any) -> Any:
        return ops.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x)); see `pullback.sigmoid`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Sigmoid()(pb.tensor([0.0, 100.0]))
    Tensor([0.5, 1. ])
    """

    def forward(self, x: Any) -> Any:
        return ops.sigmoid(x)


class SiLU(Module):
    """x · sigmoid(x); see `pullback.silu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> SiLU()(pb.tensor([0.0, 100.0]))
    Tensor([  0., 100.])
    """

    def forward(self, x: Any) -> Any:
        return ops.silu(x)


class Softplus(Module):
    """log(1 + exp(beta · x)) / beta; see `pullback.softplus`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Softplus()(pb.tensor([-1000.0, 1000.0]))
    Tensor([   0., 1000.])
    """

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = beta

    def forward(self, x: Any) -> Any:
        return ops.softplus(x, beta=self.beta)

    def extra_repr(self) -> str:
        return f"beta={self.beta}"


class GELU(Module):
    """x · Φ(x), or its tanh approximation; see `pullback.gelu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    approximate  "none" or "tanh"

    >>> import pullback as pb
    >>> GELU()(pb.tensor([0.0, 100.0]))
    Tensor([  0., 100.])
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        return ops.gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """exp(x) / Σ exp(x) along an axis; see `pullback.softmax`.

    The input is a Tensor with at least one axis; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Softmax()(pb.zeros((2, 4)))[0]
    Tensor([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return ops.softmax(x, axis=self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"
