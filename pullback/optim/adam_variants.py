"""Adamax (Kingma and Ba, 2015), NAdam (Dozat, 2016), RAdam (Liu et al., 2020), Rprop (1993)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import rules
from .adam import WithBetas
from .base import Group, Optimizer, at_least, below_one, stored

Betas = tuple[float, float]


class Adamax(WithBetas):
    """Adam with the largest |g|, slowly forgotten, in the place of √v.

    params        tensors, variables or groups; see `Optimizer`
    betas         m ← betas[0] · m + (1 - betas[0]) · g;  u ← max(betas[1] · u, |g| + eps)
    weight_decay  adds weight_decay · x to the gradient
    maximize      go uphill

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> Adamax([x], lr=0.5, eps=0.0).step([pb.tensor([100.0, -0.01])])
    >>> x
    Variable([0.5, 2.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize,
        })

    def _slots(self, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_inf"

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        x, g = self._decayed(x, g, group)
        stored(slots, rules.adamax(
            x, g, slots, group["lr"], group["betas"], count, group["eps"]
        ))


class NAdam(WithBetas):
    """Adam that looks ahead, as Nesterov's momentum does.

    params          tensors, variables or groups; see `Optimizer`
    momentum_decay  how fast betas[0] grows to its value
    decoupled_weight_decay  weights decay on their own, as in `AdamW`
    maximize        go uphill

    >>> import pullback as pb
    >>> x = pb.Variable([1.0])
    >>> NAdam([x]).step([pb.tensor([0.0])])
    >>> x
    Variable([1.])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        })

    def _slots(self, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq", "mu_product"

    def _start(self, name: str, group: Group) -> float:
        return 1.0 if name == "mu_product" else 0.0

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        decay, (m, v, product) = group["momentum_decay"], slots
        product *= rules.nadam_momentum(group["betas"][0], count, decay)
        x, g = self._decayed(x, g, group)
        rules.nadam(
            x, g, (m, v), group["lr"], group["betas"], count, product, group["eps"],
            momentum_decay=decay,
        )


class RAdam(WithBetas):
    """Adam that goes by m alone until v has seen enough.

    params  tensors, variables or groups; see `Optimizer`
    decoupled_weight_decay  weights decay on their own, as in `AdamW`
    maximize                go uphill

    >>> import pullback as pb
    >>> x = pb.Variable([1.0])
    >>> RAdam([x], lr=0.5).step([pb.tensor([1.0])])
    >>> x
    Variable([0.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, decoupled_weight_decay: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        })

    def _slots(self, group: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        x, g = self._decayed(x, g, group)
        rules.radam(x, g, slots, group["lr"], group["betas"], count, group["eps"])


class Rprop(Optimizer):
    """Steps by the sign of the gradient; longer ones while it stays the same.

    params      tensors, variables or groups; see `Optimizer`
    lr          how long the first steps are
    etas        what a step is multiplied by where the sign changed, and where it did not
    step_sizes  the shortest and the longest step
    maximize    go uphill

    >>> import pullback as pb
    >>> x = pb.Variable([1.0, 2.0])
    >>> Rprop([x], lr=0.5).step([pb.tensor([100.0, -0.01])])
    >>> x
    Variable([0.5, 2.5])
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize,
        })

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr",))
        below_one(self._name, **{"etas[0]": group["etas"][0]})

    def _slots(self, group: Group) -> tuple[str, ...]:
        return "prev", "step_size"

    def _start(self, name: str, group: Group) -> float:
        return float(group["lr"]) if name == "step_size" else 0.0

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        stored(slots, rules.rprop(x, g, slots, group["etas"], group["step_sizes"]))
