"""The sizes of boxes, and the positions where lines begin and end at their borders."""

from __future__ import annotations

from collections import defaultdict

from .levels import Item, Level, Levels
from .looks import LOOKS, ROW, SMALL, TITLE, width_of
from .picture import Box, shortened

PAD_X, PAD_Y = 11.0, 7.0
LEAST, SLOT = 58.0, 12.0
LINE_TITLE, LINE_ROW = 15.0, 13.5
LONGEST = 34
"""The maximum number of characters per line of a box; longer lines lose their middle."""
CROWD = 260.0
"""The maximum width for lines at a closed group, where they have no labels."""
LABELLED = 6
"""If more lines meet, their labels are left out."""

Size = tuple[float, float]


class Sizes:
    """Sizes of all boxes and closed groups, and the positions of lines at their borders.

    boxes        key -> width and height
    closed       number of a level -> width and height of its closed group
    tails, heads for each edge: the offset of its ends from the middle of its box
    ports        (level, port) -> the offset from the middle of the closed group
    labelled     for each edge: whether there is room for its label
    """

    def __init__(self, levels: Levels) -> None:
        picture = levels.picture
        self.levels = levels
        self.tails = [0.0] * len(picture.edges)
        self.heads = [0.0] * len(picture.edges)
        self.ports: dict[tuple[int, int], float] = {}
        self.labelled = [False] * len(picture.edges)
        tops, bottoms = self._sides()
        self.boxes = {
            box.key: self._box(box, tops[box.key], bottoms[box.key]) for box in picture.boxes
        }
        self.closed: dict[int, Size] = {}

    def close(self) -> None:
        """Computes the sizes of closed groups, after their ports are ordered."""
        for level in self.levels.levels[1:]:
            self.closed[level.number] = self._closed(level)

    def _sides(self) -> tuple[dict[str, list[list[int]]], dict[str, list[list[int]]]]:
        """For each box: the edges that share a slot, at its upper and its lower side."""
        tops: dict[str, dict[tuple[str, int], list[int]]] = defaultdict(dict)
        bottoms: dict[str, dict[tuple[str, int], list[int]]] = defaultdict(dict)
        for n, edge in enumerate(self.levels.picture.edges):
            down = self.levels.down[n]
            out = (bottoms if down else tops)[edge.tail]
            out.setdefault(("out", edge.output), []).append(n)
            (tops if down else bottoms)[edge.head][("in", n)] = [n]
        return (
            defaultdict(list, {k: list(v.values()) for k, v in tops.items()}),
            defaultdict(list, {k: list(v.values()) for k, v in bottoms.items()}),
        )

    def _box(self, box: Box, top: list[list[int]], bottom: list[list[int]]) -> Size:
        """The size of a box; also stores its slots."""
        texts = [width_of(t, ROW) for t in lines_of(box)]
        wide = max([width_of(title_of(box), TITLE), *texts]) + 2 * PAD_X
        wide += {"band": 8.0, "pill": 12.0}.get(LOOKS[box.look].shape, 0.0)
        height = 2 * PAD_Y + LINE_TITLE + LINE_ROW * len(box.rows)
        wide = max(LEAST, wide, self._slots(box.key, top), self._slots(box.key, bottom))
        return round(wide, 1), height

    def _slots(self, key: str, side: list[list[int]]) -> float:
        """The width of the slots of one side; also stores their positions."""
        edges = self.levels.picture.edges
        coming = [s[0] for s in side if edges[s[0]].head == key]
        room = len(coming) <= LABELLED
        widths = []
        for slot in side:
            n = slot[0]
            shown = room and edges[n].head == key and bool(edges[n].label)
            if shown:
                self.labelled[n] = True
            widths.append(width_of(edges[n].label, SMALL) + SLOT if shown else SLOT)
        for slot, middle in zip(side, _middles(widths), strict=True):
            for n in slot:
                (self.heads if edges[n].head == key else self.tails)[n] = middle
        return sum(widths)

    def _closed(self, level: Level) -> Size:
        """The size of a closed group."""
        name, count = closed_text(self.levels, level)
        wide = max(width_of(name, TITLE), width_of(count, ROW)) + 2 * PAD_X + 14.0
        labels = self._port_labels(level)
        for layer in (level.layers[0], level.layers[-1]):
            ports = [p for p in layer if _is_port(level.items[p])]
            room = len(ports) <= LABELLED
            slot = min(SLOT, CROWD / max(1, len(ports)))
            widths = [
                (width_of(labels.get(p, ""), SMALL) if room else 0.0) + slot for p in ports
            ]
            wide = max(wide, sum(widths))
            for port, middle in zip(ports, _middles(widths), strict=True):
                self.ports[level.number, port] = middle
        return round(max(wide, LEAST), 1), 2 * PAD_Y + LINE_TITLE + LINE_ROW

    def _port_labels(self, level: Level) -> dict[int, str]:
        """The labels of the lines that enter a group, by port."""
        edges = self.levels.picture.edges
        return {
            link.tail: edges[link.edges[0]].label for link in level.links
            if _is_port(level.items[link.tail])
        }


def _is_port(item: Item) -> bool:
    return item.what == "port"


def _middles(widths: list[float]) -> list[float]:
    """The middles of adjacent slots, relative to the middle of all."""
    at, found = -sum(widths) / 2, []
    for width in widths:
        found.append(round(at + width / 2, 2))
        at += width
    return found


def title_of(box: Box) -> str:
    """The title of a box, shortened to the drawn length."""
    return shortened(box.title, LONGEST)


def lines_of(box: Box) -> list[str]:
    """The further lines of a box, shortened to the drawn length."""
    return [shortened(row, LONGEST + 4) for row in box.rows]


def closed_text(levels: Levels, level: Level) -> tuple[str, str]:
    """The two lines of a closed group: its name, and its contents in numbers."""
    return shortened(level.path[-1], LONGEST), levels.picture.contents(level.path)
