"""Pictures as the tests read them: boxes and lines out of the text of an SVG, and their places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
_TRANSLATE = re.compile(r"translate\(([-\d.e]+)[ ,]([-\d.e]+)\)")
_STEP = re.compile(r"([MVC])([^MVC]*)")


class Rect(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Rect) -> bool:
        return (
            self.left < other.right and other.left < self.right
            and self.top < other.bottom and other.top < self.bottom
        )

    def touches(self, x: float, y: float) -> bool:
        """Whether a point is on the upper or lower side."""
        on_side = min(abs(y - self.top), abs(y - self.bottom)) < 0.2
        return on_side and self.left - 0.2 < x < self.right + 0.2


class Line(NamedTuple):
    tail: str
    head: str
    points: list[tuple[float, float]]
    element: ElementTree.Element


class Seen:
    """The boxes, closed groups and lines of an SVG."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text)
        self.boxes: dict[str, Rect] = {}
        self.closed: dict[str, Rect] = {}
        self.texts: dict[str, list[str]] = {}
        self.looks: dict[str, str] = {}
        for moved in self.root.iter(f"{SVG}g"):
            for inner in moved.findall(f"{SVG}g"):
                if "data-size" in inner.attrib:
                    self._box(moved, inner)
        self.lines = [
            Line(e.get("data-tail"), e.get("data-head"), points_of(e.get("d")), e)
            for e in self.root.iter(f"{SVG}path") if e.get("class") == "edge"
        ]
        self.labels = [
            "".join(e.itertext()) for e in self.root.iter(f"{SVG}g") if e.get("class") == "label"
        ]

    def _box(self, moved: ElementTree.Element, inner: ElementTree.Element) -> None:
        x, y = map(float, _TRANSLATE.fullmatch(moved.get("transform")).groups())
        wide, high = map(float, inner.get("data-size").split())
        if inner.get("class") == "closed":
            self.closed[inner.get("data-group")] = Rect(x, y, x + wide, y + high)
            return
        key = inner.get("data-key")
        assert key not in self.boxes, "one box for each"
        self.boxes[key] = Rect(x, y, x + wide, y + high)
        self.texts[key] = [t.text for t in inner.findall(f"{SVG}text")]
        self.looks[key] = inner.get("data-look")


def points_of(path: str, steps: int = 12) -> list[tuple[float, float]]:
    """Points along a way of moves, vertical lines and curves."""
    points: list[tuple[float, float]] = []
    for letter, numbers in _STEP.findall(path):
        values = [float(n) for n in numbers.split()]
        if letter == "M":
            points.append((values[0], values[1]))
            continue
        x, y = points[-1]
        if letter == "V":
            points += [(x, y + (values[0] - y) * i / steps) for i in range(1, steps + 1)]
            continue
        ax, ay, bx, by, cx, cy = values
        for i in range(1, steps + 1):
            t = i / steps
            parts = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            points.append((
                sum(p * v for p, v in zip(parts, (x, ax, bx, cx), strict=True)),
                sum(p * v for p, v in zip(parts, (y, ay, by, cy), strict=True)),
            ))
    return points


def check(seen: Seen) -> None:
    """No two boxes overlap; lines end at their boxes, and cross none."""
    rects = [*seen.boxes.values(), *seen.closed.values()]
    rects.sort()
    for number, rect in enumerate(rects):
        for other in rects[number + 1 :]:
            if other.left >= rect.right:
                break
            assert not rect.overlaps(other)
    for line in seen.lines:
        for key, point in ((line.tail, line.points[0]), (line.head, line.points[-1])):
            assert border(seen, key).touches(*point), f"{line.tail} -> {line.head} at {key}"
        assert not is_any_inside(line.points, rects), (line.tail, line.head)


def is_any_inside(
    points: Sequence[tuple[float, float]], rects: Sequence[Rect], margin: float = 0.5
) -> bool:
    """Whether one of some points is inside one of some boxes, a margin away from its sides."""
    (x, y), (left, top, right, bottom) = np.transpose(points), np.transpose(rects)[:, :, None]
    inside = (left + margin < x) & (x < right - margin) & (top + margin < y) & (y < bottom - margin)
    return bool(inside.any())


def border(seen: Seen, key: str) -> Rect:
    """The box of a key, or the closed group that it is in."""
    if key in seen.boxes:
        return seen.boxes[key]
    return next(r for group, r in seen.closed.items() if key.startswith(f"{group}/"))
