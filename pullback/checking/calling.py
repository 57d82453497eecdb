"""The law about the call itself: without a value at the examples there is nothing to check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from .case import wide
from .finding import Finding, failed, not_applicable, passed
from .laws import law
from .steady import steady
from .subject import Subject, numpy_of
from .words import first_of


@law("call", "A function, or a surrogate, that raises or has no finite value at the examples.")
def check_call(subject: Subject) -> Iterator[Finding]:
    """The function has numbers as values at its examples, and so has its surrogate."""
    if not subject.wanted:
        yield not_applicable("no argument is a real or complex number or array")
        return
    outs, wrong = _called(subject, subject.f, f"`{subject.name}`")
    if wrong is not None:
        yield wrong
        return
    floats = [wide(o) for o in outs if o.dtype.kind not in "biu"]
    if not floats:
        yield not_applicable("no output is a real or complex number or array")
        return
    if any(o.size for o in floats) and not any(numpy.isfinite(o).any() for o in floats):
        yield failed(
            f"`{subject.name}` at the examples", "numbers", "NaN or infinity in every place",
            "give examples inside its domain", inputs=[numpy_of(x) for x in subject.point],
        )
        return
    yield passed(f"{len(outs)} output{'s' * (len(outs) > 1)}")
    if subject.surrogate is not None:
        yield _surrogate(subject, floats)


def _called(subject: Subject, f: Any, who: str) -> tuple[list[Any], Finding | None]:
    try:
        with steady(subject.seed):
            return [numpy_of(o) for o in subject.run(f, subject.tensors(subject.point))], None
    except Exception as error:  # whatever it is, there is no value
        return [], failed(
            f"{who} at the examples", "a value", first_of(error),
            "give examples, and kwargs={…}, that it takes",
        )


def _surrogate(subject: Subject, floats: Sequence[Any]) -> Finding:
    who = f"the surrogate of `{subject.name}`"
    outs, wrong = _called(subject, subject.surrogate, who)
    if wrong is not None:
        return wrong
    wanted = [o.shape for o in floats]
    seen = [o.shape for o in outs if o.dtype.kind not in "biu"]
    if wanted == seen:
        return passed("the surrogate has values of the same shapes")
    return failed(
        f"{who} at the examples", f"outputs of the function's shapes, {_listed(wanted)}",
        _listed(seen), "pass a function of the same arguments, with as many outputs",
    )


def _listed(shapes: Sequence[Any]) -> str:
    return ", ".join(map(str, shapes)) or "none"

