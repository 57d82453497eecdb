"""What one trace of a function uses and what it finds out: the inputs, and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import optree

from ..core.node import Leaf
from ..core.state import REQUIRED
from ..core.tensor import Tensor, wrap
from .arguments import Arguments, is_leaf
from .draws import Streams
from .host import Host, Number
from .optimizers import Held, snapshot
from .places import UNSET, TensorPlace, leaf_of, like
from .trace import Trace, check_left


class Given:
    """What a trace can use: tensors, their gradients, and the slots of optimizers.

    slots  (optimizer, parameter, name, array)
    """

    def __init__(self, tensors: Sequence[Any], optimizers: Sequence[Any],
                 slots: Sequence[tuple[Any, Any, str, Any]], schedulers: Sequence[Any]) -> None:
        self.tensors, self.optimizers = list(tensors), list(optimizers)
        self.slots, self.schedulers = list(slots), list(schedulers)
        self.grads = [grad_of(t) for t in self.tensors]

    def arrays(self) -> tuple[list[Any], list[Any], list[Any]]:
        """The inputs of the trace."""
        return [t._array for t in self.tensors], self.grads, [s[3] for s in self.slots]


def grad_of(tensor: Any) -> Any:
    """The array of a tensor's gradient outside, or None."""
    leaf = leaf_of(tensor)
    return None if leaf is None or leaf.grad is None else leaf.grad._array


class Outcome:
    """What one trace has found out."""

    host: Host
    streams: Streams
    held: list[Held]
    schedulers: list[Any]
    read: list[int]
    written: list[int]
    slots: list[int]
    read_grads: list[int]
    grads: list[tuple[int, type | None]]  # None: the gradient becomes None
    made: list[tuple[Any, Any, str, type | None]]
    of_arguments: list[tuple[int, str]]
    numbers: list[Number]
    rebuild: Callable[[Sequence[Any], Sequence[Any]], Any]
    pure: bool
    known: set[int]

    def tensors_of(self, out: Any) -> list[Any]:
        """The results that the compiled code computes, as Tensors; None for an array of JAX."""
        flat = optree.tree_leaves(out, is_leaf=is_leaf, none_is_leaf=True)
        return [
            v if isinstance(v, Tensor) else None for v in flat
            if isinstance(v, (jax.core.Tracer, jax.Array))
            or (isinstance(v, Tensor) and id(v) not in self.known)
        ]


