"""The calls of a compiled function: what its state is, which compiled form fits, what is new."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

import jax
import numpy
from jax import numpy as jnp
from jax.extend import source_info_util

from .._user_code import PACKAGE
from ..arrays import adapters
from ..arrays.jax_.engine import no_value, tracing
from ..core import state as _state
from ..core.node import Leaf
from ..core.outside import exchanging
from ..core.tensor import Tensor, wrap
from ..errors import (
    ArgumentTypeError,
    DtypeError,
    GraphError,
    RetracingWarning,
    SymbolError,
    warn,
)
from ..graphs.overridden import Rules
from .arguments import Arguments, static_values
from .entry import Entry, Stale
from .finding import PLAIN, Found
from .gradients import differentiated
from .optimizers import missing_slots
from .places import leaf_of
from .trace import concrete
from .tracing import Given

source_info_util.register_exclusion(PACKAGE)  # errors and HLO show the user's lines

LOCK = RLock()
"""While a step is traced or run: steps share parameters."""
_MANY = 12
_log = logging.getLogger("pullback")


class Calls:
    """A compiled function.

    function  what the user wrote
    traces    how often it was traced

    >>> import pullback as pb
    >>> w = pb.tensor([1.0, 2.0], requires_grad=True, dtype="float32")
    >>> optimizer = pb.optim.SGD([w], lr=0.25)
    >>> @pb.jit
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = pb.sum((w * x) ** 2)
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> x = pb.ones(2, dtype="float32")
    >>> float(step(x)), float(step(x))
    (5.0, 1.25)
    """

    def __init__(
        self, function: Callable[..., Any], donate: bool, static_argnames: Sequence[str]
    ) -> None:
        self.function, self.donate = function, donate
        self.static = static_values(function, static_argnames)
        self.traces = 0
        self.used_up = False
        self._entries: dict[Any, list[Entry]] = {}
        self._reached: dict[tuple[int, ...], Found] = {}  # by the arguments that are no inputs
        self._extra: list[Any] = []  # what the walk had missed

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call the function, compiled where that is possible here."""
        if exchanging() is not None or tracing():
            return self.function(*args, **keywords)
        arguments = Arguments(args, keywords, self.static)
        if arguments.inline:
            return self.function(*args, **keywords)
        with LOCK:
            return self._called(arguments)

    def _called(self, arguments: Arguments) -> Any:
        found = self._look(arguments)
        key = (arguments.key, found.number, found.version, _mode())
        entries = self._entries.setdefault(key, [])
        for entry in entries:
            if not entry.fits():
                continue
            try:
                out = self._run(entry, arguments)
            except Stale:  # an array of the state has another shape or dtype
                entries.remove(entry)
                break
            if out is not Stale:
                return out
        entry = self._traced(found, arguments)
        key = (arguments.key, found.number, found.version, _mode())
        self._entries.setdefault(key, []).insert(0, entry)
        return self._run(entry, arguments)

    def _run(self, entry: Entry, arguments: Arguments) -> Any:
        if entry.outcome.pure and _state.state().enabled:
            return differentiated(entry, arguments)
        found = entry.call(arguments.inputs)
        if found is Stale:
            return Stale
        self.used_up = True
        numbers, changed, results = found
        if changed:
            _change(entry, arguments, changed)
        return entry.outcome.rebuild(results, numbers)

    # State ------------------------------------------------------------------------------------

    def _look(self, arguments: Arguments) -> Found:
        """What the function reaches with these arguments, as far as the walk can tell."""
        fixed = [v for v, kind in zip(arguments.flat, arguments.kinds, strict=True)
                 if not kind and not isinstance(v, PLAIN)]
        place = tuple(map(id, fixed))
        found = self._reached.get(place)
        if found is not None:
            changed = [w for w in found.watched if not w.unchanged()]
            if not changed:
                return found
            if sum(not w.renewed() for w in changed) == 0:  # (each takes note)
                found.note()
                return found
        made = Found()
        made.walk(*self._extra, *fixed, self.function)
        made.note()
        if found is not None:
            if found.structure() <= made.structure():
                made.number = found.number
            else:  # an object was replaced by another one
                self._entries = {k: v for k, v in self._entries.items() if k[1] != found.number}
        self._reached[place] = made
        return made

    def _given(self, found: Found, arguments: Arguments) -> Given:
        """What a trace can use, in arrays of JAX."""
        inputs = {id(v) for v, k in zip(arguments.flat, arguments.kinds, strict=True) if k}
        tensors = [t for i, t in found.tensors.items() if i not in inputs and _is_state(t)]
        optimizers = list(found.optimizers.values())
        kept = {id(p): p for o in optimizers for p in o._groups}
        tensors += [p for i, p in kept.items() if i not in found.tensors]
        _move(tensors, optimizers)
        slots = []
        for o in optimizers:
            for p in o._groups:
                slots += [(o, p, name, array) for name, array in o.state.get(p, {}).items()
                          if isinstance(array, jax.Array)]
            slots += [(o, p, name, array) for (p, name), array in missing_slots(o).items()]
        return Given(tensors, optimizers, slots, list(found.schedulers.values()))

    def _traced(self, found: Found, arguments: Arguments) -> Entry:
        for _ in range(6):
            watched = found.watched
            try:
                entry = Entry(self, self._given(found, arguments), arguments)
            except BaseException as error:
                for w in watched:
                    w.restore()
                symbol = None if isinstance(error, SymbolError) else no_value(error)
                if symbol is None:
                    raise
                raise symbol from error
            for w in watched:
                w.check()
            found.note()
            if self.traces % _MANY == 0 and self.traces:
                warn(
                    f"pullback.jit has traced {self!r} {self.traces} times: each new shape, dtype, "
                    "static value or plain number that the code reads adds one",
                    RetracingWarning,
                )
            missed = entry.missed
            if not missed:
                return entry
            self._extra += missed
            found.walk(*missed)
            found.note()
        raise GraphError(
            f"pullback.jit of {self!r}", "a function that reads the same tensors in each call",
            "one that reads others each time", "pass them as arguments",
        )

    def __repr__(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))


