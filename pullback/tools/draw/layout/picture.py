"""`Picture`: boxes with text, edges between them, and groups of boxes within groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .looks import MARKS, STRIKING

Path = tuple[str, ...]
"""Names of nested groups, the outermost first."""


@dataclass(frozen=True)
class Box:
    """One box.

    key     unique among all boxes
    title   its first line
    rows    its further lines
    look    one of `looks.LOOKS`
    group   the groups around it, the outermost first
    detail  text shown on request, of any length
    facts   (column, cell) for the text format; if empty, it shows `rows`
    """

    key: str
    title: str
    rows: tuple[str, ...] = ()
    look: str = "operation"
    group: Path = ()
    detail: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Edge:
    """An arrow from one box to another.

    tail, head  keys of boxes
    output      the index of the tail's output; edges with the same output share one line that
                forks
    label       a short text at its head
    look        one of `looks.LINES`
    """

    tail: str
    head: str
    output: int = 0
    label: str = ""
    look: str = "value"


@dataclass
class Picture:
    """Boxes, ordered so that most edges lead from earlier to later ones, and edges.

    >>> picture = Picture([Box("a", "a"), Box("b", "b", group=("inner",))], [Edge("a", "b")])
    >>> picture.groups
    [(), ('inner',)]
    """

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    title: str = ""
    nouns: tuple[str, str] = ("box", "boxes")
    """The noun for a box when counting: singular, plural."""
    legend: dict[str, str] = field(default_factory=dict)
    """{look: its meaning}, for boxes and lines."""

    @cached_property
    def groups(self) -> list[Path]:
        """Every group, outer ones before inner ones; the empty path is the whole picture."""
        found: dict[Path, None] = {(): None}
        for box in self.boxes:
            for depth in range(len(box.group)):
                found[box.group[: depth + 1]] = None
        return sorted(found, key=len)

    @cached_property
    def inside(self) -> dict[Path, int]:
        """The number of boxes in each group, including inner groups."""
        counts = dict.fromkeys(self.groups, 0)
        for box in self.boxes:
            for depth in range(len(box.group) + 1):
                counts[box.group[:depth]] += 1
        return counts

    @cached_property
    def striking(self) -> dict[Path, Counter[str]]:
        """For each group: the number of boxes per important look."""
        found: dict[Path, Counter[str]] = {}
        for box in self.boxes:
            if box.look in STRIKING:
                for depth in range(1, len(box.group) + 1):
                    found.setdefault(box.group[:depth], Counter())[box.look] += 1
        return found

    def strongest(self, path: Path) -> str:
        """The most important look of the boxes in a group; empty if none is important."""
        return next((look for look in STRIKING if look in self.striking.get(path, ())), "")

    def contents(self, path: Path) -> str:
        """The number of boxes in a group, and the counts of important looks.

        >>> boxes = [Box("a", "a", group=("g",)), Box("b", "b", look="cut", group=("g",))]
        >>> Picture(boxes, []).contents(("g",))
        '2 boxes · ✂ 1'
        """
        count = self.inside[path]
        marks: Counter[str] = Counter()
        for look in STRIKING:
            marks[MARKS[look]] += self.striking.get(path, Counter())[look]
        parts = [f"{mark} {number}" for mark, number in marks.items() if number]
        return " · ".join([f"{count} {self.nouns[count != 1]}", *parts])

    def folded(self, most: int) -> set[Path]:
        """The groups to close so that, if possible, at most `most` boxes are visible.

        Opens the smallest groups first, all groups of the same size together; an outer group always
        before its inner groups.

        >>> boxes = [Box(str(n), "", group=("few" if n < 2 else "many",)) for n in range(9)]
        >>> Picture(boxes, []).folded(most=5)
        {('many',)}
        """
        if len(self.boxes) <= most:
            return set()
        inner: dict[Path, list[Path]] = {path: [] for path in self.groups}
        for path in self.groups[1:]:
            inner[path[:-1]].append(path)
        direct = {p: self.inside[p] - sum(self.inside[i] for i in inner[p]) for p in self.groups}
        parts = {p: direct[p] + len(inner[p]) for p in self.groups}
        closed, seen = set(inner[()]), parts[()]
        while True:
            alike = Counter(parts[p] for p in closed)
            fit = [size for size, count in alike.items() if seen + count * (size - 1) <= most]
            if not fit:
                return closed
            seen += alike[min(fit)] * (min(fit) - 1)
            opened = {p for p in closed if parts[p] == min(fit)}
            closed = (closed - opened).union(*[inner[p] for p in opened])


def seen_as(box: Box, closed: Collection[Path]) -> Path | None:
    """The outermost closed group around a box; None if the box itself is visible.

    >>> seen_as(Box("a", "a", group=("g", "h")), {("g", "h")})
    ('g', 'h')
    """
    if not closed:
        return None
    paths = (box.group[: depth + 1] for depth in range(len(box.group)))
    return next((path for path in paths if path in closed), None)


def common(some: Path, other: Path) -> Path:
    """The groups that two paths share.

    >>> common(("a", "b", "c"), ("a", "b", "d"))
    ('a', 'b')
    """
    shared = 0
    for one, two in zip(some, other, strict=False):
        if one != two:
            break
        shared += 1
    return some[:shared]


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters; leaves out the middle.

    >>> shortened("a_very_long_name", 9)
    'a_ve…name'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def unique(values: Iterable[str]) -> list[str]:
    """Each value once, in order of first occurrence."""
    return list(dict.fromkeys(values))
