"""Why is it None: where the path from the source to the target was cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import cuts as _cuts
from ..core.cuts import Cut, identity
from ..core.journal import latest
from ..core.node import Node, line_of
from ..core.pull import within
from ..core.symbols import holds_symbols
from ..core.tensor import Tensor, is_inexact, raw
from .causes import ANEW, CAUSES, CURES
from .explanation import Explanation, Place
from .flow import Flow

STEPS = {"subtract", "add"}
"""What leads from a variable to its next value, if that does not go into the variable."""
HINT = " Inside `with pullback.debug():` the line is known too."


def own_node(x: Any) -> Node | None:
    """The node of a tensor, without any tape being told that a variable was read."""
    if not isinstance(x, Tensor):
        return None
    return x._leaf if hasattr(x, "_leaf") else x._node


def line_from(node: Node) -> tuple[str, int]:
    """The file and line that an operation was called at; empty and 0 where lines were not kept."""
    file, _, line = line_of(node).rpartition(":")
    return (file, int(line)) if line.isdigit() else ("", 0)


def of_none(
    targets: Sequence[Any], x: Any, roots: Mapping[Any, Any], tape: Any
) -> Explanation:
    """The explanation of a gradient that is None."""
    node = own_node(x)
    if not any(isinstance(t, Tensor) for t in targets):
        return _no_tensor(targets)
    if node is None:
        return _without_node(x, targets)
    if tape is not None:
        found = _outside(node, x, roots, tape)
        if found is not None:
            return found
    flow = _flow(targets, x, node)
    candidates = [c for c in _cuts.cuts() if is_from(c, node, flow) is not False]
    chosen, guess = _choose(candidates, targets, node, flow, _last(targets, tape))
    if chosen is not None:
        places = () if flow is None else flow.places(chosen)
        return _told(chosen, _kind(chosen, x), places, last=guess)
    if flow is not None and flow.is_used:
        return _plain("unwatched", "The target was computed from the source before that was "
                      "watched (or with a copy of it that has no history).")
    integer = [t for t in targets if isinstance(t, Tensor) and not is_inexact(t._data)]
    if integer:
        return _plain("integer", f"The target has dtype {integer[0]._data.dtype}.")
    hint = "" if flow is not None else " Inside `with pullback.debug():` data are followed too."
    return _plain("unused", "No operation leads from the source to the target." + hint)


def of_target(targets: Sequence[Any]) -> Explanation:
    """Why targets have no history at all, whatever the source."""
    if not any(isinstance(t, Tensor) for t in targets):
        return _no_tensor(targets)
    flow = _flow(targets)
    found, guess = _choose(_cuts.cuts(), targets, None, flow, math.inf)
    if found is None:
        return _plain("unwatched", "Nothing that the target was computed from is followed.")
    step = found.replaces and found.operation in STEPS
    return _told(found, "replaced" if step else found.kind, (), last=guess)


def _flow(targets: Sequence[Any], x: Any = None, node: Node | None = None) -> Flow | None:
    """The way to targets, if they were computed inside the last debug block."""
    journal = latest()
    flow = None if journal is None else Flow(journal, targets, x, node)
    return flow if flow is not None and flow.events else None


def is_from(cut: Cut, node: Node | None, flow: Flow | None) -> bool | None:
    """Whether what was cut off came from a node; None where what it came from is gone."""
    if node is None:
        return True
    if cut.number < identity(node):
        return False
    known = None if flow is None else flow.is_from(cut)
    if known is None:
        alive = [n for n in (reference() for reference in cut.sources) if n is not None]
        if node in alive or _path(dict.fromkeys(alive), node) is not None:
            return True
        known = False if cut.whole else None
    return known


def _last(targets: Sequence[Any], tape: Any) -> float:
    """What was recorded later, as the printing of a loss, was not in the way of the targets."""
    nodes = [own_node(t) for t in targets]
    if nodes and all(n is not None for n in nodes):
        return max(n.seq for n in nodes if n is not None)
    spans = [] if tape is None else tape._recorded()
    return spans[-1][1] if spans else math.inf


def _choose(
    candidates: list[Cut], targets: Sequence[Any], node: Node | None, flow: Flow | None,
    last: float,
) -> tuple[Cut | None, str]:
    """The cut that the targets suffer from; and, if it is not known for sure, a sentence on it."""
    for cut in candidates:
        if cut.result is not None and any(cut.result() is t for t in targets):
            return cut, ""
    if flow is not None:
        found = flow.cut(candidates)
        if found is not None:
            return found, ""
        # What came back from NumPy or Python is given anew; symbols of a graph have no arrays.
        symbols = any(isinstance(t, Tensor) and holds_symbols(raw(t)) for t in targets)
        again = max([e.number for e in flow.events.values() if e.is_entry], default=0)
        candidates = [c for c in candidates if c.kind in (_cuts.LEFT, _cuts.STOPPED)
                      and is_from(c, node, flow) and (symbols or c.number < again)]
    # What is met again after the target, as the printing in a loop, was not in its way before.
    later = {_site(c) for c in _cuts.cuts() if c.number >= last}
    before = [c for c in candidates if c.number < last]
    before = [c for c in before if _site(c) not in later] or [
        c for c in before if is_from(c, node, flow)]
    if not before and any(own_node(t) is None for t in targets):
        before = candidates
    if not before:
        return None, ""
    if flow is None and last < math.inf:  # many look at numbers, few compute with them
        before.sort(key=lambda c: c.kind != _cuts.LEFT)
    return before[-1], _guess(before, is_from(before[-1], node, flow), flow)


def _guess(fitting: Sequence[Cut], sure: bool | None, flow: Flow | None) -> str:
    """What is said of an answer that is the last of some; nothing if it must be right."""
    others = list(dict.fromkeys(_site(c) for c in reversed(fitting)))[1:]
    if sure and not others:
        return ""
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    also = f"; so do {', '.join(others[:3])}{more}" if others else ""
    hint = "" if flow is not None else " Inside `with pullback.debug():` it is known."
    return f" This is a guess, the last place that fits{also}.{hint}"


def _site(cut: Cut) -> str:
    return f"`{cut.operation}` at {cut.file}:{cut.line}"


def _plain(cause: str, text: str, fix: str = "") -> Explanation:
    return Explanation("None", cause, text, fix=fix or CURES.get(cause, ""))


def _no_tensor(targets: Sequence[Any]) -> Explanation:
    kinds = ", ".join("None" if t is None else type(t).__name__ for t in targets) or "nothing"
    if all(t is None for t in targets):
        return _plain("unused", "The target is None: the function that computed it returned "
                      "nothing.", "return the loss")
    gone = [c for c in _cuts.cuts() if c.kind == _cuts.LEFT]
    if gone:
        return _told(gone[-1], "left", (), f"The target is {kinds}, no Tensor. ")
    return _plain("left" if targets else "unused", f"The target is {kinds}, no Tensor.")


def _without_node(x: Any, targets: Sequence[Any]) -> Explanation:
    """The source is a constant: it never was followed, or it lost its history."""
    for cut in reversed(_cuts.cuts()):
        if cut.result is not None and cut.result() is x:
            return _told(cut, _kind(cut, x), (), "The source is itself a result. ")
    flow = _flow([x])
    found = None if flow is None else flow.cut(_cuts.cuts())
    if found is not None:
        step = found.replaces and found.kind in (_cuts.OFF, _cuts.OUTSIDE)
        return _told(found, "replaced" if step else found.kind, (), "The source is itself a result."
                     " ")
    if any(t is x for t in targets):
        return _plain("unwatched", "Source and target are one tensor, which nobody follows.")
    return _plain("unwatched", "The source was a constant when the target was computed: no tape "
                  "watched it, and it has no requires_grad.")


def _kind(cut: Cut, x: Any) -> str:
    """The cause that a cut is; a result that is the source took a variable's place."""
    off = cut.kind in (_cuts.OFF, _cuts.OUTSIDE)
    taken = off and cut.replaces and cut.result is not None and cut.result() is x
    return "replaced" if taken else cut.kind


