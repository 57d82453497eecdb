"""`Table`: a table as plain text, for rich, and as HTML; `page` puts tables on one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from html import escape
from typing import Any

_STYLE = """body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#1d2733}
table{border-collapse:collapse;margin:.6em 0 1em}caption{text-align:left;font-weight:600}
th{text-align:left;border-bottom:2px solid #b9c4d0}th,td{padding:.15em .9em .15em 0}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr:hover td{background:#eef3f8}
p{margin:.2em 0;color:#51606f}p.alarm{color:#c4161c}
svg{max-width:100%;height:auto}"""


class Table:
    """Rows of cells with column headings, a title above and notes below.

    heads   the headings; a heading that begins with `>` marks a right-aligned column of numbers
    alarms  whether the notes are warnings, which stand out

    >>> print(Table("two", ("name", ">bytes"), [("a", "8 B"), ("long", "16 B")], ["a note"]))
    two
    name  bytes
    a       8 B
    long   16 B
    a note
    """

    def __init__(
        self, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]],
        notes: Iterable[str] = (), alarms: bool = False,
    ) -> None:
        self.title, self.notes, self.alarms = title, list(notes), alarms
        self.heads = [h.lstrip(">") for h in heads]
        self.numbers = [h.startswith(">") for h in heads]
        self.rows = [tuple(row) for row in rows]

    def __str__(self) -> str:
        lines = [self.title]
        if self.rows:
            whole = [tuple(self.heads), *self.rows]
            widths = [max(len(row[i]) for row in whole) for i in range(len(self.heads))]
            lines += ["  ".join(self._set(row, widths)).rstrip() for row in whole]
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def first(self, count: int) -> Table:
        """Returns the table with its first rows, and a note on the number of others."""
        made, more = copy(self), len(self.rows) - count
        if more > 0:
            made.rows, made.notes = self.rows[:count], [f"… and {more} more rows", *self.notes]
        return made

    def _set(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, self.numbers, strict=True)
        ]

    def __rich__(self) -> Any:
        """Returns a `rich` table."""
        from rich.console import Group
        from rich.table import Table as Rich
        from rich.text import Text

        parts: list[Any] = [Text(self.title, "bold")]
        if self.rows:
            table = Rich(box=None, pad_edge=False)
            for head, number in zip(self.heads, self.numbers, strict=True):
                table.add_column(head, justify="right" if number else "left")
            for row in self.rows:
                table.add_row(*map(Text, row))
            parts.append(table)
        style = "bold red" if self.alarms else "dim"
        return Group(*parts, *(Text(note, style) for note in self.notes))

    def html(self) -> str:
        """Returns the table as an HTML element."""
        kinds = [' class="n"' if number else "" for number in self.numbers]
        head = "".join(f"<th{k}>{escape(h)}</th>" for h, k in zip(self.heads, kinds, strict=True))
        body = "".join(
            "<tr>" + "".join(
                f"<td{k}>{escape(cell)}</td>" for cell, k in zip(row, kinds, strict=True)
            ) + "</tr>\n" for row in self.rows
        )
        alarm = ' class="alarm"' if self.alarms else ""
        notes = "".join(f"<p{alarm}>{escape(note)}</p>\n" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table>\n{notes}"
        )

    _repr_html_ = html


def page(title: str, parts: Sequence[Table | str]) -> str:
    """Returns tables, and texts in HTML, as one self-contained HTML page."""
    body = "\n".join(part if isinstance(part, str) else part.html() for part in parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title><style>{_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
