"""Where tracked tensors left the library: by `float`, `.item()`, `.numpy()`, `numpy.asarray`.

What is computed from the numbers has no history. That is allowed, and remembered for whoever
follows a function's run, so that a derivative that is zero for this reason is explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from .._user_code import user_line
from ..errors import LostGradientWarning, warn
from . import tensor as _tensor
from .cuts import LEFT, STOPPED, cut
from .node import Node
from .state import state
from .tensor import wrap


class Departure:
    """A tracked tensor's values left: of which node, by what, at which line."""

    __slots__ = ("by", "line", "node")

    def __init__(self, node: Node, by: str, line: str) -> None:
        self.node, self.by, self.line = node, by, line


_followed: ContextVar[tuple[list[Departure], ...]] = ContextVar("pullback_followed", default=())
followed = _followed.get


def follow() -> tuple[list[Departure], Any]:
    """A list of the departures from now on, and what `unfollow` takes."""
    seen: list[Departure] = []
    return seen, _followed.set((*followed(), seen))


unfollow = _followed.reset


def left(node: Node, by: str, detached: Any = None) -> None:
    """Remember that the values of a tracked tensor leave just now, at the user's line.

    detached  the tensor without history that they are in, where they stay in the library
    """
    lists = followed()
    cut(LEFT if detached is None else STOPPED, by, (node,), detached)
    if lists and detached is None:
        departure = Departure(node, by, user_line())
        for seen in lists:
            seen.append(departure)


_tensor.left = left


def detached(x: Any, by: str) -> Any:
    """The values of a tensor, sharing memory, with no history; by what that was asked for."""
    made = wrap(x._out, x._data)
    if x._node is not None:
        left(x._node, by, made)
    return made


def copied(values: Any, made: Any, by: str) -> Any:
    """A tensor without history that was made of the values of others, by what.

    values  a Tensor, or a nested sequence that may have some
    That it came from them is remembered; in a debug block, so is the way of the data.
    """
    taken = _tracked(values)
    for t in taken:
        left(_own_node(t), by, made)
    if taken and state().lines:
        from .journal import current  # most programs never debug

        journal = current()
        if journal is not None and all(made._data is not t._data for t in taken):
            journal.add(by, [t._data for t in taken], made._data)
    return made


def _own_node(x: Any) -> Any:
    """The node of a tensor; a variable is not told that it is read."""
    return x._leaf if hasattr(x, "_leaf") else x._node


_PLAIN = {float, int, bool, complex}


def _tracked(values: Any) -> Sequence[Any]:
    """The tensors with history in a tensor, or in a nested sequence."""
    if isinstance(values, _tensor.Tensor):
        return () if _own_node(values) is None else (values,)
    if not isinstance(values, (list, tuple)) or set(map(type, values)) <= _PLAIN:
        return ()
    return [t for v in values for t in _tracked(v)]


def warn_of_lost(
    departures: list[Departure], missing: Iterable[Any], since: int, who: str
) -> None:
    """Warn if a tensor that came from one of some nodes, recorded since a number, departed."""
    gone = first_from(departures, missing, since)
    if gone is not None:
        warn(
            f"{who}: the derivative is zero because a tracked tensor left the library by "
            f"{gone.by} at {gone.line}; compute with pullback's operations there, or pass "
            "stop_gradient(x) if that is meant; pullback.explain(f, *args) shows the way there",
            LostGradientWarning,
        )


def first_from(
    departures: list[Departure], sources: Iterable[Any], since: int
) -> Departure | None:
    """The first departure of a tensor that came from one of some nodes, or None."""
    nodes = set(sources)
    return next((d for d in departures if _comes_from(d.node, nodes, since)), None)


def _comes_from(node: Node, sources: set[Any], since: int) -> bool:
    seen, stack = {node}, [node]
    while stack:
        now = stack.pop()
        if now in sources:
            return True
        if now.seq > since:
            fresh = [p for p in now.parents if p is not None and p not in seen]
            seen.update(fresh)
            stack.extend(fresh)
    return False
