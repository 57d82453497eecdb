"""Activations and related functions: sigmoid, erf, softmax, logsumexp.

Kinks: `relu` and `hard_…` have derivative 0 at theirs; `leaky_relu` and `elu` have at 0 the slope
of their negative side. A rule reads `x` or `out` as PyTorch's does, so that what may be written in
place there may be written here. `sigmoid` and `softmax` read `out`, because the next operation
saves it anyway, so `x` can be freed.
Infinite entries: `-inf` has weight 0 in a softmax. A slice that is all `-inf` has logsumexp `-inf`,
and its weights (the gradient of logsumexp) are all 0, never NaN.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.cotangent import is_complex
from ..errors import ArgumentError
from .declaring import known_as, op
from .exponential import exp
from .selecting import where
from .shaping import hidden_axes
from .statistics import kept
from .statistics import sum as total_of

__all__ = [
    "elu", "erf", "erfc", "gelu", "hard_sigmoid", "hard_tanh", "leaky_relu", "log_sigmoid",
    "log_softmax", "logsumexp", "relu", "sigmoid", "silu", "softmax", "softplus",
]


@op(elementwise=True)
def relu(xp: Any, x: Any, /) -> Any:
    """max(x, 0): the derivative is 1 for x > 0 and 0 elsewhere, also at 0. NaN stays NaN.

    >>> import numpy as np
    >>> relu(np.array([-2.0, 3.0]))
    array([0., 3.])
    """
    return xp.maximum(x, xp.zeros_like(x))


@relu.pullback("x")
def pullback_relu(g: Any, out: Any) -> Any:
    return gate(g, out)


@op(elementwise=True)
def gate(xp: Any, x: Any, control: Any, /) -> Any:
    """x where control > 0 (or is NaN), else 0; linear in x, with no derivative in control.

    The pullback of `relu` uses this and not a product with a mask: a mask would give 0 · ∞ = NaN
    where the cotangent is infinite.

    >>> import numpy as np
    >>> gate(np.array([1.0, np.inf]), np.array([5.0, 0.0]))
    array([1., 0.])
    """
    return xp.where(control <= 0, xp.zeros_like(x), x)


@gate.pullback("x")
def pullback_gate(g: Any, control: Any) -> Any:
    return gate(g, control)


@op(elementwise=True)
def leaky_relu(xp: Any, x: Any, /, negative_slope: float = 0.01) -> Any:
    """x for x > 0, else negative_slope · x; the derivative at 0 is negative_slope.

    >>> import numpy as np
    >>> leaky_relu(np.array([-2.0, 3.0]), 0.5)
    array([-1.,  3.])
    """
    return where(x > 0, x, x * negative_slope)


@leaky_relu.pullback("x")
def pullback_leaky_relu(g: Any, x: Any, *, negative_slope: float) -> Any:
    return where(x > 0, g, g * negative_slope)


@op(elementwise=True)
def elu(xp: Any, x: Any, /, alpha: float = 1.0) -> Any:
    """x for x > 0, else alpha · (exp(x) - 1); the derivative at 0 is alpha, the second one 0.

    Raises `ArgumentError` for a negative alpha.

    >>> import numpy as np
    >>> elu(np.array([-np.inf, 3.0]), 0.5)
    array([-0.5,  3. ])
    """
    if alpha < 0:
        raise ArgumentError("argument `alpha` of `elu`", "a number ≥ 0", f"{alpha}")
    return where(x > 0, x, alpha * xp.expm1(xp.minimum(x, xp.zeros_like(x))))


@elu.pullback("x")
def pullback_elu(g: Any, x: Any, *, alpha: float) -> Any:
    # Not `out + alpha`, which loses all digits far to the left.
    return where(x > 0, g, g * (exp(where(x >= 0, 0, x)) * alpha))


@op(elementwise=True)
def hard_tanh(xp: Any, x: Any, /, low: float = -1.0, high: float = 1.0) -> Any:
    """x clamped to [low, high]; the derivative is 1 strictly inside and 0 elsewhere.

    Unlike `clip`, whose derivative is 1 at the limits too.

    >>> import numpy as np
    >>> hard_tanh(np.array([-3.0, 0.5, 3.0]))
    array([-1. ,  0.5,  1. ])
    """
    return xp.clip(x, low, high)


@hard_tanh.pullback("x")
def pullback_hard_tanh(g: Any, x: Any, *, low: float, high: float) -> Any:
    return gate(gate(g, x - low), high - x)


@op(elementwise=True)
def hard_sigmoid(xp: Any, x: Any, /) -> Any:
    """x/6 + 1/2 clamped to [0, 1]; the derivative is 1/6 strictly between -3 and 3, else 0.

    >>> import numpy as np
    >>> hard_sigmoid(np.array([-4.0, 0.0, 4.0]))
    array([0. , 0.5, 1. ])
    """
    return xp.clip(x / 6 + 0.5, 0.0, 1.0)


@hard_sigmoid.pullback("x")
def pullback_hard_sigmoid(g: Any, x: Any) -> Any:
    return gate(gate(g, x + 3), 3 - x) / 6


@known_as(torch="special_expit")
@op(elementwise=True)
def sigmoid(xp: Any, x: Any, /) -> Any:
    """1 / (1 + exp(-x)), without overflow and accurate in both tails.

    pullback  g · out · (1 - out)

    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small, xp.ones_like(small)) / (1 + small)


