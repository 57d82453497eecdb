"""A picture as text for a terminal: one line per box, in columns, with indented groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from .looks import MARKS
from .picture import Box, Path, Picture, common, seen_as, shortened, unique

WIDEST, FROM = 40, 6
"""The maximum width of a column; the maximum number of inputs named per box."""


def text(picture: Picture, closed: Collection[Path] = ()) -> str:
    """Returns a table of boxes as text; a closed group is one line that begins with `▸`.

    The last column lists the inputs of a box.

    >>> from pullback.tools.draw.layout import Box, Edge
    >>> boxes = [Box("x", "x"), Box("tanh_2", "tanh", facts=(("dtype", "float64"),), group=("f",))]
    >>> print(text(Picture(boxes, [Edge("x", "tanh_2")])))
    name        dtype    from
    x
    ▾ f
      tanh_2    float64  x
    """
    known = {box.key: box for box in picture.boxes}
    takes: dict[str, list[str]] = defaultdict(list)
    for edge in picture.edges:
        path = seen_as(known[edge.tail], closed)
        takes[edge.head].append(edge.tail if path is None else f"▸ {path[-1]}")
    columns = unique(name for box in picture.boxes for name, _ in box.facts)
    rows: list[list[str]] = [["name", *columns, "from"]]
    at: Path = ()
    for box in picture.boxes:
        folded = seen_as(box, closed)
        group = box.group if folded is None else folded
        if folded is not None and at == folded:
            continue
        shared = common(at, group)
        rows += [
            _headline(picture, group[: depth + 1], closed)
            for depth in range(len(shared), len(group))
        ]
        at = group
        if folded is None:
            rows.append(_row(box, columns, takes[box.key]))
    return _table(rows) if len(rows) > 1 else ""


def _headline(picture: Picture, path: Path, closed: Collection[Path]) -> list[str]:
    pad = "  " * (len(path) - 1)
    if path in closed:
        return [f"{pad}▸ {path[-1]}", f"({picture.contents(path)})"]
    return [f"{pad}▾ {path[-1]}"]


def _row(box: Box, columns: list[str], takes: list[str]) -> list[str]:
    facts = dict(box.facts)
    mark = f"{MARKS[box.look]} " if box.look in MARKS else ""
    name = "  " * len(box.group) + mark + _one_line(box.key)
    some = unique(takes)
    left = [f"… {len(some)} in all"] if len(some) > FROM else []
    cells = [_one_line(facts.get(column, "")) for column in columns]
    if not columns and box.rows:
        cells = ["  ".join(map(_one_line, box.rows))]
    return [name, *cells, ", ".join([*map(_one_line, some[:FROM]), *left])]


def _one_line(value: str) -> str:
    return shortened(" ".join(value.split()), WIDEST)


def _table(rows: list[list[str]]) -> str:
    """Aligned columns; a row with two cells is not aligned."""
    full = [row for row in rows if len(row) > 2]
    widths = [max(len(row[c]) for row in full if c < len(row)) for c in range(len(full[0]))]
    widths[0] = max(map(len, (row[0] for row in rows))) + 2
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    )
