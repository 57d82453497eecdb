"""Where tracked tensors lost their history.

An operation whose result has no history (recording is off, or it has no derivative) reports that to
observers only, and `debug` is one; it costs nothing otherwise. The last thousand calls of each
thread that take values out of the library, or drop history on purpose (`detach`), are always noted.
Everything is held by weak references, so that nothing lives longer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from operator import itemgetter
from types import CodeType
from typing import Any
from weakref import ref

from ._user_code import user_frame
from .arrays import constant
from .arrays.inexact import inexact_dtypes
from .core.above import above, provide
from .core.inplace import immutable
from .core.node import Leaf, Node, number
from .core.observe import notify
from .core.state import NORMAL, state
from .core.tensor import Tensor, wrap

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


kept = _Kept()


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
    (kept.off if kind in (OFF, OUTSIDE) else kept.lost).append((
        number(), kind, operation, code, at, near, known, ids, out, replaces,
    ))


@provide
def unrecorded(op: Any, parents: tuple[Node | None, ...], out: Any) -> None:
    """Tell observers that an operation on tracked tensors was not recorded."""
    now = state()
    in_rules = now.purpose != NORMAL
    seeing = [o for o in now.observers if not in_rules or getattr(o, "in_rules", False)]
    if not seeing:
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
    for observer in seeing:
        if "lost" in observer.sees:
            observer.lost(kind, op.name, parents, out, replaces)


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
        kept.lost.append((number(), kind, by, code, at, [ref(node)], 0, (), ref(made), False))
    if now.observers:
        notify("lost", kind, by, (node,), made, False)


def losses() -> list[Lost]:
    """The lost paths of this thread that are kept, in order."""
    return [Lost(*entry) for entry in sorted([*kept.lost, *kept.off], key=itemgetter(0))]


def forget() -> None:
    """Drop the lost paths of this thread."""
    kept.lost.clear()
    kept.off.clear()


def detached(x: Any, by: str) -> Any:
    """The values of a tensor, sharing memory, without history; `by` names the call."""
    made = wrap(x._out, constant(data := x._shared()))
    if immutable(data):
        above.share(x, made)
    dropped(STOPPED, x._node, by, made)
    return made


def held_fixed(x: Any) -> Any:
    """The values of a tensor without history; for functions that need no derivative of a part.

    It is not noted: nothing is lost there.

    >>> import pullback as pb
    >>> held_fixed(pb.tensor([1.0], requires_grad=True)).requires_grad
    False
    """
    return wrap(x._out, constant(x._shared())) if isinstance(x, Tensor) else x


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
