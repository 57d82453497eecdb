"""The vmaps that are running in this thread, and cotangents summed over their examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from ..arrays.batched import Batched, tags_of
from ..core.above import provide
from ..core.compiled import provide as provide_compiled
from ..core.op import OPS
from ..core.state import Scoped
from ..core.tensor import raw


class Mapping:
    """One `vmap` that is running.

    randomness   "different": random numbers are drawn for each example; "same"; or "error"
    """

    __slots__ = ("randomness", "size", "tag")

    def __init__(self, tag: int, size: int, randomness: str) -> None:
        self.tag, self.size, self.randomness = tag, size, randomness


_running: Scoped[tuple[Mapping, ...]] = Scoped("vmaps", ())
provide_compiled(maps_setting=_running)
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


# Cotangents ---------------------------------------------------------------------------------------


@provide
def summed(g: Any, seen: Any, shape: Any) -> Any:
    """A batched cotangent, summed over the axes that its node does not hide.

    Not over that of a vmap that is running: then the pull is one for each example.
    """
    for tag in tags_of(seen):
        if tag not in tags_of(shape) and not is_running(tag):
            g = OPS["sum"](OPS["show_axis"](g, axis=0, tag=tag, size=1), axis=0)
    return g


def of_all_examples(g: Any, leaf: Any) -> Any:
    """A leaf's cotangent as a loop over the examples would add it up: over all running vmaps.

    But for those that the leaf was made inside of: there, each example has one of its own.
    """
    for vmap in reversed(running()):
        if leaf.born < vmap.tag and vmap.tag not in tags_of(leaf.shape):
            every = OPS["show_axis"](g, axis=0, tag=vmap.tag, size=vmap.size)
            g = OPS["sum"](every, axis=0)
    return g


@provide
def batched_reduce(op: Any, node: Any, g: Any, saved: tuple[Any, ...], index: int) -> Any:
    """The cotangent of an argument, summed at once over the examples that `project` would sum over.

    By the rule that the operation has for it (`@f.collapsing`), which reads as the pullback rule
    does, but receives all examples, along the first axis. It pays where the result for one
    example is larger than its arguments, as for the weights of a product. None where there are no
    such examples, or no such rule, or it returns None.
    """
    rule = op.collapses.get(0 if op.variadic else index)
    data, sizes = raw(g), {}
    if rule is None or data.__class__ is not Batched:
        return None
    own = tags_of(node.parents[index].shape)
    while data.__class__ is Batched:
        if data.tag not in own and not is_running(data.tag):
            sizes[data.tag] = data.value.shape[0]
        data = data.value
    if not sizes:
        return None
    read = rule.saved(len(node.parents), index)
    seen = tuple([_in_front(v, sizes) if i in read else v for i, v in enumerate(saved)])
    return rule(_in_front(g, sizes), seen, node, index)


def _in_front(x: Any, sizes: dict[int, int]) -> Any:
    """An array with the axes that some tags hide as one, in front."""
    for tag, size in sizes.items():
        x = OPS["show_axis"](x, axis=0, tag=tag, size=size)
    if len(sizes) > 1:
        x = OPS["reshape"](x, (prod(sizes.values()), *x.shape[len(sizes) :]))
    return x
