"""Explains a gradient that is None: finds where the path from source to target was cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.node import Node, line_of
from ...core.reverse import within
from ...core.tensor import Tensor, is_inexact, raw
from ...kinds.symbols import holds_symbols
from ...lost_paths import LEFT, OFF, OUTSIDE, STOPPED, Lost, identity, losses
from ..debug.journal import latest
from .causes import ANEW, CAUSES, CURES
from .explanation import Explanation, Place
from .flow import Flow

STEPS = {"subtract", "add"}
"""Operations that compute a variable's next value when the result replaces the variable."""
HINT = " Inside `with pullback.debug():` explain also names the line."
DROPPED = (
    " Operations are not recorded under no_grad, outside the tape, after detach or stop_gradient, "
    "and where there is no derivative (argmax, comparisons, integers). Inside `with "
    "pullback.debug():` explain names the operation and its line."
)


def own_node(x: Any) -> Node | None:
    """The node of a tensor; does not count as a read of a variable for the tapes."""
    if not isinstance(x, Tensor):
        return None
    return x._leaf if hasattr(x, "_leaf") else x._node


def line_from(node: Node) -> tuple[str, int]:
    """The file and line of the call of an operation; "" and 0 if lines were not kept."""
    file, _, line = line_of(node).rpartition(":")
    return (file, int(line)) if line.isdigit() else ("", 0)


def of_none(
    targets: Sequence[Any], x: Any, roots: Mapping[Any, Any], tape: Any
) -> Explanation:
    """Explains a gradient that is None."""
    node = own_node(x)
    if not any(isinstance(t, Tensor) for t in targets):
        return _no_tensor(targets)
    if node is None:
        return _without_node(x, targets)
    if tape is not None:
        found = _outside(node, x, roots, tape)
        if found is not None:
            return found
    flow = flow_of(targets, x, node)
    candidates = [c for c in losses() if is_from(c, node, flow) is not False]
    chosen, guess = _choose(candidates, targets, node, flow, last_of(targets, tape))
    if chosen is not None:
        places = () if flow is None else flow.places(chosen)
        return _of_cut(chosen, _kind(chosen, x), places, last=guess)
    if flow is not None and flow.is_used:
        return _plain("unwatched", "The target was computed from the source before the source was "
                      "watched (or from a copy of it that has no history).")
    integer = [t for t in targets if isinstance(t, Tensor) and not is_inexact(t._data)]
    if integer:
        return _plain("integer", f"The target has dtype {integer[0]._data.dtype}.")
    if flow is not None:
        return _plain("unused", "No operation connects the source to the target.")
    return _plain("unused", "No recorded operation connects the source to the target. It was not "
                  "computed from the source, or an operation on the way was not recorded."
                  + DROPPED)


def of_target(targets: Sequence[Any]) -> Explanation:
    """Explains targets that have no history at all, for any source."""
    if not any(isinstance(t, Tensor) for t in targets):
        return _no_tensor(targets)
    flow = flow_of(targets)
    found, guess = _choose(losses(), targets, None, flow, math.inf)
    if found is None:
        return _plain("unwatched", "The target has no history: it was computed from tensors that "
                      "need no gradient, or an operation on the way was not recorded."
                      + ("" if flow is not None else DROPPED))
    step = found.replaces and found.operation in STEPS
    return _of_cut(found, "replaced" if step else found.kind, (), last=guess)


def flow_of(targets: Sequence[Any], x: Any = None, node: Node | None = None) -> Flow | None:
    """The data path to targets, if they were computed inside the last debug block."""
    journal = latest()
    flow = None if journal is None else Flow(journal, targets, x, node)
    return flow if flow is not None and flow.events else None


def is_from(cut: Lost, node: Node | None, flow: Flow | None) -> bool | None:
    """Whether a cut removed a result of the node; None if its inputs no longer exist."""
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


def last_of(targets: Sequence[Any], tape: Any) -> float:
    """The last operation of the targets: later cuts (say, printing the loss) are not the cause."""
    nodes = [own_node(t) for t in targets]
    if nodes and all(n is not None for n in nodes):
        return max(n.seq for n in nodes if n is not None)
    spans = [] if tape is None else tape._recorded()
    return spans[-1][1] if spans else math.inf


def _choose(
    candidates: list[Lost], targets: Sequence[Any], node: Node | None, flow: Flow | None,
    last: float,
) -> tuple[Lost | None, str]:
    """The cut that explains the targets, and a sentence that marks it as a guess, or ""."""
    for cut in candidates:
        if cut.result is not None and any(cut.result() is t for t in targets):
            return cut, ""
    if flow is not None:
        found = flow.cut(candidates)
        if found is not None:
            return found, ""
        # A value that comes back from NumPy or Python is a new input; graph symbols have no data.
        symbols = any(isinstance(t, Tensor) and holds_symbols(raw(t)) for t in targets)
        again = max([e.number for e in flow.events.values() if e.is_entry], default=0)
        candidates = [c for c in candidates if c.kind in (LEFT, STOPPED)
                      and is_from(c, node, flow) and (symbols or c.number < again)]
    # A cut that also happens after the target, such as printing in a loop, is not the cause.
    later = {site_of(c) for c in losses() if c.number >= last}
    before = [c for c in candidates if c.number < last]
    before = [c for c in before if site_of(c) not in later] or [
        c for c in before if is_from(c, node, flow)]
    if not before and any(own_node(t) is None for t in targets):
        before = candidates
    if not before:
        return None, ""
    if flow is None and last < math.inf:  # many scripts print numbers, few compute with them
        before.sort(key=lambda c: c.kind != LEFT)
    return before[-1], _guess(before, is_from(before[-1], node, flow), flow)


