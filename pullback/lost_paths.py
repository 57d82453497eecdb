"""Where tracked tensors lost their history.

An operation whose result has no history (recording is off, or it has no derivative) reports that to
observers only, and `debug` is one; it costs nothing otherwise. The last thousand calls of each
thread that take values out of the library, or drop history on purpose (`detach`), are always noted.
Everything is held by weak references, so that nothing lives longer.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from operator import itemgetter
from types import CodeType, FrameType
from typing import Any, TypeVar
from weakref import ref

from ._user_code import line_outside, user_frame
from .arrays import constant
from .arrays.inexact import inexact_dtypes
from .core.above import provide
from .core.node import Leaf, Node, number
from .core.observe import notify
from .core.state import NORMAL, Scoped, state
from .core.tensor import Tensor, wrap
from .errors import LostGradientError, LostGradientWarning, warn

LEFT, STOPPED, NO_DERIVATIVE, INTEGER, OFF, OUTSIDE, OVERWRITTEN = (
    "left", "stopped", "no derivative", "integer", "recording off", "outside", "overwritten",
)
"""Kinds of lost paths."""

MOST = 1000
"""The number of lost paths that are kept, and of operations that were not recorded."""
_NEAR = 6
_Raw = tuple[int, str, str, Any, int, list[Any], int, tuple[int, ...], Any, bool]


class Lost:
    """One lost path: its kind, the operation, the line, and weak references to its ends.

    number   its place in the order of recording
    sources  weak references to the nodes of the arguments, and to some that those came from
    whole    whether `sources` suffice to know all leaves that it came from
    ids      the numbers (`identity`) of the nodes of the arguments; known inside `debug()` only
    replaces whether the result has the shape of a leaf among the arguments
    result   a weak reference to the result, a Tensor; None if it is none
    """

    __slots__ = (
        "_at", "_code", "ids", "kind", "number", "operation", "replaces", "result", "sources",
        "whole",
    )

    def __init__(
        self, number: int, kind: str, operation: str, code: Any, at: int, near: list[Any],
        known: int, ids: tuple[int, ...], result: Any, replaces: bool,
    ) -> None:
        self.number, self.kind, self.operation = number, kind, operation
        self._code, self._at = code, at
        self.sources = near
        # Nodes that no longer exist came from nodes that are among the sources too.
        self.whole = all(n() is not None for n in near[known:])
        self.ids, self.result, self.replaces = ids, result, replaces

    @property
    def file(self) -> str:
        """The user's file."""
        return "an unknown file" if self._code is None else self._code.co_filename

    @property
    def line(self) -> int:
        """The line in it; 0 if it is not known."""
        return 0 if self._code is None else _line(self._code, self._at)

    def __repr__(self) -> str:
        return f"<Lost {self.kind}: {self.operation} at {self.file}:{self.line}>"


def identity(node: Node) -> int:
    """A number that tells a node from all others, also when the node no longer exists."""
    return node.born if isinstance(node, Leaf) else node.seq


def _line(code: CodeType, at: int) -> int:
    """The line of an instruction of a code object."""
    for start, end, line in code.co_lines():
        if start <= at < end and line is not None:
            return line
    return code.co_firstlineno


class _Kept(threading.local):
    def __init__(self) -> None:
        self.lost: deque[_Raw] = deque(maxlen=MOST)
        self.off: deque[_Raw] = deque(maxlen=MOST)


_kept = _Kept()


def remember(
    kind: str, operation: str, parents: Iterable[Node | None], result: Any = None,
    replaces: bool = False,
) -> None:
    """Note that history is lost at the user's line; a `Lost` is made when it is asked for."""
    frame = user_frame()
    near: list[Any] = []
    behind: list[Any] = []
    nodes = [node for node in parents if node is not None]
    for node in nodes:
        own = node.parents
        if len(own) > _NEAR:
            behind.append(ref(node))
            continue
        near.append(ref(node))
        for p in own:
            if p is not None:
                (behind if p.parents else near).append(ref(p))
    known = len(near)
    near += behind
    ids = tuple(map(identity, nodes)) if state().lines else ()
    code, at = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    out = None if result is None else ref(result)
    (_kept.off if kind in (OFF, OUTSIDE) else _kept.lost).append((
        number(), kind, operation, code, at, near, known, ids, out, replaces,
    ))


