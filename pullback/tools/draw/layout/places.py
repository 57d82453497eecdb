"""Coordinates: of items in layers, of levels within each other, and of the paths of edges.

A line bends only between layers and is straight where it passes a layer, so no line crosses a box.
When a reader folds a group, the page uses these positions and adjusts them (`folding.js`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .levels import Level, Levels, Link, Stop
from .looks import TITLE, width_of
from .picture import Path
from .sizes import Sizes, closed_text

BETWEEN, BESIDE = 26.0, 9.0
"""Distances: between boxes of a layer; on each side of a bend."""
GAP, SLOPE, STEEPEST = 48.0, 0.10, 70.0
"""Between layers: the minimum; the increase per pixel of sideways offset; its maximum."""
HEAD, FOOT, SIDE = 26.0, 14.0, 16.0
"""Inside the frame of a group: padding above, below, and beside its content."""
LANE, STRAIGHT = 7.0, 18.0
"""Between lines beside a level; the straight end of a line, which holds its label."""
SWEEPS = 24
LAST, UPRIGHT = 12, 8.0
"""The number of last sweeps, which use both neighbouring layers; the weight of straight lines."""
WEIGHTS = (1.0, 2.0, 6.0)
"""Weight of a line between two layers, by how many of its ends are bends (for straight lines)."""

Point = tuple[float, float]
Neighbours = list[tuple[int, float, float]]
"""Neighbours of an item: the item, the wanted offset to its right, a weight."""


class Place:
    """The positions of the items of one level.

    x         the middle of each item, relative to the left of the level
    top       the top of each layer, relative to the top of the level; `bottom` likewise
    size      the size of the whole level
    """

    def __init__(self) -> None:
        self.x: list[float] = []
        self.top: list[float] = []
        self.bottom: list[float] = []
        self.size = (0.0, 0.0)
        self.lanes = 0.0


class Places:
    """The positions of everything in a picture.

    closed   the groups that are folded
    inside   whether levels inside closed groups are placed, too
    origins  the upper left corner of each visible level
    """

    def __init__(
        self, levels: Levels, sizes: Sizes, closed: Collection[Path] = (), inside: bool = False
    ) -> None:
        self.levels, self.sizes = levels, sizes
        self.closed = frozenset(closed)
        self.hider = [self._hider(level) for level in levels.levels]
        self.places = [Place() for _ in levels.levels]
        for level in reversed(levels.levels):
            if inside or self.hider[level.number] < 0:
                self._place(level)
        self.origins: dict[int, Point] = {0: (0.0, 0.0)}
        self.item: dict[int, tuple[int, int]] = {}  # group -> the level it is in, its item
        for level in levels.levels:
            for number, item in enumerate(level.items):
                if item.what == "group":
                    self.item[int(item.key)] = (level.number, number)
        for level in levels.levels[1:]:
            if self.hider[level.number] < 0:
                self.origins[level.number] = self.corner(*self.item[level.number])

    def _hider(self, level: Level) -> int:
        """The outermost closed group around a level; -1 if the level is visible."""
        for depth in range(1, len(level.path) + 1):
            if level.path[:depth] in self.closed:
                return self.levels.of[level.path[:depth]].number
        return -1

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        return self.places[0].size

    # One level ------------------------------------------------------------------------------

    def extent(self, level: Level, item: int) -> tuple[float, float]:
        """Width and height of an item."""
        found = level.items[item]
        if found.what == "box":
            return self.sizes.boxes[str(found.key)]
        if found.what == "group":
            inner = self.levels.levels[int(found.key)]
            closed = inner.path in self.closed
            return self.sizes.closed[inner.number] if closed else self.places[inner.number].size
        return 0.0, 0.0

    def _place(self, level: Level) -> None:
        place = self.places[level.number]
        widths = [self.extent(level, n)[0] for n in range(len(level.items))]
        place.x = self._across(level, widths)
        left = min((x - w / 2 for x, w in zip(place.x, widths, strict=True)), default=0.0)
        side = SIDE if level.path else 0.0
        place.x = [round(x - left + side, 2) for x in place.x]
        right = max((x + w / 2 for x, w in zip(place.x, widths, strict=True)), default=0.0)
        place.lanes = right + (2 * LANE if level.lanes else 0.0)
        wide = place.lanes + level.lanes * LANE + side
        if level.path:
            name, _ = closed_text(self.levels, level)
            wide = max(wide, width_of(name, TITLE) + 3 * SIDE)
        self._down(level, place)
        place.size = (round(wide, 2), place.bottom[-1] if place.bottom else 0.0)

    def _across(self, level: Level, widths: Sequence[float]) -> list[float]:
        """The middle of each item from left to right, close to its neighbours."""
        above, below = self._joined(level)
        both = [up + down for up, down in zip(above, below, strict=True)]
        x = [0.0] * len(level.items)
        margins = [w / 2 + (BETWEEN / 2 if w else BESIDE) for w in widths]
        for layer in level.layers:
            _spread(x, layer, [0.0] * len(layer), [1.0] * len(layer), margins)
        for sweep in range(SWEEPS):
            joined, straight = (above, below)[sweep % 2], dict[int, float]()
            if sweep >= SWEEPS - LAST:
                joined, straight = both, self._straight(level, x)
            for layer in level.layers[::-1] if sweep % 2 else level.layers:
                wish, weights = [], []
                for item in layer:
                    if item in straight:
                        wish.append(straight[item])
                        weights.append(UPRIGHT)
                        continue
                    mean = total = 0.0
                    for other, shift, weight in joined[item]:
                        mean += weight * (x[other] + shift)
                        total += weight
                    wish.append(mean / total if total else x[item])
                    weights.append(total or 0.1)
                _spread(x, layer, wish, weights, margins)
        return x

    @staticmethod
    def _straight(level: Level, x: Sequence[float]) -> dict[int, float]:
        """For each bend, the median position of its line, so that long lines are straight."""
        found: dict[int, float] = {}
        for chain in level.chains:
            middle = sorted(x[item] for item in chain)[len(chain) // 2]
            found |= dict.fromkeys(chain, middle)
        return found

    def _joined(self, level: Level) -> tuple[list[Neighbours], list[Neighbours]]:
        """The neighbours of each item in the layer above, and in the layer below."""
        above: list[Neighbours] = [[] for _ in level.items]
        below: list[Neighbours] = [[] for _ in level.items]
        for (upper, lower), link in level.segments.items():
            shift = self.end(level, link, lower) - self.end(level, link, upper)
            weight = WEIGHTS[sum(level.items[i].what in ("bend", "port") for i in (upper, lower))]
            above[lower].append((upper, -shift, weight))
            below[upper].append((lower, shift, weight))
        return above, below

    def end(self, level: Level, link: Link, item: int) -> float:
        """The offset from the middle of an item where a link begins or ends."""
        what = level.items[item].what
        if what in ("bend", "port"):
            return 0.0
        out = item == link.tail
        if what == "box":
            return (self.sizes.tails if out else self.sizes.heads)[link.edges[0]]
        return self._port(int(level.items[item].key), link.ports[0 if out else 1])

    def _port(self, number: int, port: int) -> float:
        """The offset of a port from the middle of its group."""
        if self.levels.levels[number].path in self.closed:
            return self.sizes.ports[number, port]
        place = self.places[number]
        return place.x[port] - place.size[0] / 2

    def _down(self, level: Level, place: Place) -> None:
        """The top and bottom of each layer."""
        slopes = [0.0] * len(level.layers)
        for (upper, lower), link in level.segments.items():
            across = place.x[upper] + self.end(level, link, upper)
            across -= place.x[lower] + self.end(level, link, lower)
            number = level.items[upper].layer
            slopes[number] = max(slopes[number], abs(across))
        y = 0.0
        for number, layer in enumerate(level.layers):
            y += self._gap(level, number, slopes[number - 1]) if number else 0.0
            place.top.append(round(y, 2))
            y += max((self.extent(level, i)[1] for i in layer), default=0.0)
            place.bottom.append(round(y, 2))

    @staticmethod
    def _gap(level: Level, number: int, slope: float) -> float:
        """The height between a layer and the one above it."""
        if number == 1 and not level.layers[0]:
            return HEAD if level.path else 0.0
        if number == len(level.layers) - 1 and not level.layers[number]:
            return FOOT if level.path else 0.0
        return GAP + min(STEEPEST, SLOPE * slope)

    # Absolute places ------------------------------------------------------------------------

    def corner(self, number: int, item: int) -> Point:
        """The upper left corner of an item."""
        level, place = self.levels.levels[number], self.places[number]
        left, top = self.origins[number]
        wide, _ = self.extent(level, item)
        return left + place.x[item] - wide / 2, top + place.top[level.items[item].layer]

    # Paths ----------------------------------------------------------------------------------

    def way(self, n: int) -> list[Point]:
        """The points of an edge: straight between points with equal x, else a curve.

        Empty if both ends are in the same closed group.
        """
        down = self.levels.down[n]
        points: list[Point] = []
        stops = self.levels.ways[n]
        for position, stop in enumerate(stops):
            points += self._passed(n, stop, down, position == 0)
        return points

    def _passed(self, n: int, stop: Stop, down: bool, first: bool) -> list[Point]:
        """The points of an edge at one of its stops; none if the stop is hidden."""
        hider = self.hider[stop.level]
        item = self.levels.levels[stop.level].items[stop.item]
        if item.what == "port" and hider in (-1, stop.level) and stop.lane < 0:
            number, group = self.item[stop.level]
            inner = self._port(stop.level, stop.item)
            at = self.origins[number][0] + self.places[number].x[group] + inner
            return self._border(number, group, at, down, leaves=not stop.arrives)
        if hider >= 0:
            return []
        left, top = self.origins[stop.level]
        place = self.places[stop.level]
        if stop.lane >= 0:
            at = left + place.lanes + stop.lane * LANE
            below = stop.arrives != down
            y = place.top[item.layer + 1] if below else place.bottom[item.layer - 1]
            return [(at, top + y)]
        at = left + place.x[stop.item]
        if item.what == "bend":
            ys = (place.top[item.layer], place.bottom[item.layer])
            return [(at, top + y) for y in (ys if down else ys[::-1])]
        at += (self.sizes.tails if first else self.sizes.heads)[n]
        return self._border(stop.level, stop.item, at, down, leaves=first)

    def _border(self, number: int, item: int, x: float, down: bool, leaves: bool) -> list[Point]:
        """The points at the border of a box or group, and at that of its layer."""
        level, place = self.levels.levels[number], self.places[number]
        top = self.corner(number, item)[1]
        bottom = top + self.extent(level, item)[1]
        edge = self.origins[number][1] + place.bottom[level.items[item].layer]
        if leaves:
            return [(x, bottom), (x, edge)] if down else [(x, top)]
        if down:
            return [(x, top - STRAIGHT), (x, top)]
        return [(x, edge + STRAIGHT), (x, edge), (x, bottom)]


def _spread(
    x: list[float], layer: Sequence[int], wish: Sequence[float], weights: Sequence[float],
    margins: Sequence[float],
) -> None:
    """Places the items of a layer as close to their wanted positions as possible, in order.

    Minimizes the weighted sum of squares by pooling neighbours that would overlap.
    """
    shifts, total = [], 0.0
    for position, item in enumerate(layer):
        total += margins[item] + (margins[layer[position - 1]] if position else 0.0)
        shifts.append(total)
    pools: list[list[float]] = []  # weighted sum of wishes, weight, count
    for want, weight, shift in zip(wish, weights, shifts, strict=True):
        pools.append([(want - shift) * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    position = 0
    for wishes, weight, count in pools:
        for _ in range(int(count)):
            x[layer[position]] = wishes / weight + shifts[position]
            position += 1
