"""The order within layers: items come near those they are joined to, so that few lines cross."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

from .levels import Level, Levels, Link
from .sizes import Sizes

SWEEPS, FEWER = 16, 2
"""How often the layers of a level are gone through; where a picture has many boxes."""
MANY = 2000

Ends = dict[tuple[int, int], tuple[float, float]]
"""Of segments: where at their upper and their lower item they end, in places."""


def arrange(levels: Levels, sizes: Sizes, hidden: Collection[int] = ()) -> None:
    """Put the items of all layers of all levels into an order.

    First from within, so that ports stand as what is inside would have them; then from without.

    hidden   levels of which nothing is drawn but the ports that closed groups have
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


def _sorted(level: Level, before: dict[int, float]) -> None:
    """Sort the items of each layer by a place that is known before, else as they were made."""
    items = level.items
    for layer in level.layers:
        layer.sort(key=lambda i: (before.get(i, 0.0), items[i].number, i))


def order(
    level: Level, before: dict[int, float], ends: Ends, fixed: bool, sweeps: int = SWEEPS
) -> None:
    """Sort the items of each layer of a level.

    before  of ports: where their lines come from, or go to, in the level around
    fixed   whether ports stay in that order
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
    """How many pairs are in another order below than above."""
    if len(pairs) < 2:
        return 0
    found = 0
    lower: list[float] = []
    for seen, (_, end) in enumerate(sorted(pairs)):
        at = bisect_right(lower, end)
        found += seen - at
        lower.insert(at, end)
    return found
