"""Activations of `torch.nn.functional`; with inplace=True they overwrite their input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.tensor import is_inexact
from ....nn import functional as core
from ...dtypes import floating
from ...elementwise import log_softmax as _log_softmax
from ...elementwise import sigmoid, tanh
from ...elementwise import softmax as _softmax
from ...errors import guarded
from ...operators import in_place

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid",
    "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "threshold_",
]


def placed(function: Callable[[Any], Any], input: Any, inplace: bool) -> Any:
    """Apply a function; with inplace, write the result over the input."""
    return in_place(function, "activation_")(input) if inplace else function(input)


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place variant of a function."""

    def call(input: Any, *args: Any, **keywords: Any) -> Any:
        return function(input, *args, inplace=True, **keywords)

    call.__name__ = function.__name__ + "_"
    call.__doc__ = f"In-place `{function.__name__}`; returns the tensor."
    return call


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0)."""
    return placed(ops.relu, input, inplace)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Leaky ReLU: x where x > 0, else negative_slope · x."""
    return placed(lambda x: ops.leaky_relu(x, negative_slope), input, inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where x > 0, else alpha · (exp(x) - 1)."""
    return placed(lambda x: ops.elu(x, alpha), input, inplace)


@guarded
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where x > 0, else alpha · (exp(x / alpha) - 1)."""
    return placed(lambda x: core.celu(x, alpha), input, inplace)


def selu(input: Any, inplace: bool = False) -> Any:
    """Self-normalizing ELU: keeps mean 0 and variance 1."""
    return placed(core.selu, input, inplace)


def gelu(input: Any, approximate: str = "none") -> Any:
    """x · Φ(x), Φ the standard normal CDF, or its tanh approximation (approximate="tanh")."""
    return ops.gelu(input, approximate)


def silu(input: Any, inplace: bool = False) -> Any:
    """x · sigmoid(x)."""
    return placed(ops.silu, input, inplace)


def mish(input: Any, inplace: bool = False) -> Any:
    """x · tanh(softplus(x))."""
    return placed(core.mish, input, inplace)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta · x)) / beta; it never overflows, so `threshold` is ignored."""
    return ops.softplus(input, beta)


def logsigmoid(input: Any) -> Any:
    """log(sigmoid(x))."""
    return ops.log_sigmoid(input)


def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """Clamps the entries to [min_val, max_val]; the derivative at the bounds is 0."""
    if not is_inexact(input):
        min_val, max_val = int(min_val), int(max_val)
    return placed(lambda x: ops.hard_tanh(x, min_val, max_val), input, inplace)


def relu6(input: Any, inplace: bool = False) -> Any:
    """Clamps the entries to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """x / 6 + 1/2, clamped to [0, 1]."""
    return placed(ops.hard_sigmoid, input, inplace)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """x · hardsigmoid(x)."""
    return placed(core.hard_swish, input, inplace)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x where |x| > lambd, else 0."""
    return core.hard_shrink(input, lambd)


@guarded
def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by lambd, at most to 0."""
    return core.soft_shrink(input, lambd)


def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    return core.softsign(input)


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return core.tanh_shrink(floating(input))


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it exceeds the threshold, else `value`."""
    return placed(lambda x: core.threshold(x, threshold, value), input, inplace)


@guarded
def prelu(input: Any, weight: Any) -> Any:
    """x where x > 0, else weight · x; with one weight, or one per channel."""
    return core.prelu(input, weight)


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: bool = False,
) -> Any:
    """x where x > 0, else x times a slope, which is random in training."""
    return placed(lambda x: core.rrelu(x, lower, upper, training=training), input, inplace)


@guarded
def glu(input: Any, dim: int = -1) -> Any:
    """Gated linear unit: the first half along an axis times the sigmoid of the second half."""
    return core.glu(input, dim)


def _usual(input: Any, dim: int | None) -> int:
    """The default axis of softmax in PyTorch, which depends on the rank."""
    return dim if dim is not None else 0 if len(input.shape) in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """exp(x) / Σ exp(x) along an axis."""
    return _softmax(input, _usual(input, dim), dtype=dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """exp(-x) / Σ exp(-x) along an axis."""
    return _softmax(-input, _usual(input, dim), dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """log(softmax(x)) along an axis, computed without overflow."""
    return _log_softmax(input, _usual(input, dim), dtype=dtype)


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """Gumbel-softmax samples with temperature tau; `hard`: one-hot, with the soft gradient."""
    return core.gumbel_softmax(logits, tau, hard, dim)


relu_, elu_, celu_, selu_ = (_written(f) for f in (relu, elu, celu, selu))
leaky_relu_, hardtanh_ = _written(leaky_relu), _written(hardtanh)
threshold_, rrelu_ = _written(threshold), _written(rrelu)
