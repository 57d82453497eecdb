"""`Level`: the layered content of one group, and the paths of edges through levels.

Each group has its own layout, and is one item of the group around it. An edge leaves a group
through a port at its border. So folding a group changes sizes, but not layers or paths.

    box ─ bend ─ port │ bend ─ port │ box
    └ inner level ──┘ └ outer ┘     └ another inner level
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .picture import Path, Picture, common
from .ranks import ranked

LONG, MANY = 8, 1200
"""A line over more layers goes around everything, in a level that would need as many bends."""


class Stop(NamedTuple):
    """A place that an edge passes: an item of a level, or a lane beside it.

    lane     the number of the lane, or -1
    arrives  at a port: whether it leads in; at a lane: whether it leaves the lane for the item
    """

    level: int
    item: int
    lane: int = -1
    arrives: bool = False


class Item:
    """An element of a layer: a box, a group, a bend of a line, or a port at the border.

    what    "box", "group", "bend" or "port"
    key     the key of the box, the number of the group's level, else empty
    number  the position of its first box in drawing order
    """

    __slots__ = ("key", "layer", "number", "what")

    def __init__(self, what: str, key: str | int, number: int) -> None:
        self.what, self.key, self.number = what, key, number
        self.layer = 0


class Level:
    """The content of one group.

    layers    item numbers, from top to bottom; the first and the last layer are ports
    segments  (upper item, lower item) of neighbouring layers, once each -> a link between them
    lanes     the number of lines that go around all layers
    chains    for each line with bends: the bends, which should be aligned vertically
    """

    def __init__(self, number: int, path: Path) -> None:
        self.number, self.path = number, path
        self.items: list[Item] = []
        self.layers: list[list[int]] = []
        self.segments: dict[tuple[int, int], Link] = {}
        self.lanes = 0
        self.chains: list[list[int]] = []
        self.links: list[Link] = []

    def add(self, what: str, key: str | int, number: int) -> int:
        """Adds an item; returns its number."""
        self.items.append(Item(what, key, number))
        return len(self.items) - 1


class Link:
    """A line within one level, from one item to another: a part of the path of some edges.

    line   the value it carries: the tail's key and output
    edges  their numbers
    stops  the bends, or the lane, that it passes
    ports  if an end is a group: the number of the port in its level, else -1
    """

    __slots__ = ("down", "edges", "head", "line", "ports", "stops", "tail")

    def __init__(self, tail: int, head: int, line: tuple[str, int], down: bool) -> None:
        self.tail, self.head, self.line, self.down = tail, head, line, down
        self.edges: list[int] = []
        self.stops: list[Stop] = []
        self.ports = (-1, -1)


class Levels:
    """All levels of a picture, and the path of every edge.

    ways   for each edge its stops, from the tail to the head
    down   for each edge, whether it leads downwards
    """

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.levels = [Level(n, path) for n, path in enumerate(picture.groups)]
        self.of = {level.path: level for level in self.levels}
        self._paths = {box.key: box.group for box in picture.boxes}
        self._numbers = {box.key: n for n, box in enumerate(picture.boxes)}
        self._items: list[dict[str | int, int]] = [{} for _ in self.levels]
        self._ports: list[dict[tuple[object, ...], int]] = [{} for _ in self.levels]
        self.ways: list[list[Stop]] = [[] for _ in picture.edges]
        self.down = [True] * len(picture.edges)
        self._fill()
        crossing: dict[Path, list[int]] = defaultdict(list)
        for number, edge in enumerate(picture.edges):
            crossing[common(self._paths[edge.tail], self._paths[edge.head])].append(number)
        passing: dict[Path, list[int]] = defaultdict(list)
        for level in self.levels:
            self._lay(level, crossing[level.path], passing)
        for level in self.levels:
            for link in level.links:
                link.ports = (self._at(level, link, True), self._at(level, link, False))
        self._join()

    # Items ----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Assigns boxes and groups to their levels."""
        for number, box in enumerate(self.picture.boxes):
            for depth in range(len(box.group)):
                outer = self.of[box.group[:depth]]
                inner = self.of[box.group[: depth + 1]].number
                if inner not in self._items[outer.number]:
                    self._items[outer.number][inner] = outer.add("group", inner, number)
            level = self.of[box.group]
            self._items[level.number][box.key] = level.add("box", box.key, number)

    def _item(self, level: Level, key: str) -> int:
        """The item of a level for a box, or for the group that contains it."""
        path = self._paths[key]
        if path == level.path:
            return self._items[level.number][key]
        return self._items[level.number][self.of[path[: len(level.path) + 1]].number]

    def _port(self, level: Level, line: tuple[str, int], out: bool, down: bool) -> int:
        """The port through which a line leaves or enters a level."""
        table = self._ports[level.number]
        key = (line, out, down)
        if key not in table:
            number = self._numbers[line[0]]
            table[key] = level.add("port", "bottom" if out == down else "top", number)
        return table[key]

    # Layers ---------------------------------------------------------------------------------

    def _lay(self, level: Level, crossing: list[int], passing: dict[Path, list[int]]) -> None:
        """Finds layers and links of a level, and passes on the edges through inner levels."""
        edges = self.picture.edges
        pairs = [
            (self._item(level, edges[n].tail), self._item(level, edges[n].head)) for n in crossing
        ]
        own = len(level.items)
        ranks, backwards = ranked([i.number for i in level.items], pairs)
        links: dict[tuple[object, ...], Link] = {}
        for n, (tail, head) in zip(crossing, pairs, strict=True):
            self.down[n] = (tail, head) not in backwards
            self._link(level, links, n, tail, head)
            for end in (edges[n].tail, edges[n].head):
                path = self._paths[end]
                for depth in range(len(level.path), len(path)):
                    passing[path[: depth + 1]].append(n)
        for n in passing[level.path]:
            self._through(level, links, n)
        self._layered(level, ranks, own)
        level.links = list(links.values())
        route(level)

    def _through(self, level: Level, links: dict[tuple[object, ...], Link], n: int) -> None:
        """The link of an edge that leaves or enters a level."""
        edge, down = self.picture.edges[n], self.down[n]
        line = (edge.tail, edge.output)
        if self._paths[edge.tail][: len(level.path)] == level.path:
            port = self._port(level, line, True, down)
            self._link(level, links, n, self._item(level, edge.tail), port)
        else:
            port = self._port(level, line, False, down)
            self._link(level, links, n, port, self._item(level, edge.head))

    def _link(
        self, level: Level, links: dict[tuple[object, ...], Link], n: int, tail: int, head: int
    ) -> None:
        edge = self.picture.edges[n]
        line = (edge.tail, edge.output)
        key = (tail, head, line, n if level.items[head].what == "box" else None)
        if key not in links:
            links[key] = Link(tail, head, line, self.down[n])
        links[key].edges.append(n)

    @staticmethod
    def _layered(level: Level, ranks: list[int], own: int) -> None:
        """Layers: ports, items by their rank, ports."""
        last = max(ranks, default=0) + 2
        level.layers = [[] for _ in range(last + 1)]
        for number, item in enumerate(level.items):
            if number < own:
                item.layer = ranks[number] + 1
            else:
                item.layer = 0 if item.key == "top" else last
            level.layers[item.layer].append(number)

    # Paths ----------------------------------------------------------------------------------

    def _at(self, level: Level, link: Link, out: bool) -> int:
        """The port of a group through which an outer link leaves or enters it."""
        item = level.items[link.tail if out else link.head]
        if item.what != "group":
            return -1
        return self._ports[int(item.key)][link.line, out, link.down]

    def _join(self) -> None:
        """Joins the path of each edge: links of the tail's, the common and the head's levels."""
        of_edge: dict[int, list[tuple[int, Link]]] = defaultdict(list)
        for level in self.levels:
            for link in level.links:
                for n in link.edges:
                    of_edge[n].append((level.number, link))
        for n, parts in of_edge.items():
            edge = self.picture.edges[n]
            shared = len(common(self._paths[edge.tail], self._paths[edge.head]))
            self.ways[n] = list(self._stops(self._sorted(edge.tail, shared, parts)))

    def _stops(self, parts: Iterable[tuple[int, Link]]) -> Iterator[Stop]:
        """The stops of consecutive links; a group is not a stop, but its port is."""
        for level, link in parts:
            items = self.levels[level].items
            if items[link.tail].what != "group":
                yield Stop(level, link.tail, arrives=items[link.tail].what == "port")
            yield from link.stops
            if items[link.head].what != "group":
                yield Stop(level, link.head)

    def _sorted(
        self, tail: str, shared: int, parts: list[tuple[int, Link]]
    ) -> list[tuple[int, Link]]:
        """The links of one edge from its tail to its head."""
        path = self._paths[tail]

        def place(part: tuple[int, Link]) -> int:
            own = self.levels[part[0]].path
            leaving = len(own) > shared and path[: len(own)] == own
            return -len(own) if leaving else len(own)

        before = [p for p in parts if place(p) < 0]
        after = [p for p in parts if place(p) >= 0]
        return sorted(before, key=place) + sorted(after, key=place)


