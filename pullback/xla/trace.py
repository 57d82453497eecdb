"""A step while JAX traces it: what stands for tensors from outside, and what becomes of them.

`Trace` is the step of the state in `core/outside.py`. A tensor from outside shows, in the thread
that traces, a tracer in place of its array and a leaf of its own, so that nothing outside changes
by the trace. A tensor that the walk (`finding.py`) has missed is noted, and the step is traced once
more with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy
from jax import numpy as jnp

from ..core import outside
from ..core import state as _state
from ..core.node import Leaf
from ..core.tensor import Tensor
from ..errors import GraphError, SymbolError
from ..rng_replay import drawing_through
from ..variable import Variable
from .draws import Streams
from .host import Host, Number
from .optimizers import Held, snapshot
from .places import SlotPlace, StandIn, TensorPlace


def concrete(data: Any) -> bool:
    """Whether an array has numbers: it is no tracer, symbol or batch of them."""
    return isinstance(data, (numpy.ndarray, numpy.generic)) or (
        isinstance(data, jax.Array) and not isinstance(data, jax.core.Tracer)
    )


class Trace:
    """One trace of a function.

    host, streams  the numbers and the random numbers that enter it
    missed         tensors and optimizers that were met, and that the walk had not found
    """

    def __init__(self, vector: Any, seeds: Any, schedulers: Sequence[Any]) -> None:
        self.host, self.streams = Host(vector), Streams(seeds)
        self.places: dict[int, TensorPlace] = {}
        self.held: dict[int, Held] = {}
        self.schedulers = dict.fromkeys(schedulers)
        self.made: dict[int, Any] = {}
        self.missed: list[Any] = []
        self._swapped: list[tuple[Any, Any]] = []
        self._undo: list[Callable[[], None]] = []
        self.notes: list[Any] = []

    # What the step uses -----------------------------------------------------------------------

    def add(self, tensor: Any, data: Any, grad: Any = None) -> TensorPlace:
        """The place of a tensor for which a tracer stands from now on."""
        place = self.places[id(tensor)] = TensorPlace(tensor, data, grad)
        if isinstance(tensor, Variable):
            self._swapped.append((tensor, tensor._leaf))
            tensor._leaf = place.leaf
        return place

    def hold(self, optimizer: Any, slots: dict[Any, tuple[Any, Any]]) -> Held:
        """Hold an optimizer; slots: (parameter, name) -> (holder, tracer)."""
        held = self.held[id(optimizer)] = Held(optimizer, self.host)
        for key, data in slots.items():
            held.places[key] = SlotPlace({}, key[1], data)
        held.enter()
        return held

    @contextmanager
    def active(self) -> Iterator[None]:
        """Trace inside the block; afterwards everything outside is as it was."""
        before, now = _state.state(), _state.state()
        fresh = now.form(_state.NORMAL)
        watching = _state.ALL if now.level >= _state.ALL else _state.OFF
        try:
            outside.traces.add(self)
            _state.set_state(fresh.changed(
                enabled=now.enabled, inference=now.inference, overrides=now.overrides,
                watching=watching, observers=(),
            ))
            with outside.step.held(self), drawing_through(self.streams):
                yield
        finally:
            _state.restore(before)
            outside.traces.discard(self)
            for tensor, leaf in reversed(self._swapped):
                tensor._leaf = leaf
            for held in self.held.values():
                held.leave()
            for undo in reversed(self._undo):
                undo()

    # The exchange, see `core/outside.py` -------------------------------------------------------

    def exchange(self) -> type[Trace]:
        """The functions below."""
        return Trace

    def place_of(self, tensor: Any) -> TensorPlace | None:
        """The place of a tensor from outside; None for one that the step has made."""
        place = self.places.get(id(tensor))
        if place is not None:
            return place
        data = tensor._array
        if not concrete(data) or id(tensor) in self.made or tensor._constant:
            return None
        self.missed.append(tensor)
        return self.add(tensor, jnp.array(data, copy=True))  # a tracer, until the next trace

    def data(self, tensor: Any) -> Any:
        """The array that a tensor has in the step."""
        place = self.place_of(tensor)
        if place is None:
            data = tensor._array
            return jnp.asarray(data) if isinstance(data, (numpy.ndarray, numpy.generic)) else data
        place.used = True
        return place.data

    def put_data(self, tensor: Any, data: Any) -> None:
        """Give a tensor an array."""
        if data.__class__ is Number or isinstance(data, (numpy.ndarray, numpy.generic)):
            data = jnp.asarray(data)
        try:
            tensor._array  # noqa: B018
        except AttributeError:  # it is being made
            if isinstance(tensor, Variable):
                raise _new_variable() from None
            tensor._array = data
            if concrete(data):
                self.made[id(tensor)] = tensor
            return
        place = self.place_of(tensor)
        if place is None:
            tensor._array = data
        else:
            place.data = data

    def node(self, tensor: Any) -> Any:
        """The node that a tensor has in the step."""
        place = self.place_of(tensor)
        if place is None or isinstance(tensor, Variable):
            return tensor._history
        return place.node

    def put_node(self, tensor: Any, node: Any) -> None:
        """Give a tensor a history."""
        place = self.places.get(id(tensor))
        if place is None or isinstance(tensor, Variable):
            tensor._history = node
        else:
            place.node = node

    # What optimizers and schedulers ask ---------------------------------------------------------

    def advances(self, optimizer: Any, parameters: list[Any]) -> None:
        """An optimizer is about to change parameters."""
        if id(optimizer) not in self.held:
            self.missed.append(optimizer)
            self._undo.append(snapshot([optimizer], ()))
            self.hold(optimizer, {})
        for p in parameters:
            place = self.place_of(p)
            if place is not None:
                place.taken = True

    def event(self, scheduler: Any, call: Callable[[], None], args: Sequence[Any]) -> None:
        """A scheduler's step: the host takes it in each call, at this place."""
        if any(isinstance(a, Tensor) for a in args):
            raise SymbolError(
                f"{type(scheduler).__name__}.step inside pullback.jit", "no tensor",
                "a value that is known only when the compiled code has run",
                "call it outside, with what the compiled function returns",
            )
        if scheduler not in self.schedulers:
            self.schedulers[scheduler] = None
            self._undo.append(snapshot((), [scheduler]))
        for held in self.held.values():
            held.write()
            held.leave()
        before = _state.state()
        try:
            _state.set_state(before.changed(scoped=_without_step(before)))
            call()
        finally:
            _state.restore(before)
            for held in self.held.values():
                held.swap()
        self.host.event(call)
        for held in self.held.values():
            held._read()

    def undo_at_end(self, undo: Callable[[], None]) -> None:
        """Call a function when the trace ends."""
        self._undo.append(undo)


def _without_step(now: Any) -> Any:
    return {k: v for k, v in now.scoped.items() if k is not outside.step}


def _new_variable() -> GraphError:
    return GraphError(
        "a variable made inside pullback.jit", "variables that exist before the first call",
        "a new one, whose value would be known only inside",
        "make it outside; optimizers of pullback.tf make theirs with `optimizer.build(variables)`",
    )


def check_left(place: TensorPlace) -> None:
    """Raise a `GraphError` for a tensor from outside that would keep a history of tracers."""
    node = place.node
    if node is None or isinstance(node, (StandIn, Leaf)) or isinstance(place.tensor, Variable):
        return
    raise GraphError(
        "a write inside pullback.jit to a tensor from outside", "a value without history",
        f"a result of `{node.name()}` that requires a gradient",
        "write x.detach(), or write inside `with pullback.no_grad():`",
    )
