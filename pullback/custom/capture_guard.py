"""Tracked tensors that a function with a hand-written gradient uses and that are no arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._user_code import user_line
from ..captures import is_older
from ..core import state as _state
from ..core.node import Node, number
from ..core.tensor import Tensor
from ..departures import may_leave
from ..errors import CaptureError


class Guard:
    """Refuses tracked tensors from outside, while it is `State.closed`.

    Their part of the derivative would be missing: a rule has gradients for its arguments only.

    allowed   nodes that are not from outside: those of the arguments
    """

    def __init__(self, subject: str, allowed: Iterable[Node | None] = ()) -> None:
        now = _state.state()
        self.subject, self.allowed, self.start = subject, set(allowed), number()
        self.level, self.sweeps = now.level, now.accumulators

    def check(self, op: Any, parents: tuple[Node | None, ...]) -> bool:
        """Raise a `CaptureError` if an operation uses a tensor that is tracked outside."""
        if any(p is not None and self._foreign(p) for p in parents):
            raise self._error(f"operation `{op.name}` on a tracked tensor from outside")
        return False

    def check_values(self, values: Iterable[Any], what: str) -> None:
        """Raise a `CaptureError` if one of some results is itself such a tensor."""
        for v in values:
            if isinstance(v, Tensor) and v._node is not None and self._foreign(v._node):
                raise self._error(f"a tracked tensor from outside among {what}")

    def _foreign(self, node: Node) -> bool:
        return is_older(node, self.start) and node not in self.allowed and (
            node.level <= self.level or any(node in a.tangents for a in self.sweeps)
        )

    def _error(self, got: str) -> CaptureError:
        return CaptureError(
            self.subject, "tensors that it was given as arguments", f"{got}, at {user_line()}",
            "pass it as an argument; or stop_gradient(x), where its derivative is not wanted",
        )


@may_leave
def closed(subject: str, function: Any, args: Iterable[Any], allowed: Iterable[Any] = ()) -> Any:
    """The result of a function under a guard, and the guard."""
    guard = Guard(subject, allowed)
    before = _state.change(closed=guard)
    try:
        return function(*args), guard
    finally:
        _state.restore(before)


def older_ends(
    roots: Iterable[Node], own: Sequence[Node | None], start: int
) -> list[Node]:
    """The nodes from before a number that the roots lead to, apart from some.

    own   nodes at which a path ends too, and which do not count: those of a call's arguments
    """
    unused = {node for node in own if node is not None}
    seen = set(unused)
    roots = list(roots)
    unused.difference_update(roots)
    stack = [node for node in roots if node is not None and node not in seen]
    seen.update(stack)
    found: list[Node] = []
    for node in stack:  # which grows
        if node.seq < start or (not node.parents and is_older(node, start)):
            if node not in found:
                found.append(node)
            continue
        for parent in node.parents:
            unused.discard(parent)
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    # A value that was computed before the call from an argument which the call itself does not use
    # has its gradient through that argument: it is what the rule is for.
    return [node for node in found if not _leads_to(node, unused)]


def _leads_to(node: Node, wanted: set[Node]) -> bool:
    """Whether a node was computed from one of some nodes."""
    seen: set[Any] = {None, node}
    stack: list[Any] = [node]
    for now in stack:  # which grows
        if now in wanted:
            return True
        fresh = [p for p in now.parents if p not in seen]
        seen.update(fresh)
        stack.extend(fresh)
    return False


def reaches_older(root: Node, own: Sequence[Node | None], start: int) -> bool:
    """Whether `older_ends` of one root finds any (hot path)."""
    seen: set[Any] = {None, root}
    seen.update(own)
    stack: list[Any] = [root]
    for node in stack:  # which grows
        parents = node.parents
        if node.seq < start or (not parents and is_older(node, start)):
            return True
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return False