def _told(
    cut: Cut, cause: str, path: tuple[Place, ...], first: str = "", last: str = ""
) -> Explanation:
    at = f"{cut.file}:{cut.line}"
    text = {
        "left": f"The values left the library by {cut.operation} at {at}; what is computed from "
        "them there has no history.",
        "stopped": f"The history was dropped on purpose, by `{cut.operation}` at {at}.",
        "no derivative": f"`{cut.operation}` at {at} has no derivative.",
        "integer": f"`{cut.operation}` at {at} gives integers or booleans.",
        "recording off": f"`{cut.operation}` at {at} was computed while recording was off.",
        "outside": f"`{cut.operation}` at {at} was computed while no tape was recording.",
        "replaced": f"It was computed by `{cut.operation}` at {at}, outside of what is recorded, "
        "from the variable whose place it took.",
        "overwritten": f"Other values were written over it at {at}.",
    }[cause]
    if cause == "stopped" and cut.operation in ANEW:
        text = f"`{cut.operation}` at {at} has the values, and begins anew: it takes no history."
    return Explanation(
        "None", cause, first + text + last, operation=cut.operation, at=(cut.file, cut.line),
        fix=ANEW.get(cut.operation, CURES[cause]),
        path=path or (Place(cut.operation, cut.file, cut.line, True),),
    )


def _outside(
    node: Node, x: Any, roots: Mapping[Any, Any], tape: Any
) -> Explanation | None:
    """What the graph knows and the tape does not."""
    spans = tape._recorded()
    path = _path(roots, node)
    if path is None:
        return None
    missed = next((n for n in reversed(path) if n.parents and not within(spans, n.seq)), None)
    if missed is None:
        return _plain("unwatched", "The tape that is asked did not watch the source.")
    when = (
        "before the tape was opened" if spans and missed.seq < spans[0][0]
        else "after the tape was closed" if spans and missed.seq > spans[-1][1]
        else "while the tape's recording was stopped"
    )
    file, line = line_from(missed)
    places = tuple(Place(n.name(), *line_from(n), n is missed) for n in reversed(path) if n.parents)
    return Explanation(
        "None", "outside", f"`{missed.name()}` was computed {when}." + ("" if line else HINT),
        operation=missed.name(), at=(file, line), fix=CURES["outside"], path=places,
    )


def _path(roots: Mapping[Any, Any], node: Node) -> list[Node] | None:
    """Nodes from a target down to one, or None where no path is."""
    came: dict[Node, Node | None] = dict.fromkeys(roots)
    stack = list(roots)
    while stack:
        now = stack.pop()
        if now is node:
            path = [now]
            while (before := came[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for parent in now.parents:
            if parent is not None and parent not in came:
                came[parent] = now
                stack.append(parent)
    return None


assert set(CURES) <= set(CAUSES)