@provide
def unrecorded(op: Any, parents: tuple[Node | None, ...], out: Any) -> None:
    """Tell observers that an operation on tracked tensors was not recorded."""
    now = state()
    if now.purpose != NORMAL or not now.observers:
        return
    if not op.differentiable:
        kind, replaces = NO_DERIVATIVE, False
    elif not inexact_dtypes[out._data.dtype]:
        kind, replaces = INTEGER, False
    elif not any(p is not None and now.follows(p) for p in parents):
        kind = OUTSIDE if now.enabled else OFF
        replaces = any(p.__class__ is Leaf and p.shape == out.shape for p in parents if p)
    else:
        return
    notify("lost", kind, op.name, parents, out, replaces)


@provide
def dropped(kind: str, node: Node | None, by: str, made: Any) -> None:
    """Note that a call dropped the history of a tensor; `kind` is STOPPED or OVERWRITTEN."""
    if node is None:
        return
    now = state()
    if now.lines:
        remember(kind, by, (node,), made)
    else:  # as cheaply as possible
        frame = user_frame(3)
        code, at = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
        _kept.lost.append((number(), kind, by, code, at, [ref(node)], 0, (), ref(made), False))
    if now.observers:
        notify("lost", kind, by, (node,), made, False)


def losses() -> list[Lost]:
    """The lost paths of this thread that are kept, in order."""
    return [Lost(*entry) for entry in sorted([*_kept.lost, *_kept.off], key=itemgetter(0))]


def forget() -> None:
    """Drop the lost paths of this thread."""
    _kept.lost.clear()
    _kept.off.clear()


# Reports ------------------------------------------------------------------------------------------


class Departure:
    """The values of a tracked tensor left the library: of a node, by a call, at a line.

    live   whether an operation in their place would have been recorded, or carried a tangent
    """

    __slots__ = ("by", "line", "live", "node")

    def __init__(self, node: Node, by: str, line: str, live: bool) -> None:
        self.node, self.by, self.line, self.live = node, by, line, live


followed: Scoped[tuple[Any, ...]] = Scoped("departures", ())
"""What receives every departure of this thread, by `append`."""


@provide
def left(node: Node | None, by: str) -> None:
    """Note that the values of a tracked tensor leave the library."""
    if node is None:
        return
    remember(LEFT, by, (node,))
    lists = followed.get()
    if lists:
        departure = Departure(node, by, line_outside(), state().differentiates([node]))
        for seen in reversed(lists):
            seen.append(departure)


class Refusing:
    """Receives departures in the function of a transformation: one of its arguments is an error.

    Not in a hand-written gradient, whose rule has the derivative of what it computes; nor where
    nothing is recorded (`no_grad`), nor of `x.detach()`: there, a constant is meant.

    sources   the nodes of the arguments; None for all tracked tensors
    since     the number at which the function began
    warns     warn instead
    """

    def __init__(
        self, subject: str, sources: Container[Any] | None = None, since: int = 0, *,
        warns: bool = False,
    ) -> None:
        self.subject, self.sources, self.since, self.warns = subject, sources, since, warns

    def append(self, departure: Departure) -> None:
        """Take note of a departure, or raise a `LostGradientError`."""
        if not departure.live or intended_in() is not None:
            return
        if self.sources is None:
            if self.warns:
                warn(
                    f"a tracked tensor leaves the library by {departure.by} at {departure.line}: "
                    "what is computed from it has no gradient; pass x.detach() if that is meant",
                    LostGradientWarning,
                )
                return
        elif not _comes_from(departure.node, self.sources, self.since):
            return
        raise LostGradientError(
            self.subject, "a function of pullback's operations, which have derivatives",
            f"a tracked tensor that leaves the library by {departure.by} at {departure.line}",
            "use pullback's operation there (pullback.stack for an array of tensors); or "
            "x.detach() for a constant, or to print or log it",
        )


