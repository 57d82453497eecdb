"""Random numbers held still: a function that draws is compared with itself at the same draw."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy

from ..core.draws import drawing_from


@contextmanager
def steady(seed: int = 0) -> Iterator[None]:
    """Draw the numbers of a seed inside the block, and leave all generators as they were.

    Of `numpy.random`, of Python's `random`, and of every generator of this library.

    >>> import pullback as pb
    >>> with steady(3):
    ...     first = pb.random.normal().item(), numpy.random.random()
    >>> with steady(3):
    ...     second = pb.random.normal().item(), numpy.random.random()
    >>> first == second
    True
    """
    of_numpy, of_python = numpy.random.get_state(), random.getstate()
    numpy.random.seed(seed)
    random.seed(seed)
    try:
        with drawing_from(lambda: numpy.random.Generator(numpy.random.PCG64(seed))):
            yield
    finally:
        numpy.random.set_state(of_numpy)
        random.setstate(of_python)
