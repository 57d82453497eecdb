"""Edges: 0 and -0, ties, infinities, subnormal and huge numbers, in one entry or in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of, random_like
from .comparing import Run, attempted, first_of, fresh
from .differing import inner, values_at

VALUES = {
    "0": 0.0, "-0": -0.0, "a subnormal number": 1e-310, "a tiny number": 1e-200,
    "a large number": 1e30, "a huge number": 1e300, "-inf": -numpy.inf, "inf": numpy.inf,
}
_KINKS = ("0", "-0", "a tie")
_SLACK = 1e-3


@law("edges", "a gradient that is NaN or wrong at 0, -0, ties, infinities, tiny or huge numbers")
def edges(subject: Subject) -> Iterator[Finding]:
    """At edges the gradient is finite where slopes are, and at kinks lies between them."""
    point = fresh(subject)
    if not all(numpy_of(x).dtype.name == "float64" for x in point):
        yield not_applicable("edges are tried in float64")
        return
    if subject.surrogate is not None:
        yield not_applicable("a surrogate says what the gradient is")
        return
    for i, x in enumerate(point):
        values = numpy_of(x)
        if not values.size:
            continue
        for name, edge in VALUES.items():
            one = values.copy()
            one.flat[0] = edge
            yield _at(subject, _with(point, i, one), i, name)
            if values.size > 1 and name in _KINKS:
                yield _at(subject, _with(point, i, numpy.full_like(values, edge)), i, name)
        if values.size > 1:
            tied = values.copy()
            tied.flat[0] = tied.flat[-1]
            yield _at(subject, _with(point, i, tied), i, "a tie")
    if len(point) == 2 and numpy_of(point[0]).size and point[0].shape == point[1].shape:
        yield _at(subject, [like(x, numpy_of(point[0])) for x in point], 0, "a tie")


def _with(point: Sequence[Any], i: int, values: Any) -> list[Any]:
    return [like(x, values) if j == i else x for j, x in enumerate(point)]


def _at(subject: Subject, point: list[Any], i: int, name: str) -> Finding:
    """The gradient in the first entry of argument i, at a point where that is an edge."""
    run, error = attempted(lambda: Run(subject, point))
    if error is not None or any(not _is_finite(o) for o in run.outs):
        return not_applicable(f"not defined at {name}")
    cotangents = run.cotangents(50)
    answer, error = attempted(lambda: run.pull(cotangents))
    who = f"gradient of `{subject.name}` at {name} in argument {i}"
    if error is not None:
        return failed(who, "a gradient, as the value is finite", first_of(error), inputs=point)
    seen = float(answer[i].flat[0])
    sides = [_side(subject, point, i, cotangents, sign) for sign in (-1.0, 1.0)]
    if any(s is None for s in sides):
        return passed(f"the slope at {name} is not finite")
    low, high = sorted(float(s or 0.0) for s in sides)
    slack = _SLACK * max(1.0, abs(low), abs(high))
    if numpy.isnan(seen):
        fix = "where(x == 0, 0, …) around the quotient, of safe operands; or pullback.safe_where"
    elif name in _KINKS and not low - slack <= seen <= high + slack and not _is_beside(
            subject, point, i, cotangents, (low, high, seen)):
        fix = "at a kink take a number between both sides, such as their middle"
    else:
        return passed(f"at {name}, argument {i}")
    return failed(
        who, f"a number from {low:.6g} to {high:.6g}, the slopes on both sides", f"{seen:.6g}",
        fix, inputs=point, wanted=numpy.array([low, high]), seen=numpy.array(seen),
    )


def _is_beside(
    subject: Subject, point: Sequence[Any], i: int, cotangents: Sequence[Any],
    known: tuple[float, float, float],
) -> bool:
    """Whether a gradient lies between slopes at points close by too.

    Where entries meet in a kink, as in the smallest singular value of a matrix of zeros, gradients
    beside it need not lie between the slopes along one entry (Clarke's subdifferential).
    """
    low, high, seen = known
    rng = subject.rng(51)
    for _ in range(16):
        near = [like(x, numpy_of(x) + 1e-2 * random_like(numpy_of(x), rng)) for x in point]
        slope = _side(subject, near, i, cotangents, 1.0)
        if slope is not None:
            low, high = min(low, slope), max(high, slope)
    slack = _SLACK * max(1.0, abs(low), abs(high))
    return low - slack <= seen <= high + slack


def _side(
    subject: Subject, point: Sequence[Any], i: int, cotangents: Sequence[Any], sign: float
) -> float | None:
    """The slope on one side along the first entry; None where it does not settle."""
    values = numpy_of(point[i])
    at = float(values.flat[0])
    if not numpy.isfinite(at):
        return _far(subject, point, i, cotangents)
    found = []
    for size in (1e-4, 1e-5):
        h = sign * size * max(1.0, abs(at))
        moved = values.copy()
        moved.flat[0] = at + h
        outs, error = attempted(
            lambda moved=moved: _change(subject, point, _with(point, i, moved), cotangents)  # type: ignore[misc]
        )
        if error is not None or not numpy.isfinite(outs):
            return None
        found.append(outs / h)
    coarse, fine = found
    return fine if abs(coarse - fine) <= 2e-3 * max(1.0, abs(coarse), abs(fine)) else None


def _far(
    subject: Subject, point: Sequence[Any], i: int, cotangents: Sequence[Any]
) -> float | None:
    """0 where the value at infinity is that at a very large number, else None."""
    values = numpy_of(point[i]).copy()
    values.flat[0] = numpy.sign(values.flat[0]) * 1e300
    change, error = attempted(
        lambda: _change(subject, point, _with(point, i, values), cotangents)
    )
    return 0.0 if error is None and change == 0 else None


def _change(
    subject: Subject, here: Sequence[Any], there: Sequence[Any], cotangents: Sequence[Any]
) -> float:
    before, after = values_at(subject, here), values_at(subject, there)
    return inner(cotangents, [numpy_of(a) - numpy_of(b) if numpy_of(a).dtype.kind in "fc" else a
                              for a, b in zip(after, before, strict=True)])


def _is_finite(x: Any) -> bool:
    x = numpy_of(x)
    return bool(numpy.isfinite(x).all()) if x.dtype.kind in "fc" else True
