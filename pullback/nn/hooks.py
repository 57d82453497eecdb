"""Module hooks: registration order, removal handles, and full backward hooks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from ..core.tensor import Tensor as CoreTensor
from ..custom.function import Function

__all__ = ["RemovableHandle"]

_numbers = itertools.count()


class RemovableHandle:
    """Removes a hook, by `remove()` or at the end of a `with` block.

    >>> kept = {}
    >>> with RemovableHandle(kept, print):
    ...     len(kept)
    1
    >>> len(kept)
    0
    """

    def __init__(
        self, hooks: dict[int, Any], hook: Any, marks: Iterable[set[int]] = (), *,
        prepend: bool = False,
    ) -> None:
        self.id = next(_numbers)
        self._hooks, self._marks = hooks, tuple(marks)
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(later)
        for mark in self._marks:
            mark.add(self.id)

    def remove(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self.id, None)
        for mark in self._marks:
            mark.discard(self.id)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class _Crossing(Function):
    """Identity on tensors; a callback reads, and may replace, their cotangents."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[[tuple[Any, ...]], tuple[Any, ...]], *xs: Any) -> Any:
        ctx.seen = seen
        ctx.set_materialize_grads(False)
        return tuple([ops.reshape(x, tuple(x.shape)) for x in xs])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.seen(grads))


class BackwardHooks:
    """The full backward hooks of one module call.

    Inputs and outputs pass through an identity operation each. The pre-hooks run once the
    cotangents of the outputs are computed, the hooks once those of the inputs are.
    """

    def __init__(self, module: Any, pre: list[Any], post: list[Any]) -> None:
        self.module, self.pre, self.post = module, pre, post
        self.outs: tuple[Any, ...] = ()
        self.inputs = 0  # the number of arguments, tensors or not
        self.places: list[int] = []  # positions of the tensors that require gradients

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments to call the module with."""
        self.inputs = len(args)
        crossed, self.places = _cross(args, self._input_cotangents if self.post else None)
        return crossed

    def leave(self, result: Any) -> Any:
        """Returns the module's result, wrapped."""
        single = isinstance(result, CoreTensor)
        parts = (result,) if single else tuple(result) if isinstance(result, (tuple, list)) else ()
        if not parts:
            return result
        count = len(parts)
        where = [i for i, p in enumerate(parts) if _tracked(p)]
        seen = lambda grads: self._result_cotangents(grads, where, count)  # noqa: E731
        crossed, _ = _cross(parts, seen)
        return crossed[0] if single else type(result)(crossed)

    def _result_cotangents(
        self, grads: tuple[Any, ...], where: list[int], count: int
    ) -> tuple[Any, ...]:
        outs = _spread(grads, where, count)
        for hook in self.pre:
            outs = _replaced(hook(self.module, outs), outs)
        self.outs = outs
        if self.post and not self.places:  # no input will receive a cotangent
            for hook in self.post:
                hook(self.module, (None,) * self.inputs, outs)
        return tuple([outs[i] for i in where])

    def _input_cotangents(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        ins = _spread(grads, self.places, self.inputs)
        for hook in self.post:
            ins = _replaced(hook(self.module, ins, self.outs), ins)
        return tuple([ins[i] for i in self.places])


def _tracked(value: Any) -> bool:
    return isinstance(value, CoreTensor) and value.requires_grad


def _cross(values: tuple[Any, ...], seen: Any) -> tuple[tuple[Any, ...], list[int]]:
    where = [i for i, v in enumerate(values) if _tracked(v)]
    if not where or seen is None:
        return values, where
    through = _Crossing.apply(seen, *[values[i] for i in where])
    made = list(values)
    for i, value in zip(where, through, strict=True):
        made[i] = value
    return tuple(made), where


def _spread(grads: tuple[Any, ...], where: list[int], count: int) -> tuple[Any, ...]:
    made: list[Any] = [None] * count
    for i, g in zip(where, grads, strict=True):
        made[i] = g
    return tuple(made)


def _replaced(returned: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    if returned is None:
        return grads
    return tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
