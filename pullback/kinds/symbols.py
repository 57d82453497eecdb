"""Operations on symbols: each is appended to a graph, with the shape and dtype it will have.

What a graph is, is a matter of `graphs/`; here stands what the core wants of one. A graph
is current while one is built in a block; symbols of another one are then captured by it.

Rules run on symbols as they run on arrays, and so a pull builds a graph of its own. Where a shape
is not known, a rule that asks for it cannot run yet. Then the rule itself becomes one operation of
the graph (`later`), which runs when the arrays are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from ..arrays import adapters
from ..arrays.symbol import OpenShape, Symbol
from ..core import outside
from ..core.above import provide
from ..core.op import OPS
from ..core.outside import current_graph as current_graph
from ..core.tensor import Tensor, raw
from ..errors import SymbolError

enter = leave = outside.graph.set
building = outside.graph.held
"""Set the graph, and return the one before."""

later: Any = None
"""Set by `graphs.deferred_rules`: puts rules off until shapes are known."""


@provide
def deferred() -> Any:
    """What puts rules off until shapes are known."""
    return later


_Function = TypeVar("_Function", bound=Callable[..., Any])


def whole(function: _Function) -> _Function:
    """A function of operations that needs lengths; where a graph lacks them, one operation of it.

    For functions of their arguments only, which draw no random numbers. If the lengths are known,
    it changes nothing.
    """

    @wraps(function)
    def face(*args: Any, **keywords: Any) -> Any:
        if Symbol.made and (_among(args) or _among(keywords.values())):
            return later.whole(function, args, keywords)
        return function(*args, **keywords)

    return cast(_Function, face)


def _among(values: Iterable[Any]) -> bool:
    """Whether there are symbols among arguments, in tuples and lists too."""
    for value in values:
        data = value._data if isinstance(value, Tensor) else value
        cls = data.__class__
        if cls is Symbol or ((cls is tuple or cls is list) and _among(data)):
            return True
    return False


def lengths_of(x: Any) -> tuple[int, ...]:
    """The shape of an array that a choice depends on.

    Raises `SymbolError` where a length is known only when the graph runs.
    """
    shape = tuple(x.shape)
    if None in shape:
        raise SymbolError(
            "a choice by lengths", "lengths that are known", f"shape {shape}",
            "use set_shape, or give the placeholder a shape",
        )
    return shape


def beside(x: Any, attribute: Any) -> Any:
    """An array; as a constant of the graph, where an attribute of its operation is a symbol."""
    if not Symbol.made or raw(x).__class__ is Symbol or not (found := symbols_in(attribute)):
        return x
    graph = graph_of(*found)
    return graph.tensor(graph.own(x)) if isinstance(x, Tensor) else graph.own(x)


def length_of(x: Any, axis: int) -> Any:
    """The length of an axis: a number, or a symbol where it is known only when the graph runs."""
    length = x.shape[axis]
    return later.length(raw(x), axis) if length is None else length


def graph_of(*values: Any) -> Any:
    """The graph that an operation on some values is appended to; None where none is a symbol."""
    for value in values:
        if value.__class__ is Symbol:
            return current_graph() or value.operation.graph
    return None


def kernel_of(op: Any) -> Callable[..., Any]:
    """The kernel of an operation on symbols."""

    def kernel(*args: Any, **attrs: Any) -> Any:
        graph = graph_of(*args)
        if graph is None:
            graph = current_graph() or graph_of(*symbols_in(attrs))
        return graph.compute(op, args, attrs)

    return kernel


def symbols_in(value: Any) -> list[Symbol]:
    """The symbols in attributes: in tuples, lists, mappings and slices, and inside Tensors."""
    value = raw(value)
    if value.__class__ is Symbol:
        return [value]
    if isinstance(value, OpenShape):
        return [value.symbol]
    if isinstance(value, (tuple, list)):
        return [s for v in value for s in symbols_in(v)]
    if isinstance(value, Mapping):
        return [s for v in value.values() for s in symbols_in(v)]
    if isinstance(value, slice):
        return symbols_in((value.start, value.stop, value.step))
    return []


@provide
def joined(data: Any, values: Any) -> Any:
    """An array; as a constant of the graph of symbols among values, in indices too, if any."""
    graph = None if data.__class__ is Symbol else graph_of(*symbols_in(values))
    return data if graph is None else graph.own(data)


@provide
def holds_symbols(gs: Any) -> bool:
    """Whether a cotangent or tangent (or one in a list of them) is a symbol."""
    if gs.__class__ is list:
        return any(map(holds_symbols, gs))
    return raw(gs).__class__ is Symbol


@provide
def waits(node: Any) -> bool:
    """Whether the rules of a node must wait until a graph runs, since a shape is not known.

    Those of an elementwise operation need not: they ask for no shape.
    """
    op = node.op
    if getattr(op, "elementwise", True):  # also of hand-written gradients, which see symbols
        return False
    shapes = [node.shape, *[p.shape for p in node.parents if p is not None]]
    shapes += [v.shape for v in node.saved if v.__class__ is Symbol]
    shapes += getattr(node, "attrs", {}).get("shapes", ())
    shapes += [shape for shape, _ in getattr(node, "spaces", ())]
    return any(isinstance(shape, OpenShape) for shape in shapes)


class _Namespace:
    """The standard's functions on symbols: the operations."""

    __name__ = "pullback"

    def __getattr__(self, name: str) -> Any:
        found = OPS.get(name)
        if found is None:
            raise AttributeError(name)
        return found


