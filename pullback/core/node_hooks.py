"""Hooks of nodes: what runs before and after a node's step of a pull, and watchers of all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..errors import AnomalyError, RuleError
from .cotangent import accumulate, conjugated, wrapped
from .multi_output import Pick
from .node import Node, note, notes, where
from .op import OPS
from .tensor import Handle, Tensor, raw

nan_checked: ContextVar[bool] = ContextVar("pullback_nan_checked", default=False)
"""Whether every step of a pull is to be looked at for NaN, in this thread."""

Answers = list[Any]
"""What a step has for each parent of its node; None where nothing, or where it stands before."""
Watcher = Callable[[Node, Any, Callable[[], Answers]], Answers]
"""Is handed a node, the cotangent of its output (a list, where it has several) and its step, which
it runs, and answers what is to be handed on."""
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("pullback_watchers", default=())


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Send every step of every pull in this thread through a watcher, inside the block.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> def watcher(node, g, step):
    ...     answers = step()
    ...     print(node.name(), float(g), [float(a) for a in answers if a is not None])
    ...     return answers
    >>> with watching(watcher):
    ...     (pb.square(x) * 3).backward()
    multiply 1.0 [3.0]
    square 3.0 [12.0]
    """
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def is_anybody_watching() -> bool:
    """Whether steps of pulls are looked at, in this thread."""
    return nan_checked.get() or bool(_watchers.get())


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
    """A node's cotangents as its `before` hooks leave them: each is handed a tuple of them all."""
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
    """Whether somebody wants to see what a node's step hands on."""
    if node.__class__ is Pick:  # its step only finds the place in the list of the node behind
        return False
    found = notes.get(node) if notes else None
    return (found is not None and bool(found.after)) or is_anybody_watching()


def step(
    op: Any, node: Node, g: Any, cotangents: dict[Node, Any], needed: Any, record: bool, cls: type
) -> None:
    """One step of a pull whose results are looked at, by watchers, `after` hooks and for NaN."""
    parents = node.parents

    def run() -> Answers:
        own: dict[Node, Any] = {}
        op.step(node, g, own, needed, record, cls)
        first = [p is not None and p not in parents[:i] for i, p in enumerate(parents)]
        return [own.get(p) if p is not None and f else None
                for p, f in zip(parents, first, strict=True)]

    through: Callable[[], Answers] = run
    for watcher in _watchers.get():
        through = partial(watcher, node, g, through)
    answers = through()
    if nan_checked.get():
        _check(node, answers)
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
    """The cotangents of a node's outputs, as hooks are handed them."""
    several = g if isinstance(g, list) else [g]
    return tuple([None if c is None else wrapped(cls, conjugated(c)) for c in several])


def _as_many(answer: Any, before: tuple[Any, ...], node: Node) -> tuple[Any, ...]:
    given = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
    if len(given) != len(before) or not all(t is None or isinstance(t, Tensor) for t in given):
        raise RuleError(
            f"hook on {where(node)}", f"None or a tuple of {len(before)} tensors", f"{answer!r}"
        )
    return given


def _check(node: Node, answers: list[Any]) -> None:
    """Raise an `AnomalyError` for the first NaN among a node's results."""
    names = getattr(node.op, "arguments", ())
    for i, r in enumerate(answers):
        if r is not None and bool(OPS["any"](OPS["isnan"](raw(r)))):
            name = f" (argument `{names[i]}`)" if i < len(names) else ""
            raise AnomalyError(
                f"gradient of {where(node)}", "numbers",
                f"a rule that returned nan values in its {i}th output{name}",
                "look at the values it was computed from; a division of 0 by 0 is the usual cause",
            )
