"""`torch.optim.Optimizer`: the base of PyTorch's own optimizers and of the user's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import wrap
from ...errors import ArgumentError
from ...nn.hooks import RemovableHandle
from ...optim import Optimizer as CoreOptimizer
from ...recording import enable_grad
from ..errors import as_runtime
from ..tensor import Tensor

__all__ = ["Optimizer"]


class Optimizer(CoreOptimizer):
    """Base of optimizers: a subclass has a `step` that changes the parameters of `param_groups`.

    `state` is a dictionary for each parameter. Groups may have any options.

    >>> import pullback.torch as torch
    >>> class Descent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(p.grad, alpha=group["lr"])
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> (x * 3).sum().backward()
    >>> Descent([x], 0.5).step()
    >>> x.detach()
    tensor([-0.5000])
    """

    _any_option = True

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        super().__init__(self._prepared(params), defaults)
        self.state = defaultdict(dict, self.state)

    def _prepared(self, params: Any) -> list[Any]:
        """The parameters, in a list and without names; and what the constructor needs first."""
        if isinstance(params, CoreTensor):
            raise TypeError("argument `params`: expected a list of tensors, got a tensor")
        self._step_hooks: dict[str, dict[int, Any]] = {"pre": {}, "post": {}}
        return [_unnamed(p) for p in params]

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Take more parameters: a dictionary with `"params"` and options of their own."""
        if isinstance(group, Mapping) and "params" in group:
            given = group["params"]
            listed = [given] if isinstance(given, CoreTensor) else [_unnamed(p) for p in given]
            group = {**group, "params": listed}
        super().add_param_group(group)

    def _update(self, x: Any, g: Any, slots: list[Any], count: int, group: Any) -> None:
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Change the parameters; for subclasses to define."""
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._step_hooks["pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._step_hooks["post"], hook)

    def state_dict(self) -> dict[str, Any]:
        """The state and the options; parameters are named by their number."""
        numbers = {p: i for i, p in enumerate(self._groups)}
        state = {numbers[p]: dict(kept) for p, kept in self.state.items() if p in numbers}
        groups = [
            {**group, "params": [numbers[p] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from such a state, of an optimizer with the same groups of parameters."""
        try:
            super().load_state_dict({**state_dict, "state": {}})
        except ArgumentError as error:
            raise as_runtime(error) from None
        numbers = [n for group in state_dict["param_groups"] for n in group["params"]]
        self.state = defaultdict(dict)
        for number, p in zip(numbers, self._groups, strict=True):
            if number in state_dict["state"]:
                self.state[p] = deepcopy(dict(state_dict["state"][number]))

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params"]
        return "\n".join([*lines, ")"])


def _unnamed(p: Any) -> Any:
    """A parameter without its name, where `named_parameters()` are given."""
    return p[1] if isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) else p


class Ready(Optimizer):
    """What the optimizers that are here share: a step is the core's formula."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Change every parameter by its `grad`; with a closure, compute and return the loss."""
        for hook in list(self._step_hooks["pre"].values()):
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        CoreOptimizer.step(self)
        for hook in list(self._step_hooks["post"].values()):
            hook(self, (closure,), {})
        return loss

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of the state and the options; parameters are named by their number."""
        made = CoreOptimizer.state_dict(self)
        for kept in made["state"].values():
            for name, value in kept.items():
                if isinstance(value, CoreTensor):
                    kept[name] = wrap(Tensor, value._data)
        return made

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from such a state, of an optimizer with the same groups of parameters."""
        try:
            CoreOptimizer.load_state_dict(self, state_dict)
        except ArgumentError as error:
            raise as_runtime(error) from None
        self.state = defaultdict(dict, self.state)

