"""Hooks of tensors and nodes, which run in a backward pass, and gradients that tensors keep.

A tensor's hooks see its finished cotangent; a node's run before and after its step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ..arrays import adapters
from ..arrays.kept import kept
from ..core.above import provide
from ..core.cotangent import accumulate, conjugated, project, wrapped
from ..core.multi_output import Pick
from ..core.node import Leaf, Node, note, notes, where
from ..core.observe import Results, observers_of
from ..core.tensor import Tensor, bound, raw, wrap
from ..errors import ArgumentError, ArgumentTypeError, RuleError


class Handle:
    """Takes away what a `register_…` call put in place; also a context manager."""

    def __init__(self, table: dict[Any, Any], key: Any) -> None:
        self._table, self._key = table, key

    def remove(self) -> None:
        """Take it away; a second call does nothing."""
        self._table.pop(self._key, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _put(table: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> Handle:
    key = max(table, default=0) + 1
    table[key] = hook
    return Handle(table, key)


# Of tensors ---------------------------------------------------------------------------------------


@bound
class Gradients:
    """What a Tensor has for its gradient: these members are bound to `Tensor`."""

    @property
    def grad(self: Any) -> Any:
        """What `backward` has accumulated here: a Tensor, or None.

        For a computed tensor, only after `retain_grad()`.
        """
        if isinstance(node := self._node, Leaf):
            return node.grad
        found = notes.get(node) if node is not None else None
        return found.retained if found is not None else None

    @grad.setter
    def grad(self: Any, value: Any) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise ArgumentTypeError("x.grad = …", "a Tensor or None", type(value).__name__)
            if value.shape != self.shape:
                raise ArgumentError("x.grad = …", f"shape {self.shape}", f"shape {value.shape}")
        node = self._node
        if node is None:
            if value is not None:
                raise ArgumentError(
                    "x.grad = …", "a tensor that requires gradients", "one that does not",
                    "call x.requires_grad_() first",
                )
        elif isinstance(node, Leaf):
            node.grad = value if value is None else kept(node.data, value, "x.grad = …")
        else:
            note(node).retained = value

    def retain_grad(self: Any) -> None:
        """Keep the gradient of this computed tensor in `grad` on the next `backward`."""
        if self._node is None:
            raise _untracked("retain_grad()")
        if not self.is_leaf:
            note(self._node).retains = True

    def register_hook(self: Any, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(gradient)` whenever this tensor's gradient is computed.

        What it returns, unless None, takes the gradient's place. `remove()` on the returned
        handle takes the hook away.

        >>> import pullback as pb
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> pb.sum(x).backward()
        >>> x.grad
        Tensor([10., 10.])
        """
        if self._node is None:
            raise _untracked("register_hook()")
        return _put(note(self._node).hooks, hook)


def _untracked(subject: str) -> ArgumentError:
    return ArgumentError(
        f"{subject} of a Tensor", "a tensor that is tracked", "one that requires no gradient",
        "call x.requires_grad_() before computing with it",
    )


def run(node: Node, g: Any, record: bool, cls: type) -> Any:
    """A finished cotangent as its tensor's hooks leave it; kept where `retain_grad` asked."""
    found = notes.get(node)
    if found is None or isinstance(g, list):
        return g
    if found.hooks:
        # A hook may write to its argument, and another path may have the same array.
        own = g if isinstance(g, Tensor) else adapters[g.__class__].copy(g)
        seen = wrapped(cls, conjugated(own))
        for hook in list(found.hooks.values()):
            answer = hook(seen)
            if answer is not None:
                seen = answer
        if not isinstance(seen, Tensor):
            seen = wrap(cls, node.op.asarray(seen, g) if hasattr(node.op, "asarray") else seen)
        seen = conjugated(seen if record else raw(seen))
        g = project(seen, node, lambda: f"hook on {where(node)}")
    if found.retains:
        own = wrapped(cls, conjugated(g))
        found.retained = own if found.retained is None else found.retained + own
    return g


# Of nodes -----------------------------------------------------------------------------------------


def added(node: Node, place: str, hook: Callable[..., Any]) -> Handle:
    """Put a hook among a node's `before`, `after` or `arrived`; the handle takes it away."""
    found = note(node)
    table = getattr(found, place)
    if table is None:
        table = {}
        setattr(found, place, table)
    return _put(table, hook)


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


@provide
def hooks() -> Any:
    """This module, for the core."""
    return sys.modules[__name__]
