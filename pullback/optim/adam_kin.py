"""Adamax (Kingma and Ba, 2015), NAdam (Dozat, 2016), RAdam (Liu et al., 2020), Rprop (1993)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..ops import abs as absolute
from ..ops import clip, maximum, sign, sqrt, where
from .base import Group, Optimizer, at_least, below_one

Betas = tuple[float, float]


class _Kin(Optimizer):
    """What has betas."""

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "eps", "weight_decay"))
        first, second = group["betas"]
        below_one(self._name, **{"betas[0]": first, "betas[1]": second})

    def _decayed(self, x: Any, g: Any, group: Group) -> Any:
        """Let the weights decay; the gradient to go on with."""
        decay = group["weight_decay"]
        if not decay:
            return g
        if group.get("decoupled_weight_decay"):
            x *= 1 - group["lr"] * decay
            return g
        return g + decay * x


class Adamax(_Kin):
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
        (first, second), (m, u) = group["betas"], slots
        g = self._decayed(x, g, group)
        m += (g - m) * (1 - first)
        u[...] = maximum(u * second, absolute(g) + group["eps"])
        x -= m / u * (group["lr"] / (1 - first**count))


class NAdam(_Kin):
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

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        (first, second), (m, v, product) = group["betas"], slots
        g = self._decayed(x, g, group)
        if count == 1:
            product += 1.0
        mu, following = (
            first * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (count, count + 1)
        )
        product *= mu
        m += (g - m) * (1 - first)
        v *= second
        v += g * g * (1 - second)
        root = sqrt(v / (1 - second**count))
        root += group["eps"]
        x -= g / root * (group["lr"] * (1 - mu)) / (1 - product)
        x -= m / root * (group["lr"] * following) / (1 - product * following)


class RAdam(_Kin):
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
        (first, second), (m, v) = group["betas"], slots
        g = self._decayed(x, g, group)
        m += (g - m) * (1 - first)
        v *= second
        v += g * g * (1 - second)
        step = m * (group["lr"] / (1 - first**count))
        longest = 2 / (1 - second) - 1
        length = longest - 2 * count * second**count / (1 - second**count)
        if length > 5:
            share = (length - 4) * (length - 2) * longest
            share /= (longest - 4) * (longest - 2) * length
            root = sqrt(v)
            root += group["eps"]
            step = step / root * math.sqrt(share * (1 - second**count))
        x -= step


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

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        (before, size), (less, more) = slots, group["etas"]
        if count == 1:
            size += group["lr"]
        same = before * g
        factor = where(same > 0, more, where(same < 0, less, 1.0))
        size[...] = clip(size * factor, *group["step_sizes"])
        g = where(same < 0, g * 0, g)
        x -= sign(g) * size
        before[...] = g
