"""Repeated calls: forward and backward twice, interleaved, reseeded, one array passed twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from ..finding import Finding, failed, passed
from ..laws import law
from ..subject import Subject, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst


@law("repeatable", "a freed cache, a changed state, random numbers drawn again, one array twice")
def repeatable(subject: Subject) -> Iterator[Finding]:
    """The same computation has the same result, regardless of other calls in between."""
    point = fresh(subject)
    run = Run(subject, point)
    first = run.cotangents()
    wanted = run.pull(first)

    def found(what: str, ask: Callable[[], Any], fix: str, want: Any = wanted) -> Finding:
        return _again(subject, what, ask, fix, want)

    yield found("with a second backward pass", lambda: run.pull(first),
                "keep the values that backward reads: it may run more than once")
    yield found("under another seed of the random numbers", lambda: run.pull(first, seed=2),
                "save the numbers drawn in forward; do not draw again in backward")
    again, error = attempted(lambda: Run(subject, point))
    if error is not None:
        yield failed(f"`{subject.name}`, called twice", "the same value", first_of(error))
        return
    yield found("called a second time", lambda: again.outs, "keep no state between calls", run.outs)
    yield found("gradient of a second call", lambda: again.pull(first),
                "keep no state between calls")
    other, error = attempted(lambda: Run(subject, subject.draw(subject.rng(4))))
    if error is None:
        apart, error = attempted(lambda: other.pull(first))
    if error is None:
        yield found("after another call in between", lambda: run.pull(first),
                    "save values per call, not per function")
        yield found("after another backward in between", lambda: other.pull(first),
                    "save values per call, not per function", apart)
    yield from _same_twice(subject, point)


def _again(
    subject: Subject, what: str, ask: Callable[[], Any], fix: str, wanted: Sequence[Any]
) -> Finding:
    seen, error = attempted(ask)
    about = f"`{subject.name}`, {what}"
    if error is not None:
        return failed(about, "the same result", first_of(error), fix, inputs=subject.point)
    if agree(wanted, seen):
        return passed(what)
    w, s, gap = worst(wanted, seen)
    return failed(about, f"the same result, {in_words(w)}", in_words(s), fix, inputs=subject.point,
                  wanted=w, seen=s, difference=gap)


def _same_twice(subject: Subject, point: Sequence[Any]) -> Iterator[Finding]:
    """f(x, x) has the gradient of f(x, copy of x)."""
    for i, x in enumerate(point):
        for j in range(i + 1, len(point)):
            y = point[j]
            if x.shape != y.shape or x.dtype != y.dtype:
                continue
            same, copied = list(point), list(point)
            same[j] = x
            copied[j] = numpy.array(x) if isinstance(x, numpy.ndarray) else x + 0
            run, error = attempted(Run, subject, copied)
            if error is not None:
                continue
            cotangents = run.cotangents(5)
            wanted = [*map(numpy_of, run.outs), *run.pull(cotangents)]
            yield _again(
                subject, f"with one array as arguments {i} and {j}",
                lambda same=same, cs=cotangents: _all(Run(subject, same), cs),  # type: ignore[misc]
                "tell arguments apart by position, not by identity", wanted,
            )


def _all(run: Run, cotangents: Sequence[Any]) -> list[Any]:
    return [*run.outs, *run.pull(cotangents)]
