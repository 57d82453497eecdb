"""Finds writes into arrays that a rule must not change: cotangents, inputs, saved and captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from ....autograd import gradients
from ....core.tensor import Tensor, is_inexact, raw
from ..finding import Finding, failed, passed
from ..laws import law
from ..steady import steady
from ..subject import Subject, copied, like, numpy_of
from .comparing import agree, attempted, fresh, in_words
from .holding import held

_FIX = "write into a copy, or compute a new array"


def _numbers(array: Any) -> Any:
    return numpy.array(numpy_of(array))


class _Watched:
    """Arrays, with a copy of their contents."""

    def __init__(self, role: str, arrays: Sequence[Any]) -> None:
        self.role = role
        seen = [(a, attempted(_numbers, a)[0]) for a in arrays]
        self.arrays = [a for a, copy in seen if copy is not None]  # skips objects without data
        self.copies = [copy for _, copy in seen if copy is not None]

    def check(self, subject: Subject, when: str) -> Finding:
        """Whether their contents are unchanged."""
        for a, copy in zip(map(numpy_of, self.arrays), self.copies, strict=True):
            if a.tobytes() != copy.tobytes():
                return failed(
                    f"{when} of `{subject.name}`", f"{self.role} unchanged, {in_words(copy)}",
                    f"overwritten with {in_words(a)}", _FIX, wanted=copy, seen=a.copy(),
                )
        return passed(f"{self.role}, {when}")


@law("writes", "a forward or a rule that writes into its cotangent, input, or a saved value")
def writes(subject: Subject) -> Iterator[Finding]:
    """Forward and backward do not change arrays that they did not create."""
    point = fresh(subject)
    given = _Watched("the input", point)
    closed = _Watched("a closed-over array", list(map(raw, held([subject.f]))))
    tensors = subject.tensors(point, requires_grad=True)
    with steady(0):
        outs = subject.of(*tensors)
    for watched in (given, closed):
        yield watched.check(subject, "forward")
    live = [o for o in outs if o._node is not None and is_inexact(raw(o))]
    if not live:
        return
    cotangents = subject.cotangents(live, subject.rng(2))
    handed = _Watched("the cotangent", cotangents)
    saved = _Watched("a saved value", list(map(raw, held([o._node for o in live]))))
    given = _Watched("the input", point)
    with steady(1):
        _, error = attempted(lambda: gradients(
            live, tensors, [Tensor(c) for c in cotangents], retain_graph=True, allow_unused=True
        ))
    if error is not None and "read-only" in str(error):
        yield failed(f"gradient of `{subject.name}`", "no write", str(error), _FIX, inputs=point)
    for watched in (handed, given, saved, closed):
        yield watched.check(subject, "backward")
    yield _shared(subject, point, subject.of)


def _shared(subject: Subject, point: Sequence[Any], f: Callable[..., Any]) -> Finding:
    """One cotangent goes to two branches, one of which is a plain sum."""
    tensors = subject.tensors(list(map(copied, point)), requires_grad=True)
    with steady(0):
        out = next(o for o in f(*tensors) if o._node is not None and is_inexact(raw(o)))
    beside = Tensor(like(raw(out), numpy.zeros(out.shape)), requires_grad=True)
    cotangent = subject.cotangents([out], subject.rng(3))[0]
    wanted = numpy.array(numpy_of(cotangent))
    result, error = attempted(
        lambda: gradients(out + beside, [beside], Tensor(cotangent), allow_unused=True)
    )
    if error is not None or result[0] is None or agree([wanted], [raw(result[0])]):
        return passed("a shared cotangent")
    return failed(
        f"gradient beside `{subject.name}`, which shares its cotangent", in_words(wanted),
        in_words(raw(result[0])), _FIX, inputs=point, wanted=wanted, seen=raw(result[0]),
    )
