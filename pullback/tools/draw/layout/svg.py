"""A picture as one self-contained SVG text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from html import escape

from .levels import Level, Levels
from .looks import (
    FAINT,
    FONT,
    FRAME,
    GROUND,
    INK,
    LINES,
    LOOKS,
    PAPER,
    ROW,
    SMALL,
    TITLE,
    width_of,
)
from .ordering import MANY, arrange
from .picture import Box, Path, Picture
from .places import Places, Point
from .sizes import LABELLED, PAD_Y, Size, Sizes, closed_text, lines_of, title_of

MARGIN = 18.0
ARROW = 6.0


class Drawing:
    """A picture with all positions, for one choice of closed groups.

    opens   whether closed groups can be opened later: then their contents are placed, too
    """

    def __init__(
        self, picture: Picture, closed: Collection[Path] = (), opens: bool = False
    ) -> None:
        self.picture = picture
        self.levels = Levels(picture)
        self.sizes = Sizes(self.levels)
        shut = frozenset(() if opens or len(picture.boxes) <= MANY else closed)
        arrange(self.levels, self.sizes, {
            level.number for level in self.levels.levels
            if shut and any(level.path[:d] in shut for d in range(1, len(level.path) + 1))
        })
        self.sizes.close()
        self.places = Places(self.levels, self.sizes, closed, opens)


def svg(picture: Picture, closed: Collection[Path] = ()) -> str:
    """Returns the text of an SVG picture.

    closed   groups that are drawn as one box

    >>> text = svg(Picture([Box("a", "first"), Box("b", "second")], []))
    >>> text.startswith("<svg"), text.count('class="box"')
    (True, 2)
    """
    drawing = Drawing(picture, closed)
    wide, high = drawing.places.size
    legend, legend_size = legend_of(picture, max(wide, 420.0))
    head = 30.0 if picture.title else 0.0
    whole = (max(wide, legend_size[0], width_of(picture.title, 14.0)) + 2 * MARGIN,
             high + legend_size[1] + head + 2 * MARGIN)
    left = round((whole[0] - wide) / 2, 2)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(whole[0])} {_n(whole[1])}" '
        f'width="{_n(whole[0])}" height="{_n(whole[1])}" font-family="{FONT}">',
        definitions(),
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        *([_text(MARGIN, MARGIN + 14, picture.title, 14.0, "600")] if picture.title else []),
        f'<g transform="translate({_n(left)} {_n(MARGIN + head)})">',
        *_inside(drawing),
        "</g>",
        f'<g class="legend" transform="translate({_n(MARGIN)} {_n(MARGIN + head + high + 22)})">',
        *legend,
        "</g>",
        "</svg>",
    ]) + "\n"


def definitions() -> str:
    """The hatch pattern and the arrowheads."""
    arrows = "".join(
        f'<marker id="arrow-{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="{_n(ARROW)}"'
        f' markerHeight="{_n(ARROW)}" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0.6 8 4 0 7.4z" fill="{line.color}"/></marker>'
        for name, line in LINES.items()
    )
    return (
        '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="5" height="5" fill="#fff"/>'
        f'<rect width="2" height="5" fill="{LOOKS["backward"].line}"/></pattern>{arrows}</defs>'
    )


def _inside(drawing: Drawing) -> Iterator[str]:
    """Frames, then lines, then boxes, then the labels of frames and lines."""
    places = drawing.places
    seen = [level for level in drawing.levels.levels if places.hider[level.number] < 0]
    for level in seen[1:]:
        left, top = places.origins[level.number]
        yield frame_of(level, places.places[level.number].size, (left, top))
    labels: list[str] = []
    yield from _lines(drawing, labels)
    for level in seen:
        for number, item in enumerate(level.items):
            at = places.corner(level.number, number) if item.what in ("box", "group") else None
            if item.what == "box" and at is not None:
                box = drawing.picture.boxes[item.number]
                yield _moved(at, box_of(box, drawing.sizes.boxes[box.key]))
            elif item.what == "group" and at is not None:
                inner = drawing.levels.levels[int(item.key)]
                if inner.path in places.closed:
                    yield _moved(at, closed_of(drawing, inner))
    for level in seen[1:]:
        left, top = places.origins[level.number]
        yield _text(left + 10, top + 17, level.path[-1], TITLE, "600", FAINT, halo=True)
    yield from labels


def _lines(drawing: Drawing, labels: list[str]) -> Iterator[str]:
    """The lines of edges; lines that coincide, because a group is closed, are drawn once."""
    alike: dict[tuple[str, str], list[int]] = {}
    ends: dict[int, Point] = {}
    for n, edge in enumerate(drawing.picture.edges):
        points = drawing.places.way(n)
        if points:
            ends[n] = points[-1]
            apart = "" if not drawing.places.closed else edge.look
            key = (path_of(points), apart or str(n))
            alike.setdefault(key, []).append(n)
    for (path, _), numbers in alike.items():
        yield line_of(drawing.picture, numbers, path)
    crowds: dict[int, set[Point]] = {}
    for n, at in ends.items():
        crowds.setdefault(_hider(drawing, n), set()).add(at)
    written: set[Point] = set()
    for n, at in ends.items():
        group = _hider(drawing, n)
        room = drawing.sizes.labelled[n] and (group < 0 or len(crowds[group]) <= LABELLED)
        if room and at not in written:
            written.add(at)
            y = at[1] - 11.0 if drawing.levels.down[n] else at[1] + 17.0
            labels.append(label_of(drawing.picture.edges[n].label, (at[0], y)))


def _hider(drawing: Drawing, edge: int) -> int:
    """The closed group that an edge ends at; -1 if it ends at a box."""
    return drawing.places.hider[drawing.levels.ways[edge][-1].level]


def path_of(points: Sequence[Point]) -> str:
    """The SVG path of a line: vertical, or a curve with vertical ends."""
    x, y = points[0]
    parts = [f"M{_n(x)} {_n(y)}"]
    for nx, ny in points[1:]:
        if abs(nx - x) < 0.05:
            parts.append(f"V{_n(ny)}")
        else:
            middle = (y + ny) / 2
            parts.append(f"C{_n(x)} {_n(middle)} {_n(nx)} {_n(middle)} {_n(nx)} {_n(ny)}")
        x, y = nx, ny
    return "".join(parts)


def line_of(picture: Picture, numbers: Sequence[int], path: str) -> str:
    """The element of one line, which can represent several edges."""
    edges = [picture.edges[n] for n in numbers]
    line = LINES[edges[0].look]
    title = "; ".join(dict.fromkeys(f"{e.tail} → {e.head} {e.label}".strip() for e in edges))
    return (
        f'<path class="edge" data-edges="{" ".join(map(str, numbers))}" data-tail="'
        f'{escape(edges[0].tail)}" data-head="{escape(edges[0].head)}" d="{path}" fill="none" '
        f'stroke="{line.color}" stroke-width="{_n(line.width + 0.6 * (len(edges) > 1))}"'
        f'{_dash(line.dash)} marker-end="url(#arrow-{edges[0].look})">'
        f"<title>{escape(title)}</title></path>"
    )


def label_of(text: str, at: Point) -> str:
    """The element of a label on a line."""
    wide = width_of(text, SMALL) + 4
    return (
        f'<g class="label"><rect x="{_n(at[0] - wide / 2)}" y="{_n(at[1] - 9)}" width="{_n(wide)}" '
        f'height="11.5" rx="2" fill="{PAPER}" fill-opacity="0.9"/>'
        + _text(at[0], at[1], text, SMALL, "400", FAINT, middle=True) + "</g>"
    )


def frame_of(level: Level, size: Size, at: Point) -> str:
    """The element of an open group's frame."""
    fill = GROUND[len(level.path) % 2]
    return (
        f'<rect class="group" data-group="{escape("/".join(level.path))}" x="{_n(at[0])}" '
        f'y="{_n(at[1])}" width="{_n(size[0])}" height="{_n(size[1])}" rx="8" fill="{fill}" '
        f'stroke="{FRAME}"/>'
    )


