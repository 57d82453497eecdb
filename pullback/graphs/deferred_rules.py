"""Rules put off until shapes are known: a rule as an operation of a graph.

`Deferred` is an operation that is any function of arrays. It has derivatives: its pullback and its
pushforward are such operations again, which differentiate the function when they run, by the
ordinary means. So a graph with unknown lengths has derivatives of every order, and they too are
put off no more than they must be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..arrays.symbol import AnyShape, OpenShape, Symbol
from ..core import record as _record
from ..core import symbols as _symbols
from ..core.cotangent import accumulate, conjugated, project
from ..core.custom_op import ByStep
from ..core.multi_output import SeveralNode, end_of, gathered, linked
from ..core.node import Node, new, number
from ..core.op import ALL_ARRAYS, SHAPES
from ..core.state import ALL, SPECIAL, state
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..errors import PullbackError
from ..transforms import jvp, vjp
from .operation import Kind, filled, lifted

SHAPE_OF = Kind("shape_of", lambda x: x.shape)
"""A shape as a tuple, of which rules make use; not the tensor that `shape` gives."""
SHAPE_OF.stateful = False


LENGTH = Kind("length", lambda x, axis: x.shape[axis])
LENGTH.stateful = False


def length(symbol: Symbol, axis: int) -> Symbol:
    """The length of an axis as a symbol: an integer, when the graph runs."""
    graph = _symbols.graph_of(symbol)
    space = ((), numpy.dtype("int64"))
    made: Symbol = graph.append(
        LENGTH, (graph.own(symbol),), {"axis": axis}, [space], numpy.ndarray
    )[0]
    return made


class Deferred(Kind, ByStep):
    """An operation that is a function of arrays.

    function   takes arrays, and what `fixed` says; returns an array, or a tuple of them
    spaces     shape and dtype of each output
    """

    stateful = False
    elementwise = True  # its own derivatives wait for nothing more

    def __init__(self, name: str, function: Callable[..., Any], spaces: Sequence[Any]) -> None:
        super().__init__(name)
        self.function, self.spaces = function, list(spaces)

    def kernel(self, *arrays: Any) -> Any:
        """The function, of arrays."""
        answer = self.function(*arrays)
        return answer if len(self.spaces) > 1 else (
            answer[0] if answer.__class__ is tuple else answer
        )

    def __call__(self, args: Sequence[Any], kind: type, cls: type | None) -> tuple[Any, ...]:
        """Append it to the graph of its arguments.

        Symbols, or Tensors of a class, with a node where an argument has one.
        """
        data = [raw(a) for a in args]
        graph = _symbols.graph_of(*data)
        made = graph.append(self, [graph.own(a) for a in data], {}, self.spaces, kind)
        if cls is None:
            return tuple(made)
        parents = tuple([a._node if isinstance(a, Tensor) else None for a in args])
        behind = self._node(parents, data, made, cls, kind)
        if behind is None:
            return tuple([wrap(cls, s) for s in made])
        if len(made) == 1:
            return (wrap(cls, made[0], behind if is_inexact(made[0]) else None),)
        return tuple([wrap(cls, s, end_of(behind, i, s)) for i, s in enumerate(made)])

    def _node(
        self, parents: Any, data: Sequence[Any], made: Sequence[Any], cls: type, kind: type
    ) -> Any:
        """The node of its outputs, where somebody records."""
        known = [p for p in parents if p is not None]
        mode = state().mode
        if not known or mode < (level := min(p.level for p in known)):
            return None
        node = new(_DeferredNode)
        node.op, node.parents, node.saved, node.cls = self, parents, (*data, *made), cls
        node.kind, node.level, node.attrs = kind, level, {}
        node.seq = number()
        if len(made) == 1:
            node.shape, node.dtype = made[0].shape, made[0].dtype
        else:
            node.shape, node.dtype = (), None
            node.spaces = [(s.shape, s.dtype) for s in made]
        return node if mode <= ALL else special_deferred(node, parents, cls)

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a pull: an operation that pulls through the function when it runs."""
        gs = gathered(g, node) if g.__class__ is list else (g,)
        places = [
            i for i, p in enumerate(node.parents)
            if p is not None and (needed is None or p in needed)
        ]
        parents = [node.parents[i] for i in places]
        back = Deferred(
            f"{self.name}_pullback", _Pulled(self.function, len(gs), tuple(places)),
            [(p.shape, p.dtype) for p in parents],
        )
        saved = _arguments(node, cls, record)
        answers = back([*gs, *saved], node.kind, cls if record else None)
        for parent, r in zip(parents, answers, strict=True):
            accumulate(cotangents, parent, r)

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs: an operation that pushes them through when it runs."""
        places = tuple(i for i, t in enumerate(tangents) if t is not None)
        forward = Deferred(
            f"{self.name}_pushforward", _Pushed(self.function, places),
            getattr(node, "spaces", None) or [(node.shape, node.dtype)],
        )
        saved = _arguments(node, cls, record)
        args = [*[tangents[i] for i in places], *saved]
        answers = forward(args, node.kind, cls if record else None)
        return list(answers) if len(answers) > 1 else answers[0]


def special_deferred(node: Any, parents: Any, cls: type) -> Any:
    """The node, or what stands for it, where tangents are computed or closures are looked for."""
    now = state()
    reverse = now.mode & ~SPECIAL >= node.level
    if not reverse and not now.accumulators:
        return None
    if now.closed is not None and now.closed.check(node.op, parents):
        return None
    return _record.advance(node, reverse, cls) if now.accumulators else node


def _arguments(node: Any, cls: type, record: bool) -> tuple[Any, ...]:
    """What a `Deferred` was called with, as Tensors where its derivative is recorded."""
    saved = linked(node, node.saved, cls, node) if record else node.saved
    return saved[: len(node.parents)]


class _DeferredNode(SeveralNode):
    """A node of a `Deferred`; it saves its arguments and its outputs."""

    __slots__ = ("cls", "kind")

    cls: type
    kind: type


class _Pulled:
    """The pullback of a function, as a function of cotangents and arguments."""

    def __init__(self, function: Callable[..., Any], count: int, places: tuple[int, ...]) -> None:
        self.function, self.count, self.places = function, count, places

    def __call__(self, *values: Any) -> Any:
        gs, args = values[: self.count], list(values[self.count :])

        def of(*chosen: Any) -> Any:
            return self.function(*_put(args, self.places, chosen))

        out, pull = vjp(of, *[_tensor(args[i]) for i in self.places])
        # `vjp` deals in adjoints, rules in transposes.
        shown = tuple([_tensor(conjugated(g)) for g in gs])
        answers = pull(shown if out.__class__ is tuple else shown[0])
        return _of_kind(tuple([conjugated(a) for a in answers]), values)


class _Pushed:
    """The pushforward of a function, as a function of tangents and arguments."""

    def __init__(self, function: Callable[..., Any], places: tuple[int, ...]) -> None:
        self.function, self.places = function, places

    def __call__(self, *values: Any) -> Any:
        count = len(self.places)
        tangents, args = values[:count], list(values[count:])

        def of(*chosen: Any) -> Any:
            return self.function(*_put(args, self.places, chosen))

        primals = tuple([_tensor(args[i]) for i in self.places])
        _, out = jvp(of, primals, tuple(map(_tensor, tangents)))
        return _of_kind(out, values)


def _tensor(value: Any) -> Any:
    """A Tensor, also of an array that hides an axis, which people do not hand about."""
    return value if isinstance(value, Tensor) else wrap(Tensor, value)


def _put(args: list[Any], places: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    found = list(args)
    for place, value in zip(places, chosen, strict=True):
        found[place] = value
    return found


def _of_kind(answer: Any, values: Sequence[Any]) -> Any:
    """Raw arrays where all that was given is raw."""
    if any(isinstance(v, Tensor) for v in values):
        return answer
    return tuple(map(raw, answer)) if answer.__class__ is tuple else raw(answer)


# Rules of the library's operations ------------------------------------------------------------


class _At:
    """What a rule asks of a node: the space of an argument, and attributes."""

    def __init__(self, shape: Any, dtype: Any, attrs: Any, count: int, index: int) -> None:
        self.shape, self.dtype, self.attrs = shape, dtype, attrs
        self.parents: list[Any] = [None] * count
        self.parents[index] = self


class _Rule:
    """The rule of one argument of a recorded operation, as a function of arrays.

    Its arguments: the cotangent (or cotangents), the values that the rule reads, the shape of the
    argument, the shapes of all arguments if the rule reads them, and what the attributes hold.
    """

    def __init__(self, rule: Any, node: Any, index: int, reads: tuple[int, ...], count: int,
                 attrs: Any, dtype: Any) -> None:
        self.rule, self.index, self.reads, self.count = rule, index, reads, count
        self.attrs, self.dtype = attrs, dtype
        self.places, self.width = len(node.parents), len(node.saved)
        self.shapes = SHAPES in rule.reads
        self.key = (
            rule, index, reads, count, repr(attrs), str(dtype), self.places, self.width
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rule) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, *values: Any) -> Any:
        rest = iter(values)
        gs = [next(rest) for _ in range(self.count)]
        saved: list[Any] = [None] * self.width
        for r in self.reads:
            saved[r] = next(rest)
        shape = next(rest)
        shapes = tuple(next(rest) for _ in range(self.places)) if self.shapes else ()
        attrs = filled(self.attrs, tuple(rest))
        if self.shapes:
            attrs = {**attrs, "shapes": shapes}
        node: Any = _At(shape, self.dtype, attrs, self.places, self.index)
        answer = self.rule(gs[0] if self.count == 1 else tuple(gs), tuple(saved), node, self.index)
        return project(answer, node)


def pull(
    node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None, record: bool,
    cls: type,
) -> None:
    """One step of a pull through an operation some of whose shapes are not known."""
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
    function = _Rule(rule, node, index, reads, len(gs), attrs, parent.dtype)
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
    """A shape as an argument of a `Deferred`: as it is, or what tells it when the graph runs."""
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
    """A cotangent in the space of a node one of whose shapes is not known."""
    function = _Projection(node.dtype)
    cls = g._out if isinstance(g, Tensor) else None
    (made,) = Deferred("project", function, [(node.shape, node.dtype)])(
        [g, shape_of(node.shape)], raw(g).kind, cls
    )
    return made


class _Projection:
    """A cotangent in the space of a shape and a dtype, when both are known."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Projection) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(str(self.dtype))

    def __call__(self, g: Any, shape: Any) -> Any:
        return project(g, _At(shape, self.dtype, {}, 1, 0))


