"""`Drawn`: a picture in all formats, for notebooks and files."""

from __future__ import annotations

from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from ...._files import write_file
from ....errors import ArgumentError
from .dot import dot
from .page import page
from .picture import Picture
from .svg import svg
from .text import text

FEW = 90
"""The maximum number of boxes that are drawn without folding groups."""
SEEN = 40
"""If groups are folded: the number of visible boxes to aim for."""
FORMATS = ("svg", "html", "dot", "text")
ENDINGS = {".svg": "svg", ".html": "html", ".dot": "dot", ".gv": "dot", ".txt": "text"}
"""File suffix -> the format to write."""

_COLOURS = {
    r"(?m)^.*∇ .*$": "magenta", r"(?m)^.*✂ .*$": "red", r"\b(NaN|inf)\b": "bold red",
}
"""Patterns that are highlighted in a terminal with colours."""


class Drawn:
    """A picture; each format is a self-contained text, created on first use.

    svg    an SVG picture
    html   a page that zooms, searches and folds
    dot    the Graphviz language
    text   a table for the terminal
    """

    def __init__(self, picture: Picture, format: str = "svg", fold: bool | None = None) -> None:
        self.picture, self.format = picture, format
        most = len(picture.boxes)
        if fold or (fold is None and most > FEW):
            most = 0 if fold else SEEN
        self.folded = picture.folded(most)
        """The groups that are initially drawn as one box."""

    @cached_property
    def svg(self) -> str:
        """The SVG text."""
        return svg(self.picture, self.folded)

    @cached_property
    def html(self) -> str:
        """The HTML text."""
        return page(self.picture, self.folded)

    @cached_property
    def dot(self) -> str:
        """The Graphviz text."""
        return dot(self.picture, self.folded)

    @cached_property
    def text(self) -> str:
        """A table of all visible boxes."""
        return text(self.picture, self.folded)

    def save(self, path: Any) -> Path:
        """Writes the picture to a file, in the format of the suffix; returns the path.

        Suffixes: `.svg`, `.html`, `.dot` or `.gv`, `.txt`. Raises `ArgumentError` for others.
        """
        target = Path(path)
        if target.suffix not in ENDINGS:
            raise ArgumentError("save of a picture", f"a name that ends in {', '.join(ENDINGS)}",
                                repr(target.name))
        write_file(target, getattr(self, ENDINGS[target.suffix]))
        return target

    def _repr_svg_(self) -> str | None:
        return self.svg if self.format == "svg" else None

    def _repr_html_(self) -> str | None:
        if self.format == "svg":
            return None
        if self.format != "html":
            return f"<pre>{escape(getattr(self, self.format))}</pre>"
        return (
            '<iframe style="width:100%;height:640px;border:1px solid #ccc" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        shown = Text(self.text, no_wrap=True, overflow="ellipsis")
        shown.highlight_regex(r"(?m)^\s*[▸▾].*$", "dim")
        for pattern, style in _COLOURS.items():
            shown.highlight_regex(pattern, style)
        return Group(shown)  # rich would wrap a single Text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<picture of {len(self.picture.boxes)} {self.picture.nouns[1]}>"
