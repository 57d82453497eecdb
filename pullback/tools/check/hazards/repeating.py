"""Repeated calls: forward and backward twice, interleaved, reseeded, in one expression, one tensor
passed twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy

from ....autograd import gradients
from ....core.op import OPS
from ....core.tensor import Tensor, is_inexact, raw
from ..finding import Finding, failed, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, copied, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst


@law("repeatable", "a freed cache, a changed state, random numbers drawn again, one tensor twice")
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
    yield from _used_twice(subject, point)
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


def _used_twice(subject: Subject, point: Sequence[Any]) -> Iterator[Finding]:
    """f(x) + f(y), two calls that get the same cotangent, has the gradients of f(x) and f(y)."""
    points = [list(point), subject.draw(subject.rng(16))]
    tensors = [subject.tensors(p, requires_grad=True) for p in points]

    def of_sum() -> tuple[list[Any], list[Any]]:
        outs = []
        for some in tensors:
            with steady(subject.seed):
                outs.append([o for o in subject.of(*some) if is_inexact(raw(o))])
        sums = [OPS["add"](a, b) for a, b in zip(*outs, strict=True)]
        cotangents = subject.cotangents(sums, subject.rng(17))
        with steady(subject.seed + 1):
            found = gradients(sums, [t for some in tensors for t in some],
                              [Tensor(c) for c in cotangents], materialize_grads=True)
        return cotangents, [numpy_of(raw(g)) for g in found]

    result, error = attempted(of_sum)
    if error is not None:  # it is not defined near the examples, or its outputs change their shape
        return
    cotangents, seen = result
    wanted = []
    for p in points:
        run, error = attempted(Run, subject, p)
        if error is not None:
            return
        given = iter([copied(c) for c in cotangents])  # not the same objects
        wanted += run.pull([next(given) if is_inexact(raw(o)) else None for o in run.outs])
    yield _again(
        subject, "used twice in one expression, f(x) + f(y)", lambda: seen,
        "save values per call, not per function, and never by the identity of a cotangent", wanted,
    )


def _same_twice(subject: Subject, point: Sequence[Any]) -> Iterator[Finding]:
    """f(x, x) has the gradient of f(x, copy of x), also if x is the same Tensor."""
    fix = "tell arguments apart by position, not by identity"
    for i, x in enumerate(point):
        for j in range(i + 1, len(point)):
            y = point[j]
            if x.shape != y.shape or x.dtype != y.dtype:
                continue
            same, apart = list(point), list(point)
            same[j] = x
            apart[j] = numpy.array(x) if isinstance(x, numpy.ndarray) else x + 0
            run, error = attempted(Run, subject, apart)
            if error is not None:
                continue
            cotangents = run.cotangents(5)
            gs = run.pull(cotangents)
            yield _again(
                subject, f"with one array as arguments {i} and {j}",
                partial(_anew, subject, same, cotangents), fix, [*map(numpy_of, run.outs), *gs],
            )
            gs[i] = gs[i] + gs[j]
            yield _again(
                subject, f"with one tensor as arguments {i} and {j}",
                partial(_of_one_tensor, subject, same, (i, j), cotangents), fix,
                gs[:j] + gs[j + 1:],
            )


def _anew(subject: Subject, point: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The values and gradients of another run."""
    return _all(Run(subject, point), cotangents)


def _of_one_tensor(
    subject: Subject, point: Sequence[Any], places: tuple[int, int], cotangents: Sequence[Any]
) -> list[Any]:
    """The gradients of all arguments but the second of two, for which the first is passed too."""
    first, second = places
    tensors = subject.tensors(list(point), requires_grad=True)
    tensors[second] = tensors[first]
    with steady(subject.seed):
        outs = subject.of(*tensors)
    live = [(o, c) for o, c in zip(outs, cotangents, strict=True)
            if c is not None and o._node is not None]
    with steady(subject.seed + 1):
        found = gradients([o for o, _ in live], tensors[:second] + tensors[second + 1:],
                          [Tensor(c) for _, c in live], materialize_grads=True)
    return [numpy_of(raw(g)) for g in found]


def _all(run: Run, cotangents: Sequence[Any]) -> list[Any]:
    return [*run.outs, *run.pull(cotangents)]
