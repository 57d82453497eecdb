"""Initialisation of parameters.

Each function takes a shape and returns a new Tensor; random values come from a
`pullback.random.Generator`, or from the default one. A weight has shape (outputs, inputs, *window),
as in the layers here: fan_in is inputs × window size, fan_out is outputs × window size.
"""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..core.tensor import Tensor, wrap
from ..errors import ArgumentError, ShapeError
from ..random import Generator, default_generator

Shape = tuple[int, ...]


def zeros(shape: Shape, *, dtype: Any = "float32") -> Tensor:
    """A tensor of zeros.

    >>> zeros((2,))
    Tensor([0., 0.], dtype=float32)
    """
    return constant(shape, 0, dtype=dtype)


def ones(shape: Shape, *, dtype: Any = "float32") -> Tensor:
    """A tensor of ones.

    >>> ones((2,))
    Tensor([1., 1.], dtype=float32)
    """
    return constant(shape, 1, dtype=dtype)


def constant(shape: Shape, value: float, *, dtype: Any = "float32") -> Tensor:
    """A tensor filled with one value.

    >>> constant((2,), 0.5)
    Tensor([0.5, 0.5], dtype=float32)
    """
    made = ops.full(shape, value, dtype=dtype)
    return made if isinstance(made, Tensor) else wrap(Tensor, made)


def normal(
    shape: Shape, *, std: float = 1.0, mean: float = 0.0, generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Normally distributed values.

    >>> normal((2, 3)).shape
    (2, 3)
    """
    source = generator or default_generator()
    return source.normal(shape, loc=mean, scale=std, dtype=dtype)


def uniform(
    shape: Shape, *, low: float = 0.0, high: float = 1.0, generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Uniformly distributed values in [low, high).

    >>> uniform((2, 3)).shape
    (2, 3)
    """
    source = generator or default_generator()
    return source.uniform(shape, low=low, high=high, dtype=dtype)


def glorot_uniform(
    shape: Shape, *, gain: float = 1.0, generator: Generator | None = None, dtype: Any = "float32"
) -> Tensor:
    """Uniform in ±gain · √(6 / (fan_in + fan_out)): for tanh and sigmoid (Glorot, Bengio, 2010).

    >>> bool(abs(glorot_uniform((20, 4)).numpy()).max() <= 0.5)
    True
    """
    bound = gain * math.sqrt(6 / max(1, sum(fans(shape))))
    return uniform(shape, low=-bound, high=bound, generator=generator, dtype=dtype)


def glorot_normal(
    shape: Shape, *, gain: float = 1.0, generator: Generator | None = None, dtype: Any = "float32"
) -> Tensor:
    """Normal with standard deviation gain · √(2 / (fan_in + fan_out)) (Glorot, Bengio, 2010).

    >>> glorot_normal((20, 4)).shape
    (20, 4)
    """
    std = gain * math.sqrt(2 / max(1, sum(fans(shape))))
    return normal(shape, std=std, generator=generator, dtype=dtype)


def kaiming_uniform(
    shape: Shape, *, a: float = 0.0, mode: str = "fan_in", generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Uniform in ±√(6 / ((1 + a²) · fan)): for relu, or leaky relu of slope a (He et al., 2015).

    mode  "fan_in" keeps the variance of activations, "fan_out" that of gradients

    >>> bool(abs(kaiming_uniform((4, 24)).numpy()).max() <= 0.5)
    True
    """
    bound = math.sqrt(6 / ((1 + a * a) * _fan(shape, mode)))
    return uniform(shape, low=-bound, high=bound, generator=generator, dtype=dtype)


def kaiming_normal(
    shape: Shape, *, a: float = 0.0, mode: str = "fan_in", generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Normal with standard deviation √(2 / ((1 + a²) · fan)); see `kaiming_uniform`.

    >>> kaiming_normal((4, 24)).shape
    (4, 24)
    """
    std = math.sqrt(2 / ((1 + a * a) * _fan(shape, mode)))
    return normal(shape, std=std, generator=generator, dtype=dtype)


he_uniform, he_normal = kaiming_uniform, kaiming_normal


def fans(shape: Shape) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight of this shape.

    Raises `ShapeError` for fewer than two axes.

    >>> fans((10, 3, 5, 5))
    (75, 250)
    """
    if len(shape) < 2:
        raise ShapeError("fans of a weight", "at least 2 axes", f"shape {tuple(shape)}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _fan(shape: Shape, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError("argument `mode`", "'fan_in' or 'fan_out'", repr(mode))
    return max(1, fans(shape)[mode == "fan_out"])
