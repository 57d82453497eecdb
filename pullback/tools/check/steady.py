"""Fixed random numbers: two calls of a random function draw the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy

from ...core.state import Scoped
from ...rng_replay import drawing_from

_restores: Scoped[bool] = Scoped("check restores generators", False)


@contextmanager
def restoring() -> Iterator[None]:
    """Context manager: the generators of `numpy.random` and `random` continue as before at the end.

    To copy the state of a generator takes longer than most functions that are checked. Inside this
    block `steady` does not: the outermost block restores the generators, once.
    """
    if _restores.get():
        yield
        return
    of_numpy, of_python = numpy.random.get_state(), random.getstate()
    token = _restores.set(True)
    try:
        yield
    finally:
        _restores.set(token)
        numpy.random.set_state(of_numpy)
        random.setstate(of_python)


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
    with restoring():
        numpy.random.seed(seed)
        random.seed(seed)
        with drawing_from(lambda: numpy.random.Generator(numpy.random.PCG64(seed))):
            yield
