"""`profile`: times the forward and backward pass, by operation and by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import get_ident, get_native_id
from time import perf_counter_ns as clock
from typing import Any, NamedTuple

from ..._files import write_file
from ..._user_code import user_line
from ...core.node import Node, line_of
from ...core.observe import Calls, Run, observing
from ...core.op import OPS, Op
from ...core.state import setting
from ...core.tensor import Tensor
from ...errors import ArgumentError
from ...graphs.subgraph_call import Piece
from ..table import Table, page
from .trace import Event, trace_text
from .units import bytes_text, seconds_text, share_text

EARLIER = "(recorded before)"


class Row(NamedTuple):
    """The times of one operation or line, in seconds.

    calls, forward    outermost kernel calls (not inside another kernel or step), and their time
    steps, backward   outermost backward steps, and their time
    nested            calls and steps inside others; their time counts for the outermost one
    own               time in the operation itself, without operations that it called
    bytes             of the arrays that its calls and steps returned
    """

    name: str
    calls: int
    forward: float
    steps: int
    backward: float
    nested: int
    own: float
    bytes: int


class Profile:
    """The measurements of a `with profile():` block; complete when the block has ended.

    events   every kernel call, run of a graph's program, and backward step, ordered by start time
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._stack: list[Event] = []
        self._spent = 0
        self._thread = get_ident()
        self._number = get_native_id()  # 32 bits, as trace viewers expect
        self._began = clock()
        self._ended = 0

    # Recording ------------------------------------------------------------------------------

    def _kernel(
        self, op: Any, kernel: Callable[..., Any], args: tuple[Any, ...], attrs: Mapping[str, Any]
    ) -> Any:
        if get_ident() != self._thread:
            return kernel(*args, **attrs)
        entered = clock()
        line = self._stack[-1].line if self._stack else user_line()
        kind = "program" if isinstance(op, Run) else "kernel"
        event = Event(kind, op.name, line, [getattr(a, "shape", ()) for a in args])
        return self._timed(event, lambda: kernel(*args, **attrs), entered)

    def _step(self, node: Node, g: Any, step: Callable[[], list[Any]]) -> list[Any]:
        if get_ident() != self._thread:
            return step()
        entered = clock()
        traced = isinstance(node.op, Piece)
        kind = "step" if traced or isinstance(node.op, Op) else "hand-written step"
        name = f"function {node.name()}" if traced else node.name()
        shapes = [getattr(c, "shape", ()) for c in (g if isinstance(g, list) else [g])]
        event = Event(kind, name, line_of(node) or EARLIER, shapes)
        results: list[Any] = self._timed(event, step, entered)
        return results

    def _timed(self, event: Event, run: Callable[[], Any], entered: int) -> Any:
        """Runs a function as an event inside the current event."""
        stack = self._stack
        event.outer = stack[-1] if stack else None
        self.events.append(event)
        stack.append(event)
        event.spent = self._spent
        event.begin = clock()
        try:
            result = run()
        except BaseException:
            event.failed = True
            raise
        else:
            event.end = clock()
            event.made(result)
            return result
        finally:
            if event.failed:
                event.end = clock()
            stack.pop()
            event.spent = self._spent - event.spent
            if event.outer is not None:
                event.outer.inner += event.taken
            self._spent += clock() - entered - (event.end - event.begin)

    # Results --------------------------------------------------------------------------------

    @property
    def wall(self) -> float:
        """Seconds in the block, without the measured cost of profiling."""
        return ((self._ended or clock()) - self._began - self._spent) * 1e-9

    @property
    def forward(self) -> float:
        """Seconds in kernels, and programs of graphs, outside backward passes."""
        return sum(e.taken for e in self.events if e.outer is None and not e.is_step) * 1e-9

    @property
    def backward(self) -> float:
        """Seconds in the steps of backward passes."""
        return sum(e.taken for e in self.events if e.outer is None and e.is_step) * 1e-9

    @property
    def outside(self) -> float:
        """Seconds in neither: Python, recording, and the backward pass between its steps."""
        return self.wall - self.forward - self.backward

    @property
    def cost(self) -> float:
        """Seconds that profiling took: measured, and subtracted from every other number."""
        return self._spent * 1e-9

    @property
    def slowdown(self) -> float:
        """Estimated further seconds of profiling, not subtracted; see `calibrated`."""
        return calibrated() * len(self.events)

    def rows(self, grouping: str = "operation") -> list[Row]:
        """Returns a `Row` per operation or line, the slowest first.

        Raises `ArgumentError` for another grouping.
        """
        if grouping not in ("operation", "line"):
            raise ArgumentError("argument `by` of profile", '"operation" or "line"', repr(grouping))
        groups: dict[str, list[Event]] = {}
        for event in self.events:
            name = event.name if grouping == "operation" else event.line
            groups.setdefault(name, []).append(event)
        made = [_row(name, group) for name, group in groups.items()]
        return sorted(made, key=lambda r: (-(r.forward + r.backward), -r.own))

    def by(self, grouping: str = "operation") -> Table:
        """Returns the table by "operation" or "line"."""
        rows, whole = self.rows(grouping), self.wall
        heads = (grouping, ">calls", ">forward", ">steps", ">backward", ">share", ">nested",
                 ">own", ">bytes")
        cells = [
            (r.name, f"{r.calls}", seconds_text(r.forward), f"{r.steps}", seconds_text(r.backward),
             share_text(r.forward + r.backward, whole), f"{r.nested}", seconds_text(r.own),
             bytes_text(r.bytes)) for r in rows
        ]
        return Table(self._headline(), heads, cells, self._notes())

    def _headline(self) -> str:
        return (
            f"{seconds_text(self.wall)}: forward {seconds_text(self.forward)} in kernels, backward "
            f"{seconds_text(self.backward)} in steps, {seconds_text(self.outside)} outside both"
        )

    def _notes(self) -> Iterator[str]:
        yield (f"profiling took {seconds_text(self.cost)}, which is subtracted, and about "
               f"{seconds_text(self.slowdown)}, which is not")
        hand = dict.fromkeys(e.name for e in self.events if e.kind == "hand-written step")
        if hand:
            yield f"custom gradients: {', '.join(hand)}"
        if any(e.kind == "program" for e in self.events):
            yield "a traced function, or a run of a session, is one call: its kernels are not timed"
        yield "only this thread is timed, and nothing that JAX compiled"

    def __str__(self) -> str:
        return str(self.by())

    __repr__ = __str__

    def __rich__(self) -> Any:
        """Returns the table by operation, for rich."""
        return self.by().__rich__()

    def html(self) -> str:
        """Returns both tables as a self-contained HTML page."""
        return page("profile", [self.by("operation"), self.by("line")])

    def _repr_html_(self) -> str:
        return self.by().html()

    def save(self, path: Any) -> None:
        """Writes a Chrome trace (.json), an HTML page (.html) or the table (.txt).

        A trace opens in chrome://tracing and in Perfetto. Raises `ArgumentError` for another
        suffix.
        """
        path = Path(path)
        made = {".json": lambda: trace_text(self.events, self._began, self._number),
                ".html": self.html, ".txt": lambda: f"{self}\n"}.get(path.suffix)
        if made is None:
            raise ArgumentError("argument `path` of Profile.save", "a name that ends in .json, "
                                ".html or .txt", repr(str(path)))
        write_file(path, made())


