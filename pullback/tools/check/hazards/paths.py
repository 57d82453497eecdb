"""Marks custom rules to test whether every way to compute a gradient uses them.

A marked rule returns a known multiple of its result. Every path must then return the marked
gradient; a path that lost the rule returns another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ....core.tensor import is_inexact, raw
from ....errors import CaptureError
from ..finding import Finding, failed, not_applicable, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject
from .asking import PATHS, REFUSALS, Loss, NotAskedError, eager
from .capturing import tracked
from .comparing import agree, attempted, first_of, fresh, in_words, worst
from .marking import marked, rules_of


@law("paths", "a rule that is lost on a path: tape, grad, jvp, vmap, checkpoint, a graph, or jit")
def paths(subject: Subject) -> Iterator[Finding]:
    """With a marked rule, every way to compute the gradient returns the marked gradient.

    If a rule cannot be marked, compares every way with plain reverse mode instead.
    """
    point = fresh(subject)
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        outs = [o for o in subject.of(*tensors) if is_inexact(raw(o))]
    rules = rules_of([o._node for o in outs])
    if not rules:
        yield not_applicable("it has no custom rule")
        return
    loss = Loss(subject, subject.cotangents(outs, subject.rng(80)))
    plain = eager(loss, subject, point)
    with marked(rules):
        wanted = eager(loss, subject, point)
        shows = not agree(plain, wanted)
        for name, ask in PATHS.items():
            yield _path(subject, name, partial(ask, loss, subject, point), wanted, shows)


def _path(
    subject: Subject, name: str, ask: Callable[[], Any], wanted: list[Any], shows: bool
) -> Finding:
    with steady(0):
        seen, error = attempted(ask)
    if isinstance(error, NotAskedError):
        return not_applicable(error.reason, path=name)
    if isinstance(error, REFUSALS) or (
            isinstance(error, CaptureError) and tracked(subject.f)):
        return not_applicable(f"raises: {first_of(error)}", path=name)
    if error is None and agree(wanted, seen):
        return passed("it uses the rule" if shows else "equal to backward(); no mark is visible",
                      path=name)
    w, s, gap = (None, None, None) if error is not None else worst(wanted, seen)
    return failed(
        f"gradient of `{subject.name}`, by {name}" + (", with a marked rule" * shows),
        ("the marked gradient" if shows else "the gradient of backward()")
        + (f", {in_words(w)}" if error is None else ""),
        in_words(s) if error is None else first_of(error),
        "call the function with the rule on every path; do not test how it is recorded",
        path=name, inputs=subject.point, wanted=w, seen=s, difference=gap,
    )