_intended: set[CodeType] = set()


def may_leave(function: _Function) -> _Function:
    """Declare that what runs in a function may leave: it has a derivative of its own."""
    _intended.add(function.__code__)
    return function


def begins(function: _Function) -> _Function:
    """Declare that a function calls that of a transformation."""
    _began.add(function.__code__)
    return function


_began: set[CodeType] = set()
_Function = TypeVar("_Function", bound=Callable[..., Any])


def intended_in() -> CodeType | None:
    """The innermost function that may leave, of those that run; None if a transformation's is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in _began:
        if frame.f_code in _intended:
            return frame.f_code
        frame = frame.f_back
    return None


def departed_from(nodes: Iterable[Any], before: int) -> list[Departure]:
    """The noted departures of tensors of some nodes, before a number in the order of recording."""
    wanted = {node for node in nodes if node is not None}
    found = []
    for entry in _kept.lost:
        at, kind, by, near = entry[0], entry[1], entry[2], entry[5]
        node = near[0]() if kind == LEFT and at < before and near else None
        if node is not None and node in wanted:
            lost = Lost(*entry)
            found.append(Departure(node, by, f"{lost.file}:{lost.line}", True))
    return found


def follow() -> tuple[list[Departure], Any]:
    """A list that receives the departures from now on, and the argument of `unfollow`."""
    seen: list[Departure] = []
    return seen, followed.set((*followed.get(), seen))


unfollow = followed.set
"""End `follow`; restoring the state from before it does the same."""


def detached(x: Any, by: str) -> Any:
    """The values of a tensor, sharing memory, without history; `by` names the call."""
    made = wrap(x._out, constant(x._shared()))
    dropped(STOPPED, x._node, by, made)
    return made


def copied(values: Any, made: Any, by: str) -> Any:
    """A tensor without history, `made` from the values of others; `by` names the call.

    values  a Tensor, or a nested sequence that may have some
    """
    taken = _tracked(values)
    for t in taken:
        dropped(STOPPED, own_node(t), by, made)
    if taken and state().observers and all(made._data is not t._data for t in taken):
        notify("copied", by, [t._data for t in taken], made._data)
    return made


def own_node(x: Any) -> Any:
    """The node of a tensor; does not count as a read of a variable for the tapes."""
    return x._leaf if hasattr(x, "_leaf") else x._node


_PLAIN = {float, int, bool, complex}


def _tracked(values: Any) -> Sequence[Any]:
    """The tensors with history in a tensor, or in a nested sequence."""
    if isinstance(values, Tensor):
        return () if own_node(values) is None else (values,)
    if not isinstance(values, (list, tuple)) or set(map(type, values)) <= _PLAIN:
        return ()
    return [t for v in values for t in _tracked(v)]


def warn_of_lost(
    departures: list[Departure], missing: Iterable[Any], since: int, subject: str
) -> None:
    """Warn if a tensor that came from one of some nodes, recorded since a number, departed."""
    gone = first_from(departures, missing, since)
    if gone is not None:
        warn(
            f"{subject}: the derivative is zero because a tracked tensor left the library by "
            f"{gone.by} at {gone.line}; compute with pullback's operations there, or pass "
            "stop_gradient(x) if that is intended; pullback.explain(f, *args) shows the way there",
            LostGradientWarning,
        )


def first_from(
    departures: list[Departure], sources: Iterable[Any], since: int
) -> Departure | None:
    """The first departure of a tensor that came from one of some nodes, or None."""
    nodes = set(sources)
    return next((d for d in departures if _comes_from(d.node, nodes, since)), None)


def _comes_from(node: Node, sources: Container[Any], since: int) -> bool:
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
