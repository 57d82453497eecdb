"""The law about the call itself: without a value at the examples, no gradient can be checked."""

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
    """The function, and its surrogate, return finite numbers at the examples."""
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
            f"`{subject.name}` at the examples", "finite numbers", "NaN or infinity in every entry",
            "give examples inside its domain", inputs=[numpy_of(x) for x in subject.point],
        )
        return
    constants = "".join(f", {name} is a constant" for name in subject.constants)
    yield passed(f"{len(outs)} output{'s' * (len(outs) > 1)}{constants}")
    if subject.surrogate is not None:
        yield _surrogate(subject, floats)


def _called(subject: Subject, f: Any, about: str) -> tuple[list[Any], Finding | None]:
    try:
        with steady(subject.seed):
            return [numpy_of(o) for o in subject.run(f, subject.tensors(subject.point))], None
    except Exception as error:  # any error means that the function has no value here
        return [], failed(
            f"{about} at the examples", "a value", first_of(error),
            "give examples (and kwargs={…}) that the function accepts",
        )


def _surrogate(subject: Subject, floats: Sequence[Any]) -> Finding:
    about = f"the surrogate of `{subject.name}`"
    outs, wrong = _called(subject, subject.surrogate, about)
    if wrong is not None:
        return wrong
    wanted = [o.shape for o in floats]
    seen = [o.shape for o in outs if o.dtype.kind not in "biu"]
    if wanted == seen:
        return passed("the surrogate returns the same shapes")
    return failed(
        f"{about} at the examples", f"the output shapes of the function, {_listed(wanted)}",
        _listed(seen), "pass a function with the same arguments and the same number of outputs",
    )


def _listed(shapes: Sequence[Any]) -> str:
    return ", ".join(map(str, shapes)) or "none"

