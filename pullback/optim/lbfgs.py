"""L-BFGS (Liu and Nocedal, 1989): Newton's method with curvature learnt from the last steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..arrays import adapters
from ..core import versions
from ..core.op import OPS
from ..core.outside import current_step
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentError, ArgumentTypeError, SymbolError
from ..recording import enable_grad
from ..variable import Variable
from .base import Group, Optimizer, at_least
from .line_search import Point, strong_wolfe


class LBFGS(Optimizer):
    """Steps that need the loss several times: `step(closure)`.

    params            real tensors or variables, in one group
    lr                how long a step is, where there is no line search
    max_iter          how many directions `step` goes at most
    max_eval          how often it calls the closure at most; left out, 5/4 · max_iter
    tolerance_grad    it is done when no entry of the gradient is larger
    tolerance_change  or no entry of a step, or when the loss changes less
    history_size      how many steps are remembered
    line_search_fn    None, or "strong_wolfe"

    Raises `ArgumentError` for several groups.

    >>> import pullback as pb
    >>> x = pb.tensor([3.0, -1.0], requires_grad=True)
    >>> optimizer = LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = pb.sum((x - 1) ** 4)
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    32.0
    >>> bool((abs(x.detach().numpy() - 1) < 0.05).all())
    True
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, max_iter: int = 20,
        max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
        history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        })
        if len(self.param_groups) != 1:
            raise ArgumentError(self._name, "one group of parameters", f"{len(self.param_groups)}")
        self._memory: dict[str, Any] = {"func_evals": 0, "n_iter": 0}

    def _check(self, group: Group) -> None:
        at_least(group, self._name, ("lr", "max_iter", "tolerance_grad", "tolerance_change"))
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ArgumentError(f"argument `line_search_fn` of {self._name}",
                                "None or 'strong_wolfe'", repr(group["line_search_fn"]))

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Group) -> None:
        raise NotImplementedError  # its steps are of all parameters together

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Go as far as the options allow; the loss that it began with.

        closure  clears gradients, computes the loss, calls `backward`, returns the loss

        Raises `ArgumentTypeError` without a closure.
        """
        if not callable(closure):
            raise ArgumentTypeError(f"{self._name}.step", "a closure", f"{closure!r}",
                                    "write step(closure)")
        if current_step() is not None:
            raise SymbolError(
                f"{self._name}.step inside pullback.jit", "an optimizer that takes one fixed step",
                "one whose number of steps depends on the values",
                "compile the function that computes the loss, and call `step` outside",
            )
        group, memory = self.param_groups[0], self._memory

        def evaluated() -> tuple[Any, Any]:
            with enable_grad():
                loss = closure()
            memory["func_evals"] += 1
            return loss, self._gradient()

        first, g = evaluated()
        loss, calls = float(first), 1
        if _largest(g) <= group["tolerance_grad"]:
            return first
        for i in range(group["max_iter"]):
            d, t = self._direction(g, group)
            slope = _dot(g, d)
            memory.update(gradient=g, direction=d, t=t)
            if slope > -group["tolerance_change"]:
                break
            before, last = loss, i + 1 == group["max_iter"]
            if group["line_search_fn"]:
                point, used = self._search(evaluated, d, t, Point(0.0, loss, g, slope))
                t, loss, g = point.t, point.value, point.gradient
                memory["t"] = t
            else:
                self._move(self._values(), d, t)
                used = 0 if last else 1
                if used:
                    value, g = evaluated()
                    loss = float(value)
            calls += used
            if (
                last or calls >= group["max_eval"] or _largest(g) <= group["tolerance_grad"]
                or _largest(d * t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _search(
        self, evaluated: Callable[[], tuple[Any, Any]], d: Any, t: float, start: Point
    ) -> tuple[Point, int]:
        origin = self._values()

        def at(t: float) -> Point:
            self._move(origin, d, t)
            value, g = evaluated()
            return Point(t, float(value), g, _dot(g, d))

        found = strong_wolfe(at, start, t, _largest(d))
        self._move(origin, d, found[0].t)
        return found

    def _direction(self, g: Any, group: Group) -> tuple[Any, float]:
        """Where to go, and how far at first."""
        memory = self._memory
        memory["n_iter"] += 1
        if memory["n_iter"] == 1:
            memory.update(pairs=[], scale=1.0)
            return -g, min(1.0, 1.0 / float(OPS["sum"](abs(g)))) * group["lr"]
        y, s = g - memory["gradient"], memory["direction"] * memory["t"]
        curvature = _dot(y, s)
        if curvature > 1e-10:
            kept = memory["pairs"][-(group["history_size"] - 1) :] if (
                group["history_size"] > 1
            ) else []
            memory["pairs"] = [*kept, (y, s)]
            memory["scale"] = curvature / _dot(y, y)
        q, shares = -g, []
        for y, s in reversed(memory["pairs"]):
            share = _dot(s, q) / _dot(y, s)
            shares.append(share)
            q = q - y * share
        q = q * memory["scale"]
        for (y, s), share in zip(memory["pairs"], reversed(shares), strict=True):
            q = q + s * (share - _dot(y, q) / _dot(y, s))
        return q, group["lr"]

    # All parameters as one vector -------------------------------------------------------------

    def _gradient(self) -> Any:
        parts = [p._data * 0 if p.grad is None else raw(p.grad) for p in self._groups]
        return OPS["concat"]([OPS["reshape"](part, (-1,)) for part in parts])

    def _values(self) -> list[Any]:
        return [adapters[p._data.__class__].copy(p._data) for p in self._groups]

    def _move(self, origin: list[Any], d: Any, t: float) -> None:
        """Put the parameters at a distance along a direction from where they were."""
        start = 0
        for p, value in zip(self._groups, origin, strict=True):
            count = 1
            for length in p.shape:
                count *= length
            step = OPS["reshape"](d[start : start + count], p.shape)
            start += count
            new = value + OPS["astype"](step * t, p.dtype)
            if isinstance(p, Variable):
                p.assign(new)
                continue
            p._data = adapters[p._data.__class__].write(p._data, new)
            versions.written(p._data, f"{self._name}.step", line=False)
            if p._node is not None:
                p._node.renew(p._data)

    # Saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of the options and of what it remembers."""
        numbers = list(range(len(self._groups)))
        memory = dict(self._memory)
        for name in ("gradient", "direction"):
            if name in memory:
                memory[name] = _kept(memory[name])
        memory["pairs"] = [[_kept(y), _kept(s)] for y, s in memory.get("pairs", [])]
        return {"state": {0: memory}, "param_groups": [{**self.param_groups[0], "params": numbers}]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        super().load_state_dict({**state_dict, "state": {}})
        memory = dict(state_dict["state"][0])
        adapter = adapters[next(iter(self._groups))._data.__class__]

        def vector(value: Any) -> Any:
            return adapter.copy(adapter.asarray(raw(value)))

        for name in ("gradient", "direction"):
            if name in memory:
                memory[name] = vector(memory[name])
        memory["pairs"] = [(vector(y), vector(s)) for y, s in memory["pairs"]]
        self._memory = memory


def _kept(vector: Any) -> Tensor:
    array = raw(vector)
    return wrap(Tensor, adapters[array.__class__].copy(array))


def _dot(x: Any, y: Any) -> float:
    return float(OPS["sum"](x * y))


def _largest(x: Any) -> float:
    return float(OPS["max"](abs(x)))
