"""Where a tracked tensor lost its history: the last thousand places, for whoever asks why.

Kept for each thread, by weak references, so that nothing lives longer. Operations that are recorded
pay nothing for it.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from types import FrameType
from typing import Any
from weakref import ref

from .node import Leaf, Node, number
from .state import _PULLING, QUIET, SPECIAL, state
from .tensor import is_inexact

LEFT, STOPPED, NO_DERIVATIVE, INTEGER, OFF, OUTSIDE, OVERWRITTEN = (
    "left", "stopped", "no derivative", "integer", "recording off", "outside", "overwritten",
)
"""Kinds of cuts: what `Cut.kind` is."""
MOST = 1000
"""So many cuts are remembered, and as many of operations that were not recorded."""
_NEAR = 8
_PACKAGE = __file__[: -len("core/cuts.py")]


class Cut:
    """One place: its kind, the operation, the line, weakly what went in and what came out.

    number   its place in the order of recording
    sources  weak references to the nodes whose tensors went in, and to some that those came from
    replaces whether the result has the shape of a leaf that went in, whose place it may take
    result   a weak reference to the result (a Tensor or array), or a function that gives a number
    """

    __slots__ = ("file", "kind", "line", "number", "operation", "replaces", "result", "sources")

    def __init__(self, kind: str, operation: str, parents: Any, result: Any) -> None:
        self.kind, self.operation = kind, operation
        self.file, self.line = place()
        self.number = number()
        self.sources = _near(parents)
        self.replaces = any(
            p.__class__ is Leaf and result is not None and p.shape == result.shape for p in parents
        )
        try:
            self.result: Any = None if result is None else ref(result)
        except TypeError:  # numbers
            self.result = lambda: result

    def __repr__(self) -> str:
        return f"<Cut {self.kind}: {self.operation} at {self.file}:{self.line}>"


def place() -> tuple[str, int]:
    """The file and line of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE):
            return name, frame.f_lineno
        frame = frame.f_back
    return "an unknown file", 0


def _near(parents: Any) -> list[Any]:
    """Weak references to nodes and the nearest that they came from, which may outlive them."""
    found = [p for p in parents if p is not None]
    for node in found:
        if len(found) >= _NEAR:
            break
        if node.__class__ is not Leaf:
            found.extend(p for p in node.parents if p is not None and p not in found)
    return [ref(node) for node in found]


class _Kept(threading.local):
    def __init__(self) -> None:
        self.cuts: deque[Cut] = deque(maxlen=MOST)
        self.off: deque[Cut] = deque(maxlen=MOST)


_kept = _Kept()


def cut(kind: str, operation: str, parents: Any, result: Any) -> None:
    """Remember that history is lost just now, at the user's line."""
    _kept.cuts.append(Cut(kind, operation, parents, result))


def lost(op: Any, parents: tuple[Node | None, ...], out: Any) -> Any:
    """Remember that an operation on tracked tensors is not recorded; the result, without a node."""
    out._node = None
    now = state()
    if now is QUIET or now is _PULLING:  # the library's own
        return out
    if not op.differentiable:
        _kept.cuts.append(Cut(NO_DERIVATIVE, op.name, parents, out))
    elif not is_inexact(out._data):
        _kept.cuts.append(Cut(INTEGER, op.name, parents, out))
    elif now.mode & ~SPECIAL < min(p.level for p in parents if p is not None):
        _kept.off.append(Cut(OUTSIDE if now.enabled else OFF, op.name, parents, out))
    return out


def cuts() -> list[Cut]:
    """The cuts of this thread that are remembered, in order."""
    return sorted([*_kept.cuts, *_kept.off], key=lambda c: c.number)


def forget() -> None:
    """Start anew, as the program that is explained does."""
    _kept.cuts.clear()
    _kept.off.clear()