@sigmoid.partial("x")
def partial_sigmoid(out: Any) -> Any:
    return (1 - out) * out


@op(elementwise=True)
def log_sigmoid(xp: Any, x: Any, /) -> Any:
    """log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|)), without overflow.

    pullback  g · sigmoid(-x)

    >>> import numpy as np
    >>> log_sigmoid(np.array([-1000.0, 1000.0]))
    array([-1000.,     0.])
    """
    return xp.minimum(x, xp.zeros_like(x)) - xp.log1p(xp.exp(-xp.abs(x)))


@log_sigmoid.partial("x")
def partial_log_sigmoid(x: Any) -> Any:
    return sigmoid(-x)


@op(elementwise=True)
def softplus(xp: Any, x: Any, /, beta: float = 1.0) -> Any:
    """log(1 + exp(beta · x)) / beta: a smooth relu, without overflow or threshold.

    pullback  g · sigmoid(beta · x)

    Raises `ArgumentError` unless beta is positive.

    >>> import numpy as np
    >>> softplus(np.array([-1000.0, 0.0, 1000.0]))
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    if not beta > 0:
        raise ArgumentError("argument `beta` of `softplus`", "a positive number", f"{beta}")
    rest = xp.log1p(xp.exp(-beta * xp.abs(x)))
    return xp.maximum(x, xp.zeros_like(x)) + (rest if beta == 1 else rest / beta)


@softplus.partial("x")
def partial_softplus(x: Any, *, beta: float) -> Any:
    return sigmoid(x if beta == 1 else x * beta)


@op(elementwise=True)
def silu(xp: Any, x: Any, /) -> Any:
    """x · sigmoid(x), also called swish.

    pullback  g · s · (1 + x · (1 - s)),  s = sigmoid(x)

    >>> import numpy as np
    >>> silu(np.array([-1000.0, 0.0, 1000.0]))
    array([  -0.,    0., 1000.])
    """
    return x * sigmoid(x)


@silu.partial("x")
def partial_silu(x: Any) -> Any:
    s = sigmoid(x)
    return ((1 - s) * x + 1) * s


@op(native="erf", elementwise=True)
def erf(x: Any, /) -> Any:
    """The error function 2/√π ∫₀ˣ exp(-t²) dt, for real x.

    >>> import numpy as np
    >>> erf(np.array([-np.inf, 0.0, np.inf]))
    array([-1.,  0.,  1.])
    """


@erf.partial("x")
def partial_erf(x: Any) -> Any:
    return exp(-x * x) * (2 / math.sqrt(math.pi))


@op(native="erfc", elementwise=True)
def erfc(x: Any, /) -> Any:
    """1 - erf(x), for real x, accurate where erf is close to 1.

    >>> import numpy as np
    >>> erfc(np.array([-np.inf, 0.0, np.inf]))
    array([2., 1., 0.])
    """


@erfc.partial("x")
def partial_erfc(x: Any) -> Any:
    return exp(-x * x) * (-2 / math.sqrt(math.pi))


_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_SLOPE, _CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715  # coefficients of the sigmoid's argument


@op(elementwise=True)
def gelu(xp: Any, x: Any, /, approximate: str = "none") -> Any:
    """x · Φ(x) with the normal distribution function Φ, or its tanh approximation.

    approximate  "none": Φ(x) = erfc(-x/√2) / 2
                 "tanh": Φ(x) ≈ (1 + tanh(u)) / 2 = sigmoid(2u),  u = √(2/π) (x + 0.044715 x³)

    Raises `ArgumentError` for another value of `approximate`.

    >>> import numpy as np
    >>> gelu(np.array([-1.0, 0.0, 1.0]))
    array([-0.15865525,  0.        ,  0.84134475])
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            "argument `approximate` of `gelu`", "'none' or 'tanh'", repr(approximate)
        )
    return _normal_cdf(x) * x if approximate == "none" else _sigmoid_cdf(x) * x


@gelu.partial("x")
def partial_gelu(x: Any, *, approximate: str) -> Any:
    square = x * x
    if approximate == "none":
        return exp(square * -0.5) * x * _DENSITY + _normal_cdf(x)
    x = where(x > 30, 30.0, where(x < -30, -30.0, x))  # beyond ±30 s is 0 or 1, and x³ overflows
    square, s = x * x, _sigmoid_cdf(x)
    return ((1 - s) * x * (square * (3 * _CUBIC * _SLOPE) + _SLOPE) + 1) * s


