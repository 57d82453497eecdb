"""One traced and compiled form of a function, and a call of it.

JAX traces the function once, as a function of everything that it might use. The trace shows what it
does use and write, and `jax.jit` is called again with just that: state that is written is donated,
state that is only read is not. The inner function is not traced a second time: JAX finds it.
"""

from __future__ import annotations

from contextlib import nullcontext
from operator import gt, is_
from sys import getrefcount
from typing import Any

import jax
import numpy
from jax import numpy as jnp

from ..arrays.jax_.engine import usual_context
from ..core import state as _state
from ..core.node import latest, number
from ..core.tensor import Tensor, wrap
from ..variable import Variable
from .arguments import Arguments
from .draws import SEEDS
from .host import LENGTH
from .optimizers import snapshot
from .places import leaf_of
from .tracing import Given, Outcome, Tracing, grad_of

NO_SEEDS = jnp.zeros((0, 2), "uint32")


def _padded(values: Any, length: int) -> Any:
    rest = length - values.shape[0]
    return jnp.concatenate([values, jnp.zeros((rest, *values.shape[1:]), values.dtype)])


class Entry:
    """A compiled form, and what a call needs of it.

    outcome  what the trace found out
    """

    def __init__(self, compiled: Any, given: Given, arguments: Arguments) -> None:
        self.given, self.arguments = given, arguments
        self.tracing = Tracing(compiled.function, given, arguments)
        self.inner = jax.jit(self._traced)
        self.compiled = compiled
        self.count = 0
        self.forward: Any = None
        self.entered: tuple[Any, Any] = (None, None)
        self.overrides = _state.state().overrides
        try:
            with usual_context() if self.overrides else nullcontext():
                self.inner.trace(*given.arrays(), *self.blank(), arguments.inputs)
        except Exception:
            if not self.tracing.missed:  # else it may be due to what stands for the missed
                raise
        self.missed = self.tracing.missed
        if not self.missed:
            assert self.tracing.outcome is not None
            self.outcome: Outcome = self.tracing.outcome
            self.met = [(set(s.met), set(s.others)) for s in self.overrides]
            self._finish()

    @staticmethod
    def blank() -> tuple[Any, Any]:
        """Numbers and seeds for a trace."""
        return numpy.zeros(LENGTH, _float()), numpy.zeros((SEEDS, 2), "uint32")

    def _traced(self, *arrays: Any) -> Any:
        self.count += 1
        if self.count > 1:
            raise Stale
        self.compiled.traces += 1
        return self.tracing(*arrays)

    def _finish(self) -> None:
        found, tensors = self.outcome, self.given.tensors
        self.donates = self.compiled.donate and not found.pure
        self.written = [tensors[i] for i in found.written]
        self.read = [tensors[i] for i in found.read]
        self.leaves = [leaf_of(t) for t in self.written]
        used = [tensors[i] for i in sorted({*found.written, *found.read, *found.read_grads})]
        self._plain = [t for t in used if not isinstance(t, Variable)]
        self._nodes = [t._history for t in self._plain]
        self._variables = [t for t in used if isinstance(t, Variable) and t._leaf is not None]
        self._levels = list(map(_level, self._variables))
        self._with_grads = [(leaf_of(tensors[i]), self.given.grads[i] is not None)
                            for i in found.read_grads]
        self._grads_in = [i for i in found.read_grads if self.given.grads[i] is not None]
        self.generators = found.streams.generators
        self.slots = [self.given.slots[i][:3] for i in found.slots]
        self.holders: list[dict[str, Any]] = []
        self._states: list[tuple[Any, Any, list[Any], list[int]]] = []
        optimizers = [h.optimizer for h in found.held]
        self.program = found.host.program(
            found.numbers, lambda: snapshot(optimizers, found.schedulers)
        )
        self._limits = [_limit(leaf is not None) for leaf in self.leaves]
        self._limits += [_limit(False)] * len(self.slots)
        self.run = jax.jit(self._whole, donate_argnums=(0,) if self.donates else ())

    def _whole(
        self, donated: Any, read: Any, grads: Any, vector: Any, seeds: Any, inputs: Any
    ) -> Any:
        """The traced function, given only what it uses."""
        found, given = self.outcome, self.given
        count = len(found.written)
        tensors: list[Any] = [None] * len(given.tensors)
        slots: list[Any] = [None] * len(given.slots)
        for places, i, arrays in (
            (tensors, found.written, donated[:count]), (tensors, found.read, read),
            (slots, found.slots, donated[count:]),
        ):
            for at, array in zip(i, arrays, strict=True):
                places[at] = array
        before = list(given.grads)
        for at, array in zip(self._grads_in, grads, strict=True):
            before[at] = array
        tensors = [_unused(v, t._array) for v, t in zip(tensors, given.tensors, strict=True)]
        slots = [_unused(v, s[3]) for v, s in zip(slots, given.slots, strict=True)]
        before = [v if v is None or isinstance(v, jax.core.Tracer) else _unused(None, v)
                  for v in before]
        return self.inner(tensors, before, slots, _padded(vector, LENGTH), _padded(seeds, SEEDS),
                          inputs)

    # Calls ------------------------------------------------------------------------------------

    def fits(self) -> bool:
        """Whether the state is of the kind that was traced."""
        return (
            all(map(is_, [t._history for t in self._plain], self._nodes))
            and list(map(_level, self._variables)) == self._levels
            and all((leaf.grad is not None) == there for leaf, there in self._with_grads)
        )

    def bind(self) -> None:
        """Find the dictionaries of optimizers' states, and make slots that are not there yet.

        Raises `Stale` for a state with other arrays.
        """
        if not all(held.fits() for held in self.outcome.held):
            raise Stale
        for held in self.outcome.held:
            held.bind()
        self.holders = []
        fresh = {(id(o), p, name): array for o, p, name, array in self.given.slots}
        for optimizer, p, name in self.slots:
            holder = optimizer.state.setdefault(p, {"step": 0})
            if name not in holder:
                array = fresh.get((id(optimizer), p, name))
                if array is None or array.is_deleted() or self.compiled.used_up:
                    array = optimizer._new_slot(p, name, optimizer._groups[p])
                holder[name] = array
            self.holders.append(holder)
        self._states = [
            (o, o.state, list(o.state.values()), list(map(len, o.state.values())))
            for o in (h.optimizer for h in self.outcome.held)
        ]

    def bound(self) -> bool:
        """Whether these are still the optimizers' states."""
        return all(
            o.state is state and list(map(len, kept)) == lengths and len(state) == len(kept)
            and all(map(is_, state.values(), kept))
            for o, state, kept, lengths in self._states
        )

    def meet(self) -> None:
        """Let overrides know which operations they were for, as when these are computed."""
        for scope, (met, others) in zip(_state.state().overrides, self.met, strict=True):
            scope.met |= met
            scope.others |= others

    def call(self, inputs: Any) -> Any:
        """Run it; returns the results, or `Stale` where it is not made for this."""
        if (not self._states and self.outcome.held) or not self.bound():
            self.bind()
        found = self.program()
        if found is None:
            return Stale
        if self.met:
            self.meet()
        vector = numpy.array(found[0], _float())
        seeds = self._seeds()
        if self.outcome.pure:
            self.entered = _widened(vector, LENGTH), _widened(seeds, SEEDS)
        donated = [t._array for t in self.written]
        donated += [h[s[2]] for h, s in zip(self.holders, self.slots, strict=True)]
        if self.donates and any(map(gt, map(getrefcount, donated), self._limits)):
            donated = [
                jnp.copy(a) if c > m else a
                for a, c, m in zip(donated, list(map(getrefcount, donated)), self._limits,
                                   strict=True)
            ]
        read = [t._array for t in self.read]
        grads = [grad_of(self.given.tensors[i]) for i in self._grads_in]
        with usual_context() if self.met else nullcontext():
            new, slots, new_grads, made, changed, results = self.run(
                donated, read, grads, vector, seeds, inputs
            )
        self._put(new, slots, new_grads, made)
        return found[1], changed, results

    def _seeds(self) -> Any:
        if not self.generators:
            return NO_SEEDS
        return numpy.array([g._own.integers(0, 2**32, 2, "uint32") for g in self.generators])

    def _put(self, new: Any, slots: Any, grads: Any, made: Any) -> None:
        """Give everything outside its new arrays."""
        seq = latest[0] = number()
        for t, leaf, array in zip(self.written, self.leaves, new, strict=True):
            t._array = array
            if leaf is not None:
                leaf.data, leaf.seq = array, seq
        for holder, (_, _, name), array in zip(self.holders, self.slots, slots, strict=True):
            holder[name] = array
        if self.outcome.grads:
            rest = iter(grads)
            for i, cls in self.outcome.grads:
                leaf = leaf_of(self.given.tensors[i])
                leaf.grad = None if cls is None else wrap(cls, next(rest))
        for (held, p, name, cls), array in zip(self.outcome.made, made, strict=True):
            kept = held.optimizer.state.setdefault(p, {})
            kept[name] = array if cls is None else wrap(cls, array)


class Stale(BaseException):
    """A compiled form met state of another kind than the one that it was traced for."""


def _level(variable: Any) -> int:
    return int(variable._leaf.level)


def _unused(value: Any, before: Any) -> Any:
    """What takes the place of something that the compiled code does not read."""
    return jnp.zeros(before.shape, before.dtype) if value is None else value


def _widened(values: Any, length: int) -> Any:
    whole = numpy.zeros((length, *values.shape[1:]), values.dtype)
    whole[: len(values)] = values
    return whole


def _float() -> Any:
    return jax.dtypes.canonicalize_dtype(float)


def _limit(leaf: bool) -> int:
    """The number of references to an array that only its tensor (and its leaf) holds."""
    tensor = wrap(Tensor, jnp.asarray(0.0) + 1)
    if leaf:
        tensor.requires_grad_()
    arrays = [tensor._array]
    return next(map(getrefcount, arrays))
