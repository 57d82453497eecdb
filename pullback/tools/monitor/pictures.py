"""The curves of a run as a plot, and as one self-contained HTML page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..._files import write_file
from ...errors import ArgumentError
from ..table import Table, page
from .curves import Curve, History
from .writers import Target, needed

_PER_PARAMETER = {
    "gradient": ("norm of the gradient", "log"), "update": ("|update| / |weight|", "log"),
    "zero": ("share of zero gradients", "linear"), "dead": ("share of dead units", "linear"),
}
_NAMED = 10  # number of curves of a panel in the legend


def save(path: Target, history: History, table: Table, alarms: list[int]) -> None:
    """Writes the curves in the format of the suffix: .png, .svg, .pdf or .html."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (".png", ".svg", ".pdf", ".html"):
        raise ArgumentError(
            "argument `path` of a monitor's save", "a name that ends in .png, .svg, .pdf or .html",
            repr(target.name),
        )
    made = figure(history, alarms)
    target.parent.mkdir(parents=True, exist_ok=True)
    if ending == ".html":
        title = f"<h1>{escape(target.stem)}</h1>"
        write_file(target, page(target.stem, [title, _svg(made), table]))
        return
    made.savefig(target, format=ending[1:], dpi=130)


def figure(history: History, alarms: list[int]) -> Any:
    """A Matplotlib figure: one panel per number, and one per kind of parameter curves."""
    figures = needed("matplotlib.figure", "pictures")
    panels: list[tuple[str, str, Mapping[str, Curve]]] = [
        (name, "linear", {name: curve}) for name, curve in history.items()
        if ("/" not in name and name not in ("dead", "gradient")) or name == "steps/s"
    ]
    panels += [
        (title, scale, found) for kind, (title, scale) in _PER_PARAMETER.items()
        if (found := history.group(kind))
    ]
    columns = min(3, max(1, len(panels)))
    rows = max(1, math.ceil(len(panels) / columns))
    made = figures.Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
    for i, (title, scale, curves) in enumerate(panels):
        _draw(made.add_subplot(rows, columns, i + 1), title, scale, curves, alarms)
    return made


def _draw(
    axes: Any, title: str, scale: str, curves: Mapping[str, Curve], alarms: list[int]
) -> None:
    colors = needed("matplotlib", "pictures").colormaps["viridis"]
    named = {round(i * (len(curves) - 1) / (_NAMED - 1)) for i in range(_NAMED)}
    for i, (name, curve) in enumerate(curves.items()):
        label = name if len(curves) <= _NAMED or i in named else "_"
        positive = [v if v > 0 or scale == "linear" else math.nan for v in curve]
        axes.plot(
            curve.steps, positive, color=colors(0.9 * i / max(1, len(curves) - 1)), linewidth=1.4,
            marker="." if len(curve) < 2 else None, label=label,
        )
    if scale == "log" and any(v > 0 for c in curves.values() for v in c):
        axes.set_yscale("log")
    if title.startswith("share"):
        axes.set_ylim(0, max(0.05, 1.05 * max((max(c) for c in curves.values()), default=0)))
    for step in alarms:
        axes.axvline(step, color="#c00000", linewidth=1)
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("step")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1 or title not in curves:
        axes.legend(fontsize=7, frameon=False)


def _svg(made: Any) -> str:
    text = io.StringIO()
    with needed("matplotlib", "pictures").rc_context({"svg.hashsalt": "pullback"}):
        made.savefig(text, format="svg", metadata={"Date": None})
    return re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", text.getvalue(), flags=re.DOTALL)
