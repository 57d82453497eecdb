"""The order within layers: items come near those they are joined to, so that few lines cross."""

from __future__ import annotations

from collections.abc import Sequence

from .levels import Level, Levels, Link
from .sizes import Sizes

SWEEPS = 16

Ends = dict[tuple[int, int], tuple[float, float]]
"""Of segments: where at their upper and their lower item they end, in places."""


def arrange(levels: Levels, sizes: Sizes) -> None:
    """Put the items of all layers of all levels into an order.

    First from within, so that ports stand as what is inside would have them; then from without.
    """
    for level in levels.levels[:0:-1]:
        order(level, {}, _ends(levels, level, sizes), fixed=False)
    for level in levels.levels:
        order(level, _before(levels, level), _ends(levels, level, sizes), fixed=bool(level.path))


def _ends(levels: Levels, level: Level, sizes: Sizes) -> Ends:
    """Where the segments of a level end."""
    def end(link: Link, item: int) -> float:
        found = level.items[item]
        out = item == link.tail
        if found.what == "box":
            shift = (sizes.tails if out else sizes.heads)[link.edges[0]]
            return shift / (2 * sizes.boxes[str(found.key)][0] + 1)
        if found.what == "group":
            inner = levels.levels[int(found.key)]
            port = link.ports[0 if out else 1]
            row = inner.layers[inner.items[port].layer]
            return 0.9 * ((row.index(port) + 0.5) / len(row) - 0.5)
        return 0.0

    return {pair: (end(link, pair[0]), end(link, pair[1])) for pair, link in level.segments.items()}


def _before(levels: Levels, level: Level) -> dict[int, float]:
    """Of the ports of a level: the place of what they lead to in the layers of the level around."""
    if not level.path:
        return {}
    outer = levels.of[level.path[:-1]]
    places = {
        item: position + 0.5 - len(layer) / 2
        for layer in outer.layers for position, item in enumerate(layer)
    }
    found: dict[int, float] = {}
    for link in outer.links:
        bends = [s.item for s in link.stops if s.lane < 0]
        for port, end, other in zip(
            link.ports, (link.tail, link.head),
            ((bends or [link.head])[0], (bends or [link.tail])[-1]), strict=True,
        ):
            if outer.items[end].what == "group" and outer.items[end].key == level.number:
                found.setdefault(port, places[other])
    return found


def order(level: Level, before: dict[int, float], ends: Ends, fixed: bool) -> None:
    """Sort the items of each layer of a level.

    before  of ports: where their lines come from, or go to, in the level around
    fixed   whether ports stay in that order
    """
    items = level.items
    for layer in level.layers:
        layer.sort(key=lambda i: (before.get(i, 0.0), items[i].number, i))
    above: list[list[tuple[int, float]]] = [[] for _ in items]
    below: list[list[tuple[int, float]]] = [[] for _ in items]
    for (upper, lower), (start, end) in ends.items():
        below[upper].append((lower, end - start))
        above[lower].append((upper, start - end))
    best, least = [list(layer) for layer in level.layers], crossings(level, ends)
    for sweep in range(SWEEPS):
        if not least:
            break
        _sweep(level, below if sweep % 2 else above, sweep % 2 == 0, fixed)
        count = crossings(level, ends)
        if count < least:
            best, least = [list(layer) for layer in level.layers], count
    level.layers = best


def _sweep(
    level: Level, joined: Sequence[Sequence[tuple[int, float]]], down: bool, fixed: bool
) -> None:
    """Sort each inner layer by the mean place of what its items are joined to."""
    layers = level.layers
    place = [0.0] * len(level.items)
    for layer in layers:
        _number(place, layer)
    stay = {0, len(layers) - 1} if fixed else set()
    for number in range(len(layers)) if down else reversed(range(len(layers))):
        layer = layers[number]
        if number in stay:
            continue
        wish = {
            i: sum(place[j] + shift for j, shift in joined[i]) / len(joined[i])
            if joined[i] else place[i] for i in layer
        }
        layer.sort(key=wish.__getitem__)  # stable: equal wishes keep their order
        _number(place, layer)


def _number(place: list[float], layer: Sequence[int]) -> None:
    """The places of the items of a layer, from its middle."""
    for position, item in enumerate(layer):
        place[item] = position + 0.5 - len(layer) / 2


def crossings(level: Level, ends: Ends) -> int:
    """How many pairs of segments cross."""
    place = {item: float(p) for layer in level.layers for p, item in enumerate(layer)}
    rows: dict[int, list[tuple[float, float]]] = {}
    for (upper, lower), (start, end) in ends.items():
        rows.setdefault(level.items[upper].layer, []).append(
            (place[upper] + start, place[lower] + end)
        )
    return sum(map(_inversions, rows.values()))


def _inversions(pairs: list[tuple[float, float]]) -> int:
    """How many pairs are in another order below than above; counted in a tree of sums."""
    lower = {end: rank for rank, end in enumerate(sorted({end for _, end in pairs}))}
    tree = [0] * (len(lower) + 1)
    found = 0
    for seen, (_, end) in enumerate(sorted(pairs)):
        at, not_after = lower[end] + 1, 0
        while at:
            not_after += tree[at]
            at -= at & -at
        found += seen - not_after
        at = lower[end] + 1
        while at < len(tree):
            tree[at] += 1
            at += at & -at
    return found