class Tracing:
    """The function of raw arrays that JAX traces."""

    def __init__(self, function: Callable[..., Any], given: Given, arguments: Arguments) -> None:
        self.function, self.given, self.arguments = function, given, arguments
        self.missed: list[Any] = []
        self.outcome: Outcome | None = None

    def __call__(
        self, tensors: Any, grads: Any, slots: Any, vector: Any, seeds: Any, inputs: Any
    ) -> Any:
        """Everything that the function writes, makes and returns, as tracers."""
        trace = Trace(vector, seeds, self.given.schedulers)
        self.missed = trace.missed
        trace.undo_at_end(snapshot(self.given.optimizers, self.given.schedulers))
        with trace.active():
            places = [
                trace.add(t, data, grad)
                for t, data, grad in zip(self.given.tensors, tensors, grads, strict=True)
            ]
            self._hold(trace, slots)
            values = self._values(inputs)
            args, keywords = self.arguments.rebuilt(values)
            out = self.function(*args, **keywords)
            return self._finished(trace, places, values, inputs, out)

    def _hold(self, trace: Trace, arrays: Sequence[Any]) -> None:
        of: dict[int, dict[Any, Any]] = {id(o): {} for o in self.given.optimizers}
        for (optimizer, p, name, _), data in zip(self.given.slots, arrays, strict=True):
            of[id(optimizer)][p, name] = data
        for optimizer in self.given.optimizers:
            trace.hold(optimizer, of[id(optimizer)])

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs as the function gets them: Tensors where Tensors were given."""
        kinds = [k for k in self.arguments.kinds if k]
        flags = [k[-1] for k, kind in zip(self.arguments.key[1:], self.arguments.kinds, strict=True)
                 if kind and kind is not True]
        tracked, values = iter(flags), []
        for kind, data in zip(kinds, inputs, strict=True):
            if kind is True:
                values.append(data)
                continue
            node = Leaf(data, REQUIRED, trainable=True) if next(tracked) else None
            values.append(wrap(kind, data, node))
        return values

    def _finished(
        self, trace: Trace, places: list[TensorPlace], values: list[Any], inputs: Any, out: Any
    ) -> Any:
        found = self.outcome = Outcome()
        results, found.rebuild, found.numbers, tracked = _results(trace, out)
        found.host, found.streams = trace.host, trace.streams
        found.held, found.schedulers = list(trace.held.values()), list(trace.schedulers)
        made = [(h, *m) for h in found.held for m in h.finish()]
        found.known = set(trace.places)
        for place in places:
            check_left(place)
        indices = range(len(places))
        found.written = [i for i in indices if places[i].written]
        found.read = [i for i in indices if places[i].used and not places[i].written]
        new = [like(places[i].data, places[i].start) for i in found.written]
        slots = self._slots(trace)
        found.slots = [i for i, s in enumerate(slots) if s.written]
        new_slots = [like(slots[i].data, slots[i].start) for i in found.slots]
        found.read_grads = [i for i in indices if places[i].grad_read]
        found.grads = []
        grads: list[Any] = []
        for i in indices:
            self._gradient(i, places[i], found, grads)
        found.made = [(h, p, k, type(v) if isinstance(v, Tensor) else None) for h, p, k, v in made]
        of_made = [v._data if isinstance(v, Tensor) else v for *_, v in made]
        found.of_arguments, changed = _changes(values, inputs)
        steps = found.grads or found.slots or made or any(
            places[i].leaf is not None for i in found.written
        )
        found.pure = not steps and tracked
        return new, new_slots, grads, of_made, changed, results

    def _slots(self, trace: Trace) -> list[Any]:
        return [trace.held[id(o)].places[p, name] for o, p, name, _ in self.given.slots]

    @staticmethod
    def _gradient(i: int, place: TensorPlace, found: Outcome, grads: list[Any]) -> None:
        """What becomes of a gradient: those that an optimizer has used up are not kept."""
        value = place.grad
        unchanged = place.grad_start is not None and value is not UNSET and value is not None and (
            value._data is place.grad_start)
        if value is UNSET or unchanged or (value is None and not place.grad_written):
            return
        if value is None or (place.taken and not place.grad_read):
            found.grads.append((i, None))
        else:
            found.grads.append((i, type(value)))
            grads.append(value._data)


def _results(trace: Trace, out: Any) -> tuple[list[Any], Any, list[Number], bool]:
    """The arrays among results, a function that rebuilds them, and whether one has a history."""
    flat, spec = optree.tree_flatten(out, is_leaf=is_leaf, none_is_leaf=True)
    plan: list[Any] = []
    arrays, numbers, tracked = [], [], False
    for value in flat:
        if isinstance(value, Tensor) and id(value) not in trace.places:
            arrays.append(value._data)
            node = value._node
            tracked |= node is not None
            plan.append((0, value._out))
        elif isinstance(value, (jax.core.Tracer, jax.Array)):
            arrays.append(value)
            plan.append((1, None))
        elif isinstance(value, Number):
            numbers.append(value)
            plan.append((2, None))
        else:
            plan.append((3, value))

    def rebuild(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
        rest, counted = iter(arrays), iter(numbers)
        made = []
        for kind, what in plan:
            if kind == 0:
                value = next(rest)
                made.append(value if isinstance(value, Tensor) else wrap(what, value))
            else:
                made.append(next(rest) if kind == 1 else next(counted) if kind == 2 else what)
        return optree.tree_unflatten(spec, made)

    if len(plan) == 1 and plan[0][0] == 0 and flat[0] is out:
        cls = plan[0][1]

        def whole(arrays: Sequence[Any], numbers: Sequence[Any]) -> Any:
            (value,) = arrays
            return value if isinstance(value, Tensor) else wrap(cls, value)

        return arrays, whole, [], tracked
    return arrays, rebuild, numbers, tracked


def _changes(values: Sequence[Any], inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What the function did to its arguments: (number, what), and the arrays."""
    found, arrays = [], []
    for i, (value, data) in enumerate(zip(values, inputs, strict=True)):
        if not isinstance(value, Tensor):
            continue
        if value._data is not data:
            found.append((i, "value"))
            arrays.append(value._data)
        elif isinstance(value._node, Leaf) and value._node.grad is not None:
            found.append((i, "grad"))
            arrays.append(value._node.grad._data)
    return found, arrays