def _mode() -> Any:
    now = _state.state()
    rules = tuple([Rules(scope.rules) for scope in now.overrides]) if now.overrides else ()
    return now.enabled, now.inference, now.level >= _state.ALL, rules


def _is_state(tensor: Any) -> bool:
    return not tensor._constant and concrete(tensor._array)


def _move(tensors: Sequence[Any], optimizers: Sequence[Any]) -> None:
    """Move NumPy's tensors and slots to JAX, for good."""
    count = size = 0
    for t in tensors:
        old = t._array
        if isinstance(old, jax.Array):
            if getattr(old, "weak_type", False):
                _hold(t, jax.lax.convert_element_type(old, old.dtype))
            continue
        _hold(t, _moved(old))
        count, size = count + 1, size + old.nbytes
    for o in optimizers:
        for kept in o.state.values():
            for name, array in kept.items():
                if isinstance(array, numpy.ndarray):
                    kept[name] = _moved(array)
    if count:
        _log.info("pullback.jit moved %d tensors (%.1f MB) from NumPy to JAX", count, size / 1e6)


def _hold(tensor: Any, array: Any) -> None:
    """Let a tensor hold another array, and its gradient one of the same library."""
    tensor._array = array
    leaf = leaf_of(tensor)
    if isinstance(leaf, Leaf):
        leaf.dtype = array.dtype
        leaf.renew(array)
        if leaf.grad is not None and isinstance(leaf.grad._array, numpy.ndarray):
            leaf.grad = wrap(type(leaf.grad), _moved(leaf.grad._array))


def _moved(array: Any) -> Any:
    if not isinstance(array, (numpy.ndarray, numpy.generic)):
        raise ArgumentTypeError(
            "a tensor that pullback.jit reaches", "an array of JAX or NumPy",
            f"one of {adapters[array.__class__].name}",
            "move it first: module.to(like=jax.numpy.zeros(()))",
        )
    made = jnp.array(numpy.asarray(array), copy=True)
    if made.dtype != array.dtype and array.dtype.kind in "fc":
        raise DtypeError(
            "a tensor that pullback.jit reaches", f"dtype {made.dtype}, JAX's default precision",
            f"dtype {array.dtype}",
            'use dtype="float32" (module.to(dtype="float32")), or set jax_enable_x64',
        )
    return made


def _change(entry: Entry, arguments: Arguments, changed: Sequence[Any]) -> None:
    """Do to the arguments what the function did to them."""
    tensors = [v for v, k in zip(arguments.flat, arguments.kinds, strict=True) if k]
    for (i, what), array in zip(entry.outcome.of_arguments, changed, strict=True):
        target = tensors[i]
        if what == "value":
            with _state.setting(enabled=False):
                target[...] = wrap(Tensor, array)
        else:
            old = target.grad
            target.grad = wrap(Tensor, array) if old is None else old + wrap(Tensor, array)
