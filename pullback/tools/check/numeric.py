"""The laws about numbers: derivatives against finite differences, and against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ...core.tensor import raw
from ...errors import NotDifferentiableError
from .case import Case, cases, inner, wide
from .differences import slope
from .finding import Finding, failed, not_applicable, passed
from .hints import by_entry, hint
from .laws import law
from .lost import advice
from .shrinking import shrunk
from .steady import steady
from .subject import Subject, like, numpy_of, random_like
from .words import in_words

NOWHERE = "no point was found near the examples where the function is smooth and finite"


def ready(subject: Subject) -> list[Case]:
    """Cases in the best precision: at the examples, and near them."""
    made: list[Case] | None = subject.kept.get("cases")
    if made is None:
        best = subject.best
        made = subject.kept["cases"] = cases(subject, [best, subject.near(best, subject.rng(7))])
    return made


def off(case: Case) -> tuple[float, float, float]:
    """⟨u, Jd⟩ by differences, ⟨Jᵀu, d⟩ by the rule, and their allowed difference."""
    wanted, size = inner(case.weights, case.true.values_trusted)
    seen, other = inner(case.gradient, case.direction)
    error = sum(
        float((numpy.abs(w) * numpy.where(t, e, 0)).sum())
        for w, e, t in zip(case.weights, case.true.errors, case.true.trusted, strict=True)
    )
    return wanted, seen, case.tolerance(size, other) + 30 * error


def wrong(case: Case) -> bool:
    """Whether the gradient disagrees with finite differences."""
    wanted, seen, allowed = off(case)
    return not abs(wanted - seen) <= allowed


@law("vjp", "A gradient that is not the derivative of the function (or of its surrogate).")
def check_vjp(subject: Subject) -> Iterator[Finding]:
    """The pullback of random cotangents, against finite differences."""
    found = ready(subject)
    if not found:
        yield not_applicable(NOWHERE)
    for case in found:
        if wrong(case):
            yield wrong_gradient(case)
            return
        yield passed(f"differences in {precision(case)}, {_accuracy(case)}", dtype=precision(case))


def _accuracy(case: Case) -> str:
    """How exact the finite differences are, relative to the derivative."""
    if case.true.error < 1:
        return f"off by at most {case.true.error:.0e}"
    off = max(float(e[t].max(initial=0)) for e, t in zip(
        case.true.errors, case.true.trusted, strict=True))
    return f"the derivative is zero up to {off:.0e}"


def precision(case: Case) -> str:
    """The dtypes of the point of a case."""
    return ", ".join(sorted({str(x.dtype).rpartition(".")[2] for x in case.point}))


def wrong_gradient(case: Case) -> Finding:
    """The failure at a smaller point, entry by entry, for the argument with the largest error."""
    small = shrunk(case, wrong)
    wanted = [numpy.where(numpy.isnan(w), s, w)
              for w, s in zip(by_entry(small), small.gradient, strict=True)]
    apart = [float(numpy.abs(w - s).max(initial=0))
             for w, s in zip(wanted, small.gradient, strict=True)]
    i = int(numpy.argmax(numpy.nan_to_num(numpy.array(apart), nan=numpy.inf)))
    subject, every = case.subject, [small, case, *ready(case.subject)]  # one entry says too little
    of = "its surrogate" if subject.surrogate else "the function"
    return failed(
        f"gradient of `{subject.name}` w.r.t. {subject.names[i]}, for a cotangent of "
        + ", ".join(map(in_words, small.weights)),
        f"the derivative of {of}: {in_words(wanted[i])}", in_words(small.gradient[i]),
        advice(subject, case.point, hint(
            [by_entry(c)[i] for c in every], [c.gradient[i] for c in every],
            [c.weights[0] for c in every if len(c.weights) == 1],
        )),
        dtype=precision(small), inputs=small.entries, wanted=wanted[i], seen=small.gradient[i],
        difference=apart[i],
    )


@law("jvp", "A tangent in forward mode that is not the derivative of the function.")
def check_jvp(subject: Subject) -> Iterator[Finding]:
    """The tangent along a random direction, against finite differences."""
    for case in ready(subject):
        try:
            seen = tangents(case)
        except NotDifferentiableError as error:
            yield not_applicable(f"forward mode raises: {error.got}", path="jvp")
            return
        for k, (s, v, e, t) in enumerate(zip(
            seen, case.true.values, case.true.errors, case.true.trusted, strict=True
        )):
            scale = float(numpy.abs(v[t]).max(initial=0)) + float(numpy.abs(s[t]).max(initial=0))
            apart = numpy.abs(s - v)[t]
            if not bool((apart <= case.tolerance(scale) + 30 * e[t]).all()):
                yield failed(
                    f"tangent of output {k} of `{subject.name}`{_of_the_gradient(case)}",
                    in_words(v), in_words(s), advice(subject, case.point, hint([v], [s])),
                    path="jvp", inputs=case.entries,
                    wanted=v, seen=s, difference=float(apart.max(initial=0)),
                    dtype=precision(case),
                )
                return
        yield passed(path="jvp", dtype=precision(case))
    if not ready(subject):
        yield not_applicable(NOWHERE, path="jvp")


def _of_the_gradient(case: Case) -> str:
    """A remark if the tangent was derived from the VJP rule, because no JVP rule was given."""
    from .hazards.marking import are_without_tangents, rules_of  # its package registers laws

    with steady(case.subject.seed):
        outs = case.subject.of(*case.subject.tensors(case.point, requires_grad=True))
    remark = ", derived from its VJP rule by transposition (it has no JVP rule)"
    return remark if are_without_tangents(rules_of([o._node for o in outs])) else ""


def tangents(case: Case) -> list[Any]:
    """The tangents of the inexact outputs along the direction, by forward mode."""
    ts = [like(x, d) for x, d in zip(case.point, case.direction, strict=True)]
    outs, found = case.subject.jvp(case.point, ts)
    return [
        wide(numpy_of(t)) for o, t in zip(outs, found, strict=True)
        if numpy_of(o).dtype.kind not in "biu"
    ]


@law("dot product", "A forward mode and a reverse mode that are not each other's transpose.")
def check_dot_product(subject: Subject) -> Iterator[Finding]:
    """⟨u, Jd⟩ = ⟨Jᵀu, d⟩."""
    for case in ready(subject)[:1]:
        try:
            one, size = inner(case.weights, [
                numpy.where(t, s, 0)
                for s, t in zip(tangents(case), case.true.trusted, strict=True)
            ])
        except NotDifferentiableError as error:
            yield not_applicable(f"forward mode raises: {error.got}", path="jvp")
            return
        two, other = inner(case.gradient, case.direction)
        if not abs(one - two) <= case.tolerance(size, other):
            yield failed(
                f"forward and reverse mode of `{subject.name}`", f"⟨u, Jd⟩ = {one:.12g}",
                f"⟨Jᵀu, d⟩ = {two:.12g}", "one of the two rules is wrong: see the laws vjp and jvp",
                path="jvp", inputs=case.entries, wanted=numpy.array(one), seen=numpy.array(two),
                difference=abs(one - two),
            )
        else:
            yield passed(path="jvp")


@law("linearity", "A rule that ignores its cotangent, or uses it in a way that is not linear.")
def check_linearity(subject: Subject) -> Iterator[Finding]:
    """The pullback of a·u + b·v, and of zeros."""
    for case in ready(subject)[:1]:
        other = [
            numpy.where(t, random_like(v, case.rng), 0)
            for v, t in zip(case.true.values, case.true.trusted, strict=True)
        ]
        a, b = 1.7, -2300.0
        largest_u = max((float(numpy.abs(u).max(initial=0)) for u in case.weights), default=0.0)
        noise = 1e3 * case.eps * abs(b) * largest_u  # for gradients that are zero up to rounding
        parts = zip(
            case.gradient, case.pulled(other),
            case.pulled([a * u + b * v for u, v in zip(case.weights, other, strict=True)]),
            case.pulled([0 * u for u in other]), strict=True,
        )
        for i, (g, h, both, nothing) in enumerate(parts):
            wanted = a * g + b * h
            apart = float(numpy.abs(both - wanted).max(initial=0))
            size = float((abs(a) * numpy.abs(g) + abs(b) * numpy.abs(h)).max(initial=0))
            if not apart <= case.tolerance(size) + noise or numpy.any(nothing):
                zero = bool(numpy.any(nothing))
                yield failed(
                    f"gradient of `{subject.name}` w.r.t. {subject.names[i]}, for a cotangent "
                    + ("of zeros" if zero else "that is a sum"),
                    "zeros" if zero else f"the sum of both gradients: {in_words(wanted)}",
                    in_words(nothing if zero else both),
                    "a rule must be linear in its cotangent: multiply by it exactly once",
                    inputs=case.entries, wanted=0 * nothing if zero else wanted,
                    seen=nothing if zero else both, difference=apart,
                )
                return
        yield passed()


@law("second order", "A gradient that cannot be differentiated, or whose gradient is wrong.")
def check_second(subject: Subject) -> Iterator[Finding]:
    """The gradient of the gradient, in both modes, against finite differences of the gradient."""
    if subject.order < 2:
        yield not_applicable("order=1: the function has first derivatives only")
        return
    for case in ready(subject)[:1]:
        yield from _second(case)


def _second(case: Case) -> Iterator[Finding]:
    from ...transforms.forward import jvp
    from ...transforms.reverse import vjp

    subject, n = case.subject, len(case.point)
    outs = case.pulling[0]
    live = [numpy_of(o).dtype.kind not in "biu" for o in outs]

    def first(*tensors: Any) -> list[Any]:
        _, pull = vjp(subject.of, *tensors[:n])
        given = iter(tensors[n:])
        return list(pull([next(given) if there else None for there in live]))

    us = [c for c in case.spread(case.weights) if c is not None]
    spaces = [*case.point, *us]
    entries = [*case.entries, *case.weights]
    direction = [*case.plain_direction, *(random_like(u, case.rng) for u in case.weights)]
    direction = [numpy.where(e == 0, 0, d) if k >= n else d
                 for k, (e, d) in enumerate(zip(entries, direction, strict=True))]
    scaled = [d * numpy.maximum(1.0, numpy.abs(e))
              for d, e in zip(direction, entries, strict=True)]

    def values(at: Sequence[Any]) -> list[Any]:
        tensors = subject.tensors_like(spaces, at)
        with steady(subject.seed):
            return [wide(numpy_of(raw(g))) for g in first(*tensors)]

    try:
        true = slope(values, entries, direction, case.eps)
        if not true.found:
            yield not_applicable("the gradient is not smooth near the examples")
            return
        weights = [numpy.where(t, random_like(v, case.rng), 0)
                   for v, t in zip(true.values, true.trusted, strict=True)]
        with steady(subject.seed):
            _, pull = vjp(first, *subject.tensors_like(spaces, entries))
            gs = pull([like(x, w) for x, w in zip(case.point, weights, strict=True)])
            found = [wide(numpy_of(raw(g))) for g in gs]
        wanted, size = inner(weights, true.values_trusted)
        seen, other = inner(found, scaled)
        error = sum(float((numpy.abs(w) * numpy.where(t, e, 0)).sum())
                    for w, e, t in zip(weights, true.errors, true.trusted, strict=True))
        allowed = 10 * case.tolerance(size, other) + 30 * error
        yield _second_finding(case, "vjp of vjp", wanted, seen, allowed)
        with steady(subject.seed):
            _, ts = jvp(first, subject.tensors_like(spaces, entries),
                        [like(x, d) for x, d in zip(spaces, scaled, strict=True)])
        seen, other = inner(weights, [wide(numpy_of(raw(t))) for t in ts])
        yield _second_finding(case, "jvp of vjp", wanted, seen, allowed)
    except NotDifferentiableError as error:
        yield failed(
            f"second derivative of `{subject.name}`", error.expected, error.got,
            f"{error.fix}; or pass order=1 if it has first derivatives only",
            inputs=case.entries, path="second order",
        )


def _second_finding(
    case: Case, path: str, wanted: float, seen: float, allowed: float
) -> Finding:
    if abs(wanted - seen) <= allowed:
        return passed(path=path)
    return failed(
        f"second derivative of `{case.subject.name}`, {path}",
        f"{wanted:.12g}, by differences of its gradient", f"{seen:.12g}",
        "the rule uses values without history: compute them inside the rule from its inputs, "
        "or pass order=1", path=path, inputs=case.entries, wanted=numpy.array(wanted),
        seen=numpy.array(seen), difference=abs(wanted - seen),
    )
