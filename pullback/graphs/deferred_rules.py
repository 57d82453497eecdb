"""Derivative rules that wait for shapes: a rule as one operation of a graph.

A `Deferred` is an operation that computes any function of arrays. Its pullback and its pushforward
are again such operations: when they run, they differentiate the function in the ordinary way. So a
graph with unknown lengths has derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from ..arrays.symbol import AnyShape, OpenShape, Symbol
from ..core.cotangent import accumulate, conjugated, project
from ..core.custom_op import CustomOp, custom_node
from ..core.multi_output import gathered, linked
from ..core.node import Node
from ..core.op import ALL_ARRAYS, SHAPES
from ..core.tensor import Tensor, raw, wrap
from ..errors import PullbackError
from ..kinds import symbols as _symbols
from ..transforms import jvp, vjp
from .operation import Kind, filled, lifted
from .plan import hashable
from .region_io import followed_by

SHAPE_OF = Kind("shape_of", lambda x: x.shape)
"""The shape of an array as a tuple, for rules; the operation `shape` returns an array."""
SHAPE_OF.stateful = False


LENGTH = Kind("length", lambda x, axis: x.shape[axis])
LENGTH.stateful = False


def length(symbol: Symbol, axis: int) -> Symbol:
    """The length of an axis as a symbol of an integer."""
    graph = _symbols.graph_of(symbol)
    space = ((), numpy.dtype("int64"))
    made: Symbol = graph.append(
        LENGTH, (graph.own(symbol),), {"axis": axis}, [space], numpy.ndarray
    )[0]
    return made


class Deferred(Kind, CustomOp):
    """An operation that computes a function of arrays.

    function   takes arrays and returns an array, or a tuple of arrays; operations with equal
               functions of the same arguments run once
    spaces     shape and dtype of each output
    """

    stateful = False
    elementwise = True  # its own derivatives need no shapes

    def __init__(self, name: str, function: Callable[..., Any], spaces: Sequence[Any]) -> None:
        super().__init__(name)
        self.function, self.spaces = function, list(spaces)

    def kernel(self, *arrays: Any) -> Any:
        """Calls the function on arrays."""
        result = self.function(*arrays)
        return result if len(self.spaces) > 1 else (
            result[0] if result.__class__ is tuple else result
        )

    def __call__(self, args: Sequence[Any], kind: type, cls: type | None) -> tuple[Any, ...]:
        """Append the operation to the graph of its arguments and return the outputs.

        cls   the class of the Tensors that are returned, with their history; None returns symbols
        """
        data = [raw(a) for a in args]
        graph = _symbols.graph_of(*data)
        made = graph.append(self, [graph.own(a) for a in data], {}, self.spaces, kind)
        if cls is None:
            return tuple(made)
        parents = tuple([a._node if isinstance(a, Tensor) else None for a in args])
        node = custom_node(self, parents, tuple(data), cls, kind)
        return tuple(followed_by(node, made, cls))

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: appends an operation that pulls through the function."""
        gs = gathered(g, node)
        places = tuple([
            i for i, p in enumerate(node.parents)
            if p is not None and (needed is None or p in needed)
        ])
        parents = [node.parents[i] for i in places]
        back = Deferred(
            f"{self.name}_pullback", _Pulled(self.function, len(gs), places),
            [(p.shape, p.dtype) for p in parents],
        )
        found = back([*gs, *_arguments(node, cls, record)], node.details, cls if record else None)
        for parent, r in zip(parents, found, strict=True):
            accumulate(cotangents, parent, r)

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs: appends an operation that pushes them through."""
        return list(_push_through(
            self.name, self.function, node, tangents, _arguments(node, cls, record), node.details,
            cls if record else None,
        ))


def _push_through(
    name: str, function: Callable[..., Any], node: Any, tangents: Sequence[Any],
    args: Sequence[Any], kind: type, cls: type | None,
) -> tuple[Any, ...]:
    """The tangents of a node's outputs, by an operation that pushes through a function."""
    places = tuple([i for i, t in enumerate(tangents) if t is not None])
    spaces = getattr(node, "spaces", None) or [(node.shape, node.dtype)]
    forward = Deferred(f"{name}_pushforward", _Pushed(function, places), spaces)
    return forward([*[tangents[i] for i in places], *args], kind, cls)


