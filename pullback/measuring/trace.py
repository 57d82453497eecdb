"""Events of a profile, and how they are written down as a Chrome trace.

The format is Chrome's Trace Event Format: an object with `traceEvents`, of which one with `ph` "X"
is complete, with its beginning and duration in microseconds; "M" names the process and the thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from .units import extent_of, shape_text


class Event:
    """One call of a kernel, run of a program, or step of a pull. Times are in nanoseconds.

    kind         "kernel", "program" (of a graph), "step", or "hand-written step"
    name, line   of the operation, and where it was called, or recorded
    shapes       of the arguments; of a step, of the cotangents
    shape, dtype, nbytes   of what it handed out
    begin, end   `spent`: what profiling itself took in between
    inner        the time of events inside; `outer` is the event that this one is inside
    failed       it ended with an exception
    """

    __slots__ = ("begin", "dtype", "end", "failed", "inner", "kind", "line", "name", "nbytes",
                 "outer", "shape", "shapes", "spent")

    def __init__(self, kind: str, name: str, line: str, shapes: list[Any]) -> None:
        self.kind, self.name, self.line, self.shapes = kind, name, line, shapes
        self.begin = self.end = self.inner = self.spent = self.nbytes = 0
        self.shape: Any = None
        self.dtype: Any = None
        self.outer: Event | None = None
        self.failed = False

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a pull."""
        return self.kind.endswith("step")

    @property
    def taken(self) -> int:
        """The time between, without what profiling took."""
        return self.end - self.begin - self.spent

    def made(self, answer: Any) -> None:
        """Take note of what came out."""
        parts = answer if isinstance(answer, (list, tuple)) else [answer]
        there = [p for p in parts if hasattr(p, "dtype")]
        self.nbytes = sum(map(extent_of, there))
        if there:
            self.shape, self.dtype = getattr(there[0], "shape", None), there[0].dtype

    def is_backward(self) -> bool:
        """Whether it is, or is inside, a step of a pull."""
        event: Event | None = self
        while event is not None:
            if event.is_step:
                return True
            event = event.outer
        return False


def trace_text(events: Sequence[Event], began: int, thread: int) -> str:
    """The text of a trace, whose times begin with a number of nanoseconds."""
    process = os.getpid()
    names = [("process_name", "pullback"), ("thread_name", "profiled thread")]
    written: list[dict[str, Any]] = [
        {"ph": "M", "name": name, "pid": process, "tid": thread, "ts": 0, "args": {"name": value}}
        for name, value in names
    ]
    written += [_written(event, began, process, thread) for event in events]
    return json.dumps({"traceEvents": written, "displayTimeUnit": "ns"})


def _written(event: Event, began: int, process: int, thread: int) -> dict[str, Any]:
    return {
        "ph": "X", "name": event.name + (" (backward)" if event.is_step else ""),
        "cat": "backward" if event.is_backward() else "forward", "pid": process, "tid": thread,
        "ts": (event.begin - began) / 1000, "dur": (event.end - event.begin) / 1000,
        "args": {
            "kind": event.kind, "line": event.line,
            "shapes": [shape_text(tuple(s)) for s in event.shapes],
            "out": shape_text(None if event.shape is None else tuple(event.shape), event.dtype),
            "bytes": event.nbytes, "failed": event.failed,
        },
    }
