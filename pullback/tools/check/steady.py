"""Fixed random numbers: two calls of a random function draw the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy

from ...rng_replay import drawing_from


@contextmanager
def steady(seed: int = 0) -> Iterator[None]:
    """Context manager: random numbers inside come from `seed`; restores all generators at the end.

    Covers `numpy.random`, Python's `random`, and every generator of this library.

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
