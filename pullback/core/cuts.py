"""Where a tracked tensor lost its history: the last thousand places, for whoever asks why.

Kept for each thread, by weak references, so that nothing lives longer. Operations that are recorded
pay nothing for it.
"""

from __future__ import annotations

import threading
from collections import deque
from operator import itemgetter
from types import CodeType
from typing import Any
from weakref import ref

from .._user_code import user_frame
from .node import Leaf, Node, number
from .state import _PULLING, IN_RULE, QUIET, SPECIAL, state
from .tensor import is_inexact

LEFT, STOPPED, NO_DERIVATIVE, INTEGER, OFF, OUTSIDE, OVERWRITTEN = (
    "left", "stopped", "no derivative", "integer", "recording off", "outside", "overwritten",
)
"""Kinds of cuts: what `Cut.kind` is."""
MOST = 1000
"""So many cuts are remembered, and as many of operations that were not recorded."""
_NEAR = 6
Raw = tuple[int, str, str, Any, int, list[Any], int, tuple[int, ...], Any, bool]


class Cut:
    """One place: its kind, the operation, the line, weakly what went in and what came out.

    number   its place in the order of recording
    sources  weak references to the nodes whose tensors went in, and to some that those came from
    whole    whether `sources` are enough to know all that it came from, those that live, or None
             where some are gone
    ids      the numbers (`identity`) of the nodes that went in, known inside a debug block
    replaces whether the result has the shape of a leaf that went in, whose place it may take
    result   a weak reference to the result, a Tensor; None where it is no Tensor
    """

    __slots__ = (
        "file", "ids", "kind", "line", "number", "operation", "replaces", "result", "sources",
        "whole",
    )

    def __init__(
        self, number: int, kind: str, operation: str, code: Any, at: int, near: list[Any],
        known: int, ids: tuple[int, ...], result: Any, replaces: bool,
    ) -> None:
        self.number, self.kind, self.operation = number, kind, operation
        self.file: str = "an unknown file" if code is None else code.co_filename
        self.line: int = 0 if code is None else _line(code, at)
        self.sources = near
        # What is gone and known came from what is among the sources too.
        self.whole = all(n() is not None for n in near[known:])
        self.ids, self.result, self.replaces = ids, result, replaces

    def __repr__(self) -> str:
        return f"<Cut {self.kind}: {self.operation} at {self.file}:{self.line}>"


def identity(node: Node) -> int:
    """The number that tells a node from all others, also when it is gone."""
    return node.born if isinstance(node, Leaf) else node.seq


def _line(code: CodeType, at: int) -> int:
    """The line of an instruction of a code object."""
    for start, end, line in code.co_lines():
        if start <= at < end and line is not None:
            return line
    return code.co_firstlineno


class _Kept(threading.local):
    def __init__(self) -> None:
        self.cuts: deque[Raw] = deque(maxlen=MOST)
        self.off: deque[Raw] = deque(maxlen=MOST)


_kept = _Kept()


def cut(
    kind: str, operation: str, parents: Any, result: Any, replaces: bool = False
) -> None:
    """Remember that history is lost just now, at the user's line.

    This runs in everybody's loops, so a `Cut` is made only when somebody asks. Nodes that the
    nearest came from may outlive them, so they are known too.
    """
    frame = user_frame()
    near: list[Any] = []
    behind: list[Any] = []
    for node in parents:
        if node is None:
            continue
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
    ids = tuple([identity(p) for p in parents if p is not None]) if state().lines else ()
    code, at = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    out = None if result is None else ref(result)
    (_kept.off if kind is OFF or kind is OUTSIDE else _kept.cuts).append((
        number(), kind, operation, code, at, near, known, ids, out, replaces,
    ))


def lost(op: Any, parents: tuple[Node | None, ...], out: Any) -> Any:
    """Remember that an operation on tracked tensors is not recorded; the result, without a node."""
    out._node = None
    now = state()
    if now is QUIET or now is _PULLING or now is IN_RULE:  # nobody's history
        return out
    if not op.differentiable:
        cut(NO_DERIVATIVE, op.name, parents, out)
    elif not is_inexact(out._data):
        cut(INTEGER, op.name, parents, out)
    elif now.mode & ~SPECIAL < min(p.level for p in parents if p is not None):
        replaces = any(p.__class__ is Leaf and p.shape == out.shape for p in parents)
        cut(OUTSIDE if now.enabled else OFF, op.name, parents, out, replaces)
    return out


def cuts() -> list[Cut]:
    """The cuts of this thread that are remembered, in order."""
    return [Cut(*c) for c in sorted([*_kept.cuts, *_kept.off], key=itemgetter(0))]


def forget() -> None:
    """Start anew, as the program that is explained does."""
    _kept.cuts.clear()
    _kept.off.clear()
