"""Gradients of a compiled function from outside: its backward pass is a compiled function too.

The backward pass computes the forward again, in the same compiled code (as `checkpoint` does). It
is a function of tensors as the forward is, so it has derivatives of its own, of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax import numpy as jnp

from ..arrays.batched import Batched
from ..autograd import grad as gradients_of
from ..core import state as _state
from ..core.node import Leaf
from ..core.op import OPS
from ..core.state import REQUIRED
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..custom.gradient import custom_gradient
from ..ops import asarray
from ..variable import Variable
from .places import leaf_of
from .trace import Trace

if TYPE_CHECKING:
    from .arguments import Arguments
    from .entry import Entry

Values = Sequence[Any]
Function = Callable[[Any, Values], list[Any]]


def differentiated(entry: Entry, arguments: Arguments) -> Any:
    """Call a compiled function whose results may be differentiated.

    Returns `Stale` where the entry is not made for the state.
    """
    forward = entry.forward
    if forward is None:
        forward = entry.forward = Forward(entry)
    return forward(arguments)


class Forward:
    """The forward of one entry: its results get a history where an input has one."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        used = [*entry.written, *entry.read]
        self.state = [t for t in used if leaf_of(t) is not None]
        self.rest = [t for t in used if leaf_of(t) is None]
        self.function = Pure(self._compute)

    def __call__(self, arguments: Arguments) -> Any:
        """The results; `Stale` where the entry is not made for the state."""
        entry = self.entry
        given = [v for v, k in zip(arguments.flat, arguments.kinds, strict=True) if k]
        self.places = [
            i for i, v in enumerate(given) if isinstance(v, Tensor) and is_inexact(v._array)
        ]
        tensors = [*(given[i] for i in self.places), *self.state]
        tensors = [_moved(t) for t in tensors]
        nodes = [leaf_of(t) if isinstance(t, Variable) else t._history for t in tensors]
        constants = (list(arguments.inputs), [t._array for t in self.rest])
        found = entry.call(arguments.inputs)
        if not isinstance(found, tuple):
            return found
        numbers, _, results = found
        if _state.state().differentiates(nodes):
            results = self.function.recorded(tensors, (*constants, *entry.entered), results)
        return entry.outcome.rebuild(results, numbers)

    def _compute(self, constants: Any, values: Values) -> list[Any]:
        """The function once more, on these tensors."""
        inputs, rest, _, _ = constants
        trace = _state_of_trace()
        entry = self.entry
        mine = list(values[len(self.places):])
        for tensor, value in zip(self.state, mine, strict=True):
            place = trace.add(tensor, value._data)
            if isinstance(tensor, Variable):
                tensor._leaf = value._node
            else:
                place.node = value._node
        for tensor, data in zip(self.rest, rest, strict=True):
            trace.add(tensor, data)
        for tensor in entry.given.tensors:
            if id(tensor) not in trace.places:
                trace.add(tensor, tensor._array)
        for optimizer in entry.given.optimizers:
            trace.hold(optimizer, {})
        whole = [wrap(k, v) if k is not True else v for k, v in zip(
            [k for k in entry.arguments.kinds if k], inputs, strict=True)]
        for i, value in zip(self.places, values, strict=False):
            whole[i] = wrap(type(whole[i]), value._data, value._node)
        args, keywords = entry.arguments.rebuilt(whole)
        with _state.setting(overrides=entry.overrides):
            return entry.outcome.tensors_of(entry.compiled.function(*args, **keywords))


def _moved(tensor: Any) -> Any:
    """A tensor of NumPy that has a history, as one of JAX: what it leads to is NumPy's again."""
    if isinstance(tensor._array, jax.Array) or tensor._history is None:
        return tensor
    return asarray(tensor, like=jnp.zeros(()))


def _state_of_trace() -> Trace:
    from ..core.outside import current_step

    found = current_step()
    assert isinstance(found, Trace)
    return found


class Pure:
    """A compiled function of tensors, with derivatives of every order.

    compute  (constants, Tensors) -> a list of Tensors and None; runs while JAX traces
    """

    def __init__(self, compute: Function) -> None:
        self.compute = compute
        self.run = jax.jit(self._traced)
        self.there: list[bool] = []
        self._derivative: Pure | None = None

    def _traced(self, arrays: Any, constants: Any) -> list[Any]:
        trace = Trace(constants[2], constants[3], ())
        with trace.active():
            made = self.compute(constants, [wrap(Tensor, a) for a in arrays])
            self.there = [v is not None for v in made]
            return [v._data for v in made if v is not None]

    def __call__(self, constants: Any, values: Values) -> list[Any]:
        """The results, with a history where a value has one."""
        arrays = [raw(v) for v in values]
        batched = any(a.__class__ is Batched for a in arrays)  # in a vmap: compute it as it is
        made = iter((self._traced if batched else self.run)(arrays, constants))
        results = [next(made) if there else None for there in self.there]
        if not _state.state().differentiates([getattr(v, "_node", None) for v in values]):
            return [None if r is None else wrap(Tensor, r) for r in results]
        return self.recorded(values, constants, results)

    def recorded(self, values: Values, constants: Any, results: Values) -> list[Any]:
        """Results that were computed, with a history."""
        ends = [i for i, r in enumerate(results) if r is not None and is_inexact(r)]
        if not ends:
            return list(results)
        derivative = self._derivative
        if derivative is None:
            derivative = self._derivative = Pure(_Derivative(self.compute, len(values), ends))

        @custom_gradient
        def compiled(*tensors: Any) -> Any:
            def grad(*cotangents: Any) -> Any:
                found = derivative(constants, [*tensors, *cotangents])
                return tuple(found) if len(found) > 1 else found[0]

            outputs = tuple([wrap(Tensor, results[i]) for i in ends])
            return outputs if len(outputs) > 1 else outputs[0], grad

        made = compiled(*values)
        made = list(made) if len(ends) > 1 else [made]
        whole = [r if r is None or isinstance(r, Tensor) else wrap(Tensor, r) for r in results]
        for i, value in zip(ends, made, strict=True):
            whole[i] = value
        return whole


class _Derivative:
    """The gradients of a function, as such a function: of its values and of cotangents."""

    def __init__(self, compute: Function, count: int, ends: list[int]) -> None:
        self.compute, self.count, self.ends = compute, count, ends

    def __call__(self, constants: Any, values: Values) -> list[Any]:
        own, cotangents = values[: self.count], values[self.count :]
        create = any(v._node is not None for v in values)
        sources = [_source(v) for v in own]
        before = _state.change(enabled=True)
        try:
            made = self.compute(constants, sources)
        finally:
            _state.restore(before)
        pairs = [
            (made[i], g) for i, g in zip(self.ends, cotangents, strict=True)
            if made[i] is not None and made[i]._node is not None
        ]
        wanted = [s for s in sources if s._node is not None]
        if not pairs or not wanted:
            return [None] * len(own)
        found = iter(gradients_of(
            [y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=create,
            allow_unused=True,
        ))
        return [next(found) if s._node is not None else None for s in sources]


def _source(value: Any) -> Any:
    """A tensor to differentiate with respect to."""
    if not is_inexact(value._data):
        return value
    if value._node is not None:
        return OPS["identity"](value)
    return wrap(Tensor, value._data, Leaf(value._data, REQUIRED, trainable=True))
