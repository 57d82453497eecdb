"""`torch.autograd.forward_ad`: forward-mode differentiation with dual tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import ops
from ...arrays import adapters
from ...core import state as _state
from ...core.cotangent import wrapped
from ...core.state import Scoped
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import is_inexact, wrap
from ...errors import ArgumentError, ArgumentTypeError
from ...passes.accumulator import Accumulator
from ...transforms.forward import tangent_of
from ..errors import as_runtime, guarded

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]

_levels: Scoped[tuple[Accumulator, ...]] = Scoped("dual_levels", ())


class UnpackedDualTensor(NamedTuple):
    """The primal and the tangent of a dual tensor; a tensor without a tangent has None."""

    primal: Any
    tangent: Any


class dual_level:
    """Context manager for forward mode; tangents of its dual tensors are released at its end.

    Levels nest (PyTorch has one level): tangents of an inner level can have tangents of an outer.

    >>> import pullback.torch as torch
    >>> from pullback.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor([1., 4.]), tangent=tensor([2., 0.]))
    """

    def __enter__(self) -> int:
        self._level = enter_dual_level()
        return self._level

    def __exit__(self, *exc: object) -> None:
        exit_dual_level(level=self._level)


def enter_dual_level() -> int:
    """Enter a level and return its number; `dual_level` as a context manager is safer."""
    opened = _levels.get()
    sweep = Accumulator()
    _levels.set((*opened, sweep))
    sweep.activate()
    return len(opened)


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit the innermost level; its tangents are released.

    Raises `ArgumentError` (also a `RuntimeError`) if `level` is not the innermost one.
    """
    opened = _levels.get()
    last = len(opened) - 1
    if not opened or level not in (None, last):
        raise as_runtime(ArgumentError(
            "exit_dual_level", f"the innermost level, {last}" if opened
            else "an open level", f"level {level}" if opened else "none",
        ))
    _levels.set(opened[:-1])
    active = _state.state().accumulators
    _state.change(accumulators=tuple([a for a in active if a is not opened[-1]]))


def _sweep(level: int | None) -> Accumulator | None:
    opened = _levels.get()
    place = len(opened) - 1 if level is None else level
    return opened[place] if 0 <= place < len(opened) else None


@guarded
def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Returns a dual tensor: the tensor's values with a tangent, which operations propagate.

    If the tensor requires a gradient, gradients flow through the dual tensor to it.

    Raises `ArgumentError` (a `RuntimeError` and `ValueError`) outside `dual_level`, for a tensor
    that already has a tangent, and for integers; `ShapeError` if the shapes differ.
    """
    sweep = _sweep(level)
    if sweep is None:
        raise ArgumentError(
            "make_dual", "an open level of forward mode", "no open level",
            "call it inside `with forward_ad.dual_level():`",
        )
    for x, role in ((tensor, "primal"), (tangent, "tangent")):
        if not isinstance(x, CoreTensor):
            raise ArgumentTypeError(f"{role} of make_dual", "a tensor", f"a {type(x).__name__}")
        if not is_inexact(x._data):
            raise ArgumentError(f"{role} of make_dual", "a floating or complex dtype", f"{x.dtype}")
    if sweep.tangent(tensor) is not None:
        raise ArgumentError("make_dual", "a tensor without a tangent", "a dual tensor",
                            "add the two tangents")
    return sweep.watch(tensor, tangent_of(tensor, tangent, "tangent of make_dual"))


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Returns the primal of a tensor (with its history, without a tangent) and its tangent."""
    sweep = _sweep(level)
    t = None if sweep is None else sweep.tangent(tensor)
    if t is None:
        return UnpackedDualTensor(tensor, None)
    others = tuple([a for a in _state.state().accumulators if a is not sweep])
    with _state.setting(accumulators=others):
        primal = ops.identity(tensor)
    if not isinstance(t, CoreTensor):  # a copy: it may be the user's array
        t = wrap(tensor._out, adapters[t.__class__].copy(t))
    return UnpackedDualTensor(primal, wrapped(tensor._out, t))
