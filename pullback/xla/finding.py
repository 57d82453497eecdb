"""What a function can reach: the tensors, optimizers and numbers that it may read or write.

The walk goes through closures, globals that the code names, defaults, `self`, arguments, and the
attributes of what it meets. What it misses is found while the step is traced (`trace.py`).
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types
from collections.abc import Iterator
from operator import is_
from typing import Any

from ..core.tensor import Tensor
from ..errors import GraphError
from ..nn.module import Module
from ..optim.base import Optimizer
from ..optim.schedulers.scheduler import LRScheduler
from ..random import Generator
from .jit import Jitted

PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Values on which code may depend, and which are compared with every call."""

_OTHERS = {"jax", "jaxlib", "numpy", "optree", "pullback", "scipy", "tensorflow", "torch"}
_MOST = 100_000
_numbers = itertools.count()


def _of_library(thing: Any) -> bool:
    top = (getattr(thing, "__module__", None) or "").partition(".")[0]
    return top in _OTHERS or top in sys.stdlib_module_names


class Watched:
    """A container and what was in it when it was walked through.

    owner  the object, for messages
    read   gives the values now
    write  puts values back, or None
    """

    __slots__ = ("owner", "read", "values", "write")

    def __init__(self, owner: Any, read: Any, write: Any = None) -> None:
        self.owner, self.read, self.write = owner, read, write
        self.values = list(read())

    def unchanged(self) -> bool:
        """Whether it contains the same objects."""
        now, values = self.read(), self.values
        return len(now) == len(values) and all(map(is_, now, values))

    def renewed(self) -> bool:
        """Take note of what it contains now; whether only plain values differ."""
        before, self.values = self.values, list(self.read())
        return len(before) == len(self.values) and all(
            old is new or (isinstance(old, PLAIN) and isinstance(new, PLAIN))
            for old, new in zip(before, self.values, strict=True)
        )

    def plain(self) -> Iterator[Any]:
        """The values on which code may depend, with their types."""
        for value in self.values:
            if isinstance(value, PLAIN):
                yield value.__class__, value

    def restore(self) -> None:
        """Put back what it contained."""
        if self.write is not None and not self.unchanged():
            self.write()

    def check(self) -> None:
        """Raise a `GraphError` if the trace has left a tracer, or a number that it changed."""
        if self.unchanged():
            return
        known = {id(v) for v in self.values}
        for value in self.read():
            number = isinstance(value, (bool, int, float, complex))
            if id(value) in known or not (number or _is_traced(value)):
                continue
            got = f"{value!r}" if number else "a tensor of the compiled code"
            self.restore()
            raise GraphError(
                f"Python code inside pullback.jit that changes {_named(self.owner)}",
                "state in tensors: Python code runs once, when the function is traced",
                f"{got}, put there while it was traced",
                "keep it in a pullback.Variable and use assign, or write into a tensor in place; "
                "or return it, and put it there outside",
            )
        self.renewed()


def _is_traced(value: Any) -> bool:
    data = value._array if isinstance(value, Tensor) else value
    return type(data).__name__.endswith("Tracer") or type(value).__name__ == "Number"


def _named(owner: Any) -> str:
    name = getattr(owner, "__qualname__", None)
    return f"what `{name}` reads" if name else f"a {type(owner).__name__}"


