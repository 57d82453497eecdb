"""Explains a gradient that is there, but may lack the part of a path that was cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.node import Node
from ...departures import in_forward
from ...lost_paths import LEFT, OFF, OUTSIDE, OVERWRITTEN, STOPPED, Lost, losses
from .causes import ANEW, CURES
from .explanation import Explanation
from .flow import Flow
from .severed import flow_of, is_from, last_of, site_of

_KINDS = (LEFT, STOPPED, OFF, OUTSIDE, OVERWRITTEN)
"""Cuts that can lose a part; comparisons, indices and integers have no derivative to lose."""
_HOW = {
    STOPPED: "dropped the history on purpose", OFF: "was computed while recording was off",
    OUTSIDE: "was computed while no tape was recording", OVERWRITTEN: "was overwritten in place",
    LEFT: "took the values out of the library",
}


def partly(
    found: Explanation, targets: Sequence[Any], x: Any, node: Node, tape: Any
) -> Explanation:
    """An explanation of a gradient that seems fine, or of the path that is missing in it."""
    if found.cause != "fine":
        return found
    flow, last = flow_of(targets, x, node), last_of(targets, tape)
    cuts = [
        c for c in losses()
        if c.kind in _KINDS and c.number < last and not in_forward(c) and is_from(c, node, flow)
    ]
    if flow is not None:
        sure = flow.cuts([c for c in cuts if c.kind != LEFT])
        if sure:
            return _of_cut(found, sure, flow)
        again = _again(flow)
        cuts = [c for c in cuts if c.kind in (LEFT, STOPPED) and c.number < again]
    if cuts:
        sites = list(dict.fromkeys(map(site_of, reversed(cuts))))
        more = f" and {len(sites) - 3} more" if len(sites) > 3 else ""
        found.text += (
            f" But what came from the source lost its history by {', '.join(sites[:3])}{more}: if "
            "the target is computed from that too, its part of the gradient is missing"
            + ("." if flow is not None else "; inside `with pullback.debug():` explain knows more.")
        )
    return found


def _again(flow: Flow) -> float:
    """The last event at which values from outside, or Python's numbers, came in."""
    came = [e.number for e in flow.events.values() if e.is_entry or e.scalar]
    return max(came, default=-math.inf)


def _of_cut(found: Explanation, cuts: Sequence[Lost], flow: Flow) -> Explanation:
    first, *others = dict.fromkeys(map(site_of, cuts))
    cut = cuts[0]
    also = f" So it is by {', '.join(others[:3])}." if others else ""
    return Explanation(
        found.gradient, "partly lost",
        f"{found.text} But the target is also computed by a path that was cut, whose part of the "
        f"gradient is missing: {first} {_HOW[cut.kind]}.{also}",
        operation=cut.operation, at=(cut.file, cut.line),
        fix=ANEW.get(cut.operation, CURES[cut.kind]), path=flow.places(cut),
    )