class _Adapter:
    """The adapter of symbols; they have no memory, so a write makes another symbol."""

    name = "symbol"
    hosts = 1  # its kernels take arrays of every library
    immutable = True
    namespace = _Namespace()

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """The kernel of an operation, which appends it to the graph."""
        return kernel_of(OPS[name].op) if name in OPS else None

    def rank(self, cls: type) -> int:
        """One kind."""
        return 0

    def owner(self, array: Any) -> None:
        """None: there is no memory to write to."""
        return None

    def known(self, array: Any) -> Any:
        """The numbers of a constant; None of anything else."""
        return array.operation.value

    def dtype(self, dtype: Any) -> Any:
        """As it is: the array's library will know."""
        return dtype

    def numpy(self, array: Any) -> Any:
        """An error: there are no numbers yet."""
        return array.__array__()

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """The symbol, in another dtype if asked; anything else as a constant array."""
        if value.__class__ is not Symbol:
            kind = float if like is None else getattr(like, "kind", like.__class__)
            return adapters[kind].asarray(value, dtype)
        if dtype is None or value.dtype == dtype:
            return value
        return self.namespace.astype(value, dtype)

    def place(self, array: Any, device: Any = None) -> Any:
        """As it is: where it is computed is the graph's."""
        return array

    def adopt(self, array: Any) -> Any:
        """As it is."""
        return array

    plain = own = copy = sealed = adopt

    def is_sealed(self, array: Any) -> bool:
        """No: a write is possible, and makes another symbol."""
        return False

    def zeros(self, shape: Any, dtype: Any, like: Any = None) -> Any:
        """Zeros; of a shape that is known when the graph runs, by an operation of it."""
        if isinstance(shape, OpenShape):
            return self.namespace.astype(self.namespace.zeros_like(shape.symbol), dtype)
        return adapters[like.kind].zeros(shape, dtype)

    def write(self, array: Any, value: Any) -> Any:
        """The value in the space of the array."""
        value = self.namespace.astype(value, array.dtype)
        if value.shape != array.shape:
            value = self.namespace.add(self.namespace.zeros_like(array), value)
        return later.written(array, value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """Another symbol, in which the entries at an index are the value's."""
        return later.written(array, self.namespace.set_at(array, value, index))

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """Another symbol; entries that are named more than once receive every value."""
        return later.written(array, self.namespace.add_at(array, value, index))


adapters[Symbol] = _Adapter()
