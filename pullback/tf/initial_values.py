"""Initializers: callables that return a variable's initial value for a shape and a dtype."""

from __future__ import annotations

from typing import Any

from .dtypes import array_dtype
from .random import normal, uniform
from .shaping import fill, zeros

__all__ = [
    "constant_initializer", "ones_initializer", "random_normal_initializer",
    "random_uniform_initializer", "zeros_initializer",
]


class constant_initializer:
    """A constant: one number for every entry, or an array of the given shape.

    >>> constant_initializer(2.0)([2]).numpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = "float32", **options: Any) -> Any:
        """The initial value for a shape and a dtype."""
        from .convert import constant

        return constant(self.value, dtype, shape)


class zeros_initializer:
    """Zeros.

    >>> zeros_initializer()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = "float32", **options: Any) -> Any:
        """The initial value for a shape and a dtype."""
        return zeros(shape, dtype)


class ones_initializer:
    """Ones.

    >>> ones_initializer()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = "float32", **options: Any) -> Any:
        """The initial value for a shape and a dtype."""
        return fill(shape, array_dtype(dtype).type(1))


class random_normal_initializer:
    """Samples of a normal distribution; see `tf.random.normal`.

    >>> random_normal_initializer(stddev=0.1)([2]).shape
    TensorShape([2])
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = "float32", **options: Any) -> Any:
        """The initial value for a shape and a dtype."""
        return normal(shape, self.mean, self.stddev, dtype, self.seed)


class random_uniform_initializer:
    """Samples of a uniform distribution; see `tf.random.uniform`.

    >>> random_uniform_initializer()([2]).shape
    TensorShape([2])
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = "float32", **options: Any) -> Any:
        """The initial value for a shape and a dtype."""
        return uniform(shape, self.minval, self.maxval, dtype, self.seed)