def _normal_cdf(x: Any) -> Any:
    return erfc(x * -_ROOT_HALF) * 0.5


def _sigmoid_cdf(x: Any) -> Any:
    return sigmoid((x * x * (_CUBIC * _SLOPE) + _SLOPE) * x)


@op(shape="x")
def softmax(xp: Any, x: Any, /, axis: int = -1) -> Any:
    """exp(x) / Σ exp(x) along an axis, without overflow.

    pullback  out · (g - Σ g · out)

    `-inf` has weight 0; a slice that is all `-inf` has all weights 0.

    >>> import numpy as np
    >>> softmax(np.array([1000.0, 1000.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    if not x.shape[axis]:
        return x
    powers = xp.exp(x - finite_max(xp, x, axis))
    total = xp.sum(powers, axis=axis, keepdims=True)
    return powers / xp.where(total == 0, xp.ones_like(total), total)


@softmax.pullback("x")
def pullback_softmax(g: Any, out: Any, *, axis: int) -> Any:
    weighted = g * out
    return weighted - out * total_of(weighted, axis=axis, keepdims=True)


@softmax.pushforward("x")
def pushforward_softmax(t: Any, out: Any, *, axis: int) -> Any:
    return pullback_softmax(t, out, axis=axis)  # the Jacobian is symmetric


@softmax.batching
def batch_softmax(x: Any, *, axis: int) -> Any:
    return softmax(x, *hidden_axes(axis, len(x.shape) - 1, "softmax"))


@op(shape="x")
def log_softmax(xp: Any, x: Any, /, axis: int = -1) -> Any:
    """log(softmax(x)) = x - logsumexp(x) along an axis, without overflow.

    pullback  g - exp(out) · Σ g

    >>> import numpy as np
    >>> log_softmax(np.array([1000.0, 1000.0, -np.inf]))
    array([-0.69314718, -0.69314718,        -inf])
    """
    if not x.shape[axis]:
        return x
    shifted = x - finite_max(xp, x, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    return shifted - xp.log(xp.where(total == 0, xp.ones_like(total), total))


@log_softmax.pullback("x")
def pullback_log_softmax(g: Any, out: Any, *, axis: int) -> Any:
    return g - exp(out) * total_of(g, axis=axis, keepdims=True)


@log_softmax.pushforward("x")
def pushforward_log_softmax(t: Any, out: Any, *, axis: int) -> Any:
    return t - total_of(exp(out) * t, axis=axis, keepdims=True)


@log_softmax.batching
def batch_log_softmax(x: Any, *, axis: int) -> Any:
    return log_softmax(x, *hidden_axes(axis, len(x.shape) - 1, "log_softmax"))


@op(reduction=True)
def logsumexp(
    xp: Any, x: Any, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    """log Σ exp(x) over all entries or along axes, without overflow.

    pullback  g · exp(x - out)

    An empty slice, and one that is all `-inf`, gives `-inf`, with gradient 0.

    >>> import numpy as np
    >>> logsumexp(np.array([1000.0, 1000.0]))
    np.float64(1000.6931471805599)
    """
    axes = tuple(range(len(x.shape))) if axis is None else axis
    # The sum over an empty axis is 0 with the right shape; its maximum would be an error.
    largest = xp.sum(x, axis=axes, keepdims=True) if 0 in x.shape else finite_max(xp, x, axes)
    total = xp.log(xp.sum(xp.exp(x - largest), axis=axes, keepdims=True)) + largest
    return total if keepdims else xp.squeeze(total, axis=axes)


@logsumexp.pullback("x")
def pullback_logsumexp(g: Any, x: Any, out: Any, *, axis: Any, keepdims: bool) -> Any:
    return _weights(x, out, axis, keepdims) * kept(g, tuple(x.shape), axis, keepdims)


@logsumexp.pushforward("x")
def pushforward_logsumexp(t: Any, x: Any, out: Any, *, axis: Any, keepdims: bool) -> Any:
    return total_of(_weights(x, out, axis, keepdims) * t, axis=axis, keepdims=keepdims)


def _weights(x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """exp(x - logsumexp(x)), or 0 where the logsumexp is `-inf`.

    Far out, the rounding of the logsumexp is a factor of all weights; dividing by their sum, which
    is 1, removes it.
    """
    out = kept(out, tuple(x.shape), axis, keepdims)
    weights = exp(x - where(out == -math.inf, 0.0, out))
    total = total_of(weights, axis=axis, keepdims=True)
    return weights / where(out == -math.inf, 1.0, total)


def finite_max(xp: Any, x: Any, axis: Any) -> Any:
    """The maximum along axes, with infinite maxima replaced by 0 so that it can be subtracted.

    For complex x the maximum of the real parts, which keeps a logarithm on its principal branch.
    """
    x = xp.real(x) if is_complex(x) else x
    largest = xp.max(x, axis=axis, keepdims=True)
    return xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
