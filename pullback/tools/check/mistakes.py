"""Groups failures by their probable mistake: one failure leads, the others follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy

from .finding import Finding

ORDER = (
    "call", "writes", "repeatable", "precision", "cotangent", "linearity", "vjp", "layouts",
    "unused outputs", "needed inputs", "jvp", "dot product", "lost input", "conjugate",
    "untracked", "second order", "dtypes", "mixed dtypes", "edges", "lengths", "paths",
    "ranks", "batches", "threads", "captured", "leaks",
)
"""The laws, those first that say most about the cause."""

_OF_A_TANGENT = {"dot product", "paths"}
_OF_A_SECOND = {"second order", "paths"}
_OF_A_PULL = {*_OF_A_TANGENT, *_OF_A_SECOND, "jvp", "untracked", "linearity", "mixed dtypes",
              "batches", "threads"}
_OF_NUMBERS = {*_OF_A_PULL, "vjp", "lost input", "conjugate", "dtypes", "edges", "cotangent",
               "precision"}
_OF_STATE = set(ORDER) - {"captured", "leaks"}
FOLLOW = {
    "call": set(ORDER), "writes": _OF_STATE, "repeatable": _OF_STATE, "precision": _OF_NUMBERS,
    "cotangent": _OF_NUMBERS, "linearity": _OF_NUMBERS, "vjp": _OF_NUMBERS, "layouts": _OF_A_PULL,
    "unused outputs": _OF_A_PULL, "needed inputs": _OF_A_PULL, "jvp": _OF_A_TANGENT,
    "untracked": _OF_A_SECOND, "second order": {"paths"}, "dot product": {"paths"},
    "paths": {"batches"},
}
"""Law -> the other laws that the same mistake usually breaks."""


class Mistake(NamedTuple):
    """The failure to read first, and those that the same mistake probably causes."""

    leading: Finding
    follow: list[Finding]

    def also(self) -> str:
        """The other failures on one line: "1 more of vjp, jvp, edges (9)"; empty if none."""
        count = Counter(f.law for f in self.follow)
        own = count.pop(self.leading.law, 0)
        more = [f"{own} more of {self.leading.law}"] * bool(own)
        return ", ".join(more + [law if n == 1 else f"{law} ({n})" for law, n in count.items()])


def mistakes(failures: Sequence[Finding]) -> list[Mistake]:
    """Groups the failures by mistake, the mistake with the most telling law first.

    >>> from pullback.tools.check.finding import failed
    >>> from dataclasses import replace
    >>> found = [replace(failed(law, "2", "1"), law=law) for law in ("jvp", "vjp", "leaks")]
    >>> [(m.leading.law, m.also()) for m in mistakes(found)]
    [('vjp', 'jvp'), ('leaks', '')]
    """
    order = _order(failures)
    left = sorted(failures, key=lambda f: order.index(f.law) if f.law in order else len(order))
    made = []
    while left:
        first, *rest = left
        with_it = [f for f in rest if _follows(f, first)]
        left = [f for f in rest if not any(f is g for g in with_it)]
        made.append(Mistake(first, with_it))
    return made


def _follows(other: Finding, first: Finding) -> bool:
    same = other.law == first.law or (other.subject, other.got) == (first.subject, first.got)
    return same or other.law in FOLLOW.get(first.law, set())


def _order(failures: Sequence[Finding]) -> list[str]:
    """The laws, most telling first; a gradient that is NaN or far off changes the order."""
    order = list(ORDER)
    far = next((f for f in failures if f.law == "vjp" and _is_far_off(f)), None)
    if far is not None:
        order.remove("precision")
        order.insert(order.index("vjp") + 1, "precision")
        if far.seen is None or not numpy.isfinite(far.seen).all():
            order.remove("vjp")
            order.insert(1, "vjp")
    return order


def _is_far_off(f: Finding) -> bool:
    if f.seen is None or f.wanted is None:  # it raised an error
        return True
    size = float(numpy.abs(f.wanted).max(initial=0))
    return not (f.difference or 0.0) < 1e-2 * size
