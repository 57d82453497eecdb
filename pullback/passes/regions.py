"""Backward passes through regions of elementwise operations on large arrays, block by block.

What lies between two operations of a region then stays in a core's cache, and the threads of large
arrays share the blocks. The rules run as in the plain sweep, node by node, on slices: each entry
gets the same bits. Only plain passes come here (no hooks, observers, overrides or recording); where
a block cannot be computed, the plain sweep computes the region, and has the error or warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from ..arrays import splitters
from ..core.above import provide
from ..core.node import FREED, LEAF, CallNode, Node
from ..core.op import Op
from ..core.reverse import sweep
from ..core.state import state

_SMALLEST = 1 << 18
"""The minimum number of entries of the arrays of a region."""

_LONGEST = 4096
"""The maximum number of nodes in which regions are looked for."""

_OWN = f"{__name__.partition('.')[0]}.ops."


@provide
def sweep_in_regions(order: list[Node], cotangents: dict[Node, Any], free: int) -> None:
    """The backward pass through nodes on raw arrays; see `core.reverse.sweep`."""
    start = 0
    whole = len(order) > _LONGEST or bool(state().observers)
    for first, last in () if whole else _regions(order):
        if start < first:
            sweep(order[start:first], cotangents, free)
        region = order[first:last]
        if not _pulled(region, cotangents):
            sweep(region, cotangents, free)
        elif free:
            for node in region:
                if free == node.level and node.op.keeps:
                    node.saved = FREED
        start = last
    if start < len(order):
        sweep(order[start:] if start else order, cotangents, free)


def _regions(order: list[Node]) -> Iterator[tuple[int, int]]:
    """The ranges of nodes, two or more, that may be pulled block by block."""
    first = 0
    shape: Any = None
    for i, node in enumerate((*order, None)):
        own = node.shape if node is not None and _is_splittable(node) else None
        if own != shape:
            if shape is not None and i - first > 1:
                yield first, i
            first, shape = i, own


def _is_splittable(node: Node) -> bool:
    """Whether a node's rules compute each entry from the entries in the same place."""
    shape, op = node.shape, node.op
    if shape.__class__ is not tuple or prod(shape) < _SMALLEST or op.__class__ is not Op:
        return False
    return (
        op.elementwise and not op.saves_shapes and op.around is None and len(op.outputs) == 1
        and node.saved is not FREED
        and all(p is None or p.shape == shape for p in node.parents)
        and all(rule.function.__module__.startswith(_OWN) for rule in op.rules.values())
    )


class _Region:
    """What a region reads, and where its cotangents go.

    arrays    the arrays among the saved values and the cotangents that arrived before
    saved     for each node its saved values; an array by its position
    incoming  the nodes that have a cotangent already, and its position
    outer     the parents outside the region, which receive what it computes
    """

    def __init__(self, nodes: Sequence[Node], cotangents: dict[Node, Any]) -> None:
        self.nodes, self.arrays = nodes, list[Any]()
        self._positions: dict[int, int] = {}
        inside = set(nodes)
        self.outer = list(dict.fromkeys(
            p for n in nodes for p in n.parents if p is not None and p not in inside
        ))
        self.saved = [[self._position(v) for v in n.saved] for n in nodes]
        self.incoming = [
            (n, self._position(cotangents[n])) for n in (*nodes, *self.outer) if n in cotangents
        ]

    def _position(self, value: Any) -> Any:
        """The position of an array, in a list; another value as it is."""
        if not getattr(value, "shape", ()):
            return value
        found = self._positions.setdefault(id(value), len(self.arrays))
        if found == len(self.arrays):
            self.arrays.append(value)
        return [found]

    def make(self) -> Callable[[list[Any], tuple[int, ...]], list[Any]]:
        """The pull of one block, on nodes like those of the region (one thread's)."""
        twins: dict[Node, Any] = {}
        for p in self.outer:
            twins[p] = _twin(p, LEAF, ())
        for n in reversed(self.nodes):  # parents first
            twins[n] = _twin(n, n.op, tuple([None if p is None else twins[p] for p in n.parents]))
        order = [twins[n] for n in self.nodes]
        outer = [twins[p] for p in self.outer]

        def step(parts: list[Any], shape: tuple[int, ...]) -> list[Any]:
            def part(place: Any) -> Any:
                return parts[place[0]] if place.__class__ is list else place

            for twin, saved in zip(order, self.saved, strict=True):
                twin.shape, twin.saved = shape, tuple(map(part, saved))
            for twin in outer:
                twin.shape = shape
            cotangents = {twins[n]: part(place) for n, place in self.incoming}
            sweep(order, cotangents, 0)
            return [cotangents.get(twin) for twin in outer]

        return step


def _twin(node: Node, op: Any, parents: tuple[Any, ...]) -> Any:
    """A node with the rules of another."""
    made: Any = CallNode()  # of no graph: nothing is recorded
    made.attrs, made.op, made.parents, made.saved = node.attrs, op, parents, ()
    made.seq, made.level, made.shape, made.dtype = node.seq, node.level, node.shape, node.dtype
    return made


def _pulled(nodes: list[Node], cotangents: dict[Node, Any]) -> bool:
    """Pull a region block by block; False, and nothing has changed, where that cannot be done."""
    region = _Region(nodes, cotangents)
    if len(region.outer) > 2:  # the results would take more memory than the plain sweep's
        return False
    shape = nodes[0].shape
    split = next((splitters[a.__class__] for a in region.arrays if a.__class__ in splitters), None)
    if split is None or any(cotangents[n].shape != shape for n, _ in region.incoming):
        return False
    found = split.in_blocks(region.arrays, shape, region.make)
    if found is None:
        return False
    for n in nodes:
        cotangents.pop(n, None)
    results = zip(region.outer, found, strict=True)
    cotangents.update({p: g for p, g in results if g is not None})
    return True
