"""The cells of the table: numbers as short text, and notes on values that look wrong."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence

VANISHING = 1e-5
"""Threshold: relative to the largest gradient of all parameters, per entry."""
EXPLODING = 100.0
"""Threshold: multiple of the parameter's usual gradient."""
LARGE, SMALL = 0.1, 1e-7
"""Thresholds: updates relative to the weights that are large, and close to zero."""
DEAD = 0.5
"""Threshold: share of an activation's units."""
_USUAL = 10  # number of gradients that determine the usual size
_BARS = "▁▂▃▄▅▆▇█"


class Watched:
    """The latest measurements of one parameter, and the history to judge them.

    gradient, update, zeros   the norm of its gradient, |change| / |weight|, share of zero
                              gradients; None if not measured, or if there is none
    """

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name, self.shape = name, shape
        self.size = math.prod(shape)
        self.gradient: float | None = None
        self.update: float | None = None
        self.zeros: float | None = None
        self.missing = False  # trainable, but without a gradient
        self.note = ""
        self._usual: deque[float] = deque(maxlen=101)
        self._still = 0

    def judge(self, largest: float) -> None:
        """Sets the note; `largest` is the largest gradient of all parameters, per entry."""
        self._still = self._still + 1 if self.update == 0 else 0
        self.note = self._found(largest)
        if self.gradient is not None and math.isfinite(self.gradient):
            self._usual.append(self.gradient)

    @property
    def entry(self) -> float:
        """The typical size of an entry of the gradient; 0 if not known."""
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
    """The note on an activation with dead units.

    >>> note_on_units(3, 4)
    'dying: 75% of the units are zero for every example'
    """
    if count and dead == count:
        return "dead: all units are zero, in the forward and the backward pass"
    return f"dying: {dead / count:.0%} of the units are zero for every example" \
        if count and dead >= DEAD * count else ""


def shown(value: float | None, share: bool = False) -> str:
    """A number with few characters.

    >>> shown(0.00123456), shown(0.25, share=True), shown(None)
    ('0.00123', '25%', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0%}" if share and value == value else f"{value:.3g}"


def spark(values: Sequence[float], width: int = 24) -> str:
    """The last values as a line of bars; values that are not finite appear as a cross.

    >>> spark([0.0, 0.5, float("nan"), 1.0])
    '▁▄×█'
    """
    late = values[-width:]
    finite = [v for v in late if math.isfinite(v)]
    low = min(finite, default=0.0)
    span = (max(finite, default=0.0) - low) or 1.0
    return "".join(_BARS[int((v - low) / span * 7)] if math.isfinite(v) else "×" for v in late)