def box_of(box: Box, size: Size, tooltip: bool = True) -> str:
    """The element of a box with its upper left corner at 0, 0."""
    wide, high = size
    look = LOOKS[box.look]
    shift = 4.0 if look.shape == "band" else 0.0
    rows = [_text(wide / 2 + shift, PAD_Y + 11, title_of(box), TITLE, "600", middle=True)]
    for number, row in enumerate(lines_of(box)):
        y = PAD_Y + 11 + 14.5 + 13.5 * number
        rows.append(_text(wide / 2 + shift, y, row, ROW, "400", FAINT, middle=True))
    detail = f"<title>{escape(box.detail or box.key)}</title>" if tooltip else ""
    return (
        f'<g class="box" data-key="{escape(box.key)}" data-look="{box.look}" '
        f'data-size="{_n(wide)} {_n(high)}">{detail}'
        + shape_of(box.look, wide, high) + "".join(rows) + "</g>"
    )


def shape_of(name: str, wide: float, high: float) -> str:
    """The outline of a look."""
    look = LOOKS[name]
    paint = (
        f'fill="{look.fill}" stroke="{look.line}" stroke-width="{_n(look.width)}"{_dash(look.dash)}'
    )
    if look.shape == "cut":
        c = 8.0
        outline = f"M{c} 0H{_n(wide - c)}L{_n(wide)} {c}V{_n(high - c)}L{_n(wide - c)} {_n(high)}"
        return f'<path d="{outline}H{c}L0 {_n(high - c)}V{c}z" {paint}/>'
    round_ = high / 2 if look.shape == "pill" else 3.0
    text = f'<rect width="{_n(wide)}" height="{_n(high)}" rx="{_n(round_)}" {paint}/>'
    if look.shape == "double":
        text += (
            f'<rect x="3" y="3" width="{_n(wide - 6)}" height="{_n(high - 6)}" rx="1.5" '
            f'fill="none" stroke="{look.line}" stroke-width="0.9"/>'
        )
    if look.shape == "band":
        text += f'<rect x="1" y="1" width="8" height="{_n(high - 2)}" fill="url(#hatch)"/>'
    return text


