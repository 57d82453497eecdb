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
from .looks import FAINT, FONT, FRAME, GROUND, INK, LINES
from .picture import Path, Picture, unique
from .places import LANE, STRAIGHT
from .sizes import LABELLED
from .svg import Drawing, box_of, closed_of, definitions, label_of, legend_of

_SIZES = {"labelled": LABELLED, "lane": LANE, "straight": STRAIGHT}
_COLOURS = {
    "FONT": FONT, "INK": INK, "FAINT": FAINT, "FRAME": FRAME, "EVEN": GROUND[0], "ODD": GROUND[1],
}


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
        "DATA": data, "PROGRAM": _read("folding.js") + _read("page.js"),
    }
    return _filled(_read("page.html"), parts)


@cache
def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _style() -> str:
    style = _read("page.css")
    for name, value in _COLOURS.items():
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
    """The data for the page's script: lists, in the order that `folding.js` expects."""
    picture, levels, sizes = drawing.picture, drawing.levels, drawing.sizes
    numbers = {box.key: n for n, box in enumerate(picture.boxes)}
    labels = unique(edge.label for edge in picture.edges)
    of_label = {label: n for n, label in enumerate(labels)}
    return {
        "sizes": _SIZES, "labels": [[label, label_of(label, (0.0, 0.0))] for label in labels],
        "lines": {name: line._asdict() for name, line in LINES.items()},
        "levels": [_level(drawing, level, numbers) for level in levels.levels],
        "boxes": [
            [box.key, box.title, box.rows, box.detail, sizes.boxes[box.key],
             box_of(box, sizes.boxes[box.key], tooltip=False)] for box in picture.boxes
        ],
        "edges": [
            [numbers[edge.tail], numbers[edge.head], of_label[edge.label], edge.look,
             int(sizes.labelled[n]), int(levels.down[n]), sizes.tails[n], sizes.heads[n],
             [[s.level, s.item, s.lane, int(s.arrives)] for s in levels.ways[n]]]
            for n, edge in enumerate(picture.edges)
        ],
    }


def _level(drawing: Drawing, level: Level, numbers: dict[str, int]) -> dict[str, Any]:
    """One level: its items with their positions, its width in the outer level, the gaps."""
    sizes, places = drawing.sizes, drawing.places
    place, number = places.places[level.number], level.number
    closed = level.path in places.closed
    size = sizes.closed.get(number, (0.0, 0.0))
    return {
        "name": level.path[-1] if level.path else "", "depth": len(level.path), "closed": closed,
        "in": places.item.get(number), "size": size,
        "room": size[0] if closed else place.size[0],
        "svg": closed_of(drawing, level) if level.path else "",
        "items": [
            [item.what, numbers[str(item.key)] if item.what == "box" else item.key, item.layer, x]
            for item, x in zip(level.items, place.x, strict=True)
        ],
        "gaps": [
            round(top - bottom, 2)
            for top, bottom in zip(place.top, [0.0, *place.bottom], strict=False)
        ],
        "wide": place.size[0], "lanes": place.lanes,
        "ports": {
            port: sizes.ports[number, port] for layer in level.layers for port in layer
            if (number, port) in sizes.ports
        },
    }
