"""`tf.initializers`: initial values of variables; each is called with a shape and a dtype."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...errors import ArgumentError
from ...nn import init
from ..dtypes import array_dtype, float32
from ..values import array_of
from .arrays import constant as _constant
from .arrays import eye as _eye
from .arrays import ones as _ones
from .arrays import zeros as _zeros
from .graph import get_default_graph
from .random import random_normal as _normal
from .random import random_uniform as _uniform
from .random import truncated_normal as _truncated
from .tensor import in_graph

__all__ = [
    "Constant", "Identity", "Ones", "Orthogonal", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "glorot_normal", "glorot_uniform",
    "he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform", "ones", "orthogonal",
    "random_normal", "random_uniform", "truncated_normal", "variance_scaling", "zeros",
]


class Initializer:
    """Base class: returns a tensor of the given shape from `initializer(shape, dtype=None)`."""

    dtype: Any = float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """A graph tensor with a shape and a dtype."""
        return self._drawn(list(shape), self.dtype if dtype is None else dtype)

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        raise NotImplementedError


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        return _zeros(shape, dtype)


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        return _ones(shape, dtype)


class Constant(Initializer):
    """A number, or an array with at most as many entries as the shape."""

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        self.value, self.dtype, self.verify_shape = value, dtype, verify_shape

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None,
                 verify_shape: bool | None = None) -> Any:
        """The value as a tensor with a shape and a dtype."""
        wanted = self.dtype if dtype is None else dtype
        checked = self.verify_shape if verify_shape is None else verify_shape
        return _constant(self.value, wanted, list(shape), verify_shape=checked)


class RandomNormal(Initializer):
    """Samples of a normal distribution."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None,
                 dtype: Any = float32) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        return _normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normal samples, truncated to two standard deviations from the mean."""

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        return _truncated(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(Initializer):
    """Uniform samples from [minval, maxval); maxval defaults to 1."""

    def __init__(self, minval: Any = 0.0, maxval: Any = None, seed: Any = None,
                 dtype: Any = float32) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        return _uniform(shape, self.minval, self.maxval, dtype, self.seed)


class VarianceScaling(Initializer):
    """Samples with variance scale / n; n is the number of inputs, outputs or their mean (`mode`).

    distribution  "truncated_normal" (or "normal"), "untruncated_normal" or "uniform"
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in",
                 distribution: str = "truncated_normal", seed: Any = None,
                 dtype: Any = float32) -> None:
        if not scale > 0:
            raise ArgumentError("argument `scale` of VarianceScaling", "a positive number",
                                f"{scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ArgumentError("argument `mode` of VarianceScaling",
                                "fan_in, fan_out or fan_avg", repr(mode))
        known = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if distribution not in known:
            raise ArgumentError("argument `distribution` of VarianceScaling", ", ".join(known),
                                repr(distribution))
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        std = init.fan_std(init.fans_last(shape), self.mode, self.scale)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0) * std
            return _uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return _normal(shape, 0.0, std, dtype, self.seed)
        return _truncated(shape, 0.0, init.untruncated_std(std), dtype, self.seed)


class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns, times `gain`; leading axes are flattened."""

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        if len(shape) < 2:
            raise ArgumentError("orthogonal initializer", "two axes or more", f"shape {shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = _normal([max(rows, columns), min(rows, columns)], dtype=dtype, seed=self.seed)
        q = init.orthonormal(flat, rows < columns)
        return in_graph(get_default_graph(), ops.reshape(q, tuple(shape)) * self.gain)


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        self.gain, self.dtype = gain, dtype

    def _drawn(self, shape: list[int], dtype: Any) -> Any:
        if len(shape) != 2:
            raise ArgumentError("identity initializer", "two axes", f"shape {shape}")
        made = _eye(shape[0], shape[1], dtype=dtype)
        return made if self.gain == 1 else made * self.gain


class GlorotUniform(VarianceScaling):
    """Uniform samples of variance 2 / (inputs + outputs)."""

    def __init__(self, seed: Any = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """Truncated normal samples of variance 2 / (inputs + outputs)."""

    def __init__(self, seed: Any = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def he_normal(seed: Any = None) -> VarianceScaling:
    """Truncated normal samples of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform samples of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: Any = None) -> VarianceScaling:
    """Truncated normal samples of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform samples of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


zeros, ones, constant, identity = Zeros, Ones, Constant, Identity
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
variance_scaling, orthogonal = VarianceScaling, Orthogonal
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal


def value_of(initializer: Any, shape: Any, dtype: Any) -> Any:
    """An initializer's result; a class is instantiated first, an array is returned as it is."""
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        return initializer(shape, dtype=dtype)
    return array_of(initializer, array_dtype(dtype))
