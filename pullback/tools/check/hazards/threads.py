"""Two threads that call the function at once: no state may go from one call to the other."""

from __future__ import annotations

import contextvars
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import restoring
from ..subject import Subject
from ..words import is_theirs
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst

STEPS, PATIENCE = 40, 0.1
"""The most lines that threads wait for each other at, and the longest wait in seconds."""
_FIX = "keep values in ctx, in residuals or in local variables; not in globals or attributes"


@law("threads", "state shared between calls, which two threads that run at once overwrite")
def threads(subject: Subject) -> Iterator[Finding]:
    """Two threads at different points get the results of one thread.

    At each line of the user's code, each thread waits until the other one is as far.
    """
    point, other = fresh(subject), subject.draw(subject.rng(14))
    if not subject.accepts(other):
        yield not_applicable("it is not defined near the examples")
        return
    runs = [Run(subject, at) for at in (point, other)]
    cotangents = runs[0].cotangents(15)
    known, error = attempted(lambda: [[*r.outs, *r.pull(cotangents)] for r in runs])
    if error is not None or _draws(subject, point, cotangents, known[0]):
        yield not_applicable("its gradient draws random numbers, or raises in one thread too")
        return

    def whole(at: Sequence[Any]) -> list[Any]:
        run = Run(subject, at)
        return [*run.outs, *run.pull(cotangents)]

    yield _compared(subject, "at the same time", known, together(
        [lambda: whole(point), lambda: whole(other)]))
    run = Run(subject, point)
    yield _compared(subject, "with its backward in another thread", [known[0][len(run.outs):]],
                    together([lambda: run.pull(cotangents)]))


def _draws(subject: Subject, point: list[Any], cotangents: list[Any], known: list[Any]) -> bool:
    """Whether the results change with the random seed, which threads share."""
    seed = subject.seed
    try:
        subject.seed = seed + 17
        run = Run(subject, point)
        return not agree(known, [*run.outs, *run.pull(cotangents, seed=3)])
    finally:
        subject.seed = seed


def together(calls: Sequence[Callable[[], Any]]) -> list[tuple[Any, Exception | None]]:
    """The results, or errors, of functions that run in a thread each, at the same time."""
    found: list[Any] = [None] * len(calls)
    pace = _Lockstep(len(calls))

    def work(i: int) -> None:
        sys.settrace(pace.tracer(i))
        try:
            found[i] = attempted(calls[i])
        finally:
            sys.settrace(None)
            pace.leave(i)

    with restoring():  # once, in this thread: the generators are those of the whole process
        workers = [  # settings around the check, such as overrides, hold in the threads too
            threading.Thread(target=contextvars.copy_context().run, args=(work, i), daemon=True)
            for i in range(len(calls))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return found


class _Lockstep:
    """Lets threads run the user's code line by line, each one line at a time.

    If one of them does not arrive, because it waits for a lock that the other holds, they run on
    without steps.
    """

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._steps: list[float] = [0] * count

    def tracer(self, i: int) -> Callable[..., Any]:
        """The trace function of a thread."""

        def at_line(frame: Any, event: str, arg: Any) -> Any:
            if event == "line":
                self._step(i)
            return at_line

        def at_call(frame: Any, event: str, arg: Any) -> Any:
            running = self._steps[i] < STEPS
            return at_line if running and is_theirs(frame.f_code.co_filename) else None

        return at_call

    def _step(self, i: int) -> None:
        if self._steps[i] >= STEPS:
            return
        with self._changed:
            self._steps[i] += 1
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: min(self._steps) >= self._steps[i], PATIENCE):
                self._steps = [math.inf] * len(self._steps)

    def leave(self, i: int) -> None:
        """A thread has ended: the others do not wait for it."""
        with self._changed:
            self._steps[i] = math.inf
            self._changed.notify_all()


def _compared(
    subject: Subject, how: str, known: list[Any], seen: list[tuple[Any, Exception | None]]
) -> Finding:
    for wanted, (found, error) in zip(known, seen, strict=True):
        if error is None and agree(wanted, found):
            continue
        w, s, gap = (None, None, None) if error is not None else worst(wanted, found)
        return failed(
            f"`{subject.name}` in two threads, {how}",
            "the result of one thread" + ("" if w is None else f", {in_words(w)}"),
            first_of(error) if error is not None else in_words(s), _FIX, inputs=subject.point,
            wanted=w, seen=s, difference=gap,
        )
    return passed(how)
