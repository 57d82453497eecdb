"""Initialisation of parameters.

Each function takes a shape and returns a new Tensor; random values come from a
`pullback.random.Generator`, or from the default one. A weight has shape (outputs, inputs, *window),
as in the layers here: fan_in is inputs × window size, fan_out is outputs × window size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from .. import ops
from ..core.op import OPS
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentError, ShapeError
from ..random import Generator, default_generator

Shape = tuple[int, ...]

_TRUNCATED_STD = 0.87962566103423978  # of a standard normal distribution cut off at ±2

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3,
    "relu": math.sqrt(2.0), "selu": 0.75,
}


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
    bound = gain * math.sqrt(3) * fan_std(fans(shape), "fan_avg")
    return uniform(shape, low=-bound, high=bound, generator=generator, dtype=dtype)


def glorot_normal(
    shape: Shape, *, gain: float = 1.0, generator: Generator | None = None, dtype: Any = "float32"
) -> Tensor:
    """Normal with standard deviation gain · √(2 / (fan_in + fan_out)) (Glorot, Bengio, 2010).

    >>> glorot_normal((20, 4)).shape
    (20, 4)
    """
    std = gain * fan_std(fans(shape), "fan_avg")
    return normal(shape, std=std, generator=generator, dtype=dtype)


def kaiming_uniform(
    shape: Shape, *, a: float = 0.0, mode: str = "fan_in", generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Uniform in ±√(6 / ((1 + a²) · fan)): for relu, or leaky relu of slope a (He et al., 2015).

    mode  "fan_in" keeps the size of values, "fan_out" that of gradients, "fan_avg" is between

    >>> bool(abs(kaiming_uniform((4, 24)).numpy()).max() <= 0.5)
    True
    """
    bound = math.sqrt(3) * fan_std(fans(shape), mode, 2 / (1 + a * a))
    return uniform(shape, low=-bound, high=bound, generator=generator, dtype=dtype)


def kaiming_normal(
    shape: Shape, *, a: float = 0.0, mode: str = "fan_in", generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """Normal with standard deviation √(2 / ((1 + a²) · fan)); see `kaiming_uniform`.

    >>> kaiming_normal((4, 24)).shape
    (4, 24)
    """
    std = fan_std(fans(shape), mode, 2 / (1 + a * a))
    return normal(shape, std=std, generator=generator, dtype=dtype)


he_uniform, he_normal = kaiming_uniform, kaiming_normal


def truncated_normal(
    shape: Shape, *, mean: float = 0.0, std: float = 1.0, low: float = -2.0, high: float = 2.0,
    generator: Generator | None = None, dtype: Any = "float32",
) -> Tensor:
    """Normal numbers under the condition that they are in [low, high].

    >>> bool(abs(truncated_normal((100,), low=-1.0, high=1.0).numpy()).max() <= 1)
    True
    """
    from scipy.special import ndtr, ndtri  # heavy, and needed here alone

    ends = [float(ndtr((bound - mean) / std)) for bound in (low, high)]
    source = generator or default_generator()
    chance = raw(source.uniform(shape, low=ends[0], high=ends[1]))
    return wrap(Tensor, numpy.asarray(numpy.clip(ndtri(chance) * std + mean, low, high), dtype))


def orthogonal(
    shape: Shape, *, gain: float = 1.0, generator: Generator | None = None, dtype: Any = "float32"
) -> Tensor:
    """A random matrix with orthonormal rows or columns, times gain; all axes but the first are one.

    Raises `ShapeError` for less than two axes.

    >>> q = orthogonal((2, 3), dtype="float64").numpy()
    >>> bool(abs(q @ q.T - numpy.eye(2)).max() < 1e-12)
    True
    """
    if len(shape) < 2:
        raise ShapeError("shape of an orthogonal matrix", "at least 2 axes", f"{tuple(shape)}")
    rows, columns = shape[0], math.prod(shape[1:])
    drawn = normal(
        (max(rows, columns), min(rows, columns)), generator=generator, dtype="float64"
    )
    made = ops.reshape(orthonormal(drawn, rows < columns), tuple(shape)) * gain
    return OPS["astype"](made, numpy.dtype(dtype))


def untruncated_std(std: float) -> float:
    """The scale of a normal distribution that has the standard deviation `std` once cut off at ±2.

    >>> round(untruncated_std(1.0), 4)
    1.1368
    """
    return std / _TRUNCATED_STD


def orthonormal(drawn: Any, transposed: bool) -> Any:
    """Orthonormal columns from a matrix of normal numbers; rows, if `transposed`.

    >>> q = orthonormal(numpy.array([[2.0, 1.0], [0.0, 3.0]]), False)
    >>> numpy.allclose(q.T @ q, numpy.eye(2))
    True
    """
    q, r = OPS["qr"](drawn)
    diagonal = ops.sum(r * numpy.eye(raw(r).shape[0], dtype=raw(r).dtype), axis=0)
    q = q * ops.sign(diagonal)
    return ops.matrix_transpose(q) if transposed else q


def dirac(shape: Shape, *, groups: int = 1, dtype: Any = "float32") -> Tensor:
    """Weights of a convolution that passes channels on as they are.

    Raises `ShapeError` unless there are 3 to 5 axes, the first divisible by `groups`.

    >>> dirac((2, 2, 1)).numpy()[..., 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ShapeError("shape of `dirac`", "3 to 5 axes, the first divisible by groups",
                         f"{tuple(shape)}, groups={groups}")
    values, middle = numpy.zeros(shape, dtype), tuple(n // 2 for n in shape[2:])
    each = shape[0] // groups
    for group in range(groups):
        for i in range(min(each, shape[1])):
            values[(group * each + i, i, *middle)] = 1
    return wrap(Tensor, values)


def sparse(
    shape: Shape, sparsity: float, *, std: float = 0.01, generator: Generator | None = None,
    dtype: Any = "float32",
) -> Tensor:
    """A matrix of normal numbers, of which this share is 0 in each column.

    >>> int((sparse((4, 3), 0.5).numpy() == 0).sum())
    6
    """
    source = generator or default_generator()
    values = numpy.array(raw(source.normal(shape, scale=std)), dtype)
    for column in range(shape[1]):
        empty = numpy.asarray(raw(source.permutation(shape[0])))[: math.ceil(sparsity * shape[0])]
        values[empty, column] = 0
    return wrap(Tensor, values)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that undoes what an activation takes of the size of values.

    param  the slope of a leaky relu

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ArgumentError("argument `nonlinearity` of `calculate_gain`", f"one of {[*_GAINS]}",
                            repr(nonlinearity))
    return _GAINS[nonlinearity]


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


def fans_last(shape: Sequence[int]) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight (*window, inputs, outputs), TensorFlow's; of one axis, that.

    >>> fans_last([3, 3, 8, 16]), fans_last([5])
    ((72, 144), (5, 5))
    """
    if len(shape) < 2:
        return math.prod(shape), math.prod(shape)
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


def fan_std(fans: tuple[int, int], mode: str, scale: float = 1.0) -> float:
    """√(scale / n), n at least 1: by mode fan_in, fan_out, or ("fan_avg") their mean.

    Raises `ArgumentError` for another mode.

    >>> fan_std((2, 6), "fan_avg")
    0.5
    """
    counts = {"fan_in": fans[0], "fan_out": fans[1], "fan_avg": sum(fans) / 2}
    if mode not in counts:
        raise ArgumentError("argument `mode`", "'fan_in', 'fan_out' or 'fan_avg'", repr(mode))
    return math.sqrt(scale / max(1, counts[mode]))
