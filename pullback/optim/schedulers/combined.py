"""Several schedulers together, and one that looks at the loss."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError
from ..base import Optimizer
from .cosine import _number
from .scheduler import LRScheduler

__all__ = ["ChainedScheduler", "ReduceLROnPlateau", "SequentialLR"]


class SequentialLR(LRScheduler):
    """One scheduler after the other: the next one begins at each milestone.

    milestones  the steps at which they change, one fewer than there are schedulers

    >>> import pullback as pb
    >>> from pullback.optim.schedulers import ConstantLR, ExponentialLR
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> warm, fall = ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warm, fall], milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.25, 0.5, 0.25, 0.125]
    """

    _not_saved = ("optimizer", "_schedulers")

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError("SequentialLR", "one milestone fewer than schedulers",
                                f"{len(milestones)} for {len(schedulers)}")
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:  # each has set its first rates: they begin anew
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        begins = number > 0 and self._milestones[number - 1] == self.last_epoch
        scheduler = self._schedulers[number]
        if begins:
            for group, rate in zip(self.optimizer.param_groups, scheduler.base_lrs, strict=True):
                group["lr"] = rate
        scheduler.step(0) if begins else scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """What it and its schedulers need to go on."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from such values."""
        parts = state_dict["_schedulers"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, part in zip(self._schedulers, parts, strict=True):
            scheduler.load_state_dict(part)


class ChainedScheduler(SequentialLR):
    """Several schedulers at every step: their factors multiply.

    >>> import pullback as pb
    >>> from pullback.optim.schedulers import ExponentialLR, StepLR
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> both = [ExponentialLR(optimizer, gamma=0.5), StepLR(optimizer, step_size=2, gamma=0.5)]
    >>> scheduler = ChainedScheduler(both)
    >>> for _ in range(2):
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.0625]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self._schedulers = list(schedulers)
        self.optimizer = optimizer or self._schedulers[0].optimizer
        self._last_lr = self._schedulers[-1].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step, by one scheduler after the other."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates


class ReduceLROnPlateau(LRScheduler):
    """Times a factor when a number has not become better for more than `patience` steps.

    mode       whether less is better: "min", or "max"
    threshold  what counts as better: by this share, or ("abs") by so much
    cooldown   how many steps after a change nothing is counted
    min_lr     no rate becomes smaller
    eps        nor is it changed by less

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    >>> for loss in (3.0, 3.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: Any = 0.0, eps: float = 1e-8,
    ) -> None:
        if factor >= 1 or mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(
                "ReduceLROnPlateau", "factor < 1, mode 'min' or 'max', threshold_mode 'rel' or "
                "'abs'", f"{factor}, {mode!r}, {threshold_mode!r}",
            )
        self.optimizer, self.mode, self.factor = optimizer, mode, factor
        self.patience, self.threshold, self.threshold_mode = patience, threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = [_number(min_lr, i) for i in range(len(optimizer.param_groups))]
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._rates

    def _better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if math.isinf(self.best):
            return value * sign > self.best * sign
        margin = self.threshold * (self.best if self.threshold_mode == "rel" else 1)
        return value * sign > (self.best + sign * margin) * sign

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Look at a number, and change the rates if it is time."""
        value = float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                new = max(group["lr"] * self.factor, least)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates
