"""Laws that use differences: lost inputs, missing conjugates, values saved without history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy

from ....autograd import gradients
from ....core.tensor import Tensor, raw
from ....errors import NotDifferentiableError
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, like, numpy_of, random_like
from .comparing import Run, attempted, first_of, fresh

STEP = 1e-4


def along(f: Callable[[float], float]) -> float | None:
    """The derivative of f at 0; None if differences with two steps disagree (a kink)."""

    def central(h: float) -> float:
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

    (coarse, fine), error = _both(lambda: (central(STEP), central(STEP / 4)))
    if error is not None or not numpy.isfinite([coarse, fine]).all():
        return None
    return fine if abs(coarse - fine) <= 1e-5 * max(1.0, abs(coarse), abs(fine)) else None


def _both(run: Callable[[], tuple[float, float]]) -> tuple[tuple[float, float], Exception | None]:
    result, error = attempted(run)
    return (result if error is None else (0.0, 0.0)), error


def inner(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Σ Re(a* b) over pairs of arrays; skips pairs without a left one."""
    return float(sum(
        numpy.sum(numpy.real(numpy.conj(numpy_of(a)) * numpy_of(b)))
        for a, b in zip(left, right, strict=True) if a is not None
    ))


def _moved(point: Sequence[Any], i: int, by: Any) -> list[Any]:
    return [like(x, numpy_of(x) + by) if j == i else x for j, x in enumerate(point)]


def values_at(subject: Subject, point: Sequence[Any]) -> list[Any]:
    """The outputs at a point, as raw arrays."""
    return subject.values(list(point))


def _is_precise(point: Sequence[Any]) -> bool:
    return all(numpy_of(x).dtype.itemsize >= 8 and numpy_of(x).size for x in point)


@law("lost input", "a rule that returns None, or zero, for an input that the value depends on")
def lost(subject: Subject) -> Iterator[Finding]:
    """If the value changes with an input, the gradient w.r.t. this input is not zero."""
    point = fresh(subject)
    if not _is_precise(point):
        yield not_applicable("finite differences need float64")
        return
    run = Run(subject, point)
    cotangents = run.cotangents(6)
    for i, g in enumerate(run.pull(cotangents)):
        if numpy.any(g):
            yield passed(f"{subject.names[i]} has a gradient")
            continue
        slope = _slope(subject, point, i, cotangents, random_like(g, subject.rng(7)))
        if slope is None or abs(slope) < 1e-6:
            yield passed(f"the value does not depend on {subject.names[i]}")
        else:
            yield failed(
                f"gradient of `{subject.name}` w.r.t. {subject.names[i]}",
                f"not zero: the value changes by {slope:.6g} along a random direction",
                "None or zeros", "return a gradient for each argument", inputs=point,
            )


def _slope(
    subject: Subject, point: Sequence[Any], i: int, cotangents: Sequence[Any], d: Any
) -> float | None:
    return along(lambda t: inner(cotangents, subject.meant(_moved(point, i, t * d))))


@law("conjugate", "a complex gradient that lacks a conjugation, or has one too many")
def conjugate(subject: Subject) -> Iterator[Finding]:
    """The gradient w.r.t. a complex input is dL/dRe + i dL/dIm."""
    point = fresh(subject)
    places = [i for i, x in enumerate(point) if numpy_of(x).dtype.kind == "c"]
    if not places or not _is_precise(point):
        yield not_applicable("no complex input" if not places else "differences need complex128")
        return
    run = Run(subject, point)
    cotangents = run.cotangents(8)
    found = run.pull(cotangents)
    for i in places:
        for unit, name in ((1.0, "real"), (1j, "imaginary")):
            d = unit * random_like(numpy_of(point[i]).real, subject.rng(9))
            wanted = _slope(subject, point, i, cotangents, d)
            seen = inner([found[i]], [d])
            if wanted is None or abs(seen - wanted) <= 1e-5 * max(1.0, abs(wanted)):
                yield passed(f"{subject.names[i]} along the {name} axis")
            else:
                yield failed(
                    f"gradient of `{subject.name}` w.r.t. {subject.names[i]}, {name} axis",
                    f"{wanted:.8g}, by differences", f"{seen:.8g}",
                    "in custom gradients multiply by conj(f'(z)); in rules of @op by f'(z)",
                    inputs=point, difference=abs(seen - wanted),
                )


@law("untracked", "a value saved without its history, so that second derivatives lack a term")
def untracked(subject: Subject) -> Iterator[Finding]:
    """The derivative of the recorded gradient agrees with differences of the gradient."""
    point = fresh(subject)
    if subject.order < 2 or not _is_precise(point):
        yield not_applicable("order=1: no second derivatives" if subject.order < 2
                             else "finite differences need float64")
        return
    cotangents = Run(subject, point).cotangents(10)
    weights = [random_like(numpy_of(x), subject.rng(11 + i)) for i, x in enumerate(point)]
    twice, error = attempted(lambda: _second(subject, point, cotangents, weights))
    if error is not None:
        yield _refused(subject, error)
        return
    for i, g in enumerate(twice):
        d = random_like(g, subject.rng(20 + i))
        wanted = along(partial(_weighed, subject, point, cotangents, weights, i, d))
        seen = inner([g], [d])
        if wanted is None or abs(seen - wanted) <= 1e-4 * max(1.0, abs(wanted)):
            yield passed(f"second derivative w.r.t. {subject.names[i]}")
        else:
            yield failed(
                f"second derivative of `{subject.name}` w.r.t. {subject.names[i]}",
                f"{wanted:.8g}, by differences of the gradient", f"{seen:.8g}",
                "save inputs and outputs, or compute in the rule from them; do not save "
                "NumPy arrays or tensors without history", inputs=point,
                difference=abs(seen - wanted),
            )


def _refused(subject: Subject, error: Exception) -> Finding:
    """The finding for a second derivative that raises, by declaration or by mistake."""
    if isinstance(error, NotDifferentiableError) and "made inside forward" in str(error):
        return failed(
            f"second derivative of `{subject.name}`", f"one, for order=2: {error.expected}",
            error.got, f"{error.fix}; or check with order=1", inputs=subject.point,
        )
    return not_applicable(f"raises: {first_of(error)}")


def _weighed(
    subject: Subject, point: Sequence[Any], cotangents: Sequence[Any], weights: Sequence[Any],
    i: int, d: Any, t: float,
) -> float:
    """The gradients with argument i moved by t · d, times weights."""
    return inner(weights, Run(subject, _moved(point, i, t * d)).pull(cotangents))


def _second(
    subject: Subject, point: Sequence[Any], cotangents: Sequence[Any], weights: Sequence[Any]
) -> list[Any]:
    tensors = subject.tensors(list(point), requires_grad=True)
    with steady(0):
        outs = subject.of(*tensors)
    live = [(o, c) for o, c in zip(outs, cotangents, strict=True)
            if c is not None and o._node is not None]
    with steady(1):
        once = gradients(
            [o for o, _ in live], tensors, [Tensor(c) for _, c in live], create_graph=True,
            materialize_grads=True,
        )
        ends = [(g, Tensor(like(g, w))) for g, w in zip(once, weights, strict=True)
                if g._node is not None]
        if not ends:
            return [numpy.zeros_like(numpy_of(x)) for x in point]
        found = gradients([g for g, _ in ends], tensors, [w for _, w in ends],
                          materialize_grads=True)
    return [numpy_of(raw(g)) for g in found]