def _guess(fitting: Sequence[Lost], sure: bool | None, flow: Flow | None) -> str:
    """The sentence that marks the cause as a guess and lists the others; "" if it is certain."""
    chosen = fitting[-1]
    others = list(dict.fromkeys(
        site_of(c) for c in reversed(fitting)
        if (c.file, c.line) != (chosen.file, chosen.line) or c.operation not in _LISTED
    ))[1:]
    if sure and not others:
        return ""
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    also = f"; others that fit: {', '.join(others[:3])}{more}" if others else ""
    hint = "" if flow is not None else " Inside `with pullback.debug():` explain knows the cause."
    return f" This is a guess: the cut nearest the target{also}.{hint}"


_LISTED = {"a new tensor made of a list"}
"""The part of another call, which is named, too."""


def site_of(cut: Lost) -> str:
    """The operation of a cut and its line."""
    return f"`{cut.operation}` at {cut.file}:{cut.line}"


def _plain(cause: str, text: str, fix: str = "") -> Explanation:
    return Explanation("None", cause, text, fix=fix or CURES.get(cause, ""))


def _no_tensor(targets: Sequence[Any]) -> Explanation:
    kinds = ", ".join("None" if t is None else type(t).__name__ for t in targets) or "nothing"
    if all(t is None for t in targets):
        return _plain("unused", "The target is None: the function that computed it returned "
                      "nothing.", "return the loss")
    gone = [c for c in losses() if c.kind == LEFT]
    if gone:
        return _of_cut(gone[-1], "left", (), f"The target is {kinds}, not a Tensor. ")
    return _plain("left" if targets else "unused", f"The target is {kinds}, not a Tensor.")


def _without_node(x: Any, targets: Sequence[Any]) -> Explanation:
    """Explains a source that is a constant: it never needed a gradient, or lost its history."""
    for cut in reversed(losses()):
        if cut.result is not None and cut.result() is x:
            return _of_cut(cut, _kind(cut, x), (), "The source is itself a result. ")
    flow = flow_of([x])
    found = None if flow is None else flow.cut(losses())
    if found is not None:
        step = found.replaces and found.kind in (OFF, OUTSIDE)
        return _of_cut(found, "replaced" if step else found.kind, (),
                       "The source is itself a result. ")
    if any(t is x for t in targets):
        return _plain("unwatched", "Source and target are the same tensor, which needs no "
                      "gradient.")
    hint = "" if flow is not None else " If it is the result of an operation, such as an update " \
        "of a variable, `with pullback.debug():` names that operation and its line."
    return _plain("unwatched", "The source was a constant when the target was computed: no tape "
                  "watched it, and it has no requires_grad." + hint)


def _kind(cut: Lost, x: Any) -> str:
    """The cause of a cut: "replaced" if its result is the source and replaced a variable."""
    off = cut.kind in (OFF, OUTSIDE)
    taken = off and cut.replaces and cut.result is not None and cut.result() is x
    return "replaced" if taken else cut.kind


def _of_cut(
    cut: Lost, cause: str, path: tuple[Place, ...], first: str = "", last: str = ""
) -> Explanation:
    at = f"{cut.file}:{cut.line}"
    text = {
        "left": f"The values left the library by {cut.operation} at {at}; results computed "
        "from them have no history.",
        "stopped": f"`{cut.operation}` at {at} dropped the history on purpose.",
        "no derivative": f"`{cut.operation}` at {at} has no derivative.",
        "integer": f"`{cut.operation}` at {at} returns integers or booleans.",
        "recording off": f"`{cut.operation}` at {at} was computed while recording was off.",
        "outside": f"`{cut.operation}` at {at} was computed while no tape was recording.",
        "replaced": f"`{cut.operation}` at {at} computed it, without recording, from the variable "
        "that it replaced.",
        "overwritten": f"Its values were overwritten in place at {at}.",
    }[cause]
    if cause == "stopped" and cut.operation in ANEW:
        text = f"`{cut.operation}` at {at} copies the values only: the new tensor has no history."
    return Explanation(
        "None", cause, first + text + last, operation=cut.operation, at=(cut.file, cut.line),
        fix=ANEW.get(cut.operation, CURES[cause]),
        path=path or (Place(cut.operation, cut.file, cut.line, True),),
    )


def _outside(
    node: Node, x: Any, roots: Mapping[Any, Any], tape: Any
) -> Explanation | None:
    """Explains a path that the graph has and the tape does not."""
    spans = tape._recorded()
    path = _path(roots, node)
    if path is None:
        return None
    missed = next((n for n in reversed(path) if n.parents and not within(spans, n.seq)), None)
    if missed is None:
        return _plain("unwatched", "The tape did not watch the source.")
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
    """The nodes on a path from a target to the node; None if there is no path."""
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
