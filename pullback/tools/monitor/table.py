"""The state of a run as a table: plain text, or rich's table if rich is installed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

_BARS = "▁▂▃▄▅▆▇█"


class Table(NamedTuple):
    """A title, rows with a head, and lines below; `str` and rich show it.

    >>> print(Table("step 1", ("name", "n"), [("w", "3")], []))
    step 1
    name  n
    w     3
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    below: Sequence[str]

    def __str__(self) -> str:
        lines = [self.head, *self.rows] if self.rows else []
        widths = [max(len(row[i]) for row in lines) for i in range(len(self.head))] if lines else []
        text = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in lines
        ]
        return "\n".join([self.title, *text, *self.below])

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table as Rich
        from rich.text import Text

        made = Rich(box=None, pad_edge=False)
        for name in self.head:
            made.add_column(name, no_wrap=name != "note", style="yellow" if name == "note" else "")
        for row in self.rows:
            made.add_row(*map(Text, row))
        below = [Text(line, style="bold red") for line in self.below]
        return Group(Text(self.title, style="bold"), *([made] if self.rows else []), *below)

    def html(self) -> str:
        """Returns the table as an HTML fragment."""
        def cells(row: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in row) + "</tr>"

        below = "".join(f'<p class="alarm">{escape(line)}</p>' for line in self.below)
        rows = "".join(cells(row, "td") for row in self.rows)
        return f"<p><b>{escape(self.title)}</b></p>{below}" \
            f"<table>{cells(self.head, 'th')}{rows}</table>"


def shown(value: float | None, share: bool = False) -> str:
    """A number with few characters.

    >>> shown(0.00123456), shown(0.25, share=True), shown(None)
    ('0.00123', '25%', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0%}" if share and value == value else f"{value:.3g}"


def spark(values: Sequence[float], width: int = 24) -> str:
    """The last values as a line of bars; values that are not finite appear as a cross.

    >>> spark([0.0, 0.5, float("nan"), 1.0])
    '▁▄×█'
    """
    late = values[-width:]
    finite = [v for v in late if abs(v) < float("inf")]
    if not finite:
        return "×" * len(late)
    low, span = min(finite), (max(finite) - min(finite)) or 1.0
    return "".join(
        _BARS[int((v - low) / span * 7)] if abs(v) < float("inf") else "×" for v in late
    )
