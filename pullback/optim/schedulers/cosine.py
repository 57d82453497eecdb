"""Rates that go up and down."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ArgumentError
from ..base import Optimizer
from .scheduler import LRScheduler

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "OneCycleLR"]


class CosineAnnealingLR(LRScheduler):
    """Half a wave of a cosine from the first rate to `eta_min` in T_max steps, and back.

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> [round(rate, 3) for rate in rates]
    [0.5, 0.427, 0.25, 0.073, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1  # noqa: N803
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of the wave, in steps from those that are there."""
        n, total, low = self.last_epoch, self.T_max, self.eta_min
        if n == 0:
            return self._rates
        if (n - 1 - total) % (2 * total) == 0:
            turn = (1 - math.cos(math.pi / total)) / 2
            pairs = zip(self.base_lrs, self._rates, strict=True)
            return [rate + (base - low) * turn for base, rate in pairs]
        now, before = (1 + math.cos(math.pi * k / total) for k in (n, n - 1))
        return [now / before * (rate - low) + low for rate in self._rates]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half waves of a cosine, each from the first rate again (Loshchilov and Hutter, 2017).

    T_0     how many steps the first one takes
    T_mult  how many times as many each further one

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5, momentum=0.9)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> [round(rate, 3) for rate in rates]
    [0.5, 0.25, 0.5, 0.25, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,  # noqa: N803
        last_epoch: int = -1,
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ArgumentError("arguments `T_0` and `T_mult`", "integers ≥ 1", f"{T_0}, {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of the wave."""
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next step, or of any, which may be a fraction."""
        at = self.last_epoch + 1 if epoch is None else epoch
        if at < 0:
            raise ArgumentError("argument `epoch`", "a number ≥ 0", f"{at}")
        self.T_cur, self.T_i = at, self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        self.last_epoch = math.floor(at)
        self._set(self.get_lr())


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, down to nearly 0; momentum goes the other way (Smith and Topin, 2017).

    total_steps       how many steps there are; or epochs · steps_per_epoch
    pct_start         the share of them that goes up
    anneal_strategy   "cos" or "linear"
    div_factor        max_lr / the first rate
    final_div_factor  the first rate / the last one
    three_phase       back to the first rate, and then on to the last one

    >>> import pullback as pb
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5, momentum=0.9)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> [round(rate, 3) for rate in rates]
    [0.04, 0.95, 0.611, 0.188, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: Any = 0.85,
        max_momentum: Any = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            total_steps = (epochs or 0) * (steps_per_epoch or 0)
        if total_steps < 1 or not 0 <= pct_start <= 1 or anneal_strategy not in ("cos", "linear"):
            raise ArgumentError("OneCycleLR", "steps ≥ 1, pct_start in [0, 1], 'cos' or 'linear'",
                                f"{total_steps}, {pct_start}, {anneal_strategy!r}")
        self.total_steps, self.cycle_momentum = total_steps, cycle_momentum
        self.anneal_strategy = anneal_strategy
        up = pct_start * total_steps - 1
        names = [("initial_lr", "max_lr"), ("max_lr", "min_lr")]
        ends = [up, total_steps - 1]
        if three_phase:
            names = [*names[:1], ("max_lr", "initial_lr"), ("initial_lr", "min_lr")]
            ends = [up, 2 * up, total_steps - 1]
        low, high = "base_momentum", "max_momentum"
        moments = [(high, low), (low, high), (high, high)]
        rows = zip(ends, names, moments, strict=False)
        self._phases: list[Any] = [[e, *n, *m] for e, n, m in rows]
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group["max_lr"] = _number(max_lr, i)
                group["initial_lr"] = group["max_lr"] / div_factor
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    group["base_momentum"] = _number(base_momentum, i)
                    group["max_momentum"] = _number(max_momentum, i)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates; momentum is set besides."""
        n, start = self.last_epoch, 0.0
        if n > self.total_steps:
            raise ArgumentError("OneCycleLR.step", f"{self.total_steps} steps", f"step {n}")
        for phase in self._phases:
            if n <= phase[0] or phase is self._phases[-1]:
                break
            start = phase[0]
        end, *names = phase
        share = (n - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[names[0]], group[names[1]], share))
            if self.cycle_momentum:
                momentum = self._between(group[names[2]], group[names[3]], share)
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return rates

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def _number(value: Any, i: int) -> Any:
    return value[i] if isinstance(value, (list, tuple)) else value
