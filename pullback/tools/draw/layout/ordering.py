"""The order of items within layers: places connected items close together, to avoid crossings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

from .levels import Level, Levels, Link
from .sizes import Sizes

SWEEPS, FEWER = 16, 2
"""The number of passes over the layers of a level; and for pictures with many boxes."""
MANY = 2000

Ends = dict[tuple[int, int], tuple[float, float]]
"""Segments: the positions of their ends at the upper and the lower item."""


def arrange(levels: Levels, sizes: Sizes, hidden: Collection[int] = ()) -> None:
    """Orders the items of all layers of all levels.

    First from the inside out, so that ports follow the inner items; then from the outside in.

    hidden   levels of which only the ports of closed groups are drawn
    """
    many = len(levels.picture.boxes) > MANY
    sweeps = FEWER if many else SWEEPS
    for level in levels.levels[:0:-1]:
        if many:
            _sorted(level, {})
        elif level.number not in hidden:
            order(level, {}, _ends(levels, level, sizes), False, sweeps)
    for level in levels.levels:
        if level.number not in hidden:
            before, ends = _before(levels, level), _ends(levels, level, sizes)
            order(level, before, ends, bool(level.path), sweeps)
        elif levels.of[level.path[:-1]].number not in hidden:
            _sorted(level, _before(levels, level))


def _ends(levels: Levels, level: Level, sizes: Sizes) -> Ends:
    """The positions of the ends of a level's segments."""
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
    """Port of a level -> the position in the outer level's layers of the item it leads to."""
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


def _sorted(level: Level, before: dict[int, float]) -> None:
    """Sorts the items of each layer by a known position, else by creation order."""
    items = level.items
    for layer in level.layers:
        layer.sort(key=lambda i: (before.get(i, 0.0), items[i].number, i))


def order(
    level: Level, before: dict[int, float], ends: Ends, fixed: bool, sweeps: int = SWEEPS
) -> None:
    """Sorts the items of each layer of a level.

    before  for ports: the position of the other end of their lines in the outer level
    fixed   whether ports keep their order
    """
    items = level.items
    _sorted(level, before)
    above: list[list[tuple[int, float]]] = [[] for _ in items]
    below: list[list[tuple[int, float]]] = [[] for _ in items]
    for (upper, lower), (start, end) in ends.items():
        below[upper].append((lower, end - start))
        above[lower].append((upper, start - end))
    best, least = [list(layer) for layer in level.layers], crossings(level, ends)
    for sweep in range(sweeps):
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
    """Sorts each inner layer by the mean position of the neighbours of its items."""
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
    """The positions of the items of a layer, relative to its middle."""
    for position, item in enumerate(layer):
        place[item] = position + 0.5 - len(layer) / 2


def crossings(level: Level, ends: Ends) -> int:
    """The number of pairs of segments that cross."""
    place = {item: float(p) for layer in level.layers for p, item in enumerate(layer)}
    rows: dict[int, list[tuple[float, float]]] = {}
    for (upper, lower), (start, end) in ends.items():
        rows.setdefault(level.items[upper].layer, []).append(
            (place[upper] + start, place[lower] + end)
        )
    return sum(map(_inversions, rows.values()))


def _inversions(pairs: list[tuple[float, float]]) -> int:
    """The number of pairs in a different order below than above."""
    if len(pairs) < 2:
        return 0
    found = 0
    lower: list[float] = []
    for seen, (_, end) in enumerate(sorted(pairs)):
        at = bisect_right(lower, end)
        found += seen - at
        lower.insert(at, end)
    return found
