"""Rules that ignore their cotangents, or fail when some outputs have no cotangent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..subject import Subject, like, numpy_of
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst


@law("cotangent", "a rule that ignores its cotangent, or a gradient fixed in the forward pass")
def ignored(subject: Subject) -> Iterator[Finding]:
    """A zero cotangent gives a zero gradient, and a scaled cotangent a scaled gradient."""
    run = Run(subject, fresh(subject))
    cotangents = run.cotangents()
    full = run.pull(cotangents)
    if not any(numpy.any(g) for g in full):
        yield not_applicable("the gradient is zero")
        return
    for factor, name in ((0.0, "zero"), (0.001, "a thousandth of it")):
        seen = run.pull([_times(c, factor) for c in cotangents])
        wanted = [g * g.dtype.type(factor) for g in full]
        stuck = any(numpy.any(g) and numpy.array_equal(g, s)
                    for g, s in zip(full, seen, strict=True))
        if stuck or (not factor and any(numpy.any(s) for s in seen)):
            w, s, gap = worst(wanted, seen)
            yield failed(
                f"gradient of `{subject.name}` for a cotangent of {name}", in_words(w),
                in_words(s), "multiply by the cotangent", inputs=subject.point, wanted=w, seen=s,
                difference=gap,
            )
        else:
            yield passed(f"a cotangent of {name}")


@law("unused outputs", "a rule that fails, or returns None, if only one of its outputs is used")
def unused(subject: Subject) -> Iterator[Finding]:
    """A missing cotangent (None) and a cotangent of zeros give the same gradient."""
    run = Run(subject, fresh(subject))
    cotangents = run.cotangents()
    live = [i for i, c in enumerate(cotangents) if c is not None]
    if len(live) < 2:
        yield not_applicable("it has one output")
        return
    parts = []
    for i in live:
        alone = [c if j == i else None for j, c in enumerate(cotangents)]
        zeros: list[Any] = [
            c if j == i else _times(c, 0.0) for j, c in enumerate(cotangents)
        ]
        wanted = run.pull(zeros)
        parts.append(wanted)
        seen, error = attempted(run.pull, alone)
        about = f"gradient of output {i} of `{subject.name}` alone"
        if error is None and agree(wanted, seen):
            yield passed(about)
        else:
            w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
            yield failed(
                about,
                "the gradient with zeros for the others" + (f", {in_words(w)}" if gap else ""),
                first_of(error) if error is not None else in_words(s),
                "treat a cotangent of None as zeros",
                inputs=subject.point,
                wanted=w,
                seen=s,
            )
    whole, both = run.pull(cotangents), [sum(gs) for gs in zip(*parts, strict=True)]
    if agree(whole, both):
        yield passed("the sum over outputs")
    else:
        w, s, gap = worst(both, whole)
        yield failed(
            f"gradient of all outputs of `{subject.name}`",
            f"the sum of the gradients of each output, {in_words(w)}", in_words(s),
            "use each output's cotangent, also if another one is zero", inputs=subject.point,
            wanted=w, seen=s, difference=gap,
        )


def _times(c: Any, factor: float) -> Any:
    return None if c is None else like(c, numpy_of(c) * factor)
