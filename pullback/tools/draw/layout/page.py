"""A picture as one HTML page that folds, zooms, searches, and shows details on hover."""

from __future__ import annotations

import gc
import gzip
import json
from base64 import b64encode
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from .levels import Level
from .looks import (
    FAINT,
    FONT,
    FRAME,
    GROUND,
    INK,
    LETTER,
    LINES,
    LOOKS,
    PAPER,
    ROW,
    SMALL,
    TITLE,
)
from .picture import Box, Path, Picture, unique
from .places import (
    BESIDE,
    BETWEEN,
    FOOT,
    GAP,
    HEAD,
    LANE,
    LAST,
    SIDE,
    SLOPE,
    STEEPEST,
    STRAIGHT,
    SWEEPS,
    UPRIGHT,
    WEIGHTS,
)
from .sizes import LABELLED, PAD_Y, closed_text, lines_of, title_of
from .svg import Drawing, closed_line, definitions, legend_of

_SUMS = {
    "beside": BESIDE, "between": BETWEEN, "foot": FOOT, "gap": GAP, "head": HEAD, "lane": LANE,
    "last": LAST, "side": SIDE, "slope": SLOPE, "steepest": STEEPEST, "straight": STRAIGHT,
    "sweeps": SWEEPS, "upright": UPRIGHT,
    "weights": WEIGHTS, "title": TITLE * LETTER, "small": SMALL * LETTER,
    "pad": PAD_Y, "titleSize": TITLE, "rowSize": ROW, "labelled": LABELLED,
}
_PAINT = {"frame": FRAME, "ground": GROUND, "faint": FAINT, "paper": PAPER, "ink": INK}


def page(picture: Picture, closed: Collection[Path] = ()) -> str:
    """Returns the text of a self-contained HTML page.

    closed   the groups that are initially folded

    >>> from pullback.tools.draw.layout import Box
    >>> text = page(Picture([Box("a", "first")], [], "one box"))
    >>> "<title>one box</title>" in text, text.count("<script")
    (True, 2)
    """
    with _no_collections():
        data = _packed(_data(Drawing(picture, closed, opens=True)))
    legend, size = legend_of(picture, 760.0)
    parts = {
        "TITLE": escape(picture.title or "Graph"), "STYLE": _style(), "DEFINITIONS": definitions(),
        "LEGEND": "".join(legend), "LEGEND_WIDTH": f"{size[0]:g}", "LEGEND_HEIGHT": f"{size[1]:g}",
        "DATA": data, "PROGRAM": _read("places.js") + _read("page.js"),
    }
    return _filled(_read("page.html"), parts)


@cache
def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _style() -> str:
    style = _read("page.css")
    for name, value in {"FONT": FONT, "INK": INK, "FAINT": FAINT, "FRAME": FRAME}.items():
        style = style.replace(f"{{{{{name}}}}}", value)
    return style


def _filled(template: str, parts: dict[str, str]) -> str:
    """Inserts parts into a template; does not expand placeholders inside the parts."""
    pieces = template.split("{{")
    text = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        text += parts[name] + rest
    return text


@contextmanager
def _no_collections() -> Iterator[None]:
    """Disables garbage collection: a large picture has many small objects, and no garbage yet.

    Collections took half of the time.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _packed(data: Any) -> str:
    """Compressed JSON, about a tenth of the size, with characters that are safe in HTML."""
    text = json.dumps(data, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _data(drawing: Drawing) -> dict[str, Any]:
    """The data for the page's script: lists, in the order that `places.js` expects."""
    picture, levels, sizes = drawing.picture, drawing.levels, drawing.sizes
    numbers = {box.key: n for n, box in enumerate(picture.boxes)}
    labels = unique(edge.label for edge in picture.edges)
    of_label = {label: n for n, label in enumerate(labels)}
    return {
        "sums": _SUMS, "paint": _PAINT, "labels": labels,
        "lines": {name: line._asdict() for name, line in LINES.items()},
        "looks": {name: look._asdict() for name, look in LOOKS.items()},
        "levels": [_level(drawing, level, numbers) for level in levels.levels],
        "boxes": [_box(box, sizes.boxes[box.key]) for box in picture.boxes],
        "edges": [
            [numbers[edge.tail], numbers[edge.head], of_label[edge.label], edge.look,
             int(sizes.labelled[n]), int(levels.down[n]), sizes.tails[n], sizes.heads[n],
             [[s.level, s.item, s.lane, int(s.arrives)] for s in levels.ways[n]]]
            for n, edge in enumerate(picture.edges)
        ],
    }


def _box(box: Box, size: tuple[float, float]) -> list[Any]:
    """A box; its last entry is text for the search that is not drawn in full."""
    title, rows = title_of(box), lines_of(box)
    more = "" if (title, rows) == (box.title, [*box.rows]) else " ".join([box.title, *box.rows])
    return [box.key, title, rows, box.look, box.detail, size, more]


def _level(drawing: Drawing, level: Level, numbers: dict[str, int]) -> dict[str, Any]:
    sizes, places = drawing.sizes, drawing.places
    return {
        "path": level.path, "closed": level.path in places.closed, "lanes": level.lanes,
        "in": places.item.get(level.number), "size": sizes.closed.get(level.number),
        "text": closed_text(drawing.levels, level) if level.path else None,
        "line": closed_line(drawing.picture, level.path),
        "items": [
            [item.what, numbers[str(item.key)] if item.what == "box" else item.key, item.layer]
            for item in level.items
        ],
        "layers": level.layers, "chains": level.chains,
        "ports": {
            port: sizes.ports[level.number, port] for layer in level.layers for port in layer
            if (level.number, port) in sizes.ports
        },
        "segments": [
            [upper, lower, *[_end(drawing, level, link, item) for item in (upper, lower)]]
            for (upper, lower), link in level.segments.items()
        ],
    }


def _end(drawing: Drawing, level: Level, link: Any, item: int) -> float | list[int]:
    """Where a segment meets an item: the offset from its middle, or [level, port]."""
    found = level.items[item]
    if found.what == "group":
        return [int(found.key), link.ports[0 if item == link.tail else 1]]
    return drawing.places.end(level, link, item)
