"""One input at a time: finds rules that fail if only some of their inputs need a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ....autograd import gradients
from ....core.tensor import Tensor, is_inexact, raw
from ....errors import NotDifferentiableError
from ....passes.accumulator import untracked
from ....transforms import jvp
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, like, numpy_of, random_like
from .comparing import Run, agree, attempted, first_of, fresh, in_words, worst


@law("needed inputs", "a rule that is wrong if only one of its inputs needs a gradient")
def needed(subject: Subject) -> Iterator[Finding]:
    """The gradient w.r.t. an input, and the tangent along it, do not depend on the other flags."""
    point = fresh(subject)
    if len(point) < 2:
        yield not_applicable("it has one input")
        return
    run = Run(subject, point)
    cotangents = run.cotangents(90)
    for i, wanted in enumerate(run.pull(cotangents)):
        seen, error = attempted(_alone, subject, point, i, cotangents)
        yield _compared(subject, point, i, "gradient of", [wanted], seen, error)
    directions = [random_like(numpy_of(x), subject.rng(91 + i)) for i, x in enumerate(point)]
    for i in range(len(point)):
        wanted, error = attempted(_tangent, subject, point, i, directions, True)
        if error is None:
            seen, error = attempted(_tangent, subject, point, i, directions, False)
            yield _compared(subject, point, i, "tangent of", wanted, seen, error)


def _alone(
    subject: Subject, point: Sequence[Any], i: int, cotangents: Sequence[Any]
) -> list[Any]:
    """The gradient w.r.t. argument i, the only argument that needs one."""
    tensors = subject.tensors(list(point))
    tensors[i].requires_grad_()
    with steady(subject.seed):
        outs = subject.of(*tensors)
    live = [(o, c) for o, c in zip(outs, cotangents, strict=True)
            if c is not None and o._node is not None]
    if not live:
        return [numpy.zeros_like(numpy_of(point[i]))]
    with steady(subject.seed + 1):
        found = gradients([o for o, _ in live], [tensors[i]], [Tensor(c) for _, c in live],
                          materialize_grads=True)
    return [numpy_of(raw(g)) for g in found]


def _tangent(
    subject: Subject, point: Sequence[Any], i: int, directions: Sequence[Any], whole: bool
) -> list[Any]:
    """The tangents along argument i; `whole`: the others have zero tangents, not constants."""
    tensors = subject.tensors(list(point))
    moved = [j for j in range(len(point)) if whole or j == i]
    given = [like(point[j], directions[j] * (j == i)) for j in moved]

    def of(*some: Any) -> list[Any]:
        every = list(tensors)
        for j, t in zip(moved, some, strict=True):
            every[j] = t
        return [o for o in subject.of(*every) if is_inexact(raw(o))]

    with steady(subject.seed):
        _, ts = jvp(of, [tensors[j] for j in moved], given)
    return [numpy_of(raw(untracked(t))) for t in ts]


def _compared(
    subject: Subject, point: Sequence[Any], i: int, what: str, wanted: Sequence[Any], seen: Any,
    error: Exception | None,
) -> Finding:
    path = "jvp" if what.startswith("tangent") else "eager"
    if isinstance(error, NotDifferentiableError):
        return not_applicable(f"raises: {error.got}", path=path)
    if error is None and agree(wanted, seen):
        return passed(f"{subject.names[i]} alone", path=path)
    w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
    return failed(
        f"{what} `{subject.name}` w.r.t. {subject.names[i]}, with the others constant",
        "the result if all of them need one" + ("" if w is None else f", {in_words(w)}"),
        first_of(error) if error is not None else in_words(s),
        "use needs_input_grad to skip work only, not to change results", path=path,
        inputs=point, wanted=w, seen=s, difference=gap,
    )
