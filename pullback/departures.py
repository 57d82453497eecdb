"""Values of tracked tensors that leave the library: what is told of them, and what refuses them.

In the function of a transformation, one that comes from an argument is an error (`Refusing`). Other
receivers keep them for a warning (`follow`), or hand them on out of a checkpoint (`Within`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy

from ._user_code import calls_outside, line_outside
from .arrays import adapters
from .core.above import provide
from .core.node import Node
from .core.state import Scoped, state
from .errors import LostGradientError, LostGradientWarning, warn
from .lost_paths import LEFT, Lost, own_node, remember


class Departure:
    """The values of a tracked tensor left the library: of a node, by a call, at a line.

    live   whether an operation in their place would have been recorded, or carried a tangent
    """

    __slots__ = ("by", "line", "live", "node")

    def __init__(self, node: Node, by: str, line: str, live: bool) -> None:
        self.node, self.by, self.line, self.live = node, by, line, live


followed: Scoped[tuple[Any, ...]] = Scoped("departures", ())
"""What receives every departure of this thread, by `append`."""


marked: Scoped[list[Any] | None] = Scoped("marked departures", None)
"""In a rule that runs once more: the calls that let NaN leave in place of values; else None."""


@provide
def left(node: Node | None, by: str, data: Any = None) -> Any:
    """Note that the values of a tensor leave the library: a tracked one, or one in a forward.

    data  the array, which is returned as one of NumPy
    """
    _note_forward(by)
    if node is not None:
        remember(LEFT, by, (node,))
        _tell(node, by)
    if data is None:
        return None
    values = adapters[data.__class__].numpy(data)
    marks = marked.get()
    if marks is None or node is None or values.dtype.kind not in "fc":
        return values
    marks.append(by)
    return numpy.full_like(values, numpy.nan)


def _tell(node: Node, by: str) -> None:
    lists = followed.get()
    if lists:
        hand_on(lists, Departure(node, by, line_outside(), state().differentiates([node])))


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
            f"{_instead(departure.by)}; or x.detach() for a constant, or to print or log it",
        )


_LISTS = {"tensor()", "a new tensor made of a list"}
_NUMBERS = {"float()", "int()", "complex()", ".item()"}
_STACKED = "pullback.stack for an array of tensors"


def _instead(by: str) -> str:
    """What to write for a call by which tracked values leave the library."""
    if by in _LISTS:
        return f"use pullback.asarray, which keeps derivatives ({_STACKED})"
    if by in _NUMBERS:
        return f"leave out {by}: a tensor of one entry computes as a number does"
    calls = calls_outside()
    for module, name in calls:
        package, chapter, _ = f"{module}..".split(".", 2)
        if package == "scipy":
            own = f"{_PACKAGE}.{chapter}"
            if chapter in _CHAPTERS and name in import_module(own).__all__:
                return f"use {own}.{name}, which has a derivative"
            if name in _SOLVERS:
                return f"use {_PACKAGE}.{_SOLVERS[name]}, which has a derivative"
        elif package == "numpy" and not calls[0][0].startswith("scipy"):
            place = "numpy.linalg" if chapter == "linalg" else "numpy"
            if hasattr(sys.modules[place], name):
                return f"pass {place}.{name} one tensor ({_STACKED})"
    return f"use pullback's operation there ({_STACKED})"


_PACKAGE = __name__.partition(".")[0]
_CHAPTERS = ("fft", "linalg", "special")
"""Modules with names of SciPy."""
_SOLVERS = {"fsolve": "root", "odeint": "odeint", "root": "root", "solve_ivp": "odeint"}
"""SciPy's solvers -> the function with a derivative."""

_intended: set[CodeType] = set()
_alone: set[int] = set()
_ends: set[int] = set()
_stops: set[int] = set()
"""Ids of the code of hand-written forwards, which may be called from C; of the other functions that
may leave, and of those in `_began`; and of both."""


def may_leave(function: _Function) -> _Function:
    """Declare that what runs in a function may leave: it has a derivative of its own."""
    _intended.add(function.__code__)
    _ends.add(id(function.__code__))
    _stops.add(id(function.__code__))
    return function


