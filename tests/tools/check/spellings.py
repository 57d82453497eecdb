"""One hand-written gradient in each spelling of the library, from a forward and a backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.op import OPS, op
from pullback.core.tensor import raw

Forward = Callable[..., Any]
"""Arguments -> the value and a tuple of tensors that `Backward` wants."""
Backward = Callable[..., Any]
"""Those tensors as a tuple, and the cotangent -> a gradient for each argument."""


def as_function(forward: Forward, backward: Backward, *, once: bool = False) -> Any:
    """As a `pb.Function`; `once`: its backward cannot be differentiated."""

    def answered(ctx: Any, *gs: Any) -> Any:
        return backward(ctx.saved_tensors, *gs)

    class Planted(pb.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            value, saved = forward(*args)
            ctx.save_for_backward(*saved)
            return value

        backward = staticmethod(pb.once_differentiable(answered) if once else answered)

    return Planted.apply


def as_custom_gradient(forward: Forward, backward: Backward) -> Any:
    """As a `pb.custom_gradient`."""

    @pb.custom_gradient
    def planted(*args: Any) -> Any:
        value, saved = forward(*args)
        return value, lambda *gs: backward(saved, *gs)

    return planted


def as_custom_vjp(forward: Forward, backward: Backward) -> Any:
    """As a `pb.custom_vjp`, whose rule answers with a tuple."""

    @pb.custom_vjp
    def planted(*args: Any) -> Any:
        return forward(*args)[0]

    def answered(saved: Any, g: Any) -> Any:
        found = backward(saved, g)
        return found if isinstance(found, tuple) else (found,)

    planted.defvjp(lambda *args: forward(*args), answered)
    return planted


SPELLINGS: dict[str, Callable[[Forward, Backward], Any]] = {
    "Function": as_function, "custom_gradient": as_custom_gradient, "custom_vjp": as_custom_vjp,
}


def as_op(forward: Callable[..., Any], /, **rules: Callable[..., Any]) -> Any:
    """As an operation with rules, by argument; `pushforward_x=` is one of forward mode.

    It does not stay in the table of operations.
    """
    name = f"planted_{forward.__name__}"
    OPS.pop(name, None)
    made = op(forward, name=name)
    for argument, rule in rules.items():
        if argument.startswith("pushforward_"):
            rule.__name__ = f"pushforward_{name}"
            made.pushforward(argument.removeprefix("pushforward_"))(rule)
        else:
            rule.__name__ = f"pullback_{name}"
            made.pullback(argument)(rule)
    made.batching(_batched(made, name))
    OPS.pop(name)
    return made


def _batched(made: Any, name: str) -> Any:
    def batch(*values: Any, **attrs: Any) -> Any:
        return made(*values, **attrs)

    batch.__name__ = f"batch_{name}"
    return batch


def memory(array: Any) -> np.ndarray:
    """What a kernel sees that is handed a pointer and no strides: so many numbers from there on.

    (Where the memory ends before, it begins anew: a real one would read what is nobody's.)
    """
    array = np.asarray(raw(array))
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    whole = owner.ravel(order="K")
    start = array.__array_interface__["data"][0] - whole_address(owner)
    first = start // array.itemsize if array.size else 0
    if not whole.size:
        return array.copy()
    seen = np.resize(whole[first:], array.size) if whole[first:].size else whole[: array.size]
    return np.array(seen, array.dtype).reshape(array.shape)


def whole_address(owner: np.ndarray) -> int:
    """Where the first byte of an array's memory is, also where it is strided backwards."""
    return int(np.lib.array_utils.byte_bounds(owner)[0])
