"""RMSprop (Tieleman and Hinton, 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import rules
from .base import Group, Optimizer, at_least, below_one


class RMSprop(Optimizer):
    """x ← x - lr · g / (√v + eps), with a running average v of g².

    params        tensors, variables or groups; see `Optimizer`
    lr            about how far an entry goes in a step
    alpha         how slowly v forgets: v ← alpha · v + (1 - alpha) · g²
    eps           keeps the quotient small where v is nearly 0
    weight_decay  adds weight_decay · x to the gradient
    momentum      x ← x - lr · b, where b ← momentum · b + g / (√v + eps)
    centered      take the running variance, v minus the square of the running average of g
    maximize      go uphill

    Raises `ArgumentError` for a negative option, and for alpha outside [0, 1).

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> RMSprop([x], lr=0.25, alpha=0.75, eps=0.0).step([pb.tensor([100.0, -0.01])])
    >>> x
    Variable([0.5, 2.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
            "momentum": momentum, "centered": centered, "maximize": maximize,
        })

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "eps", "weight_decay", "momentum"))
        below_one(self._name, alpha=group["alpha"])

    def _slots(self, group: Group) -> tuple[str, ...]:
        return ("square_avg", *("momentum_buffer",) * bool(group["momentum"]),
                *("grad_avg",) * group["centered"])

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        rules.rmsprop(
            *rules.decayed(x, g, group["lr"], group["weight_decay"]), slots, group["lr"],
            group["alpha"], group["eps"], momentum=group["momentum"], centered=group["centered"],
        )