def _arguments(node: Any, cls: type, record: bool) -> tuple[Any, ...]:
    """The arguments of a `Deferred`; as Tensors with their history where it is recorded."""
    return linked(node, node.saved, cls, node) if record else node.saved


@dataclass(frozen=True)
class _Pulled:
    """The pullback of a function, as a function of `count` cotangents and of the arguments.

    It returns the cotangents of the arguments at `places`.
    """

    function: Callable[..., Any]
    count: int
    places: tuple[int, ...]

    def __call__(self, *values: Any) -> Any:
        gs, args = values[: self.count], list(values[self.count :])

        def of(*chosen: Any) -> Any:
            return self.function(*put(args, self.places, chosen))

        out, pull = vjp(of, *[_tensor(args[i]) for i in self.places])
        # `vjp` computes the adjoint, rules compute the transpose.
        shown = tuple([_tensor(conjugated(g)) for g in gs])
        results = pull(shown if out.__class__ is tuple else shown[0])
        return _of_kind(tuple([conjugated(a) for a in results]), values)


@dataclass(frozen=True)
class _Pushed:
    """The pushforward of a function, as a function of tangents and of the arguments.

    The tangents are those of the arguments at `places`.
    """

    function: Callable[..., Any]
    places: tuple[int, ...]

    def __call__(self, *values: Any) -> Any:
        count = len(self.places)
        tangents, args = values[:count], list(values[count:])

        def of(*chosen: Any) -> Any:
            return self.function(*put(args, self.places, chosen))

        primals = tuple([_tensor(args[i]) for i in self.places])
        _, out = jvp(of, primals, tuple(map(_tensor, tangents)))
        return _of_kind(out, values)


def _tensor(value: Any) -> Any:
    """A Tensor of any array, also of one with hidden axes."""
    return value if isinstance(value, Tensor) else wrap(Tensor, value)


