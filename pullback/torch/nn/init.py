"""`torch.nn.init`: initialize a tensor in place."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ...core.inplace import overwrite
from ...core.state import no_grad
from ...core.tensor import raw
from ...errors import ArgumentError, ShapeError
from ...nn.init import fans
from ...random import default_generator
from ..errors import as_runtime, guarded

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3,
    "relu": math.sqrt(2.0), "selu": 0.75,
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The gain that compensates an activation's scaling; `param` is the slope of a leaky relu.

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


def _source(generator: Any) -> Any:
    return generator or default_generator()


def _put(tensor: Any, values: Any, name: str) -> Any:
    with no_grad():
        return overwrite(tensor, numpy.asarray(raw(values)).astype(tensor.dtype), name)


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform samples from [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with samples of a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> Any:
    """Fill with normal samples, truncated to [a, b].

    >>> import pullback.torch as torch
    >>> bool((trunc_normal_(torch.empty(100), a=-1.0, b=1.0).abs() <= 1).all())
    True
    """
    from scipy.special import ndtr, ndtri  # slow to import, and only needed here

    low, high = (ndtr((bound - mean) / std) for bound in (a, b))
    chance = numpy.asarray(raw(_source(generator).uniform(tuple(tensor.shape), low=low, high=high)))
    return _put(tensor, numpy.clip(ndtri(chance) * std + mean, a, b), "trunc_normal_")


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def _matrix(tensor: Any, who: str) -> tuple[int, int]:
    if len(tensor.shape) != 2:
        raise ShapeError(f"tensor of `{who}`", "2 axes", f"shape {tuple(tensor.shape)}")
    return tuple(tensor.shape)


@guarded
def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity."""
    return _put(tensor, numpy.eye(*_matrix(tensor, "eye_")), "eye_")


@guarded
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill the weights of a convolution so that it is the identity on channels."""
    shape = tuple(tensor.shape)
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ShapeError("tensor of `dirac_`", "3 to 5 axes, the first divisible by groups",
                         f"shape {shape}")
    values, middle = numpy.zeros(shape), tuple(n // 2 for n in shape[2:])
    each = shape[0] // groups
    for group in range(groups):
        for i in range(min(each, shape[1])):
            values[(group * each + i, i, *middle)] = 1
    return _put(tensor, values, "dirac_")


@guarded
def orthogonal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with a random orthogonal matrix times `gain`; all axes but the first are flattened.

    >>> import pullback.torch as torch
    >>> q = orthogonal_(torch.empty(3, 3, dtype=torch.float64))
    >>> torch.allclose(q @ q.T, torch.eye(3, dtype=torch.float64))
    True
    """
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ShapeError("tensor of `orthogonal_`", "at least 2 axes", f"shape {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    drawn = numpy.asarray(raw(_source(generator).normal((max(rows, columns), min(rows, columns)))))
    q, r = numpy.linalg.qr(drawn)
    q = q * numpy.sign(numpy.diag(r))
    return _put(tensor, (q if rows >= columns else q.T).reshape(shape) * gain, "orthogonal_")


@guarded
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill a matrix with normal samples; this fraction of each column is 0."""
    rows, columns = _matrix(tensor, "sparse_")
    source = _source(generator)
    values = numpy.array(raw(source.normal((rows, columns), scale=std)))
    for column in range(columns):
        empty = numpy.asarray(raw(source.permutation(rows)))[: math.ceil(sparsity * rows)]
        values[empty, column] = 0
    return _put(tensor, values, "sparse_")


def _spread(tensor: Any) -> tuple[int, int]:
    try:
        return fans(tuple(tensor.shape))
    except ShapeError as error:
        raise as_runtime(error) from None


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform samples of variance gain² · 2 / (fan_in + fan_out)."""
    bound = gain * math.sqrt(6 / max(1, sum(_spread(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal samples of variance gain² · 2 / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / max(1, sum(_spread(tensor)))), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError("argument `mode`", "'fan_in' or 'fan_out'", repr(mode))
    fan = max(1, _spread(tensor)[mode == "fan_out"])
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Fill with uniform samples that preserve the variance of activations (or gradients)."""
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Fill with normal samples that preserve the variance of activations (or gradients)."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)
