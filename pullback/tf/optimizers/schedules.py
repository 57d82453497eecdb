"""`tf.optimizers.schedules`: learning rates that are functions of the number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...optim import decays
from ..convert import convert_to_tensor
from ..shaping import cast

__all__ = [
    "CosineDecay", "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule",
    "PiecewiseConstantDecay", "PolynomialDecay",
]


class LearningRateSchedule:
    """A function of the number of steps so far; a subclass has `__call__` and `get_config`."""

    def __call__(self, step: Any) -> Any:
        """The learning rate in a step."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}


def _number(step: Any) -> Any:
    return cast(convert_to_tensor(step), "float32")


class ExponentialDecay(LearningRateSchedule):
    """initial_learning_rate · decay_rate^(step / decay_steps); staircase: whole steps only.

    >>> ExponentialDecay(1.0, 10, 0.5)(20).numpy()
    np.float32(0.25)
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float,
        staircase: bool = False, name: str = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step: Any) -> Any:
        """The learning rate in a step."""
        return self._decay(self.initial_learning_rate, _number(step), float(self.decay_steps),
                           self.decay_rate, self.staircase)

    _decay = staticmethod(decays.exponential)


class InverseTimeDecay(ExponentialDecay):
    """initial_learning_rate / (1 + decay_rate · step / decay_steps).

    >>> InverseTimeDecay(1.0, 1, 1.0)(3).numpy()
    np.float32(0.25)
    """

    _decay = staticmethod(decays.inverse_time)


class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] up to and with step boundaries[i], and the last value after all of them.

    >>> PiecewiseConstantDecay([10], [1.0, 0.5])(11).numpy()
    np.float32(0.5)
    """

    def __init__(
        self, boundaries: Sequence[Any], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        self.boundaries, self.values, self.name = list(boundaries), list(values), name

    def __call__(self, step: Any) -> Any:
        """The learning rate in a step."""
        values = [_number(value) for value in self.values]
        return decays.piecewise(_number(step), [float(b) for b in self.boundaries], values)


class PolynomialDecay(LearningRateSchedule):
    """From initial_learning_rate to end_learning_rate in decay_steps, by a power.

    >>> PolynomialDecay(1.0, 10, 0.0)(5).numpy()
    np.float32(0.5)
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001,
        power: float = 1.0, cycle: bool = False, name: str = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle = end_learning_rate, power, cycle
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate in a step."""
        return decays.polynomial(
            self.initial_learning_rate, _number(step), _number(self.decay_steps),
            self.end_learning_rate, self.power, self.cycle,
        )


class CosineDecay(LearningRateSchedule):
    """From initial_learning_rate to alpha times that, by half a cosine in decay_steps.

    warmup_target, warmup_steps  first up to warmup_target, in a straight line

    >>> round(float(CosineDecay(1.0, 10)(5)), 4)
    0.5
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0,
        name: str = "CosineDecay", warmup_target: float | None = None, warmup_steps: int = 0,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def __call__(self, step: Any) -> Any:
        """The learning rate in a step."""
        return decays.cosine(
            self.initial_learning_rate, _number(step), float(self.decay_steps), self.alpha,
            self.warmup_target, float(self.warmup_steps),
        )
