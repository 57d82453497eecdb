"""Rates times a factor that the step decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ArgumentError
from ..base import Optimizer
from .scheduler import LRScheduler

__all__ = [
    "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR",
    "PolynomialLR", "StepLR",
]


class LambdaLR(LRScheduler):
    """The first rate, times a function of the step.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1
    ) -> None:
        several = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas = list(lr_lambda) if several else [lr_lambda] * len(optimizer.param_groups)
        if len(self.lr_lambdas) != len(optimizer.param_groups):
            raise ArgumentError("argument `lr_lambda`", f"{len(optimizer.param_groups)} functions",
                                f"{len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The first rates, times the functions."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(LambdaLR):
    """The rate before, times a function of the step.

    lr_lambda  the function, of the number of the step; or one for each group of parameters

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.25, 0.125, 0.0625, 0.03125]
    """

    def get_lr(self) -> list[float]:
        """The rates, times the functions."""
        if not self.last_epoch:
            return self._rates
        pairs = zip(self._rates, self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class StepLR(LRScheduler):
    """Times gamma every `step_size` steps.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 0.25, 0.25, 0.125]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, times gamma where it is time."""
        due = self.last_epoch and self.last_epoch % self.step_size == 0
        return self._times(self.gamma) if due else self._rates


class MultiStepLR(LRScheduler):
    """Times gamma at each of some steps.

    milestones  the numbers of the steps, in any order

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125, 0.125]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, times gamma as often as the step is among the milestones."""
        return self._times(self.gamma ** self.milestones.count(self.last_epoch))


class ExponentialLR(LRScheduler):
    """Times gamma at every step.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.25, 0.125, 0.0625, 0.03125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, times gamma."""
        return self._times(self.gamma) if self.last_epoch else self._rates


class ConstantLR(LRScheduler):
    """The rate times a factor, for `total_iters` steps.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.25, 0.5, 0.5, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ArgumentError("argument `factor`", "a number in [0, 1]", f"{factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, made smaller at first and then themselves again."""
        if self.last_epoch == 0:
            return self._times(self.factor)
        return self._times(1 / self.factor) if self.last_epoch == self.total_iters else self._rates


class LinearLR(LRScheduler):
    """The rate times a factor that goes from one number to another in `total_iters` steps.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.3125, 0.375, 0.4375, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
        total_iters: int = 5, last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ArgumentError("arguments `start_factor` and `end_factor`", "numbers up to 1",
                                f"{start_factor} and {end_factor}")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, times the quotient of the factors of this step and the last."""
        n, total = self.last_epoch, self.total_iters
        if n == 0:
            return self._times(self.start_factor)
        if n > total:
            return self._rates
        gap = self.end_factor - self.start_factor
        return self._times(1 + gap / (total * self.start_factor + (n - 1) * gap))


class PolynomialLR(LRScheduler):
    """The first rate times (1 - n / total_iters)^power, down to 0.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.375, 0.25, 0.125, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates, times the quotient of this step's factor and the last one's."""
        n, total = self.last_epoch, self.total_iters
        if n == 0 or n > total:
            return self._rates
        return self._times(((1 - n / total) / (1 - (n - 1) / total)) ** self.power)
