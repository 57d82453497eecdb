"""`tf.random`: random tensors from the default generator or from generators that you create.

For the same seed the numbers differ from TensorFlow's; the distributions are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from .. import random as _core
from ..core.tensor import raw, wrap
from ..errors import ArgumentError
from ..kinds import batching, vmaps
from .convert import operand, shape_of
from .dtypes import array_dtype, float32
from .tensor import Tensor

__all__ = [
    "Generator", "categorical", "fold_in", "get_global_generator", "normal",
    "set_global_generator", "set_seed", "shuffle", "split", "stateless_categorical",
    "stateless_normal", "stateless_truncated_normal", "stateless_uniform", "truncated_normal",
    "uniform",
]


class Generator:
    """A random number generator; created by `from_seed` or `from_non_deterministic_state`.

    >>> from pullback import tf
    >>> one, other = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    >>> bool(tf.reduce_all(one.normal([3]) == other.normal([3])))
    True
    """

    def __init__(self, core: _core.Generator) -> None:
        self._core = core

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """A generator with the given seed."""
        return cls(_core.Generator(_seed(seed)))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator with an unpredictable seed."""
        return cls(_core.Generator())

    def split(self, count: int = 1) -> list[Generator]:
        """New generators with independent streams."""
        return [Generator(g) for g in self._core.spawn(count)]

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        """Samples of a normal distribution; gradients reach `mean` and `stddev`."""
        return _normal(self._core, shape, mean, stddev, dtype)

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        """Uniform samples from [minval, maxval); integers require maxval, else it defaults to 1."""
        return _uniform(self._core, shape, minval, maxval, dtype)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        """Normal samples, truncated to two standard deviations from the mean."""
        return _truncated(self._core, shape, mean, stddev, dtype)


def set_seed(seed: Any) -> None:
    """Set the seed of the default generator.

    >>> from pullback import tf
    >>> tf.random.set_seed(0)
    >>> first = tf.random.normal([2])
    >>> tf.random.set_seed(0)
    >>> bool(tf.reduce_all(first == tf.random.normal([2])))
    True
    """
    _core.seed(_seed(seed))


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Samples of a normal distribution; gradients reach `mean` and `stddev`.

    >>> normal((2, 3)).shape
    TensorShape([2, 3])
    """
    return _normal(_from(seed), shape, mean, stddev, dtype)


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Uniform samples from [minval, maxval); integers require maxval, else it defaults to 1.

    >>> uniform([2], 3, 4, "int32").numpy()
    array([3, 3], dtype=int32)
    """
    return _uniform(_from(seed), shape, minval, maxval, dtype)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Any:
    """Normal samples, truncated to two standard deviations from the mean.

    >>> bool(abs(truncated_normal([100]).numpy()).max() <= 2)
    True
    """
    return _truncated(_from(seed), shape, mean, stddev, dtype)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32,
    name: str | None = None, alg: Any = None,
) -> Any:
    """Normal samples that depend only on the seed (two ints).

    >>> from pullback import tf
    >>> a, b = (tf.random.stateless_normal([2], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(a == b))
    True
    """
    with _outside():
        return _normal(_core.Generator(_seed(seed)), shape, mean, stddev, dtype)


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32,
    name: str | None = None, alg: Any = None,
) -> Any:
    """Uniform samples from [minval, maxval) that depend only on the seed (two ints).

    >>> stateless_uniform([2], [1, 2]).shape
    TensorShape([2])
    """
    with _outside():
        return _uniform(_core.Generator(_seed(seed)), shape, minval, maxval, dtype)


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """Shuffles a tensor along its first axis; no gradient flows through it.

    >>> sorted(shuffle([1, 2, 3]).numpy().tolist())
    [1, 2, 3]
    """
    return wrap(Tensor, _from(seed).permutation(operand(value)._data)._data)


def _from(seed: Any) -> _core.Generator:
    return _core.default_generator() if seed is None else _core.Generator(_seed(seed))


def _seed(seed: Any) -> int:
    """One int from one or two ints of any sign."""
    numbers = numpy.asarray(raw(seed)).reshape(-1).tolist()
    return sum((int(n) % 2**64) << (64 * i) for i, n in enumerate(numbers))


def _parameter(value: Any, dtype: Any) -> Any:
    return value if isinstance(value, (int, float)) else operand(value, "f", "random")


def _normal(core: _core.Generator, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    dtype = array_dtype(dtype)
    noise = core.normal(shape_of(shape), dtype=dtype)
    return wrap(Tensor, noise._data) * _parameter(stddev, dtype) + _parameter(mean, dtype)


def _uniform(core: _core.Generator, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    dtype = array_dtype(dtype)
    if dtype.kind in "iu":
        if maxval is None:
            raise ArgumentError("tf.random.uniform", "`maxval` for integers", "none")
        drawn = core.integers(int(minval), int(maxval), shape_of(shape), dtype=dtype)
        return wrap(Tensor, drawn._data)
    maxval = 1 if maxval is None else maxval
    noise = wrap(Tensor, core.uniform(shape_of(shape), dtype=dtype)._data)
    low = _parameter(minval, dtype)
    return noise * (_parameter(maxval, dtype) - low) + low


def _truncated(core: _core.Generator, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    dtype = array_dtype(dtype)

    def draw(size: tuple[int, ...]) -> Any:
        with _outside():
            noise = core.normal(size, dtype=dtype)._data
            while (far := abs(noise) > 2).any():
                noise = numpy.where(far, core.normal(size, dtype=dtype)._data, noise)
        return noise

    noise = wrap(Tensor, batching.drawn(draw, shape_of(shape), "truncated_normal", dtype))
    return noise * _parameter(stddev, dtype) + _parameter(mean, dtype)


@contextmanager
def _outside() -> Iterator[None]:
    """Draw samples as if outside vectorized_map: one array, not one per example."""
    with vmaps.running_with(()):
        yield


from .sampling import categorical as categorical  # noqa: E402  # uses names defined above
from .sampling import fold_in as fold_in  # noqa: E402
from .sampling import get_global_generator as get_global_generator  # noqa: E402
from .sampling import set_global_generator as set_global_generator  # noqa: E402
from .sampling import split as split  # noqa: E402
from .sampling import stateless_categorical as stateless_categorical  # noqa: E402
from .sampling import stateless_truncated_normal as stateless_truncated_normal  # noqa: E402
