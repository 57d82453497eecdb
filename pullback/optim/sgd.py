"""Gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ArgumentError
from . import rules
from .base import Group, Optimizer, at_least


class SGD(Optimizer):
    """x ← x - lr · g; or x ← x - lr · v, where v ← momentum · v + (1 - dampening) · g.

    params        tensors, variables or groups; see `Optimizer`
    lr            how far to go
    momentum      how much of the direction is kept from step to step
    dampening     how much less of the gradient enters it, from the second step on
    nesterov      look ahead: x ← x - lr · (g + momentum · v)
    weight_decay  adds weight_decay · x to the gradient
    maximize      go uphill

    Raises `ArgumentError` for a negative option, and for nesterov without momentum or with
    dampening.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([x], lr=0.25)
    >>> pb.sum(x * x).backward()
    >>> optimizer.step()
    >>> x.detach()
    Tensor([0.5, 1. ])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0,
        dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        })

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "momentum", "weight_decay"))
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            raise ArgumentError(
                f"argument `nesterov` of {self._name}", "momentum > 0 and dampening = 0",
                f"momentum={group['momentum']}, dampening={group['dampening']}",
            )

    def _slots(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        dampening = group["dampening"]
        rules.sgd(
            *rules.decayed(x, g, group["lr"], group["weight_decay"]), slots, group["lr"],
            momentum=group["momentum"], dampening=dampening * (count > 1) if dampening else 0.0,
            nesterov=group["nesterov"],
        )