class _Later:
    """What `core.symbols` asks of this file, and of `whole.py`."""

    whole: Any
    length = staticmethod(length)
    pull = staticmethod(pull)
    project = staticmethod(project_later)

    def push(
        self, node: Any, tangents: Sequence[Any], record: bool, cls: type,
        by_rules: Callable[[], Any],
    ) -> Any:
        """The tangent of an operation some of whose shapes are not known.

        By its rules, if they need none of those.
        """
        graph = _symbols.graph_of(*map(raw, tangents))
        start = len(graph.operations)
        try:
            return by_rules()
        except (TypeError, PullbackError):
            graph.rewind(start)
            return push_later(node, tangents, record, cls)


def push_later(node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
    """The tangents of an operation's outputs: the operation itself, pushed when it runs."""
    places = tuple(i for i, t in enumerate(tangents) if t is not None)
    found: list[Symbol] = []
    attrs = lifted({k: node.attrs[k] for k in node.op.required if k in node.attrs}, found)
    count = len(node.parents)

    def function(*values: Any) -> Any:
        return node.op.function(*values[:count], **filled(attrs, values[count:]))

    forward = Deferred(
        f"{node.op.name}_pushforward", _Pushed(function, places),
        getattr(node, "spaces", None) or [(node.shape, node.dtype)],
    )
    inputs = _inputs(node)
    if record:
        inputs = [
            wrap(cls, v, p) if p is not None else v
            for v, p in zip(inputs, node.parents, strict=True)
        ]
    args = [*[tangents[i] for i in places], *inputs, *found]
    some = next(raw(t) for t in tangents if raw(t).__class__ is Symbol)
    answers = forward(args, some.kind, cls if record else None)
    return list(answers) if len(answers) > 1 else answers[0]


def _inputs(node: Any) -> list[Any]:
    from ..custom.recompute import recall_input

    return [recall_input(node, i) for i in range(len(node.parents))]


_symbols.later = _Later()
