"""Dropout, and embedding lookup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.batched import moved_to
from ..arrays.symbol import Symbol
from ..core.tensor import Tensor, check_inexact, is_inexact, raw, to_array
from ..errors import ArgumentError, DtypeError, ShapeError
from ..kinds.symbols import whole
from .arithmetic import multiply
from .indexing import getitem
from .operands import stacked
from .shaping import reshape
from .taking import take

if TYPE_CHECKING:
    from ..random import Generator

__all__ = ["dropout", "embedding"]


def dropout(
    x: Any, p: float = 0.5, *, training: bool = True, generator: Generator | None = None
) -> Any:
    """x with entries set to 0 with probability p and the others divided by 1 - p, in training.

    The expectation is x. Random numbers come from the generator, or from the default one; inside
    vmap each example draws its own.
    Raises `ArgumentError` unless p is in [0, 1], `DtypeError` for integers.

    >>> import numpy as np
    >>> from pullback.random import Generator
    >>> np.unique(dropout(np.ones(100), 0.75, generator=Generator(0)))
    array([0., 4.])
    >>> dropout(np.ones(3), 0.5, training=False)
    array([1., 1., 1.])
    """
    if not 0 <= p <= 1:
        raise ArgumentError("argument `p` of `dropout`", "a probability in [0, 1]", f"{p}")
    if not training or p == 0:
        return x
    x = stacked(x)
    data = raw(to_array(x))
    check_inexact(data, "`dropout`")
    from ..random import default_generator  # imported here: it loads NumPy's generators, slowly

    kept = raw((generator or default_generator()).bernoulli(1 - p, data.shape))
    mask = multiply(kept, 0.0 if p == 1 else 1 / (1 - p))
    return multiply(x, moved_to(mask, data, data.dtype))


@whole
def embedding(weight: Any, indices: Any, /) -> Any:
    """weight[indices]: one row of the table `weight` per integer, in the shape of `indices`.

    The cotangents of a row that is used more than once are summed.
    Raises `DtypeError` unless the indices are integers, `PositionError` for one out of range.

    >>> import numpy as np
    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, 1], [0, 1]])).shape
    (2, 2, 2)
    """
    indices = indices if isinstance(indices, Tensor) else to_array(indices)
    if len(weight.shape) != 2:
        raise ShapeError("argument `weight` of `embedding`", "2 axes", f"shape {weight.shape}")
    if is_inexact(indices):
        raise DtypeError("argument `indices` of `embedding`", "integers", f"{indices.dtype}")
    if raw(indices).__class__ is Symbol:  # its lengths may be unknown
        return getitem(weight, indices)
    rows = take(weight, reshape(indices, (-1,)), axis=0)
    return reshape(rows, (*indices.shape, weight.shape[1]))
