"""The looks of boxes and lines, which differ in shape as well as in colour."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """The shape and the colours of a box.

    shape   "plain", "pill" (round ends), "double" (an inner outline), "cut" (corners cut off),
            "band" (a hatched band at its left)
    dash    the dashes of the outline, in SVG syntax
    """

    shape: str
    fill: str
    line: str
    width: float = 1.3
    dash: str = ""


class Line(NamedTuple):
    """The colour and the dashes of an edge."""

    color: str
    dash: str = ""
    width: float = 1.3


LOOKS = {
    "operation": Look("plain", "#ffffff", "#5b6675"),
    "input": Look("pill", "#e3effc", "#2468b4"),
    "variable": Look("double", "#e2f4ee", "#14785a"),
    "update": Look("cut", "#e2f4ee", "#14785a"),
    "constant": Look("plain", "#f5f5f3", "#77776f", 1.1, "2 2.5"),
    "overridden": Look("plain", "#fff0dc", "#c25e00", 3.2),
    "custom": Look("plain", "#f3e9fb", "#7a37a8", 2.2, "9 3 2 3"),
    "backward": Look("band", "#fbf7e6", "#8a7413"),
    "order": Look("cut", "#ffffff", "#5b6675", 1.1, "5 3"),
    "output": Look("pill", "#e6e9ee", "#1d2f45", 2.2),
    "loose": Look("plain", "#ffffff", "#9aa3ad", 1.1, "1.5 3"),
    "alarm": Look("plain", "#fff3f1", "#c4161c", 2.4),
    "cut": Look("cut", "#fde7e7", "#c4161c", 2.4),
}
"""Name of a look -> shape and colours."""

MARKS = {
    "input": "▷", "variable": "◆", "overridden": "∇", "custom": "∇", "alarm": "‼", "cut": "✂",
    "output": "●",
}
"""Name of a look -> the letter for formats without shapes."""

STRIKING = ("cut", "alarm", "overridden", "custom")
"""Looks that a closed group shows on the outside, the most important first."""

LINES = {
    "value": Line("#7b8794"),
    "backward": Line("#a98f22"),
    "saved": Line("#a39b7a", "1.6 3", 1.6),
    "order": Line("#7b8794", "6 4", 1.1),
    "loose": Line("#9aa3ad", "2 3", 1.1),
    "cut": Line("#c4161c", "7 3", 2.0),
}
"""Name of a line -> colour and dashes."""

INK, FAINT, PAPER, FRAME = "#1d2733", "#5d6875", "#ffffff", "#c3cad3"
GROUND = ("#f7f8fa", "#eef1f5")
"""Background colours of nested groups, alternating."""

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
LETTER = 0.61
"""The width of a letter divided by the font size."""

TITLE, ROW, SMALL = 12.0, 10.5, 9.5
"""Font sizes: of titles, of further lines, of labels."""


def width_of(text: str, size: float) -> float:
    """The width of a text in pixels.

    >>> width_of("ten letter", 10.0)
    61.0
    """
    return round(len(text) * size * LETTER, 2)
