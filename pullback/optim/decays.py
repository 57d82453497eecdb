"""Learning-rate decays: the rate of a step, from numbers or scalar tensors, for the front ends.

`rate` is the first rate, `step` the number of steps so far as a floating tensor, and `steps` the
length of the decay. PyTorch's schedulers, which change the rate of the step before, are in
`schedulers/`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ops import ceil, cos, exp, floor, maximum, minimum, where


def _part(step: Any, steps: Any, staircase: bool) -> Any:
    return floor(step / steps) if staircase else step / steps


def exponential(rate: Any, step: Any, steps: Any, decay: Any, staircase: bool = False) -> Any:
    """rate · decay^(step / steps); staircase: a whole power."""
    return rate * decay ** _part(step, steps, staircase)


def natural_exponential(
    rate: Any, step: Any, steps: Any, decay: Any, staircase: bool = False
) -> Any:
    """rate · exp(-decay · step / steps)."""
    return rate * exp(_part(step, steps, staircase) * -decay)


def inverse_time(rate: Any, step: Any, steps: Any, decay: Any, staircase: bool = False) -> Any:
    """rate / (1 + decay · step / steps)."""
    return rate / (_part(step, steps, staircase) * decay + 1)


def polynomial(
    rate: Any, step: Any, steps: Any, end: Any, power: Any = 1.0, cycle: bool = False
) -> Any:
    """(rate - end) · (1 - step / steps)^power + end; cycle: `steps` grows to a multiple ≥ step."""
    if cycle:
        steps = steps * maximum(ceil(step / steps), 1.0)
    else:
        step = minimum(step, steps)
    return (rate - end) * (1 - step / steps) ** power + end


def cosine(
    rate: Any, step: Any, steps: Any, alpha: Any = 0.0, target: Any = None, warmup: float = 0.0
) -> Any:
    """From rate to alpha · rate along half a cosine; with a target, first up to it in a line."""
    if target is not None:
        line = (target - rate) * (step / max(1.0, warmup)) + rate
        return where(step < warmup, line, cosine(target, step - warmup, steps, alpha))
    part = 0.5 * (1 + cos(minimum(step, steps) * (math.pi / steps)))
    return rate * ((1 - alpha) * part + alpha)


def piecewise(step: Any, boundaries: Sequence[Any], values: Sequence[Any]) -> Any:
    """values[0] up to and including the step boundaries[0], then values[1], and so on."""
    rate = values[0]
    for boundary, value in zip(boundaries, values[1:], strict=False):
        rate = where(step > boundary, value, rate)
    return rate


def averaging(count: Any, decay: Any) -> Any:
    """The decay of a moving average, smaller in its first updates: (1 + count) / (10 + count)."""
    return minimum((count + 1) / (count + 10), decay)
