"""What is to be computed for some fetches: the operations needed, each once, in order.

Found once for a set of fetches, not each run: operations without use are left out, what
depends on constants only is computed ahead, and two operations that compute the same are one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy

from ..arrays import adapters, dominant
from ..arrays.dressed import bare
from ..arrays.symbol import Symbol
from ..core.op import OPS, Op
from ..core.tensor import raw
from ..kinds.shapes import size_of
from .aliasing import Constant, Step, shared
from .fusing import fused
from .kernels import kernel_for as kernel_for
from .operation import Operation, filled

FOLDED = 1 << 16
"""The most entries of a constant that is computed ahead: larger ones cost memory for good."""


_IDENTITY = OPS["identity"].op
"""It makes a new array with every run: it is not computed ahead, nor once for two."""


_LIKE = frozenset(OPS[name].op for name in ("ones_like", "zeros_like", "full_like"))
"""They read the shape and dtype of an array, and no entry."""


def _is_small(symbol: Any) -> bool:
    """Whether a symbol is a NumPy array (which needs no device) with few entries."""
    size = size_of(symbol.shape) if symbol.__class__ is Symbol else None
    return size is not None and size <= FOLDED and adapters[symbol.kind] is adapters[float]


def _sample(symbol: Any) -> Constant:
    """An array that looks as a symbol does."""
    return Constant(adapters[symbol.kind].zeros(tuple(symbol.shape), symbol.dtype))


class Plan:
    """The steps that compute some symbols and run some operations, given the values of others.

    feeds    symbols whose values are given; the first registers hold them
    fetches  symbols and operations
    own      so many of the fetches, the first ones, are to share memory with nothing else

    `steps` are run in order; `kept` are the places of those that must receive a copy, and `copied`
    those of the results that must be one (see `sharing.py`). `groups` may run block by block (see
    `fusing.py`).
    """

    def __init__(
        self, fetches: Sequence[Any], feeds: Sequence[Symbol] = (), own: int = 0
    ) -> None:
        self.feeds = list(feeds)
        self.steps: list[Step] = []
        self._places: dict[int, Any] = {}  # id of a symbol -> its register, or its Constant
        self._known: dict[Hashable, tuple[Any, ...]] = {}
        self._kept: list[Any] = []  # keeps the ids above their own
        self.registers = 0
        for symbol in feeds:
            self._places[id(symbol)] = self._register()
        for operation in needed(fetches, feeds):
            self._add(operation)
        self.results = [
            self._places[id(f)] if f.__class__ is Symbol else None for f in fetches
        ]
        self._prune({id(f) for f in fetches})
        self.steps, self.groups = fused(self.steps, self.results)
        self.kept, self.copied = shared(self.steps, self.results[:own], len(self.feeds))

    def _prune(self, roots: set[int]) -> None:
        """Leave out what only `_LIKE` operations read."""
        read = {r for r in self.results if r.__class__ is int}
        kept = []
        for step in reversed(self.steps):
            pure = isinstance(step.operation.op, Op) and id(step.operation) not in roots
            if not pure or step.operation.control or not read.isdisjoint(step.results):
                read.update(p for p in (*step.args, *step.extra) if p.__class__ is int)
                kept.append(step)
        self.steps = kept[::-1]

    def _register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def _add(self, operation: Operation) -> None:
        op = operation.op
        if operation.value is not None:
            self._places[id(operation.symbols[0])] = Constant(operation.value)
            return
        args = tuple(
            self._places[id(a)] if a.__class__ is Symbol else Constant(a) for a in operation.args
        )
        extra = tuple(self._places[id(s)] for s in operation.extra)
        stateful = getattr(op, "stateful", False) or op is _IDENTITY
        if op in _LIKE and not extra and _is_small(operation.args[0]):
            args = (_sample(operation.args[0]),)
            self._kept.append(args)
        key = None if stateful or operation.control else _key(operation, args, extra)
        found = None if key is None else self._known.get(key)
        if found is None and not stateful and not operation.control and _foldable(
            operation, (*args, *extra)
        ):
            found = _folded(operation, args, extra)
        if found is None:
            found = tuple(self._register() for _ in operation.symbols)
            self.steps.append(Step(operation, args, extra, found))
        if key is not None:
            self._known[key] = found
        for symbol, place in zip(operation.symbols, found, strict=True):
            if id(symbol) not in self._places:  # one that is fed stays as it is
                self._places[id(symbol)] = place
        self._kept.append(operation)


def needed(roots: Iterable[Any], feeds: Iterable[Symbol]) -> list[Operation]:
    """The operations that symbols and operations depend on, in the order of building."""
    fed = {id(s) for s in feeds}
    seen: dict[int, Operation] = {}
    stack: list[Operation] = []

    def visit(symbol: Symbol) -> None:
        if id(symbol) not in fed and id(symbol.operation) not in seen:
            seen[id(symbol.operation)] = symbol.operation
            stack.append(symbol.operation)

    for root in roots:
        if root.__class__ is Symbol:
            visit(root)
        elif id(root) not in seen:
            seen[id(root)] = root
            stack.append(root)
    while stack:
        operation = stack.pop()
        for symbol in operation.takes:
            visit(symbol)
        for before in operation.control:
            if id(before) not in seen:
                seen[id(before)] = before
                stack.append(before)
    return sorted(seen.values(), key=lambda o: o.number)


def _key(operation: Operation, args: tuple[Any, ...], extra: tuple[Any, ...]) -> Hashable:
    """A key that is equal for two operations that compute the same; None if that is unknown."""
    op = operation.op
    parts = tuple(_identity(a) for a in (*args, *extra))
    try:
        attrs = tuple(sorted((k, hashable(v)) for k, v in operation.attrs.items()))
        key = (getattr(op, "function", op) if not isinstance(op, Op) else op, parts, attrs)
        hash(key)
    except TypeError:
        return None
    return key


def _identity(place: Any) -> Hashable:
    if place.__class__ is not Constant:
        return ("register", place)
    value = place.value
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))  # 0.0 and -0.0 are two
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return ("object", id(value))
    return (type(value), value)


def hashable(value: Any) -> Hashable:
    """An attribute as a key: sequences and slices by their parts, arrays by identity."""
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(map(hashable, value)))
    if isinstance(value, slice):
        return ("slice", hashable((value.start, value.stop, value.step)))
    return _identity(Constant(value))


def _foldable(operation: Operation, places: tuple[Any, ...]) -> bool:
    """Whether an operation on constants gives what is small enough to be kept."""
    if not all(p.__class__ is Constant for p in places):
        return False
    sizes = [size_of(s.shape) for s in operation.symbols]
    return isinstance(operation.op, Op) and all(n is not None and n <= FOLDED for n in sizes)


def _folded(operation: Operation, args: Any, extra: Any) -> tuple[Any, ...] | None:
    """The outputs of an operation on constants, or None if it refuses, which it says when run."""
    values = [a.value for a in args]
    attrs = filled(operation.attrs, [e.value for e in extra])
    kernel = kernel_for(operation.op, values, attrs)
    try:
        with numpy.errstate(all="raise"):
            answer = kernel(*values, **attrs)
    except Exception:
        return None
    answers = answer if len(operation.symbols) > 1 else (answer,)
    return tuple(map(Constant, answers))


def found_anew(op: Any) -> Callable[..., Any] | None:
    """The function that computes an operation on arrays of whatever classes; None for a `Kind`."""
    if not isinstance(op, Op):
        return None
    kernels = op.kernels

    def kernel(*args: Any, **attrs: Any) -> Any:
        kind: Any = None
        for a in args:
            cls = a.__class__
            kind = cls if kind is None or kind is cls else dominant[kind, cls]
        return bare(kernels[kind])(*args, **attrs)

    return kernel


def raw_values(values: Iterable[Any]) -> list[Any]:
    """Arrays, of Tensors too."""
    return [raw(v) for v in values]
