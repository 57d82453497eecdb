"""`Picture`: boxes with text, edges between them, and groups of boxes within groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .looks import MARKS, STRIKING

Path = tuple[str, ...]
"""Names of groups, each within the one before."""


@dataclass(frozen=True)
class Box:
    """One box.

    key     tells it from all others
    title   its first line
    rows    its further lines
    look    one of `looks.LOOKS`
    group   the groups it is in, from the outermost
    detail  what is told of it on request: any text, of any length
    facts   (column, what stands there) for the text form; where there are none, `rows` stand there
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
    output      which output of the tail it comes from; edges that share one are drawn as one line
                that parts
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
    """Boxes in an order in which most edges lead from earlier ones to later ones, and edges.

    >>> picture = Picture([Box("a", "a"), Box("b", "b", group=("inner",))], [Edge("a", "b")])
    >>> picture.groups
    [(), ('inner',)]
    """

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    title: str = ""
    nouns: tuple[str, str] = ("box", "boxes")
    """What boxes are called where they are counted: one, several."""
    legend: dict[str, str] = field(default_factory=dict)
    """{look: what it stands for}, of boxes and of lines."""

    @cached_property
    def groups(self) -> list[Path]:
        """Every group, an outer one before those in it; the empty path is the whole picture."""
        found: dict[Path, None] = {(): None}
        for box in self.boxes:
            for depth in range(len(box.group)):
                found[box.group[: depth + 1]] = None
        return sorted(found, key=len)

    @cached_property
    def inside(self) -> dict[Path, int]:
        """How many boxes are in each group, those in groups within it too."""
        counts = dict.fromkeys(self.groups, 0)
        for box in self.boxes:
            for depth in range(len(box.group) + 1):
                counts[box.group[:depth]] += 1
        return counts

    @cached_property
    def striking(self) -> dict[Path, Counter[str]]:
        """In groups that have some: how many boxes have a look that is not to be missed."""
        found: dict[Path, Counter[str]] = {}
        for box in self.boxes:
            if box.look in STRIKING:
                for depth in range(1, len(box.group) + 1):
                    found.setdefault(box.group[:depth], Counter())[box.look] += 1
        return found

    def strongest(self, path: Path) -> str:
        """The most striking look of the boxes in a group; empty where none is striking."""
        return next((look for look in STRIKING if look in self.striking.get(path, ())), "")

    def contents(self, path: Path) -> str:
        """How much is in a group, and what in it is not to be missed.

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
        """The groups to be closed so that, if possible, at most so many boxes are seen.

        The smallest groups are opened first, all of one size or none; an outer one always before
        those in it.

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
    """The outermost closed group that a box is in; None where it is seen itself.

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
    """A text of at most so many letters: the middle is left out.

    >>> shortened("a_very_long_name", 9)
    'a_ve…name'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def unique(values: Iterable[str]) -> list[str]:
    """Each value once, in the order in which they first come."""
    return list(dict.fromkeys(values))
