"""What mutated rules call: functions put under these names into the modules of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pullback.core.cotangent import is_complex
from pullback.core.dispatch import pull_of
from pullback.core.op import OPS, Op, Rule


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of each array in a result, which may be a tuple, or None."""
    def changed(result: Any) -> Any:
        if result is None:
            return None
        if type(result) in (tuple, list):
            return type(result)(map(changed, result))
        return change(result)

    return changed


def _mirrored(axis: Any) -> Any:
    """Another axis that is there whenever this one is: counted from the other end."""
    if isinstance(axis, (tuple, list)):
        return type(axis)(reversed(axis)) if len(axis) > 1 else type(axis)(map(_mirrored, axis))
    return -1 - axis if isinstance(axis, int) else axis


HELPERS: dict[str, Callable[..., Any]] = {
    "__mutant_negated__": _each(lambda r: -r),
    "__mutant_scaled__": _each(lambda r: r * 1.001),
    "__mutant_ones__": _each(lambda g: OPS["ones_like"](g)),
    "__mutant_zeros__": _each(lambda r: OPS["zeros_like"](r)),
    "__mutant_conj__": _each(lambda r: OPS["conj"](r) if is_complex(r) else r),
    "__mutant_mirrored__": _mirrored,
}


def rules_of(op: Op) -> Iterator[tuple[str, Rule]]:
    """(kind, rule) for each rule of an operation, of both directions."""
    for kind, rules in (("pullback", op.rules), ("push", op.pushes), ("collapse", op.collapses)):
        for rule in rules.values():
            yield "partial" if rule.partial else kind, rule
    if op.together is not None:
        yield "push", op.together


def refresh() -> None:
    """Have every operation read its rules anew: it knows those that return what they are given."""
    for face in OPS.values():
        op = face.op
        for table in (op.rules, op.pushes, op.collapses):
            for key, rule in table.items():
                table[key] = Rule(rule.function, rule.reads, rule.keywords, rule.partial)
        op.pull = pull_of(op)
        op.refresh()  # tells the compiled core
