"""Activation functions, and softmax, as modules."""

from __future__ import annotations

from typing import Any

from .. import ops
from .configured import Configured


class ReLU(Configured, function=ops.relu):
    """max(x, 0); see `pullback.relu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> ReLU()(pb.tensor([-1.0, 2.0]))
    Tensor([0., 2.])
    """


class LeakyReLU(Configured, options={"slope": 0.01}, bare=True):
    """x where it is positive, else slope · x; see `pullback.leaky_relu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> LeakyReLU(0.5)(pb.tensor([-1.0, 2.0]))
    Tensor([-0.5,  2. ])
    """

    slope: float

    def forward(self, x: Any) -> Any:
        return ops.leaky_relu(x, self.slope)


class Tanh(Configured, function=ops.tanh):
    """tanh(x).

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Tanh()(pb.tensor([0.0, 100.0]))
    Tensor([0., 1.])
    """


class Sigmoid(Configured, function=ops.sigmoid):
    """1 / (1 + exp(-x)); see `pullback.sigmoid`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Sigmoid()(pb.tensor([0.0, 100.0]))
    Tensor([0.5, 1. ])
    """


class SiLU(Configured, function=ops.silu):
    """x · sigmoid(x); see `pullback.silu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> SiLU()(pb.tensor([0.0, 100.0]))
    Tensor([  0., 100.])
    """


class Softplus(Configured, function=ops.softplus):
    """log(1 + exp(beta · x)) / beta; see `pullback.softplus`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Softplus()(pb.tensor([-1000.0, 1000.0]))
    Tensor([   0., 1000.])
    """

    beta: float


class GELU(Configured, function=ops.gelu):
    """x · Φ(x), or its tanh approximation; see `pullback.gelu`.

    The input is a Tensor of any shape; the output has its shape and dtype.

    approximate  "none" or "tanh"

    >>> import pullback as pb
    >>> GELU()(pb.tensor([0.0, 100.0]))
    Tensor([  0., 100.])
    """

    approximate: str


class Softmax(Configured, function=ops.softmax):
    """exp(x) / Σ exp(x) along an axis; see `pullback.softmax`.

    The input is a Tensor with at least one axis; the output has its shape and dtype.

    >>> import pullback as pb
    >>> Softmax()(pb.zeros((2, 4)))[0]
    Tensor([0.25, 0.25, 0.25, 0.25])
    """

    axis: int
