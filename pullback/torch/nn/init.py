"""`torch.nn.init`: initialize a tensor in place."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...core.inplace import overwrite
from ...core.tensor import raw
from ...errors import ArgumentError, ShapeError
from ...nn import init
from ...nn.init import calculate_gain as calculate_gain
from ...recording import no_grad
from ..errors import as_runtime, guarded

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]


def _put(tensor: Any, values: Any, name: str) -> Any:
    with no_grad():
        return overwrite(tensor, ops.astype(raw(values), tensor.dtype), name)


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
    values = init.truncated_normal(
        tuple(tensor.shape), mean=mean, std=std, low=a, high=b, generator=generator, dtype="float64"
    )
    return _put(tensor, values, "trunc_normal_")


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


def _matrix(tensor: Any, subject: str) -> tuple[int, int]:
    if len(tensor.shape) != 2:
        raise ShapeError(f"tensor of `{subject}`", "2 axes", f"shape {tuple(tensor.shape)}")
    return tuple(tensor.shape)


@guarded
def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity."""
    return _put(tensor, ops.eye(*_matrix(tensor, "eye_")), "eye_")


@guarded
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill the weights of a convolution so that it hands channels on as they are."""
    return _put(tensor, init.dirac(tuple(tensor.shape), groups=groups), "dirac_")


@guarded
def orthogonal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with a random orthogonal matrix times `gain`; all axes but the first are flattened.

    >>> import pullback.torch as torch
    >>> q = orthogonal_(torch.empty(3, 3, dtype=torch.float64))
    >>> torch.allclose(q @ q.T, torch.eye(3, dtype=torch.float64))
    True
    """
    values = init.orthogonal(
        tuple(tensor.shape), gain=gain, generator=generator, dtype="float64"
    )
    return _put(tensor, values, "orthogonal_")


@guarded
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill a matrix with normal numbers, of which in each column this share is 0."""
    shape = _matrix(tensor, "sparse_")
    values = init.sparse(shape, sparsity, std=std, generator=generator, dtype="float64")
    return _put(tensor, values, "sparse_")


def _std(tensor: Any, mode: str) -> float:
    try:
        return init.fan_std(init.fans(tuple(tensor.shape)), mode)
    except ShapeError as error:
        raise as_runtime(error) from None


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with uniform numbers whose variance is gain² · 2 / (inputs + outputs)."""
    bound = math.sqrt(3) * gain * _std(tensor, "fan_avg")
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal numbers whose variance is gain² · 2 / (inputs + outputs)."""
    return normal_(tensor, 0.0, gain * _std(tensor, "fan_avg"), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError("argument `mode`", "'fan_in' or 'fan_out'", repr(mode))
    return calculate_gain(nonlinearity, a) * _std(tensor, mode)


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
