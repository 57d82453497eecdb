"""Events of a profile, and their Chrome trace.

The format is Chrome's Trace Event Format: an object with `traceEvents`; an event with `ph` "X" is
complete, with its start and duration in microseconds; "M" names the process and the thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from .units import extent_of, shape_text


class Event:
    """One kernel call, run of a program, or backward step. Times are in nanoseconds.

    kind         "kernel", "program" (of a graph), "step", or "hand-written step"
    name, line   the operation, and the line that called or recorded it
    shapes       of the arguments; for a step, of the cotangents
    shape, dtype, nbytes   of the returned arrays
    begin, end   start and end; `spent` is the cost of profiling in between
    inner        the time of the events inside; `outer` is the enclosing event
    failed       whether it ended with an exception
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
        """Whether it is a backward step."""
        return self.kind.endswith("step")

    @property
    def taken(self) -> int:
        """The time from begin to end, without the cost of profiling."""
        return self.end - self.begin - self.spent

    def made(self, result: Any) -> None:
        """Records the returned arrays."""
        parts = result if isinstance(result, (list, tuple)) else [result]
        there = [p for p in parts if hasattr(p, "dtype")]
        self.nbytes = sum(map(extent_of, there))
        if there:
            self.shape, self.dtype = getattr(there[0], "shape", None), there[0].dtype

    def is_backward(self) -> bool:
        """Whether it is, or is inside, a backward step."""
        event: Event | None = self
        while event is not None:
            if event.is_step:
                return True
            event = event.outer
        return False


def trace_text(events: Sequence[Event], began: int, thread: int) -> str:
    """The text of a trace; times are relative to `began` (nanoseconds)."""
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
