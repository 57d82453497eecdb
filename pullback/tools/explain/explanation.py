"""`Explanation`: the result of `explain`."""

from __future__ import annotations

import html
from typing import Any, NamedTuple


class Place(NamedTuple):
    """An operation on the path from source to target; `cut` marks where the gradient is lost."""

    operation: str
    file: str
    line: int
    cut: bool = False

    def __str__(self) -> str:
        at = f" at {self.file}:{self.line}" if self.line else ""
        return f"{self.operation}{at}{'   <-- here' if self.cut else ''}"


_MOST, _ENDS, _AROUND = 24, 3, 4


def _shown(path: tuple[Place, ...]) -> list[str]:
    """The lines of a path; a long path shows both ends and the operations around the cut."""
    cut = next((i for i, p in enumerate(path) if p.cut), 0)
    shown: list[str] = []
    for i, place in enumerate(path):
        if (len(path) <= _MOST or min(i, len(path) - 1 - i) < _ENDS or abs(i - cut) <= _AROUND):
            shown.append(str(place))
        elif shown[-1] != "…":
            shown.append("…")
    return shown


class Explanation:
    """The cause of a missing, zero or non-finite gradient.

    gradient         "None", "zero", "nan", "inf", "fine", or "unknown" inside a graph
    cause            a key of `CAUSES`
    operation, file, line   where it happened; empty and 0 if not known
    text             the cause in sentences
    fix              the line of code to change
    path             the operations from the source to the target, as `Place`s; one marks the cut
    """

    def __init__(
        self, gradient: str, cause: str, text: str, *, operation: str = "",
        at: tuple[str, int] = ("", 0), fix: str = "", path: tuple[Place, ...] = (),
    ) -> None:
        self.gradient, self.cause, self.text, self.fix = gradient, cause, text, fix
        self.operation, (self.file, self.line), self.path = operation, at, path

    def __repr__(self) -> str:
        return f"<Explanation {self.cause}: {self.operation} at {self.file}:{self.line}>"

    def __str__(self) -> str:
        at = f" at {self.file}:{self.line}" if self.line else ""
        of = f", `{self.operation}`{at}" if self.operation else at
        lines = [f"gradient: {self.gradient}", f"  cause:  {self.cause}{of}",
                 f"  why:    {self.text}"]
        if self.fix:
            lines.append(f"  fix:    {self.fix}")
        if self.path:
            lines.append("  path:   " + "\n          ".join(_shown(self.path)))
        return "\n".join(lines)

    def __rich__(self) -> Any:
        """Returns a `rich` panel."""
        from rich.panel import Panel
        from rich.text import Text

        border = "green" if self.cause == "fine" else "red"
        return Panel(Text(str(self)), title=f"{self.gradient}: {self.cause}", border_style=border)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields as plain values, for JSON."""
        return {
            "gradient": self.gradient, "cause": self.cause, "operation": self.operation,
            "file": self.file, "line": self.line, "text": self.text, "fix": self.fix,
            "path": [p._asdict() for p in self.path],
        }
