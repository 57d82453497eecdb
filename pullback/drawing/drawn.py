"""`Drawn`: a picture in every form, as a notebook shows it and as files keep it."""

from __future__ import annotations

from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .dot import dot
from .page import page
from .picture import Picture
from .svg import svg
from .text import text

FEW = 90
"""The most boxes that are drawn without folding groups."""
SEEN = 40
"""Where groups are folded: how many boxes are seen, if possible."""
FORMATS = ("svg", "html", "dot", "text")
ENDINGS = {".svg": "svg", ".html": "html", ".dot": "dot", ".gv": "dot", ".txt": "text"}
"""Ending of a file's name -> the form that is written there."""

_COLOURS = {
    r"(?m)^.*∇ .*$": "magenta", r"(?m)^.*✂ .*$": "red", r"\b(NaN|inf)\b": "bold red",
}
"""What stands out in a terminal that shows colours."""


class Drawn:
    """A picture: in each form a text, which refers to nothing outside and is made when asked for.

    svg    an SVG picture
    html   a page that zooms, searches and folds
    dot    the language of Graphviz
    text   a table for the terminal
    """

    def __init__(self, picture: Picture, format: str = "svg", fold: bool | None = None) -> None:
        self.picture, self.format = picture, format
        most = len(picture.boxes)
        if fold or (fold is None and most > FEW):
            most = 0 if fold else SEEN
        self.folded = picture.folded(most)
        """The groups that are drawn as one box, to begin with."""

    @cached_property
    def svg(self) -> str:
        """The text of an SVG picture."""
        return svg(self.picture, self.folded)

    @cached_property
    def html(self) -> str:
        """The text of a page."""
        return page(self.picture, self.folded)

    @cached_property
    def dot(self) -> str:
        """The text of a graph for Graphviz."""
        return dot(self.picture, self.folded)

    @cached_property
    def text(self) -> str:
        """A table of all boxes that are seen."""
        return text(self.picture, self.folded)

    def save(self, path: Any) -> Path:
        """Write the picture into a file, in the form that its name ends in; the path.

        Endings: `.svg`, `.html`, `.dot` or `.gv`, `.txt`. Raises `ArgumentError` for another.
        """
        target = Path(path)
        if target.suffix not in ENDINGS:
            raise ArgumentError("save of a picture", f"a name that ends in {', '.join(ENDINGS)}",
                                repr(target.name))
        target.write_text(getattr(self, ENDINGS[target.suffix]), encoding="utf-8")
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
        return Group(shown)  # a Text by itself would be wrapped

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<picture of {len(self.picture.boxes)} {self.picture.nouns[1]}>"
