"""Hooks of nodes: they run before and after a node's step of a backward pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import RuleError
from .cotangent import accumulate, conjugated, wrapped
from .multi_output import Pick
from .node import Node, note, notes, where
from .observe import Results, observers_of
from .tensor import Handle, Tensor, raw


def added(node: Node, place: str, hook: Callable[..., Any]) -> Handle:
    """Put a hook among a node's `before`, `after` or `arrived`; the handle takes it away."""
    found = note(node)
    table = getattr(found, place)
    if table is None:
        table = {}
        setattr(found, place, table)
    key = max(table, default=0) + 1
    table[key] = hook
    return Handle(table, key)


def before(node: Node, g: Any, record: bool, cls: type) -> Any:
    """A node's cotangents as its `before` hooks leave them; each hook receives a tuple."""
    found = notes.get(node)
    if found is None or not found.before:
        return g
    gs = _shown(g, cls)
    for hook in list(found.before.values()):
        answer = hook(gs)
        if answer is not None:
            gs = _as_many(answer, gs, node)
    back = [None if t is None else conjugated(t if record else raw(t)) for t in gs]
    return back if isinstance(g, list) else back[0]


def arrived(node: Node, cls: type) -> None:
    """Run the hooks that wait for a leaf's `grad` to be complete."""
    found = notes.get(node)
    if found is not None and found.arrived:
        for hook in list(found.arrived.values()):
            hook()


def unlock(node: Node) -> None:
    """Let what a node saved be written to again, now that it needs nothing."""
    found = notes.get(node)
    if found is not None and found.lock is not None:
        found.lock.release()
        found.lock = None


def is_watched(node: Node) -> bool:
    """Whether hooks or observers see the results of a node's step."""
    if node.__class__ is Pick:  # its step only finds the place in the list of the node behind
        return False
    found = notes.get(node) if notes else None
    return (found is not None and bool(found.after)) or bool(observers_of("step"))


def step(
    op: Any, node: Node, g: Any, cotangents: dict[Node, Any], needed: Any, record: bool, cls: type
) -> None:
    """One step of a backward pass whose results `after` hooks or observers see."""
    parents = node.parents

    def run() -> Results:
        own: dict[Node, Any] = {}
        op.step(node, g, own, needed, record, cls)
        first = [p is not None and p not in parents[:i] for i, p in enumerate(parents)]
        return [own.get(p) if p is not None and f else None
                for p, f in zip(parents, first, strict=True)]

    through: Callable[[], Results] = run
    for observer in observers_of("step"):
        through = partial(observer.step, node, g, through)
    answers = through()
    found = notes.get(node)
    if found is not None and found.after:
        answers = _after(found.after, answers, g, node, record, cls)
    for parent, r in zip(parents, answers, strict=True):
        if r is not None and parent is not None:
            accumulate(cotangents, parent, r, lambda: f"hook on {where(node)}")


def _after(
    table: dict[int, Callable[..., Any]], answers: list[Any], g: Any, node: Node, record: bool,
    cls: type,
) -> list[Any]:
    seen: tuple[Any, ...] = tuple([None if r is None else wrapped(cls, conjugated(r))
                                   for r in answers])
    outs = _shown(g, cls)
    for hook in list(table.values()):
        answer = hook(seen, outs)
        if answer is not None:
            seen = _as_many(answer, seen, node)
    return [None if t is None else conjugated(t if record else raw(t)) for t in seen]


def _shown(g: Any, cls: type) -> tuple[Any, ...]:
    """The cotangents of a node's outputs, in the form that hooks receive."""
    several = g if isinstance(g, list) else [g]
    return tuple([None if c is None else wrapped(cls, conjugated(c)) for c in several])


def _as_many(answer: Any, before: tuple[Any, ...], node: Node) -> tuple[Any, ...]:
    given = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
    if len(given) != len(before) or not all(t is None or isinstance(t, Tensor) for t in given):
        raise RuleError(
            f"hook on {where(node)}", f"None or a tuple of {len(before)} tensors", f"{answer!r}"
        )
    return given
