"""Edges: 0 and -0, ties, infinities, subnormal and huge numbers, in one entry or in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ....core.reverse import reached
from ....errors import NotDifferentiableError, SingularMatrixError
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of, random_like
from .comparing import Run, attempted, first_of, fresh
from .differing import inner

VALUES = {
    "0": 0.0, "-0": -0.0, "a subnormal number": 1e-310, "a tiny number": 1e-200,
    "3.3": 3.3, "-3.3": -3.3, "30": 30.0, "-30": -30.0,
    "a large number": 1e30, "a huge number": 1e300, "-inf": -numpy.inf, "inf": numpy.inf,
}
_KINKS = ("0", "-0", "a tie")
_QUICK = ("0", "a subnormal number", "a huge number", "-inf", "inf")
_MOST = 1e3  # at larger numbers, differences say nothing about oscillating functions
_SLACK = 1e-3
_ENTRIES = 8
_STEPS = {"floor_divide", "remainder", "fmod"}
Direction = list[Any]
"""One array per argument: 1 in the entries that move together, else 0."""


@law("edges", "a gradient that is NaN or wrong at 0, -0, ties, infinities, tiny or huge numbers")
def edges(subject: Subject) -> Iterator[Finding]:
    """At edges the gradient is finite if the slopes are; at kinks it lies between the slopes."""
    point = fresh(subject)
    if not all(numpy_of(x).dtype.name == "float64" for x in point):
        yield not_applicable("edges are tried in float64 only")
        return
    for i, x in enumerate(point):
        if numpy_of(x).size:
            yield from _of_argument(subject, point, i)
    if len(point) == 2 and numpy_of(point[0]).size and point[0].shape == point[1].shape:
        tied = [like(x, numpy_of(point[0])) for x in point]
        yield _at(subject, tied, _entries(tied, 0, [0]), "a tie")
        yield _at(subject, tied, _entries(tied, 1, [0], _entries(tied, 0, [0])), "a tie")


def _of_argument(subject: Subject, point: Sequence[Any], i: int) -> Iterator[Finding]:
    """Edges in each entry of an argument; kinks also in all entries, and in a pair."""
    values = numpy_of(point[i])
    first, every = _entries(point, i, [0]), _entries(point, i, slice(None))
    for name, edge in VALUES.items():
        one = values.copy()
        one.flat[0] = edge
        yield _at(subject, _with(point, i, one), first, name)
        if values.size > 1 and name in _KINKS:
            full = _with(point, i, numpy.full_like(values, edge))
            yield _at(subject, full, first, name)
            yield _at(subject, full, every, name)
    known, _ = attempted(_pulled, subject, list(point))
    for k in _others(values.size):
        yield from _of_entry(subject, point, i, k, known is not None and known[i].flat[k] == 0)
    if values.size > 1:
        one = values.copy()
        one.flat[0] = one.flat[-1]
        tied = _with(point, i, one)
        yield _at(subject, tied, first, "a tie")
        yield _at(subject, tied, _entries(point, i, [0, -1]), "a tie")


def _others(size: int) -> list[int]:
    """The entries after the first; of a large array only some, with the last among them."""
    return sorted({int(k) for k in numpy.linspace(1, size - 1, _ENTRIES)}) if size > 1 else []


def _of_entry(
    subject: Subject, point: Sequence[Any], i: int, k: int, unused: bool
) -> Iterator[Finding]:
    """Edges in a later entry: the slopes at 0, and elsewhere whether the gradient is finite.

    unused   the value does not depend on the entry; there 0 * inf is NaN in every library
    """
    values = numpy_of(point[i])
    for name in _QUICK:
        if unused and numpy.isinf(VALUES[name]):
            continue
        one = values.copy()
        one.flat[k] = VALUES[name]
        at = _with(point, i, one)
        if name == "0" or _is_suspect(subject, at):
            yield _at(subject, at, _entries(point, i, [k]), f"{name}, entry {k},")


def _is_suspect(subject: Subject, point: list[Any]) -> bool:
    """Whether the gradient is not finite, or an error, where the value is finite."""
    result, error = attempted(lambda: _pulled(subject, point))
    return error is not None or (
        result is not None and not all(numpy.isfinite(g).all() for g in result))


def _pulled(subject: Subject, point: list[Any]) -> list[Any] | None:
    """The gradients at a point; None if the value is not finite there."""
    run = Run(subject, point)
    return run.pull(run.cotangents(50)) if all(map(_is_finite, run.outs)) else None


def _with(point: Sequence[Any], i: int, values: Any) -> list[Any]:
    return [like(x, values) if j == i else x for j, x in enumerate(point)]


def _entries(point: Sequence[Any], i: int, flat: Any, more: Direction | None = None) -> Direction:
    """The direction that moves some entries of argument i, added to another direction."""
    made = [numpy.zeros(numpy_of(x).shape) for x in point] if more is None else more
    made = [numpy.array(d) for d in made]
    made[i].reshape(-1)[flat] = 1.0
    return made


def _at(subject: Subject, point: list[Any], d: Direction, name: str) -> Finding:
    """Tests the gradient along entries that move together, at an edge of these entries."""
    where = f"{name} in {' and '.join(n for n, a in zip(subject.names, d, strict=True) if a.any())}"
    run, error = attempted(lambda: Run(subject, point))
    if error is not None or any(not _is_finite(o) for o in run.outs):
        return not_applicable(f"not defined at {where}")
    cotangents = run.cotangents(50)
    result, error = attempted(lambda: run.pull(cotangents))
    about = f"gradient of `{subject.name}` at {where}"
    if isinstance(error, (NotDifferentiableError, SingularMatrixError)):
        return not_applicable(f"raises at {where}: {first_of(error)}")
    if error is not None:
        return failed(
            about, "a gradient, because the value is finite", first_of(error), inputs=point
        )
    seen = float(sum(g[a > 0].sum() for g, a in zip(result, d, strict=True)))
    at = max(float(numpy.abs(numpy_of(x)[a > 0]).max(initial=0)) for x, a in zip(
        point, d, strict=True))
    sides = [_side(subject, point, d, cotangents, sign, at) for sign in (-1.0, 1.0)]
    if any(s is None for s in sides):
        return passed(f"the slope at {where} is not finite")
    low, high = sorted(float(s or 0.0) for s in sides)
    slack = _SLACK * max(1.0, abs(low), abs(high))
    together = sum(int(a.sum()) for a in d) > 1
    if numpy.isnan(seen):
        fix = "replace the operands before dividing: where(x == 0, 1, x); or pullback.safe_where"
    elif at < _MOST and not low - slack <= seen <= high + slack and not _is_beside(
            subject, point, d, cotangents, (low, high, seen)):
        fix = ("at a kink return a number between both slopes, such as their mean"
               if high - low > slack else
               "tied entries share one gradient: give it to one entry, or a part to each"
               if together else "correct the rule for such numbers")
    elif at >= _MOST and not _is_noise(seen, result) and _is_wrong_far_out(
            subject, point, d, (low, high, seen), at):
        fix = "correct the rule for such numbers: an intermediate result overflows, or is cut off"
    else:
        return passed(f"at {where}")
    return failed(
        about + ", moved together" * together,
        f"a number from {low:.6g} to {high:.6g}, the slopes on both sides",
        f"{seen:.6g}", fix, inputs=point, wanted=numpy.array([low, high]), seen=numpy.array(seen),
    )


def _is_noise(seen: float, gradients: Sequence[Any]) -> bool:
    """Whether a number is within the rounding errors of gradients that have been computed."""
    finite = [numpy.abs(g[numpy.isfinite(g)]).max(initial=0) for g in gradients]
    return bool(0 < abs(seen) <= 4 * float(numpy.finfo(float).eps) * float(max(finite)))


def _is_wrong_far_out(
    subject: Subject, point: Sequence[Any], d: Direction, known: tuple[float, float, float],
    at: float,
) -> bool:
    """Whether the gradient differs from the slopes at a large number, where both sides agree.

    The gradient must also be steady: that of an oscillating function changes with each bit of its
    argument, and so differs from every slope.
    """
    low, high, seen = known
    size = max(abs(low), abs(high))
    if not high - low <= 1e-3 * size or abs(seen - low) <= 1e-2 * size:
        return False
    if max(size, abs(seen)) * at <= _SLACK or _has_steps(subject, point):  # or it is rounding noise
        return False
    if seen == 0 and _is_flat(subject, d):
        return False
    for step in (-1e-4, 3e-5, 1e-4):
        near = [like(x, numpy_of(x) * (1 + step * a)) for x, a in zip(point, d, strict=True)]
        result, error = attempted(_pulled, subject, near)
        if error is not None or result is None:
            return False
        other = float(sum(g[a > 0].sum() for g, a in zip(result, d, strict=True)))
        if other != seen and not abs(other - seen) <= 1e-2 * abs(seen):
            return False
    return True


def _is_flat(subject: Subject, d: Direction) -> bool:
    """Whether values and gradients show no slope at the examples: it has steps, as `round`."""
    point = fresh(subject)
    near = [like(x, numpy_of(x) + 1e-6 * a) for x, a in zip(point, d, strict=True)]
    known, _ = attempted(_pulled, subject, point)
    outs = [[numpy_of(o) for o in Run(subject, at).outs] for at in (point, near)]
    if known is None or any(g[a > 0].any() for g, a in zip(known, d, strict=True)):
        return False
    return all(numpy.array_equal(a, b) for a, b in zip(*outs, strict=True))


def _has_steps(subject: Subject, point: Sequence[Any]) -> bool:
    """Whether the function has steps or teeth, which cannot be told apart at large numbers."""
    outs = subject.of(*subject.tensors(list(point), requires_grad=True))
    nodes = reached({o._node: None for o in outs if o._node is not None}, None)
    return any(getattr(n.op, "flat", False) or n.name() in _STEPS for n in nodes)


def _is_beside(
    subject: Subject, point: Sequence[Any], d: Direction, cotangents: Sequence[Any],
    known: tuple[float, float, float],
) -> bool:
    """Whether the gradient also lies between the slopes at points close by.

    Where several entries have a kink together, as the smallest singular value of a zero matrix has,
    gradients nearby need not lie between the slopes of one entry (Clarke's subdifferential).
    """
    low, high, seen = known
    rng = subject.rng(51)
    for _ in range(16):
        near = [like(x, numpy_of(x) + 1e-2 * random_like(numpy_of(x), rng)) for x in point]
        slope = _side(subject, near, d, cotangents, 1.0, 1.0)
        if slope is not None:
            low, high = min(low, slope), max(high, slope)
    slack = _SLACK * max(1.0, abs(low), abs(high))
    return low - slack <= seen <= high + slack


def _side(
    subject: Subject, point: Sequence[Any], d: Direction, cotangents: Sequence[Any], sign: float,
    at: float,
) -> float | None:
    """The slope on one side along a direction; None if it does not converge."""
    if not numpy.isfinite(at):
        return _far(subject, point, d, cotangents)
    found = []
    for size in (1e-4, 1e-5):
        h = sign * size * max(1.0, at)
        moved = [like(x, numpy_of(x) + h * a) for x, a in zip(point, d, strict=True)]
        change, error = attempted(_change, subject, point, moved, cotangents)
        if error is not None or not numpy.isfinite(change):
            return None
        found.append(change / h)
    coarse, fine = found
    return fine if abs(coarse - fine) <= 2e-3 * max(1.0, abs(coarse), abs(fine)) else None


def _far(
    subject: Subject, point: Sequence[Any], d: Direction, cotangents: Sequence[Any]
) -> float | None:
    """0 if the value at infinity equals that at a very large number, else None."""
    large = [like(x, numpy.where(a > 0, numpy.sign(numpy_of(x)) * 1e300, numpy_of(x)))
             for x, a in zip(point, d, strict=True)]
    change, error = attempted(lambda: _change(subject, point, large, cotangents))
    return 0.0 if error is None and change == 0 else None


def _change(
    subject: Subject, here: Sequence[Any], there: Sequence[Any], cotangents: Sequence[Any]
) -> float:
    before, after = subject.meant(list(here)), subject.meant(list(there))
    return inner(cotangents, [numpy_of(a) - numpy_of(b) if numpy_of(a).dtype.kind in "fc" else a
                              for a, b in zip(after, before, strict=True)])


def _is_finite(x: Any) -> bool:
    x = numpy_of(x)
    return bool(numpy.isfinite(x).all()) if x.dtype.kind in "fc" else True