def _row(name: str, group: list[Event]) -> Row:
    calls = [e for e in group if e.outer is None and not e.is_step]
    steps = [e for e in group if e.outer is None and e.is_step]
    return Row(
        name, len(calls), sum(e.taken for e in calls) * 1e-9, len(steps),
        sum(e.taken for e in steps) * 1e-9, len(group) - len(calls) - len(steps),
        sum(e.taken - e.inner for e in group) * 1e-9,
        sum(e.nbytes for e in (*calls, *steps)),
    )


@contextmanager
def profile() -> Iterator[Profile]:
    """Context manager: returns a `Profile` with the times of kernels and backward steps inside.

    Custom gradients appear under the name of their function. A call of a traced function or a run
    of a session is one event, `function f` or `Session.run`, and the function's backward pass one
    step. The time of a kernel includes the kernels that it calls, as those of batched arrays do.
    Times only this thread. `.by("operation")` and `.by("line")` return tables;
    `.save("trace.json")` writes a Chrome trace.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with profile() as seen:
    ...     pb.sum(pb.exp(x)).backward()
    >>> sorted((row.name, row.calls, row.steps) for row in seen.rows() if row.steps)
    [('exp', 1, 1), ('sum', 1, 1)]
    """
    found = Profile()
    with _recorded(found):
        found._began = clock()
        try:
            yield found
        finally:
            found._ended = clock()


@contextmanager
def _recorded(found: Profile) -> Iterator[None]:
    with setting(lines=True), observing(
        Calls(kernel=found._kernel, step=found._step, runs=True)
    ):
        yield


@cache
def calibrated() -> float:
    """Seconds per event by which profiling slows a program down, beyond the cost it measures.

    From a chain of operations on one number, forward and backward, the fastest of several runs;
    measured once per process.
    """
    bare = min(_chain(None) for _ in range(5))
    seen = min(_chain(Profile()) for _ in range(5))
    return max(0.0, seen - bare) / (2 * _LENGTH)


_LENGTH = 64


def _chain(found: Profile | None) -> float:
    x = Tensor(1.0, requires_grad=True)
    began = clock()
    if found is None:
        _run(x)
        return (clock() - began) * 1e-9
    with _recorded(found):
        _run(x)
    return (clock() - began - found._spent) * 1e-9


def _run(x: Any) -> None:
    y = x
    for _ in range(_LENGTH):
        y = OPS["negative"](y)
    y.backward()
