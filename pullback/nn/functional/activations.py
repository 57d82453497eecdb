"""Activations composed of a few operations; derivatives at kinks are PyTorch's."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...core.tensor import raw
from ...errors import ArgumentError, ShapeError
from ...lost_paths import held_fixed
from ...random import default_generator

__all__ = [
    "celu", "glu", "gumbel_softmax", "hard_shrink", "hard_swish", "mish", "prelu", "rrelu", "selu",
    "soft_shrink", "softsign", "tanh_shrink", "threshold",
]

_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x for x > 0, else alpha · (exp(x / alpha) - 1); the derivative at 0 is 1, the second one 0.

    Raises `ArgumentError` for alpha 0.

    >>> import numpy as np
    >>> celu(np.array([-np.inf, 3.0]), 0.5)
    array([-0.5,  3. ])
    """
    if not alpha:
        raise ArgumentError("argument `alpha` of `celu`", "a number other than 0", "0")
    below = ops.where(x > 0, ops.zeros_like(x), x)
    curve = ops.elu if alpha > 0 else ops.expm1  # the same left of 0
    return ops.where(x > 0, x, alpha * curve(below / alpha))


def selu(x: Any) -> Any:
    """1.0507 · x for x > 0, else 1.7581 · (exp(x) - 1) (Klambauer et al., 2017).

    >>> import numpy as np
    >>> selu(np.array([0.0, 1.0])).round(4)
    array([0.    , 1.0507])
    """
    return ops.elu(x, _ALPHA) * _SCALE


def mish(x: Any) -> Any:
    """x · tanh(log(1 + exp(x))).

    >>> import numpy as np
    >>> mish(np.array([-1000.0, 0.0, 1000.0]))
    array([  -0.,    0., 1000.])
    """
    return x * ops.tanh(ops.softplus(x))


def hard_swish(x: Any) -> Any:
    """x · (x + 3) / 6 for -3 < x < 3, 0 below, x above; derivative 0 at -3 and 1 at 3.

    >>> import numpy as np
    >>> hard_swish(np.array([-4.0, 0.0, 4.0]))
    array([-0.,  0.,  4.])
    """
    inside = x * (x + 3) / 6
    return ops.where(x >= 3, x, ops.where(x <= -3, x * 0, inside))


def softsign(x: Any) -> Any:
    """x / (1 + |x|).

    >>> import numpy as np
    >>> softsign(np.array([-1.0, 3.0]))
    array([-0.5 ,  0.75])
    """
    return x / (ops.abs(x) + 1)


def tanh_shrink(x: Any) -> Any:
    """x - tanh(x).

    >>> import numpy as np
    >>> tanh_shrink(np.array([0.0, 100.0]))
    array([ 0., 99.])
    """
    return x - ops.tanh(x)


def hard_shrink(x: Any, limit: float = 0.5) -> Any:
    """x where |x| > limit, else 0; the derivative at the limit is 0.

    >>> import numpy as np
    >>> hard_shrink(np.array([-1.0, 0.5, 0.7]))
    array([-1. ,  0. ,  0.7])
    """
    return ops.where(ops.abs(x) > limit, x, ops.zeros_like(x))


def soft_shrink(x: Any, limit: float = 0.5) -> Any:
    """sign(x) · max(|x| - limit, 0).

    Raises `ArgumentError` for a negative limit.

    >>> import numpy as np
    >>> soft_shrink(np.array([-1.0, 0.5, 0.75]))
    array([-0.5 ,  0.  ,  0.25])
    """
    if limit < 0:
        raise ArgumentError("argument `limit` of `soft_shrink`", "a number ≥ 0", f"{limit}")
    zero = ops.zeros_like(x)
    return ops.where(x > limit, x - limit, ops.where(x < -limit, x + limit, zero))


def threshold(x: Any, limit: float, value: float) -> Any:
    """x where x > limit, else `value`.

    >>> import numpy as np
    >>> threshold(np.array([1.0, 2.0]), 1.0, 7.0)
    array([7., 2.])
    """
    return ops.where(x > limit, x, ops.full_like(x, value))


def prelu(x: Any, slope: Any) -> Any:
    """x for x > 0, else slope · x, with one slope, or one per channel (axis 1).

    Raises `ShapeError` for another number of slopes.

    >>> import numpy as np
    >>> prelu(np.array([[-2.0, -2.0]]), np.array([0.5, 0.1]))
    array([[-1. , -0.2]])
    """
    count = math.prod(slope.shape)
    channels = x.shape[1] if len(x.shape) > 1 else 1
    if count not in (1, channels):
        raise ShapeError("argument `slope` of `prelu`", f"1 or {channels} numbers", f"{count}")
    shape = () if count == 1 else (count, *(1,) * max(0, len(x.shape) - 2))
    slope = ops.reshape(slope, shape)
    return ops.where(x > 0, x, x * slope)


def rrelu(
    x: Any, low: float = 1 / 8, high: float = 1 / 3, *, training: bool = False,
    generator: Any = None,
) -> Any:
    """x for x > 0, else slope · x: a random slope per entry in training, else the mean slope.

    >>> import numpy as np
    >>> rrelu(np.array([-2.0, 3.0]), 0.5, 1.0)
    array([-1.5,  3. ])
    """
    if not training:
        return ops.leaky_relu(x, (low + high) / 2)
    source = generator or default_generator()
    slope = raw(source.uniform(tuple(x.shape), low=low, high=high, dtype=x.dtype))
    return ops.where(x > 0, x, x * slope)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second half.

    Raises `ShapeError` for an axis of odd length.

    >>> import numpy as np
    >>> glu(np.array([4.0, 0.0]))
    array([2.])
    """
    length = x.shape[axis]
    if length % 2:
        raise ShapeError("`glu`", "an axis of even length", f"{length}")
    value, gate = ops.split(x, [length // 2, length // 2], axis=axis)
    return value * ops.sigmoid(gate)


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, axis: int = -1, *, generator: Any = None
) -> Any:
    """A random one-hot sample with probabilities softmax(logits), relaxed by a temperature tau.

    hard  return exactly one-hot samples, with the gradient of the relaxed ones

    >>> import numpy as np
    >>> float(gumbel_softmax(np.zeros((2, 3)), hard=True).sum())
    2.0
    """
    source = generator or default_generator()
    noise = raw(source.exponential(tuple(logits.shape), dtype=logits.dtype))
    soft = ops.softmax((logits - ops.log(noise)) / tau, axis=axis)
    if not hard:
        return soft
    values = held_fixed(soft)
    best = ops.max(values, axis=axis, keepdims=True)
    return ops.where(values == best, 1 - values, -values) + soft
