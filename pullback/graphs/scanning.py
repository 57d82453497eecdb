"""How `pullback.scan` and the loops beside it run: on arrays as Python, in graphs as a `Loop`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from ..arrays import SCALARS, adapters
from ..arrays.batched import Batched, bare
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..trees import flatten, leaves, mapped
from .graph import Graph
from .hidden_axes import Hidden, going, settled
from .loops import Loop
from .program import Program
from .region_io import as_tensor, inside, outward, plain, structure
from .regions import Region
from .tensor_list import stacked, unstacked

# On arrays ----------------------------------------------------------------------------------------


class Carry:
    """What a loop carries, and the check that each turn keeps its form."""

    def __init__(self, name: str, init: Any) -> None:
        self.name, self.nesting = name, structure(init)
        self.flat, self.rebuild = flatten(init)

    def checked(self, value: Any, found: Any = None) -> list[Any]:
        """The leaves of what a turn carries on."""
        nesting = structure(value)
        if nesting != self.nesting:
            raise ArgumentError(
                f"carry of `{self.name}`", f"the structure that it begins with: {self.nesting}",
                f"{nesting}", "return it as the function got it",
            )
        return [self._leaf(i, v, old)
                for i, (v, old) in enumerate(zip(leaves(value), self.flat, strict=True))]

    def _leaf(self, i: int, value: Any, old: Any) -> Any:
        subject = f"carry {i} of `{self.name}`"
        if value is None or old is None:
            if value is not old:
                raise ArgumentTypeError(subject, "None in each turn, or an array in each",
                                        "one of them")
            return None
        start = old if isinstance(old, Tensor) else Tensor(to_array(old))
        if value.__class__ in SCALARS:
            value = adapters[start._data.__class__].asarray(value, start.dtype, start._data)
        made = value if isinstance(value, Tensor) else Tensor(to_array(value))
        check_same(subject, start, made)
        return made


def check_same(subject: str, start: Any, made: Any) -> None:
    """Raise a `DtypeError` or `ShapeError` unless a carried value looks as it did."""
    if start.dtype != made.dtype:
        raise DtypeError(subject, f"dtype {start.dtype}, as it begins",
                         f"dtype {made.dtype} after a turn",
                         f"begin with another, or cast it: pullback.astype(x, '{start.dtype}')")
    before, after = plain(raw(start).shape), plain(raw(made).shape)
    if before is None or after is None:
        return
    if len(before) != len(after) or any(
        n is not None and m is not None and n != m for n, m in zip(before, after, strict=True)
    ):
        raise ShapeError(subject, f"shape {before}, as it begins", f"shape {after} after a turn",
                         "begin with an array of the final shape")


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ArgumentTypeError(f"result of f of {name}", "a pair (carry, y)",
                                f"a {type(value).__name__}", "return (carry, None) without a y")
    return value


class AtOnce:
    """A Python loop over the entries of arrays."""

    def __init__(self, name: str, init: Any, xs: Any, count: int | None) -> None:
        self.name, self.init, self.xs = name, init, xs
        self.carry = Carry(name, init)
        assert count is not None
        self.count = count

    def run(self, f: Callable[..., Any], reverse: bool) -> tuple[Any, Any]:
        """The last carry, and the ys."""
        if not self.count:
            return self._of_none(f)
        read, carry = OPS["getitem"], self.carry
        flat, rebuild = ([], None) if self.xs.__class__ is range else flatten(self.xs)
        tensors = [v if v is None or isinstance(v, Tensor) else Tensor(to_array(v)) for v in flat]
        value, made = self.init, []
        value = mapped(lambda v: v if v is None or isinstance(v, Tensor) else Tensor(v), value)
        nest: Any = None
        order = range(self.count)
        for i in reversed(order) if reverse else order:
            entry = self.xs[i] if rebuild is None else rebuild(
                [None if t is None else read(t, i) for t in tensors]
            )
            after, y = _pair(self.name, f(value, entry))
            value = carry.rebuild(carry.checked(after))
            ys, nest = flatten(y)
            made.append(ys)
        made = made[::-1] if reverse else made
        stack = OPS["stack"]
        columns = [None if c[0] is None else stack([_tensor(v) for v in c], axis=0)
                   for c in zip(*made, strict=True)]
        return value, nest(columns)

    def _of_none(self, f: Callable[..., Any]) -> tuple[Any, Any]:
        """Of no entries: the first carry, and what a graph knows of the ys."""
        graph = Graph()
        with graph.as_default():
            _, ys = InGraph(graph, self.name, self.init, self.xs, 0).run(f, False, 1)
        flat, rebuild = flatten(ys)
        there = [v for v in flat if v is not None]
        found = iter(Program([raw(t) for t in there])([], {}))
        return self.init, rebuild([None if v is None else wrap(Tensor, next(found)) for v in flat])


def _tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else Tensor(to_array(value))


def while_at_once(name: str, more: Any, turn: Any, init: Any, limit: int | None) -> Any:
    """The Python loop; in a vmap, until the condition is false for all examples."""
    carry, turns = Carry(name, init), 0
    active: Any = None
    value = mapped(lambda v: v if v is None or isinstance(v, Tensor) else Tensor(v), init)
    while limit is None or turns < limit:
        answer = more(value)
        shape = plain(getattr(raw(answer), "shape", ()))
        if shape != ():
            raise ShapeError(f"condition of `{name}`", "one truth value, of shape ()",
                             f"shape {shape}", "reduce it, as with pullback.any(x)")
        active = going(answer, active)
        if active is False:
            break
        after = carry.checked(turn(value))
        if active is not True:
            where = OPS["where"]
            after = [v if v is None else where(active, v, old)
                     for v, old in zip(after, leaves(value), strict=True)]
        value, turns = carry.rebuild(after), turns + 1
    return value


# In a graph ---------------------------------------------------------------------------------------


def in_graph(
    graph: Any, name: str, f: Callable[..., Any], init: Any, xs: Any, count: int | None,
    reverse: bool, unroll: Any,
) -> tuple[Any, Any]:
    """A loop of a graph over the entries of its tensors: the last carry, and the ys.

    Hidden axes are shown to the loop, and hidden from f.
    """
    first, rebuild = flatten(init)
    entries, of_entries = ([], None) if xs.__class__ is range else flatten(xs)
    carried, rows, made = Hidden(len(first)), Hidden(len(entries)), Hidden()
    carried.noted(first)
    rows.noted(entries)

    def turn(carry: Any, entry: Any) -> Any:
        if of_entries is not None:
            entry = of_entries(rows.hidden(flatten(entry)[0]))
        after, y = _pair(name, f(rebuild(carried.hidden(flatten(carry)[0])), entry))
        flat, own = flatten(after)
        if len(flat) == len(first):
            after = own(carried.shown(flat))
        flat, own = flatten(y)
        made.checked(flat)
        return after, own(made.shown(flat))

    def attempt() -> tuple[Any, Any]:
        start = rebuild(carried.shown(first))
        over = xs if of_entries is None else of_entries(rows.shown(entries, 1))
        after, ys = InGraph(graph, name, start, over, count).run(turn, reverse, unroll)
        flat, own = flatten(ys)
        return rebuild(carried.hidden(flatten(after)[0])), own(made.hidden(flat, 1))

    return settled(graph, attempt)


class InGraph:
    """A loop of a graph over the entries of its tensors."""

    def __init__(self, graph: Any, name: str, init: Any, xs: Any, count: int | None) -> None:
        self.graph, self.name, self.cls, self.count = graph, name, graph.tensor_class, count
        self.carry = Carry(name, init)
        flat, rebuild = self._entries(xs)
        self.tensors = [None if v is None else as_tensor(graph, v, f"`xs` of {name}") for v in flat]
        self.rebuild = rebuild
        self.starts = [None if v is None else as_tensor(graph, v, f"carry of {name}")
                       for v in self.carry.flat]
        self.carry.flat = self.starts

    def _entries(self, xs: Any) -> tuple[list[Any], Any]:
        """The arrays to go through, one at least, and what makes an argument of their entries."""
        if xs.__class__ is range:
            return [_numbers(xs, self.carry.flat)], operator.itemgetter(0)
        flat, rebuild = flatten(xs)
        if any(v is not None for v in flat):
            return [v if v is None or isinstance(v, Tensor) else Tensor(to_array(v))
                    for v in flat], rebuild
        counter = _numbers(range(self.count or 0), self.carry.flat)
        return [*flat, counter], lambda values: rebuild(values[:-1])

    def run(self, f: Callable[..., Any], reverse: bool, unroll: Any) -> tuple[Any, Any]:
        """The last carry, and the ys."""
        starts = [t for t in self.starts if t is not None]
        there = [t for t in self.tensors if t is not None]
        shapes = [plain(raw(t).shape) for t in there]
        region = Region(self.graph)
        with region.building():
            carried = [region.argument(plain(raw(t).shape), raw(t).dtype, raw(t).kind)
                       for t in starts]
            entries = [region.argument(None if s is None else s[1:], raw(t).dtype, raw(t).kind)
                       for s, t in zip(shapes, there, strict=True)]
            after, y = _pair(self.name, f(
                self.carry.rebuild(_placed(self.starts, carried)),
                self.rebuild(_placed(self.tensors, entries)),
            ))
            flat = [v for v in self._carried(region, after) if v is not None]
            ys, nest = flatten(y)
            made = [inside(region, v) for v in ys if v is not None]
        region.finish()
        loop = Loop(self.name, region, list(zip(carried, flat, strict=True)),
                    [(a, a._node) for a in entries], made, backwards=reverse)
        loop.unroll = unroll
        spaces = [(plain(raw(t).shape), raw(t).dtype) for t in starts]
        finals, rows = loop.append(
            self.graph, starts, [unstacked(t, self.cls) for t in there],
            [*spaces, *[(None, raw(t).dtype) for t in made]], self.cls,
        )
        columns = [stacked(t, self.count, outward(raw(o).shape, self.graph), self.cls)
                   for t, o in zip(rows, made, strict=True)]
        return self.carry.rebuild(_placed(self.starts, finals)), nest(_placed(ys, columns))

    def _carried(self, region: Region, after: Any) -> list[Any]:
        """The leaves of what a turn carries on, as tensors of the region."""
        nesting = structure(after)
        if nesting == self.carry.nesting:
            flat, rebuild = flatten(after)
            after = rebuild([
                v if v is None or s is None else inside(region, v, raw(s).dtype)
                for v, s in zip(flat, self.starts, strict=True)
            ])
        return self.carry.checked(after)


def _placed(places: Any, values: Any) -> list[Any]:
    """Values in the places that are not None."""
    rest = iter(values)
    return [None if p is None else next(rest) for p in places]


def _numbers(numbers: range, carried: Any) -> Any:
    """Integers as a tensor, of the library that what is carried is of."""
    some = next((raw(v) for v in carried if v is not None), None)
    kind = getattr(some, "kind", some.__class__)
    array = numpy.arange(numbers.start, numbers.stop)
    if kind is Batched:
        kind = bare(some).__class__
    return Tensor(array if some is None or kind in SCALARS else adapters[kind].asarray(array))