# Bends ----------------------------------------------------------------------------------------


def route(level: Level) -> None:
    """Assigns bends or a lane to each link, and segments to the level.

    Links of one line from the same item share bends while their paths are equal.
    """
    spans: dict[tuple[int, tuple[str, int], bool], int] = defaultdict(int)
    for link in level.links:
        key = (link.tail, link.line, link.down)
        spans[key] = max(spans[key], _span(level, link))
    crowded = sum(spans.values()) > MANY
    bends: dict[tuple[object, ...], int] = {}
    chains: dict[tuple[object, ...], list[int]] = defaultdict(list)
    round_: list[Link] = []
    for link in level.links:
        if crowded and _span(level, link) > LONG:
            round_.append(link)
        else:
            _bend(level, link, bends, chains)
    level.chains = list(chains.values())
    _lanes(level, round_)


def _span(level: Level, link: Link) -> int:
    return abs(level.items[link.head].layer - level.items[link.tail].layer)


def _bend(
    level: Level, link: Link, bends: dict[tuple[object, ...], int],
    chains: dict[tuple[object, ...], list[int]],
) -> None:
    """A bend of a link in each layer between its ends."""
    start, end = level.items[link.tail], level.items[link.head]
    step = 1 if end.layer > start.layer else -1
    before = link.tail
    for layer in range(start.layer + step, end.layer, step):
        key = (link.tail, link.line, layer)
        if key not in bends:
            bends[key] = level.add("bend", 0, start.number)
            level.items[bends[key]].layer = layer
            level.layers[layer].append(bends[key])
            chains[link.tail, link.line, link.down].append(bends[key])
        link.stops.append(Stop(level.number, bends[key]))
        level.segments.setdefault(_pair(before, bends[key], step), link)
        before = bends[key]
    level.segments.setdefault(_pair(before, link.head, step), link)


def _pair(first: int, second: int, step: int) -> tuple[int, int]:
    return (first, second) if step > 0 else (second, first)


def _lanes(level: Level, links: list[Link]) -> None:
    """Assigns lanes to lines that go around; lines that do not overlap share a lane."""
    spans: dict[int, tuple[int, int]] = {}
    for link in links:
        ends = (level.items[link.tail].layer, level.items[link.head].layer)
        known = spans.get(link.tail, ends)
        spans[link.tail] = min(*ends, *known), max(*ends, *known)
    taken: list[int] = []  # per lane: the last layer that uses it
    lanes: dict[int, int] = {}
    for tail, (top, bottom) in sorted(spans.items(), key=lambda s: (s[1], s[0])):
        lane = next((i for i, last in enumerate(taken) if last <= top), len(taken))
        taken[lane : lane + 1] = [bottom]
        lanes[tail] = lane
    level.lanes = len(taken)
    for link in links:
        lane = lanes[link.tail]
        link.stops = [
            Stop(level.number, link.tail, lane), Stop(level.number, link.head, lane, True)
        ]
