"""JAX's processes; see `arrays/processes.py`."""

from __future__ import annotations

from typing import Any

import jax
import numpy

_LENGTH = 1024


def connected() -> bool:
    """Whether `jax.distributed.initialize` has connected several."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def rank() -> int:
    """The number of this process."""
    return jax.process_index()


def agree(error: str) -> str:
    """Wait for all; the text of process 0."""
    from jax.experimental import multihost_utils

    text = numpy.zeros(_LENGTH, numpy.uint8)  # each process must give an array of one length
    given = error.encode()[:_LENGTH]
    text[: len(given)] = list(given)
    told = numpy.asarray(multihost_utils.broadcast_one_to_all(text))
    return bytes(told).rstrip(b"\0").decode(errors="ignore")


def whole(array: Any) -> Any:
    """All entries of an array as a NumPy array, in each process."""
    if array.is_fully_addressable or array.is_fully_replicated:
        return numpy.asarray(array)
    from jax.experimental import multihost_utils

    return numpy.asarray(multihost_utils.process_allgather(array, tiled=True))


def is_spread(array: Any) -> bool:
    """Whether an array's entries are on several devices."""
    return len(array.sharding.device_set) > 1
