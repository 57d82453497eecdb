"""Adagrad (Duchi, Hazan and Singer, 2011) and Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import rules
from .base import Group, Optimizer, at_least, below_one


class Adagrad(Optimizer):
    """x ← x - lr / (1 + (n - 1) · lr_decay) · g / (√s + eps), with s the sum of all g² so far.

    params        tensors, variables or groups; see `Optimizer`
    weight_decay  adds weight_decay · x to the gradient
    initial_accumulator_value  what s is at first
    maximize      go uphill

    Raises `ArgumentError` for a negative option.

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> Adagrad([x], lr=0.5, eps=0.0).step([pb.tensor([100.0, -0.01])])
    >>> x
    Variable([0.5, 2.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0.0,
        weight_decay: float = 0.0, initial_accumulator_value: float = 0.0, eps: float = 1e-10,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        })

    def _check(self, group: Group) -> None:
        at_least(group, self._name, (
            "lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value",
        ))

    def _slots(self, group: Group) -> tuple[str, ...]:
        return ("sum",)

    def _start(self, name: str, group: Group) -> float:
        return float(group["initial_accumulator_value"])

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        lr = group["lr"] / (1 + (count - 1) * group["lr_decay"])
        x, g = rules.decayed(x, g, lr, group["weight_decay"])
        rules.adagrad(x, g, slots, lr, group["eps"])


class Adadelta(Optimizer):
    """x ← x - lr · d, d = g · √(u + eps) / √(v + eps), with running averages v of g² and u of d².

    params        tensors, variables or groups; see `Optimizer`
    rho           how slowly the averages forget
    weight_decay  adds weight_decay · x to the gradient
    maximize      go uphill

    Raises `ArgumentError` for a negative option, and for rho outside [0, 1).

    >>> import pullback as pb
    >>> x = pb.Variable([1.0])
    >>> Adadelta([x], rho=0.75, eps=1.0).step([pb.tensor([0.0])])
    >>> x
    Variable([1.])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        })

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "eps", "weight_decay"))
        below_one(self._name, rho=group["rho"])

    def _slots(self, group: Group) -> tuple[str, ...]:
        return "square_avg", "acc_delta"

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        x, g = rules.decayed(x, g, group["lr"], group["weight_decay"])
        rules.adadelta(x, g, slots, group["lr"], group["rho"], group["eps"])
