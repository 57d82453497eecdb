"""Adam (Kingma and Ba, 2015), and AdamW with its own weight decay (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import rules
from .base import Group, Optimizer, at_least, below_one, stored


class WithBetas(Optimizer):
    """Base of the optimizers with running averages of gradients and of their sizes."""

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "eps", "weight_decay"))
        first, second = group["betas"]
        below_one(self._name, **{"betas[0]": first, "betas[1]": second})

    def _decayed(self, x: Any, g: Any, group: Group) -> tuple[Any, Any]:
        """The parameter and the gradient after weight decay."""
        return rules.decayed(
            x, g, group["lr"], group["weight_decay"],
            decoupled=group.get("decoupled_weight_decay", False),
        )


class Adam(WithBetas):
    """x ← x - lr · m / (√v + eps), with running averages m of g and v of g², their bias corrected.

    params        tensors, variables or groups; see `Optimizer`
    lr            about how far an entry goes in a step
    betas         how slowly m and v forget: m ← betas[0] · m + (1 - betas[0]) · g
    eps           keeps the quotient small where v is nearly 0
    weight_decay  adds weight_decay · x to the gradient
    amsgrad       take the largest v there was (Reddi, Kale and Kumar, 2018)
    maximize      go uphill

    Raises `ArgumentError` for a negative option, and for betas outside [0, 1).

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> optimizer = Adam([x], lr=0.5, eps=0.0)
    >>> optimizer.step([pb.tensor([100.0, -0.01])])
    >>> x
    Variable([0.5, 2.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize,
        })

    def _slots(self, group: Group) -> tuple[str, ...]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return names if group["amsgrad"] else names[:2]

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        if group["weight_decay"]:
            x, g = self._decayed(x, g, group)
        betas = first, second = group["betas"]
        powers = first**count, second**count
        made = rules.adam(x, g, slots, group["lr"], betas, powers, group["eps"])
        if group["amsgrad"]:
            stored(slots, made)


class AdamW(Adam):
    """Adam, with weights that decay on their own: first x ← x · (1 - lr · weight_decay).

    The options are `Adam`'s.

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> AdamW([x], lr=0.5, weight_decay=1.0).step([pb.tensor([0.0, 0.0])])
    >>> x
    Variable([0.5, 1. ])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)

    def _decayed(self, x: Any, g: Any, group: Group) -> tuple[Any, Any]:
        return rules.decayed(x, g, group["lr"], group["weight_decay"], decoupled=True)
