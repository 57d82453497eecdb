"""The base of schedulers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ...core.outside import current_step
from ..base import Optimizer

__all__ = ["LRScheduler"]


def on_the_host(method: Callable[..., None]) -> Callable[..., None]:
    """A method that runs in Python with every call of a compiled step, and is not traced."""

    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> None:
        step = current_step()
        if step is None:
            method(self, *args, **keywords)
        else:
            step.event(self, lambda: method(self, *args, **keywords), args)

    return call


class LRScheduler:
    """Base of schedulers: `get_lr` says the rates of step `last_epoch`.

    optimizer   whose rates it sets, the first at once
    last_epoch  the step to go on from; -1 begins

    Call `step` after the optimizer's own. One of your own says the rates, a number a group:

    >>> import pullback as pb
    >>> class EveryOther(LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * (self.last_epoch % 2) for rate in self.base_lrs]
    >>> optimizer = pb.optim.SGD([pb.tensor(1.0, requires_grad=True)], lr=0.5)
    >>> scheduler = EveryOther(optimizer)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            cls.step = on_the_host(cls.step)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("a scheduler that goes on needs 'initial_lr' in every group")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[Any] = []
        self.step()

    def get_lr(self) -> list[float]:
        """The rates of the step `last_epoch`, a number a group."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr if current_step() is None else self._rates

    @on_the_host
    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self.get_lr())

    def _set(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)

    @property
    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _times(self, factor: float) -> list[float]:
        return [rate * factor for rate in self._rates]

    def state_dict(self) -> dict[str, Any]:
        """What it needs to go on, in plain values; functions are not among them."""
        return {
            k: v for k, v in vars(self).items() if k not in self._not_saved and not callable(v)
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from such values; the optimizer's own are in its own."""
        vars(self).update(state_dict)
