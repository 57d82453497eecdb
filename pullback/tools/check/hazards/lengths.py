"""Axes of other lengths than the examples have: finds rules that assume these lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from ..case import Case
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..numeric import NOWHERE, ready, wrong, wrong_gradient
from ..subject import Subject, like, numpy_of
from .comparing import attempted, first_of

_FIX = "take lengths from the inputs, not from the examples"
_MOST = 3
_SMALL = 8  # of an axis that is tried much longer: rules may work in pieces


@law("lengths", "a rule that is right for axes of the examples' lengths only")
def lengths(subject: Subject) -> Iterator[Finding]:
    """With axes of length 1, longer by one, or much longer, the gradient is the derivative."""
    found = sorted({n for x in subject.best for n in numpy_of(x).shape if n})
    cases = ready(subject)
    if not found or not cases:
        yield not_applicable("its arguments have no axes" if cases else NOWHERE)
    elif any(map(wrong, cases)):
        yield not_applicable("the gradient is wrong at the examples already")
    else:
        for n in found[:_MOST]:
            for m in (1, n + 1, *[4 * n + 3] * (n == found[0] <= _SMALL)):
                if m != n:
                    yield _at(subject, subject.best, n, m)


def _at(subject: Subject, point: Sequence[Any], n: int, m: int) -> Finding:
    """Tests the function with every axis of length n replaced by one of length m."""
    rng = subject.rng(100 + 7 * n + m)
    given = [like(x, _resized(numpy_of(x), n, m, rng)) for x in point]
    where = f"length {m} in place of {n}"
    if not subject.accepts(given):
        return not_applicable(f"the function does not accept {where}")
    case = Case(subject, given, 17)
    usable, error = attempted(lambda: case.finite and case.true.found)
    if error is None and not usable:
        return not_applicable(f"not smooth and finite at {where}")
    if error is None:
        result, error = attempted(lambda: wrong(case))
    about = f"gradient of `{subject.name}` with {where}"
    if error is not None:
        return failed(about, "a gradient, because it has a value", first_of(error), _FIX,
                      inputs=given)
    return replace(wrong_gradient(case), subject=about, fix=_FIX) if result else passed(where)


def _resized(x: Any, n: int, m: int, rng: numpy.random.Generator) -> Any:
    """An array with all axes of length n resized to m, with distinct entries."""
    for axis, length in enumerate(x.shape):
        if length == n:
            x = numpy.take(x, numpy.arange(m) % n, axis)
    return x * (1 + 0.2 * rng.uniform(-1, 1, x.shape))
