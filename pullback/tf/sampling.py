"""Operations on seeds, and samples of categorical distributions."""

from __future__ import annotations

from typing import Any

import numpy

from .. import ops
from .. import random as _core
from ..core.tensor import raw, wrap
from .convert import operand
from .dtypes import array_dtype
from .errors import invalid
from .random import (
    Generator,
    _from,
    _outside,
    _seed,
    _truncated,
    stateless_uniform,
    uniform,
)
from .tensor import Tensor

__all__ = [
    "categorical", "fold_in", "get_global_generator", "set_global_generator", "split",
    "stateless_categorical", "stateless_truncated_normal",
]

_global: list[Generator | None] = [None]


def get_global_generator() -> Generator:
    """The global generator, created on first use."""
    found = _global[0]
    if found is None:
        found = _global[0] = Generator(_core.default_generator())
    return found


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator."""
    _global[0] = generator


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None
) -> Any:
    """Samples class indices for each row, with probabilities softmax(logits).

    >>> categorical([[0.0, -1000.0]], 3).numpy()
    array([[0, 0, 0]])
    """
    x = _rows(logits)
    return _drawn(x, uniform((x.shape[0], int(raw(num_samples)), x.shape[1]), dtype=x.dtype,
                             seed=seed), dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: str | None = None
) -> Any:
    """`categorical`, with samples that depend only on the seed (two ints).

    >>> stateless_categorical([[0.0, -1000.0]], 3, [1, 2]).numpy()
    array([[0, 0, 0]])
    """
    x = _rows(logits)
    size = (x.shape[0], int(raw(num_samples)), x.shape[1])
    return _drawn(x, stateless_uniform(size, seed, dtype=x.dtype), dtype)


def _rows(logits: Any) -> Any:
    x = operand(logits, "f", "categorical")
    if x.ndim != 2:
        raise invalid("argument `logits` of `categorical`", "a row per example", f"shape {x.shape}")
    return x


def _drawn(x: Any, noise: Any, dtype: Any) -> Any:
    gumbel = -ops.log(-ops.log(noise + float(numpy.finfo(x._data.dtype).tiny)))
    found = ops.argmax(ops.expand_dims(x, axis=1) + gumbel, axis=-1)
    return ops.astype(found, array_dtype("int64" if dtype is None else dtype))


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32",
    name: str | None = None, alg: Any = None,
) -> Any:
    """Truncated normal samples (two standard deviations) that depend only on the seed.

    >>> bool(abs(stateless_truncated_normal([100], [1, 2]).numpy()).max() <= 2)
    True
    """
    with _outside():
        return _truncated(_from(seed), shape, mean, stddev, dtype)


def split(seed: Any, num: int = 2, alg: Any = None) -> Any:
    """Splits one seed into `num` seeds (rows of two ints) for independent streams.

    >>> split([1, 2], 3).shape
    TensorShape([3, 2])
    """
    return _seeds(numpy.random.SeedSequence(_seed(seed)), int(raw(num)))


def fold_in(seed: Any, data: Any, alg: Any = None) -> Any:
    """A new seed from a seed and an int.

    >>> bool((fold_in([1, 2], 3) == fold_in([1, 2], 3)).numpy().all())
    True
    """
    mixed = numpy.random.SeedSequence(_seed(seed), spawn_key=(int(raw(data)) % 2**32,))
    return _seeds(mixed, 1)[0]


def _seeds(sequence: Any, count: int) -> Any:
    words = sequence.generate_state(2 * count, numpy.uint32)
    return wrap(Tensor, words.view(numpy.int32).reshape(count, 2).copy())