def closed_of(drawing: Drawing, level: Level) -> str:
    """The element of a closed group with its upper left corner at 0, 0: a pile of boxes."""
    wide, high = drawing.sizes.closed[level.number]
    name, count = closed_text(drawing.levels, level)
    color, width = closed_line(drawing.picture, level.path)
    pile = "".join(
        f'<rect x="{d}" y="{d}" width="{_n(wide)}" height="{_n(high)}" rx="5" fill="{GROUND[1]}" '
        f'stroke="{color}" stroke-width="{_n(width)}"/>' for d in (4, 2, 0)
    )
    return (
        f'<g class="closed" data-group="{escape("/".join(level.path))}" '
        f'data-size="{_n(wide)} {_n(high)}">'
        f"<title>{escape('/'.join(level.path))}: {count}</title>{pile}"
        + _text(wide / 2, PAD_Y + 11, f"▸ {name}", TITLE, "600", middle=True)
        + _text(wide / 2, PAD_Y + 25.5, count, ROW, "400", FAINT, middle=True) + "</g>"
    )


def closed_line(picture: Picture, path: Path) -> tuple[str, float]:
    """The colour and width of a closed group's outline, from its most important look."""
    look = picture.strongest(path)
    return (LOOKS[look].line, 1.8) if look else (FAINT, 1.0)


def legend_of(picture: Picture, wide: float) -> tuple[list[str], Size]:
    """The legend, in rows of a given width."""
    parts: list[str] = []
    x, y, right = 0.0, 0.0, 0.0
    for name, text in picture.legend.items():
        own = 40 + width_of(text, ROW) + 22
        if x and x + own > wide:
            x, y = 0.0, y + 24
        if name in LOOKS:
            mark = shape_of(name, 30, 16)
        else:
            line = LINES[name]
            mark = (
                f'<path d="M0 8H30" stroke="{line.color}" stroke-width="{_n(line.width)}"'
                f'{_dash(line.dash)} marker-end="url(#arrow-{name})"/>'
            )
        parts.append(_moved((x, y), f"{mark}{_text(38, 12, text, ROW, '400', FAINT)}"))
        x += own
        right = max(right, x)
    return parts, (right, y + 24 + 14 if parts else 0.0)


def _moved(at: Point, text: str) -> str:
    return f'<g transform="translate({_n(at[0])} {_n(at[1])})">{text}</g>'


def _text(
    x: float, y: float, text: str, size: float, weight: str, color: str = INK,
    middle: bool = False, halo: bool = False,
) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    if halo:
        anchor += f' paint-order="stroke" stroke="{GROUND[0]}" stroke-width="4"'
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" font-weight="{weight}" '
        f'fill="{color}"{anchor}>{escape(text)}</text>'
    )


def _dash(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def _n(value: float) -> str:
    """A number with as few characters as possible."""
    return f"{round(value, 1):g}"
