"""Views along lattices of positions: diagonals, windows, strides."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays import adapters
from .declaring import op
from .indexing import scatter

__all__ = ["lattice", "repeats_entries"]


@op(view=True, linear=True)
def lattice(
    xp: Any, x: Any, /, *, shape: tuple[int, ...], start: tuple[int, ...],
    steps: tuple[tuple[int, ...], ...],
) -> Any:
    """out[i, j, …] = x[start + i · steps[0] + j · steps[1] + …]: a view where memory has strides.

    start, steps  positions in x, one number per axis of x; `steps` has one of them per axis of out
    A result that contains an entry of x more than once is read-only.

    >>> import numpy as np
    >>> x = np.arange(9.0).reshape(3, 3)
    >>> lattice(x, shape=(2,), start=(0, 1), steps=((1, 1),))
    array([1., 5.])
    """
    like = adapters[x.__class__]
    return x[tuple([like.asarray(at, None, x) for at in positions(shape, start, steps)])]


def positions(shape: Any, start: Any, steps: Any) -> tuple[Any, ...]:
    """One integer array per axis of x: where its entries stand in x.

    >>> positions((2,), (0, 1), ((1, 1),))
    (array([0, 1]), array([1, 2]))
    """
    found = []
    for axis, first in enumerate(start):
        at = numpy.full((1,) * len(shape), first)
        for k, (length, step) in enumerate(zip(shape, steps, strict=True)):
            line = numpy.arange(length) * step[axis]
            at = at + line.reshape((-1,) + (1,) * (len(shape) - k - 1))
        found.append(at)
    return tuple(found)


def repeats_entries(shape: Any, start: Any, steps: Any) -> bool:
    """Whether two entries of a lattice stand in one place.

    >>> repeats_entries((2, 2), (0,), ((1,), (1,)))
    True
    """
    found = numpy.stack([at.reshape(-1) for at in positions(shape, start, steps)])
    return bool(numpy.unique(found, axis=1).shape[1] < found.shape[1])


@lattice.pullback("x")
def pullback_lattice(g: Any, shapes: Any, *, shape: Any, start: Any, steps: Any) -> Any:
    return scatter(g, index=positions(shape, start, steps), shape=tuple(shapes[0]))


@lattice.shaping
def shape_lattice(x: Any, *, shape: Any, start: Any, steps: Any) -> Any:
    return shape


@lattice.batching
def batch_lattice(x: Any, *, shape: Any, start: Any, steps: Any) -> Any:
    along = (1, *(0,) * len(start))
    return lattice(
        x, shape=(x.shape[0], *shape), start=(0, *start),
        steps=(along, *[(0, *step) for step in steps]),
    )
