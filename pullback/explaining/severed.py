"""Why is it None: where the path from the source to the target was cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import cuts as _cuts
from ..core.cuts import Cut
from ..core.journal import Event, Journal, latest
from ..core.node import Node, line_of
from ..core.pull import within
from ..core.tensor import Tensor, is_inexact
from .causes import CAUSES, CURES
from .explanation import Explanation, Place

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
    journal = latest()
    flow = _flow(targets, journal)
    candidates = [c for c in _cuts.cuts() if _comes_from(c, node)]
    chosen = _choose(candidates, targets, flow, journal, node)
    if chosen is not None:
        return _told(chosen, _kind(chosen, x), _places(journal, flow, node, x, chosen))
    if journal is not None and flow and _event_of(x, node, journal) in flow:
        return _plain("unwatched", "The target was computed from the source before that was "
                      "watched (or with a copy of it that has no history).")
    integer = [t for t in targets if isinstance(t, Tensor) and not is_inexact(t._data)]
    if integer:
        return _plain("integer", f"The target has dtype {integer[0]._data.dtype}.")
    hint = "" if journal is not None else " Inside `with pullback.debug():` data are followed too."
    return _plain("unused", "No operation leads from the source to the target." + hint)


def of_target(targets: Sequence[Any]) -> Explanation:
    """Why targets have no history at all, whatever the source."""
    cuts, flow = _cuts.cuts(), _flow(targets, latest())
    mine = [c for c in cuts if c.result is not None and any(c.result() is t for t in targets)]
    found = mine[0] if mine else _first_on_way(cuts, flow, None)
    gone = [c for c in cuts if c.kind == _cuts.LEFT]
    if found is None and gone:
        found = gone[-1]
    if found is None:
        return _plain("unwatched", "Nothing that the target was computed from is followed.")
    return _told(found, found.kind, ())


def _plain(cause: str, text: str) -> Explanation:
    return Explanation("None", cause, text, fix=CURES.get(cause, ""))


def _no_tensor(targets: Sequence[Any]) -> Explanation:
    kinds = ", ".join(type(t).__name__ for t in targets) or "nothing"
    gone = [c for c in _cuts.cuts() if c.kind == _cuts.LEFT]
    if gone:
        return _told(gone[-1], "left", (), f"The target is {kinds}, no Tensor. ")
    return _plain("left" if targets else "unused", f"The target is {kinds}, no Tensor.")


def _without_node(x: Any, targets: Sequence[Any]) -> Explanation:
    """The source is a constant: it never was followed, or it lost its history."""
    for cut in reversed(_cuts.cuts()):
        if cut.result is not None and cut.result() is x:
            return _told(cut, _kind(cut, x), (), "The source is itself a result. ")
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
    cut: Cut, cause: str, path: tuple[Place, ...], first: str = ""
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
    return Explanation(
        "None", cause, first + text, operation=cut.operation, at=(cut.file, cut.line),
        fix=CURES[cause], path=path or (Place(cut.operation, cut.file, cut.line, True),),
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


def _comes_from(cut: Cut, node: Node) -> bool:
    """Whether what was cut off came from a node; unknown where all of it is gone."""
    alive = [n for n in (reference() for reference in cut.sources) if n is not None]
    return any(n is node for n in alive) or _path(dict.fromkeys(alive), node) is not None


def _event_of(x: Any, node: Node | None, journal: Journal) -> int | None:
    event = journal.find(x._data)
    if event is None and node is not None:
        event = journal.of_node(node)
    return event.number if event is not None else None


def _flow(targets: Sequence[Any], journal: Journal | None) -> dict[int, Event]:
    """The events that the targets' values came from."""
    found: dict[int, Event] = {}
    if journal is None:
        return found
    starts = [journal.find(t._data) for t in targets if isinstance(t, Tensor)]
    stack = [e for e in starts if e is not None]
    while stack:
        event = stack.pop()
        if event.number not in found:
            found[event.number] = event
            stack.extend(journal.events[i] for i in event.inputs if i in journal.events)
    return found


def _choose(
    candidates: list[Cut], targets: Sequence[Any], flow: dict[int, Event],
    journal: Journal | None, node: Node,
) -> Cut | None:
    """The cut that the target suffers from: the first on the way of its data."""
    for cut in candidates:
        if cut.result is not None and any(cut.result() is t for t in targets):
            return cut
    if flow:
        found = _first_on_way(candidates, flow, node)
        if found is not None:
            return found
        candidates = [c for c in candidates if c.kind == _cuts.LEFT] or candidates
    # The last before the target: what came later, as the printing of a loss, was not in its way.
    latest_of = max([n.number for n in flow.values()], default=0)
    before = [c for c in candidates if not latest_of or c.number < latest_of]
    left = before or candidates
    return left[-1] if left else None


def _first_on_way(candidates: list[Cut], flow: dict[int, Event], node: Any) -> Cut | None:
    """The cut at the first event that was not recorded, of what was."""
    for number in sorted(flow):
        event = flow[number]
        if event.node is not None or not event.operation:
            continue
        for cut in candidates:
            if cut.number > number and (cut.operation, cut.line) == (event.operation, event.line):
                return cut
        if any(i in flow and flow[i].node is not None for i in event.inputs):
            before = [c for c in candidates if c.number < number and c.kind == _cuts.STOPPED]
            if before:
                return before[-1]
    return None


def _places(
    journal: Journal | None, flow: dict[int, Event], node: Node, x: Any, cut: Cut
) -> tuple[Place, ...]:
    """The operations from the source to the target, in order, with the cut among them."""
    if journal is None or not flow:
        return ()
    start = _event_of(x, node, journal)
    after = {start} if start is not None else set()
    places: list[Place] = []
    done = False
    for number in sorted(flow):
        event = flow[number]
        if not done and number > cut.number:
            places.append(Place(cut.operation, cut.file, cut.line, True))
            done = True
        if number in after or any(i in after for i in event.inputs):
            after.add(number)
            here = event.operation == cut.operation and event.line == cut.line
            done |= here
            if event.operation:
                places.append(Place(event.operation, event.file, event.line, here))
    if not done:
        places.append(Place(cut.operation, cut.file, cut.line, True))
    return tuple(places)


assert set(CURES) <= set(CAUSES)