def put(args: Sequence[Any], places: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    """Arguments with others at some places."""
    found = list(args)
    for place, value in zip(places, chosen, strict=True):
        found[place] = value
    return found


def _of_kind(result: Any, values: Sequence[Any]) -> Any:
    """Raw arrays if all of `values` are raw."""
    if any(isinstance(v, Tensor) for v in values):
        return result
    return tuple(map(raw, result)) if result.__class__ is tuple else raw(result)


# Rules of the library's operations ------------------------------------------------------------


class _Place:
    """The parts of a node that a rule reads: the space of an argument, and the attributes."""

    def __init__(self, shape: Any, dtype: Any, attrs: Any, count: int, index: int) -> None:
        self.shape, self.dtype, self.attrs = shape, dtype, attrs
        self.parents: list[Any] = [None] * count
        self.parents[index] = self


@dataclass(frozen=True)
class _Rule:
    """The rule of one argument of a recorded operation, as a function of arrays.

    Its arguments: the cotangents of the outputs, the saved values that the rule reads, the shape of
    the argument, the shapes of all arguments if the rule reads them, and the symbols in attributes.

    reads   the positions, among `width` saved values, of those that the rule reads
    count   the number of outputs
    places  the number of arguments; the rule is that of argument `index`, which has the dtype
    key     the attributes in a form that can be compared
    """

    rule: Any
    index: int
    reads: tuple[int, ...]
    width: int
    count: int
    places: int
    dtype: Any
    key: Any
    attrs: Any = field(compare=False)

    def __call__(self, *values: Any) -> Any:
        rest = iter(values)
        gs = [next(rest) for _ in range(self.count)]
        saved: list[Any] = [None] * self.width
        for r in self.reads:
            saved[r] = next(rest)
        shape = next(rest)
        shapes = tuple(next(rest) for _ in range(self.places if SHAPES in self.rule.reads else 0))
        attrs = {**filled(self.attrs, tuple(rest)), "shapes": shapes}
        node: Any = _Place(shape, self.dtype, attrs, self.places, self.index)
        result = self.rule(gs[0] if self.count == 1 else tuple(gs), tuple(saved), node, self.index)
        return project(result, node)


def pull(
    node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    cls: type,
) -> None:
    """One step of a pull through an operation with unknown lengths."""
    gs = gathered(g, node) if g.__class__ is list else (g,)
    saved = node.saved
    if record:
        saved = linked(node, saved, cls, node)
    for index, parent in enumerate(node.parents):
        rule = None if parent is None else node.op.rule(index)
        if rule is None or (needed is not None and parent not in needed):
            continue
        r = _deferred(rule, node, index, gs, saved, (parent.shape, parent.dtype), record, cls)
        accumulate(cotangents, parent, r)


def _deferred(
    rule: Any, node: Any, index: int, gs: Sequence[Any], saved: Sequence[Any], space: Any,
    record: bool, cls: type,
) -> Any:
    parent = node.parents[index]
    reads = tuple(r for r in rule.reads if r >= 0)
    if ALL_ARRAYS in rule.reads:
        reads = tuple(range(len(node.saved) - 1))
    found: list[Symbol] = []
    attrs = lifted({k: node.attrs[k] for k in rule.keywords}, found)
    function = _Rule(
        rule, index, reads, len(saved), len(gs), len(node.parents), parent.dtype,
        hashable(tuple(attrs.items())), attrs,
    )
    args = [*gs, *[saved[r] for r in reads], shape_of(parent.shape)]
    if SHAPES in rule.reads:
        args += [shape_of(s) for s in node.attrs["shapes"]]
    name = f"{node.op.name}_{rule.name.partition('_')[0]}"
    some = next(raw(a) for a in gs if raw(a).__class__ is Symbol)
    (r,) = Deferred(name, function, [space])(
        [*args, *found], some.kind, cls if record else None
    )
    return r


def shape_of(shape: Any) -> Any:
    """A shape as an argument of a `Deferred`: a tuple, or a symbol if lengths are unknown."""
    if not isinstance(shape, OpenShape):
        return tuple(shape)
    symbol = shape.symbol
    graph = _symbols.graph_of(symbol)
    symbol = graph.own(symbol)
    length = None if isinstance(symbol.shape, AnyShape) else len(symbol.shape)
    return graph.append(
        SHAPE_OF, (symbol,), {}, [((length,), numpy.dtype("int64"))], numpy.ndarray
    )[0]


def project_later(g: Any, node: Any) -> Any:
    """`project`, for a cotangent or a node with unknown lengths: an operation of the graph."""
    function = _Projection(node.dtype)
    cls = g._out if isinstance(g, Tensor) else None
    (made,) = Deferred("project", function, [(node.shape, node.dtype)])(
        [g, shape_of(node.shape)], raw(g).kind, cls
    )
    return made


@dataclass(frozen=True)
class _Projection:
    """A cotangent in the space of a shape and a dtype."""

    dtype: Any

    def __call__(self, g: Any, shape: Any) -> Any:
        return project(g, _Place(shape, self.dtype, {}, 1, 0))


class _Later:
    """The functions of `graphs/` that `kinds.symbols.later` has."""

    whole: Any
    length = staticmethod(length)
    pull = staticmethod(pull)
    project = staticmethod(project_later)
    written: Any

    def push(
        self, node: Any, tangents: Sequence[Any], record: bool, cls: type,
        by_rules: Callable[[], Any],
    ) -> Any:
        """The tangents of an operation with unknown lengths.

        The operation's own rules compute them, if they need no unknown length.
        """
        graph = _symbols.graph_of(*map(raw, tangents))
        start = len(graph.operations)
        try:
            return by_rules()
        except (TypeError, PullbackError):
            graph.rewind(start)
            return push_later(node, tangents, record, cls)


def push_later(node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
    """The tangents of an operation's outputs: appends an operation that pushes through it."""
    found: list[Symbol] = []
    attrs = lifted({k: node.attrs[k] for k in node.op.required if k in node.attrs}, found)
    count = len(node.parents)

    def function(*values: Any) -> Any:
        return node.op.function(*values[:count], **filled(attrs, values[count:]))

    inputs = _inputs(node)
    if record:
        inputs = [
            wrap(cls, v, p) if p is not None else v
            for v, p in zip(inputs, node.parents, strict=True)
        ]
    kind = next(raw(t).kind for t in tangents if raw(t).__class__ is Symbol)
    found_tangents = _push_through(
        node.op.name, function, node, tangents, [*inputs, *found], kind, cls if record else None
    )
    return list(found_tangents) if len(found_tangents) > 1 else found_tangents[0]


def _inputs(node: Any) -> list[Any]:
    from ..custom.recompute import recall_input

    return [recall_input(node, i) for i in range(len(node.parents))]


_symbols.later = _Later()
