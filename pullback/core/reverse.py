"""pull: reverse mode, from targets back to sources, in falling order of recording.

A loop, not a recursion, so depth does not matter. On raw arrays when only numbers are wanted; on
Tensors when the computation of the gradient is to be differentiated itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from math import inf
from operator import attrgetter
from typing import Any

from ..arrays import splitters
from . import versions
from .above import above
from .compiled import compiled
from .node import FREED, Node, notes, where
from .observe import observers_of
from .state import Scoped, in_rules, restore, state
from .tensor import Tensor

_by_number = attrgetter("seq")


def pull(
    cotangents: dict[Node, Any],
    wanted: Iterable[Node] | None = None,
    *,
    record: bool = False,
    free: int = 0,
    overrides: Any = None,
    spans: list[tuple[int, float]] | None = None,
    cls: type = Tensor,
    inner: bool = False,
) -> dict[Node, Any]:
    """Carry cotangents of some nodes back, and return those that arrive at the wanted ones.

    cotangents  target node -> cotangent; used up
    wanted      the nodes whose cotangents to return; None for every leaf
    record      rules run on Tensors, so that what they do is recorded
    free        let go of the saved values of nodes of this recording level on the way (0: keep)
    overrides   told of the nodes by `prepare(nodes)`, it then gives for a node the operation to
                pull through in place of its own, or None
    spans       only nodes recorded within these (first, last) numbers are passed; the others
                end the path as leaves do
    cls         the class of Tensor that hooks receive
    inner       part of another pull, which runs the hooks of the nodes at which this one ends
    """
    order, ends = _collect(cotangents, spans)
    needed = None
    targets: set[Node] | None = None
    if wanted is not None:
        targets = set(wanted)
        needed = _needed(order, ends, targets)
        if needed is not None:
            order = [node for node in order if node in needed]
    now = state()
    symbolic = any(map(above.holds_symbols, cotangents.values()))
    simple = not (
        record
        or symbolic
        or (now.observers and observers_of("step"))
        or overrides is not None
        or needed is not None
        or (notes and any(p in notes for n in (*order, *cotangents) for p in (n, *n.parents)))
        or (order and versions.latest[0] > order[-1].seq)
    )
    if overrides is not None:
        overrides.prepare(order)
    if simple:
        (above.sweep_in_regions if splitters else sweep)(order, cotangents, free)
        return cotangents
    hooks = above.hooks()
    token = _passing.set({*order, *ends} if needed is None else needed) if notes else None
    try:
        found = _careful_sweep(
            order, cotangents, targets or set(), needed, record, free, overrides, cls, symbolic,
            hooks,
        )
        rest = cotangents.items()
        found.update(rest if inner else [(n, hooks.run(n, g, record, cls)) for n, g in rest])
    finally:
        if token is not None:
            _passing.set(token)
    return found


_passing: Scoped[Set[Node]] = Scoped("passing", frozenset())
passing = _passing.get
"""The nodes that the pull in progress comes by, while a hook of one of them runs."""


def sweep(order: list[Node], cotangents: dict[Node, Any], free: int) -> None:
    """The backward pass through nodes on raw arrays, without hooks or observers (hot path)."""
    node: Any = None
    place = [None]
    pop = cotangents.pop
    before = in_rules()
    try:
        if compiled is not None:
            compiled.sweep(order, cotangents, free, place)
            return
        for node in order:
            g = pop(node, None)
            if g is not None:
                op = node.op
                op.pull(node, g, cotangents)
                if free == node.level and op.keeps:
                    node.saved = FREED
    except Exception as error:
        _add_place(error, node or place[0])
        raise
    finally:
        restore(before)


def _careful_sweep(
    order: list[Node], cotangents: dict[Node, Any], targets: set[Node], needed: set[Node] | None,
    record: bool, free: int, overrides: Any, cls: type, symbolic: bool, hooks: Any,
) -> dict[Node, Any]:
    """The same with hooks, intermediate targets, overrides, recording, and in graphs."""
    found: dict[Node, Any] = {}
    node: Any = None
    try:
        for node in order:
            g = cotangents.pop(node, None)
            if g is None:
                continue
            g = hooks.run(node, g, record, cls)
            if node in targets:
                found[node] = g
            if notes:
                g = hooks.before(node, g, record, cls)
            op = overrides(node, cls) if overrides is not None else None
            if versions.latest[0] > node.seq and (op or not getattr(node.op, "flat", False)):
                versions.check(node)
            if symbolic and op is None and above.waits(node):
                above.deferred().pull(node, g, cotangents, needed, record, cls)
            elif hooks.is_watched(node):
                hooks.step(op or node.op, node, g, cotangents, needed, record, cls)
            else:
                (op or node.op).step(node, g, cotangents, needed, record, cls)
            if free == node.level and node.op.keeps:
                node.saved = FREED
                if notes:
                    hooks.unlock(node)
    except Exception as error:
        _add_place(error, node)
        raise
    return found


def _add_place(error: Exception, node: Any) -> None:
    """Say in an error which recorded operation's gradient it came from."""
    note = f"in the gradient of {where(node)}"
    if node is not None and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _collect(
    roots: Mapping[Node, Any], spans: list[tuple[int, float]] | None
) -> tuple[list[Node], list[Node]]:
    """The computed nodes that the roots depend on, latest first, and the nodes they end at."""
    if compiled is not None and spans is None:
        found: tuple[list[Node], list[Node]] = compiled.collect(roots)
        return found
    seen = set(roots)
    stack = list(roots)
    order: list[Node] = []
    ends: list[Node] = []
    add, push, pop = seen.add, stack.append, stack.pop
    first, last = spans[0] if spans is not None and len(spans) == 1 else (0, inf)
    if spans is not None and len(spans) == 1:
        spans = None
    while stack:
        node = pop()
        parents = node.parents
        if not parents or not first < node.seq < last or (
            spans is not None and not within(spans, node.seq)
        ):
            ends.append(node)
            continue
        order.append(node)
        for parent in parents:
            if parent is not None and parent not in seen:
                add(parent)
                push(parent)
    order.sort(key=_by_number, reverse=True)
    return order, ends


def reached(
    roots: Mapping[Node, Any], spans: list[tuple[int, float]] | None
) -> list[Node]:
    """The computed nodes that the roots depend on, latest first."""
    return _collect(roots, spans)[0]


def reached_ends(
    roots: Mapping[Node, Any], spans: list[tuple[int, float]] | None
) -> list[Node]:
    """The nodes that the paths from the roots end at."""
    return _collect(roots, spans)[1]


def reads_more(roots: Mapping[Node, Any], spans: list[tuple[int, float]] | None) -> bool:
    """Whether a rule on the way may read what no path leads to: one by hand, or a hook."""
    return any(getattr(n.op, "by_hand", False) or n in notes for n in _collect(roots, spans)[0])


def within(spans: list[tuple[int, float]], seq: int) -> bool:
    """Whether a number falls into one of some spans."""
    return any(first < seq < last for first, last in spans)


def _needed(order: list[Node], ends: list[Node], targets: set[Node]) -> set[Node] | None:
    """The nodes on a path to a target; None when every path leads to one and ends there."""
    if targets.issuperset(ends) and targets.issubset(ends):
        return None
    needed = set(targets)
    for node in reversed(order):
        for parent in node.parents:
            if parent in needed:
                needed.add(node)
                break
    return needed
