"""Finds the custom rules in a recorded graph and marks them: scales their results by `MARK`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ....core.dispatch import pull_of
from ....core.node import Node
from ....core.op import Op, Rule
from ....custom import override
from ....custom.function import Function
from ....custom.gradient import CustomGradient
from ....custom.jvp import CustomJvp
from ....custom.override import Overridden
from ....custom.vjp import CustomVjp
from ....trees import mapped

MARK = 1.5
_CUSTOM = (CustomGradient, CustomVjp, CustomJvp)


def rules_of(nodes: Sequence[Any]) -> list[Any]:
    """The objects that hold the custom rules of some nodes."""
    found: dict[int, Any] = {}
    stack, seen = [n for n in nodes if n is not None], set()
    while stack:
        node: Node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack += [p for p in node.parents if p is not None]
        inside = getattr(node.op, "contents", None)
        for op in (node.op, *(() if inside is None else inside())):
            owner = _owner(op)
            if owner is not None:
                found[id(owner)] = owner
    return list(found.values())


def _owner(op: Any) -> Any:
    """The object that holds the custom rule of an operation, else None."""
    if isinstance(op, (*_CUSTOM, Overridden)):
        return op
    if isinstance(op, Op):
        return op if any(_is_users(r) for r in (*op.rules.values(), *op.pushes.values())) else None
    owner = getattr(op, "function", None)
    is_class = isinstance(owner, type) and issubclass(owner, Function)
    return owner if is_class or isinstance(owner, _CUSTOM) else None


def _is_users(rule: Rule) -> bool:
    return not str(rule.function.__module__).startswith("pullback.")


def are_without_tangents(rules: Sequence[Any]) -> bool:
    """Whether no custom rule is a JVP rule, so that forward mode transposes the VJP rules."""
    return bool(rules) and not any(map(_has_tangents, rules))


def _has_tangents(owner: Any) -> bool:
    if isinstance(owner, Op):
        return bool(owner.pushes)
    return isinstance(owner, CustomJvp) or getattr(owner, "jvp", Function.jvp) is not Function.jvp


def _times(tree: Any) -> Any:
    return mapped(lambda g: None if g is None else g * MARK, tree)


def _marked_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args: Any, **keywords: Any) -> Any:
        value, rule = function(*args, **keywords)
        return value, lambda *gs, **more: _times(rule(*gs, **more))

    return forward


def _marked_rule(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: _times(function(*args, **keywords))


def _marked_jvp(rule: Callable[..., Any]) -> Callable[..., Any]:
    def along(*args: Any) -> Any:
        value, tangent = rule(*args)
        return value, _times(tangent)

    return along


@contextmanager
def marked(rules: Sequence[Any]) -> Iterator[None]:
    """Inside the block these rules return `MARK` times their result."""
    with ExitStack() as undo:
        for owner in rules:
            if isinstance(owner, CustomGradient):
                undo.callback(setattr, owner, "function", owner.function)
                owner.function = _marked_gradient(owner.function)
            elif isinstance(owner, CustomVjp) and owner._bwd is not None:
                _put(undo, owner, "_bwd", _marked_rule(owner._bwd))
            elif isinstance(owner, CustomJvp) and owner._rule is not None:
                _put(undo, owner, "_rule", _marked_jvp(owner._rule))
            elif isinstance(owner, Op):
                _mark_operation(undo, owner)
            elif isinstance(owner, Overridden):
                _mark_registered(undo, owner.rule_function)
            elif isinstance(owner, type):
                for name in ("backward", "jvp"):
                    own = getattr(owner, name)
                    if own is not getattr(Function, name):
                        _put(undo, owner, name, staticmethod(_marked_rule(own)))
        yield


def _put(undo: ExitStack, owner: Any, name: str, value: Any) -> None:
    before = vars(owner).get(name)
    undo.callback(lambda: delattr(owner, name) if before is None else setattr(owner, name, before))
    setattr(owner, name, value)


def _mark_operation(undo: ExitStack, op: Op) -> None:
    undo.callback(_refresh, op)
    for rule in (*op.rules.values(), *op.pushes.values()):
        undo.callback(setattr, rule, "function", rule.function)
        undo.callback(setattr, rule, "same", rule.same)
        rule.function, rule.same = _marked_rule(rule.function), False
    _refresh(op)


def _refresh(op: Op) -> None:
    op.pull = pull_of(op)
    op.refresh()


def _mark_registered(undo: ExitStack, function: Callable[..., Any]) -> None:
    """Marks a gradient that an override finds by name; leaves others unchanged."""
    for name, rule in list(override._registered.items()):
        if rule is function:
            undo.callback(override._registered.__setitem__, name, rule)
            override._registered[name] = _marked_rule(rule)
