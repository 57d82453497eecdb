"""What to mend where a gradient lacks the part of a path that was cut."""

from __future__ import annotations

from ...core.tensor import Tensor
from ..explain import explain
from .steady import steady
from .subject import Point, Subject

RULE = "correct the rule"
NO_RULE = (
    "no rule of yours is on its path: look for values that are written or replaced without a "
    "history (x.data, raw arrays), and for constants made of the argument; or, if it differs on "
    "purpose, pass surrogate=g"
)


def advice(subject: Subject, point: Point, guess: str) -> str:
    """The fix of a wrong derivative: the line that cuts a path, if one does; else the guess."""
    from .hazards.marking import rules_of  # these are laws too, which import the others

    tensors = subject.tensors(point, requires_grad=True)
    try:
        with steady(subject.seed):
            found = explain(subject.of, *tensors)
            nodes = [o._node for o in subject.of(*tensors) if isinstance(o, Tensor)]
    except Exception:  # the law of the call says so
        return guess
    for e in found if isinstance(found, tuple) else (found,):
        if e.cause == "partly lost":
            return (
                f"a path is cut: `{e.operation}` at {e.file}:{e.line} has no history ({e.fix}); "
                "or, if it differs on purpose, pass surrogate=g"
            )
    return NO_RULE if guess.startswith(RULE) and not rules_of(nodes) else guess
