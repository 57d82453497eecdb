"""What is noteworthy about a parameter, or about an activation, in a few words."""

from __future__ import annotations

import math
import statistics
from collections import deque

VANISHING = 1e-5
"""Of the largest gradient among the parameters, entry for entry."""
EXPLODING = 100.0
"""Times what is usual for the same parameter."""
LARGE, SMALL = 0.1, 1e-7
"""Updates relative to the weights that are a lot, and next to nothing."""
DEAD = 0.5
"""Share of an activation's units."""
_USUAL = 10  # gradients that what is usual is known from


class Watched:
    """One parameter as it was seen last, and what is needed to judge it.

    gradient, update, zeros   its gradient's norm, |change| / |weight|, share of zero gradients;
                              None where it was not measured, or there is none
    """

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name, self.shape = name, shape
        self.size = math.prod(shape)
        self.gradient: float | None = None
        self.update: float | None = None
        self.zeros: float | None = None
        self.missing = False  # it can learn and has no gradient
        self.note = ""
        self._usual: deque[float] = deque(maxlen=101)
        self._still = 0

    def measured(self, gradient: float | None) -> None:
        """The norm of this step's gradient."""
        self.gradient = gradient

    def judge(self, largest: float) -> None:
        """Find the note; `largest` is the largest gradient of all, per entry."""
        self._still = self._still + 1 if self.update == 0 else 0
        self.note = self._found(largest)
        if self.gradient is not None and math.isfinite(self.gradient):
            self._usual.append(self.gradient)

    @property
    def entry(self) -> float:
        """The typical size of an entry of the gradient; 0 where that is not known."""
        finite = self.gradient is not None and math.isfinite(self.gradient)
        return (self.gradient or 0.0) / math.sqrt(self.size) if finite and self.size else 0.0

    def _found(self, largest: float) -> str:
        if self.missing:
            return "no gradient: pb.explain(loss, parameter) says why"
        for what, value in (("gradient", self.gradient), ("update", self.update)):
            if value is not None and not math.isfinite(value):
                return f"{what} is {value}"
        if self.gradient == 0:
            return "gradient is zero everywhere"
        if self.gradient is not None and self.entry < VANISHING * largest:
            return f"vanishing: {largest / self.entry:.0e} times below the largest"
        if self.gradient is not None and len(self._usual) >= _USUAL:
            usual = statistics.median(self._usual)
            if usual and self.gradient > EXPLODING * usual:
                return f"exploding: {self.gradient / usual:.0f} times its usual size"
        if self._still > 1:
            return "never changes"
        if self.update is not None and self.update > LARGE:
            return f"large steps: {self.update:.0%} of the weight"
        if self.update is not None and 0 < self.update < SMALL:
            return "hardly changes"
        return ""


def note_on_units(dead: int, count: int) -> str:
    """What is to be said of an activation.

    >>> note_on_units(3, 4)
    'dying: 75% of the units are zero for every example'
    """
    if count and dead == count:
        return "dead: nothing goes through, nor back"
    return f"dying: {dead / count:.0%} of the units are zero for every example" \
        if count and dead >= DEAD * count else ""
