"""Searches for the smallest input that still fails, with a bounded number of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from .case import Case
from .subject import like, numpy_of

CALLS = 40


def shrunk(case: Case, fails: Callable[[Case], bool], calls: int = CALLS) -> Case:
    """A case at a smaller point that fails too; the case itself if none is found."""
    going = True
    while going and calls > 0:
        going = False
        for point in _smaller(case.point):
            calls -= 1
            if calls < 0:
                break
            try:
                other = Case(case.subject, point, 3)
                if other.finite and other.true.found and fails(other):
                    case, going = other, True
                    break
            except Exception:  # the function is not defined there
                continue
    return case


def _smaller(point: list[Any]) -> Iterator[list[Any]]:
    """Points with one axis shortened in one or all arrays, and points with rounder numbers."""
    lengths = sorted({n for x in point for n in x.shape if n > 1}, reverse=True)
    for n in lengths:
        for part in (slice(0, 1), slice(0, n // 2), slice(n // 2, n)):
            if part.stop - (part.start or 0) < n:
                yield [x[tuple(part if m == n else slice(None) for m in x.shape)] for x in point]
    for digits in (0, 1):
        rounded = [numpy.round(numpy_of(x).astype(complex), digits) for x in point]
        if any((r != numpy_of(x)).any() for r, x in zip(rounded, point, strict=True)):
            yield [like(x, r if numpy_of(x).dtype.kind == "c" else r.real)
                   for x, r in zip(point, rounded, strict=True)]