def is_forward(function: Any, *, recorded: bool = False) -> None:
    """Declare that a function is the forward of a hand-written gradient, where it has code.

    recorded  it is recorded, too: what runs in it may leave
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        _forwards.setdefault(id(code), (code, "", ""))
        _alone.add(id(code))
        _stops.add(id(code))
        if recorded:
            _intended.add(code)


def begins(function: _Function) -> _Function:
    """Declare that a function calls that of a transformation."""
    _began.add(function.__code__)
    _ends.add(id(function.__code__))
    _stops.add(id(function.__code__))
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


_forwards: dict[int, tuple[CodeType, str, str]] = {}
"""The code of a function that a hand-written gradient called, by id -> itself, and by which call at
which line tensors left in it, or empty texts."""


def _note_forward(by: str) -> None:
    """Note of the functions that run, up to the call of a hand-written gradient, that they left."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and id(frame.f_code) not in _stops:  # most often none is found
        frame = frame.f_back
    if frame is None or (id(frame.f_code) in _ends and frame.f_code not in _intended):
        return
    frame, codes = sys._getframe(2), []
    while frame is not None and id(code := frame.f_code) not in _ends:
        codes.append(code)
        if id(code) in _alone:
            break
        frame = frame.f_back
    if frame is not None and (frame.f_code in _intended or id(frame.f_code) in _alone):
        for code in codes:
            if not _forwards.get(id(code), ("", ""))[1]:
                _forwards[id(code)] = code, by, line_outside()


def in_forward(cut: Lost) -> bool:
    """Whether a lost path is in the forward of a hand-written gradient, whose rule has its part."""
    return cut.kind == LEFT and bool(_forwards.get(id(cut._code), ("", ""))[1])


def departed_in(forwards: Iterable[Any], nodes: Iterable[Any]) -> list[Departure]:
    """A departure of each of some nodes, if tensors have left the library in a forward.

    forwards  the functions that may have let them leave, in this call or an earlier one
    """
    for function in forwards:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        _, by, line = _forwards.get(id(code), (code, "", ""))
        if by:
            return [Departure(node, by, line, True) for node in nodes if node is not None]
    return []


def follow() -> tuple[list[Departure], Any]:
    """A list that receives the departures from now on, and the argument of `unfollow`."""
    seen: list[Departure] = []
    return seen, followed.set((*followed.get(), seen))


unfollow = followed.set
"""End `follow`; restoring the state from before it does the same."""


class Within:
    """Receives departures in a checkpoint, and hands them on as those of its arguments.

    ends    the node of an argument inside -> its node outside
    since   the number at which the checkpoint began
    told    whether there was one
    """

    def __init__(self, ends: Mapping[Node, Node], since: int) -> None:
        self.ends, self.since, self.told = ends, since, False
        self.outside, self.state = followed.get(), state()

    def append(self, departure: Departure) -> None:
        """Take note of a departure."""
        self.told = True
        found = list(dict.fromkeys(self._outer(departure.node)))
        for node in found:
            if node is not departure.node:
                remember(LEFT, departure.by, (node,))
        on = departure.live or state().enabled  # the first run carries no tangents
        for node in found or [departure.node]:
            live = departure.live or (on and self.state.differentiates([node]))
            hand_on(self.outside, Departure(node, departure.by, departure.line, live))

    def _outer(self, node: Node) -> Iterator[Node]:
        """The nodes from before the checkpoint that one inside comes from."""
        seen, stack = {node}, [node]
        while stack:
            now = stack.pop()
            if now in self.ends:
                yield self.ends[now]
            elif now.seq <= self.since:
                yield now
            else:
                fresh = [p for p in now.parents if p is not None and p not in seen]
                seen.update(fresh)
                stack.extend(fresh)


class WithinTangents:
    """As `Within`, while a checkpoint computes tangents.

    tangents  what has a tangent inside
    sources   the nodes outside that have one
    """

    def __init__(self, tangents: Container[Any], sources: Sequence[Node]) -> None:
        self.tangents, self.sources, self.outside = tangents, sources, followed.get()

    def append(self, departure: Departure) -> None:
        """Take note of a departure."""
        if _comes_from(departure.node, self.tangents, 0):
            for node in self.sources:
                hand_on(
                    self.outside, Departure(node, departure.by, departure.line, departure.live)
                )


def hand_on(lists: Sequence[Any], departure: Departure) -> None:
    """Tell all that receive departures, the innermost first."""
    for seen in reversed(lists):
        seen.append(departure)


def departs(x: Any, by: str) -> None:
    """Tell what follows departures that a call takes the values of a tensor out of its history."""
    if followed.get() and (node := own_node(x)) is not None:
        _tell(node, by)


def warn_of_lost(
    departures: list[Departure], missing: Container[Any], since: int, subject: str
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
    departures: list[Departure], sources: Container[Any], since: int
) -> Departure | None:
    """The first departure of a tensor that came from one of some nodes, or None."""
    nodes = set(sources) if isinstance(sources, (list, tuple)) else sources
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