class Found:
    """What a walk has found.

    tensors, optimizers, schedulers   in the order in which they were met
    watched   the containers on its way
    version   the plain values in them
    number    the same for walks that found the same
    """

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        self.optimizers: dict[int, Optimizer] = {}
        self.schedulers: dict[int, LRScheduler] = {}
        self.watched: list[Watched] = []
        self.number = next(_numbers)
        self.version: tuple[Any, ...] = ()
        self._seen: dict[int, Any] = {}

    def note(self) -> None:
        """Note the plain values, on which the code may depend."""
        self.version = tuple([tuple(w.plain()) for w in self.watched])

    def structure(self) -> set[Any]:
        """What is the same for another walk that has found the same objects in the same places."""
        return {
            (id(w.owner), tuple([id(v) for v in w.values
                                 if not isinstance(v, (*PLAIN, Jitted, types.MethodType))]))
            for w in self.watched
        }

    def walk(self, *things: Any) -> None:
        """Go through everything that can be reached."""
        stack = list(things)
        while stack and len(self._seen) < _MOST:
            thing = stack.pop()
            if isinstance(thing, PLAIN) or id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            stack += self._inside(thing)

    def _inside(self, thing: Any) -> list[Any]:
        """Note one object; returns what can be reached from it."""
        cls = thing.__class__
        if isinstance(thing, Tensor):
            self.tensors[id(thing)] = thing
            base = getattr(thing, "_view_of", None)
            return [] if base is None else [base[0]]
        if isinstance(thing, (types.ModuleType, Generator)) or hasattr(cls, "__array__"):
            return []
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, types.MethodType):
            return [thing.__func__, thing.__self__]
        if isinstance(thing, functools.partial):
            return [thing.func, *thing.args, *thing.keywords.values()]
        if isinstance(thing, (list, tuple, set, frozenset)):
            if cls is list:
                self._watch(thing, lambda: thing, _of_list)
            return list(thing)
        if isinstance(thing, dict):
            self._watch(thing, thing.values, _of_dict)
            return [*thing.keys(), *thing.values()] if len(thing) < _MOST else []
        if isinstance(thing, type):
            return self._class(thing)
        if isinstance(thing, (staticmethod, classmethod)):
            return [thing.__func__]
        if isinstance(thing, property):
            return [f for f in (thing.fget, thing.fset) if f is not None]
        return self._object(thing)

    def _watch(self, owner: Any, read: Any, keeper: Any = None) -> None:
        self.watched.append(Watched(owner, read, None if keeper is None else keeper(owner)))

    def _function(self, thing: types.FunctionType) -> list[Any]:
        if _of_library(thing):
            wrapped = getattr(thing, "__wrapped__", None)
            return [] if wrapped is None else [wrapped, *_contents(thing.__closure__ or ())]
        cells, space = thing.__closure__ or (), thing.__globals__
        names = [n for n in dict.fromkeys(_names(thing.__code__)) if n in space]
        if cells:
            self._watch(thing, lambda: _contents(cells))
        if names:
            self._watch(thing, lambda: [space.get(n) for n in names])
        defaults = [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
        return [*_contents(cells), *(space[n] for n in names), *defaults,
                *vars(thing).values()]

    def _class(self, thing: type) -> list[Any]:
        if _of_library(thing):
            return []
        members = vars(thing)
        self._watch(thing, members.values)
        return [*members.values(), *thing.__bases__]

    def _object(self, thing: Any) -> list[Any]:
        if isinstance(thing, Jitted):
            return [thing._options[0]]
        if isinstance(thing, Optimizer):
            self.optimizers[id(thing)] = thing
            return [*thing._groups, *(v for kept in thing.state.values() for v in kept.values())]
        if isinstance(thing, LRScheduler):
            self.schedulers[id(thing)] = thing
            return [*vars(thing).values()]
        cls = thing.__class__
        wrapped = getattr(thing, "__wrapped__", None)
        found = [] if wrapped is None else [wrapped]
        own = getattr(thing, "__dict__", None)
        top = (cls.__module__ or "").partition(".")[0]
        if isinstance(thing, types.SimpleNamespace):
            top = ""
        if own is None or (_of_library(cls) and top not in ("", "pullback")):
            return found if _of_library(cls) else [*found, cls, *_slots(thing)]
        if isinstance(thing, Module) or top != "pullback":
            self._watch(thing, own.values, lambda t: _of_dict(vars(t)))
        return [*found, *own.values(), cls, *_slots(thing)]


def _of_list(thing: list[Any]) -> Any:
    before = list(thing)
    return lambda: thing.__setitem__(slice(None), before)


def _of_dict(thing: Any) -> Any:
    before = dict(thing)

    def write() -> None:
        thing.clear()
        thing.update(before)

    return write


def _slots(thing: Any) -> list[Any]:
    names = [n for c in type(thing).__mro__ for n in getattr(c, "__slots__", ())]
    return [getattr(thing, n) for n in names if isinstance(n, str) and hasattr(thing, n)]


def _contents(cells: Any) -> list[Any]:
    found = []
    for cell in cells:
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            found.append(None)
    return found


def _names(code: types.CodeType) -> Iterator[str]:
    """The names of globals that code may read, in functions inside it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
