"""The vmaps that are running in this thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..arrays.batched import tags_of
from .state import Scoped


class Mapping:
    """One `vmap` that is running.

    randomness   "different": random numbers are drawn for each example; "same"; or "error"
    """

    __slots__ = ("randomness", "size", "tag")

    def __init__(self, tag: int, size: int, randomness: str) -> None:
        self.tag, self.size, self.randomness = tag, size, randomness


_running: Scoped[tuple[Mapping, ...]] = Scoped("vmaps", ())
running: Callable[[], tuple[Mapping, ...]] = _running.get
"""The vmaps that are running in this thread, the outermost first."""

running_with = _running.held
enter = leave = _running.set
"""Set the vmaps that are running, and return those before."""


def is_running(tag: int) -> bool:
    """Whether the vmap of a tag is running."""
    return any(vmap.tag == tag for vmap in running())


@contextmanager
def each_example(*shapes: Any) -> Iterator[None]:
    """As if the vmaps that these shapes have hidden axes of were running: nothing is summed.

    For a transposition within one node, after its vmap has ended.
    """
    known = {vmap.tag for vmap in running()}
    ended = {tag for shape in shapes for tag in tags_of(shape) if tag not in known}
    if not ended:
        yield
        return
    with running_with((*(Mapping(tag, 0, "same") for tag in sorted(ended)), *running())):
        yield
