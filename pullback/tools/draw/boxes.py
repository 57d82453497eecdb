"""Converts a recorded history into a `Picture`: boxes, lines, cuts, legend."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...core.multi_output import Pick
from ...core.node import FREED, Node, line_of
from ..profile.units import bytes_text
from .facts import (
    bytes_of,
    call_of,
    has_hooks,
    look_of,
    rule_of,
    space_of,
    title_of,
    where_of,
)
from .grouping import groups_of
from .history import History, behind
from .layout import Box, Edge, Picture
from .slopes import Slope, Slopes
from .stubs import WHY, stubs_of

_MEANINGS = {
    "input": "input of the graph", "variable": "variable or parameter",
    "operation": "operation", "overridden": "overridden gradient", "custom": "custom gradient",
    "loose": "recorded outside, or without history", "output": "the drawn tensor",
    "alarm": "NaN or infinity in the gradient",
    "cut": "the path stops here",
}

_CALM = ("operation", "input", "variable")
"""Looks that NaN and infinity replace."""


class Scene:
    """The data for the boxes and lines of one picture.

    targets  (name, node or None, its dtype and shape as text) of each drawn tensor
    sources  (name, node or None, its dtype and shape as text) of each tensor that paths start at
    reasons  an `Explanation` for each source, if there is no path
    """

    def __init__(
        self, history: History, slopes: Slopes | None, names: dict[Node, str],
        targets: list[tuple[str, Node | None, str]], sources: list[tuple[str, Node | None, str]],
        show: Collection[str], reasons: list[Any],
    ) -> None:
        self.history, self.slopes, self.names, self.show = history, slopes, names, show
        self.targets, self.sources, self.reasons = targets, sources, reasons
        self.keys = {n: f"{title_of(n, names)}_{n.seq}" for n in history.nodes}

    def picture(self) -> Picture:
        """The picture, with one box per operation, target and cut."""
        groups = groups_of(self.history, set(self.names))
        boxes = [self._box(node, groups[node]) for node in self.history.nodes]
        edges, cuts = [], []
        for tail, head, output, argument in self.history.lines:
            why = _no_rule(head, argument)
            if self.slopes:
                why = self.slopes.cuts.get((head, argument), "")
            if why:
                cuts.append(Box(f"cut_{self.keys[head]}_{argument}", "✂ cut", (why,), "cut",
                                groups[head], why, (("gradient", why),)))
                edges.append(Edge(self.keys[tail], cuts[-1].key, output, "", "cut"))
                edges.append(Edge(cuts[-1].key, self.keys[head], 0, "", "cut"))
            else:
                edges.append(Edge(self.keys[tail], self.keys[head], output, _label(tail)))
        boxes += cuts
        if "cuts" in self.show:
            self._stubs(boxes, edges, groups)
        self._targets(boxes, edges)
        if self.reasons:
            self._apart(boxes, edges)
        looks = {box.look for box in boxes}
        legend = {look: text for look, text in _MEANINGS.items() if look in looks}
        return Picture(boxes, edges, "", ("operation", "operations"), legend)

    def _targets(self, boxes: list[Box], edges: list[Edge]) -> None:
        for name, node, space in self.targets:
            rows = (space,) if node is not None else (space, "no history")
            key = f"→ {name}"
            facts = tuple(zip(("space", "gradient"), rows, strict=False))
            boxes.append(Box(key, name, rows, "output", (), "", facts))
            if node is not None:
                output = node.index if isinstance(node, Pick) else 0
                edges.append(Edge(self.keys[behind(node)], key, output))

    def _stubs(
        self, boxes: list[Box], edges: list[Edge], groups: dict[Node, tuple[str, ...]]
    ) -> None:
        """Adds cuts beside the paths, and the operations where their values return."""
        for stub in stubs_of(self.history):
            key = f"{stub.cut.operation}_{stub.cut.number}"
            at = f"{stub.cut.file}:{stub.cut.line}"
            facts = (("gradient", stub.rows[0]), ("line", stub.at))
            boxes.append(Box(key, f"✂ {stub.cut.operation}", stub.rows, "cut", groups[stub.node],
                             f"{stub.rows[0]}\n{at}", tuple(f for f in facts if f[1])))
            edges.append(Edge(self.keys[stub.node], key, 0, "", "cut"))
            edges += [Edge(key, self.keys[node], 0, "", "cut") for node in stub.into]

    def _apart(self, boxes: list[Box], edges: list[Edge]) -> None:
        """Draws both sides and, per source, the cut between them: where and why, if known."""
        for (name, node, space), found in zip(self.sources, self.reasons, strict=True):
            row = "never tracked" if node is None else "tracked"
            at = f"{Path(found.file).name}:{found.line}" if found.line else ""
            cut = f"✂ {name}: {found.cause}"
            why = WHY.get(found.cause, found.cause)
            rows = tuple(text for text in (why, at) if text)
            boxes.append(Box(f"{name} →", name, (space, row), "input", (), "",
                             (("space", space), ("gradient", row))))
            boxes.append(Box(cut, f"✂ {found.operation or 'no path'}", rows, "cut", (),
                             str(found), (("gradient", why), ("line", at))))
            edges.append(Edge(f"{name} →", cut, 0, "", "cut"))
            edges += [Edge(cut, f"→ {target}", 0, "", "cut") for target, _, _ in self.targets]

    def _box(self, node: Node, group: tuple[str, ...]) -> Box:
        facts = self._facts(node)
        look = look_of(node)
        if self.history.is_end(node) and node.parents:
            look = "loose"
        rows = [value for name, value in facts if name in self.show or name == "rule"]
        ended = self.slopes.ended.get(node, "") if self.slopes else _freed(node)
        if ended:
            look = "cut"
            rows.append(f"✂ {ended}")
            facts.append(("ended", ended))
        elif look in _CALM and self._alarming(node):
            look = "alarm"
        return Box(
            self.keys[node], title_of(node, self.names) + call_of(node), tuple(rows), look, group,
            "\n".join([repr(node), *(f"{n}: {v}" for n, v in facts),
                       *([line_of(node)] if line_of(node) else [])]),
            tuple(facts),
        )

    def _alarming(self, node: Node) -> bool:
        slope = self.slopes.at.get(node) if self.slopes else None
        return slope is not None and slope.nans + slope.infinite > 0

    def _facts(self, node: Node) -> list[tuple[str, str]]:
        size = bytes_of(node)
        slope = self.slopes.at.get(node) if self.slopes else None
        gradient = "" if slope is None else slope_text(slope)
        if has_hooks(node):
            gradient += " (hooks not run)"
        found = [
            ("space", space_of(node)), ("rule", rule_of(node)), ("gradient", gradient),
            ("saved", f"saved {bytes_text(size)}" if size else ""), ("line", where_of(node)),
        ]
        return [(name, value) for name, value in found if value]


def slope_text(slope: Slope) -> str:
    """A gradient as text: its norm, and its shares of zeros, NaN and infinities, if any.

    >>> slope_text(Slope(0.5, 0.25, 0.0, 0.0))
    '‖g‖ 0.5 · 25% zeros'
    """
    parts = [f"‖g‖ {slope.norm:.3g}"]
    for share, what in ((slope.zeros, "zeros"), (slope.nans, "NaN"), (slope.infinite, "inf")):
        if share:
            parts.append(f"{100 * share:.3g}% {what}")
    return " · ".join(parts)


def _label(tail: Node) -> str:
    return str(list(tail.shape)) if tail.dtype is not None else ""


def _freed(node: Node) -> str:
    return "freed by an earlier backward pass" if node.saved is FREED else ""


def _no_rule(node: Node, argument: int) -> str:
    rule: Any = getattr(node.op, "rule", None)
    return "no derivative for this argument" if callable(rule) and rule(argument) is None else ""
