"""`Piece`: a part of a body as one differentiable call, eagerly or in another graph.

A call records one node. What its pull needs is found when it is first recorded: the backward graph
is built once, in the body itself, and the values that it takes from the forward part are what
a recorded call keeps. A pull that is to be recorded itself, tangents, and gradients overridden
after the tracing are pieces of the same body again, so they go to any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from ..arrays import is_array
from ..arrays.batched import zeros_by
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core import versions
from ..core.cotangent import accumulate, wrapped
from ..core.custom_op import CustomOp, custom_node
from ..core.forward import push
from ..core.node import FREED, Leaf, Node, number
from ..core.record import attach, freed
from ..core.reverse import pull, reached, reached_ends
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..custom.override import RuleOverrides
from ..kinds import symbols as _symbols
from .func_graph import LOCK, Body
from .layouts import check_order
from .observed import run_program
from .operation import Kind, Operation
from .overridden import KEPT, OverriddenPiece, Rules
from .plan import needed
from .program import Program
from .tracing import building, forget_reads

End = tuple[Symbol, Node | None]
"""A symbol of a body and the node it is followed by, if any."""


class Kept(NamedTuple):
    """What a recorded call keeps: what its feeds held, what its pull reads, and since when."""

    args: Sequence[Any]
    residuals: Sequence[Any]
    since: int


class _Call(Kind):
    """A program as an operation of a graph."""

    stored = True

    def __init__(self, name: str, program: Program, count: int, effect: bool) -> None:
        super().__init__(name)
        self.program, self.count, self.effect = program, count, effect
        self.owning = program.owned >= count
        self.unsteady = any(
            getattr(s.operation.op, "unsteady", False) for s in program.plan.steps
        )

    def kernel(self, store: Any, *values: Any) -> Any:
        """The program's results."""
        answers = self.program(values, store)[: self.count]
        return answers[0] if self.count == 1 else tuple(answers)


class Piece(CustomOp):
    """Some outputs of a body as a function of some of its symbols.

    feeds     what its arguments are put in the place of
    outputs   what it returns
    closed    nodes from outside that the outputs depend on: variables, tensors closed over
    cuts      what is drawn or read when it runs and must stay as it was when its pull comes
    own       whether the outputs share memory with nothing else
    """

    def __init__(
        self, name: str, body: Body, feeds: Sequence[End], outputs: Sequence[End],
        effects: Sequence[Operation] = (), *, own: bool = False,
    ) -> None:
        self.name, self.body = name, body
        self.title = f"function {name}"
        self.feeds, self.outputs = list(feeds), list(outputs)
        self.effects = list(effects)
        self._lock: Any = LOCK
        symbols = [s for s, _ in outputs]
        fed = [s for s, _ in feeds]
        self.owned = len(outputs) if own else 0
        self.program = Program([*symbols, *self.effects], fed, self.owned)
        self.cuts = [
            s for o in needed(symbols, fed) if getattr(o.op, "stateful", False)
            for s in o.symbols if id(s) not in {id(f) for f in fed}
        ]
        roots = {n: None for _, n in outputs if n is not None}
        nodes = {n for _, n in feeds}
        self._spans: list[tuple[int, float]] = [(body.start, math.inf)]
        self.closed = [n for n in reached_ends(roots, self._spans)
                       if n not in nodes and _outside(n, body.start)]
        self._operations = {getattr(n.op, "base", n.op) for n in reached(roots, self._spans)}
        self._backward: _Backward | None = None
        self._pieces: dict[Any, Piece] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # Calling --------------------------------------------------------------------------------

    def __call__(self, args: Sequence[Any], cls: type) -> list[Any]:
        """The outputs as Tensors of a class, of arguments that are Tensors or raw arrays."""
        data = [raw(a) for a in args]
        if self.body.assumed:
            check_order(self.body, [s for s, _ in self.feeds], args, self.name)
        parents = (*[a._node if isinstance(a, Tensor) else None for a in args], *self.closed)
        for closed in self.closed:
            variable = getattr(closed, "variable", None)
            if variable is not None:
                self._read(variable())
        integers = not any(is_inexact(s) for s, _ in self.outputs)
        if integers or not _state.state().differentiates(parents):
            found = self._computed(self.program, data, len(self.outputs), bool(self.effects))
            return [wrap(cls, v) for v in found]
        backward = self._prepared()
        count, since = len(self.outputs), number()
        found = self._computed(
            backward.forward, data, backward.forward_count, bool(self.effects)
        )
        # A write during the call is too late where it is an effect of the code.
        kept = Kept((*data, *found[count : count + len(self.cuts)]),
                    found[count + len(self.cuts) :], since if self.effects else number())
        values = [wrap(cls, v) for v in found[:count]]
        return attach(custom_node(self, parents, kept, cls), values,
                      [a if isinstance(a, Tensor) else None for a in args], single=count == 1)

    @staticmethod
    def _read(variable: Any) -> None:
        """Let the tapes that watch what is read know that a variable is."""
        if variable is not None:
            variable._node  # noqa: B018  # reading it is what tells them

    def _computed(
        self, program: Program, data: Sequence[Any], count: int, effect: bool = False
    ) -> list[Any]:
        """What a program gives: arrays, or symbols of the graph that is being built."""
        graph = _symbols.current_graph() or _symbols.graph_of(*data)
        if graph is None:
            return run_program(self.title, program, data, {})[:count]
        given = [(_plain(s), s.dtype) for s in program.fetched[:count]]
        kind = next((a.kind for a in data if a.__class__ is Symbol), numpy.ndarray)
        call = _Call(self.name, program, count, effect)
        if effect:
            forget_reads(graph, [c.variable for c in self.body.cells.values()])
        return list(graph.append(call, [graph.own(a) for a in data], {}, given, kind))

    # Pulling --------------------------------------------------------------------------------

    def _prepared(self) -> _Backward:
        if self._backward is None:
            with self._lock:
                if self._backward is None:
                    self._backward = _Backward(self)
        return self._backward

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of any pull."""
        if node.saved is FREED:
            raise freed(node)
        gs = self.gathered(node, g)
        kept, residuals, _ = node.saved
        self.check(node, kept if record else residuals)
        if record:
            answers: Sequence[Any] = self.reverse(None)(
                [*self.linked(node, kept), *[wrapped(node.cls, v) for v in gs]], node.cls
            )
            answers = self.spread(answers, None)
        else:
            backward = self._prepared()
            found = self._computed(
                backward.program, [*residuals, *gs], len(backward.program.fetched)
            )
            answers = backward.spread(found)
        self.hand_on(node, answers, cotangents, needed)

    @staticmethod
    def check(node: Any, values: Sequence[Any]) -> None:
        """Raise an `InplaceError` where an array was overwritten since a call was recorded."""
        since = node.saved.since
        if versions.latest[0] > since:
            for value in values:
                if is_array(value):
                    versions.check_array(value, node, since, "value")

    @staticmethod
    def hand_on(node: Any, answers: Sequence[Any], cotangents: Any, needed: Any) -> None:
        """Add what a pull gives to the cotangents of the parents that are needed."""
        for parent, r in zip(node.parents, answers, strict=True):
            if r is not None and parent is not None and (needed is None or parent in needed):
                accumulate(cotangents, parent, r)

    def gathered(self, node: Any, g: Any) -> list[Any]:
        """The cotangents of the outputs that have one, zeros where none came."""
        gs = g if g.__class__ is list else [g]
        some = raw(next(v for v in gs if v is not None))
        found = []
        for position, (v, (symbol, inner)) in enumerate(zip(gs, self.outputs, strict=True)):
            if inner is None:
                continue
            if v is None:
                shape = node.spaces[position][0]
                v = zeros_by(shape, some, symbol.dtype)
            found.append(v)
        return found

    def linked(self, node: Any, kept: Sequence[Any]) -> list[Any]:
        """What the feeds held, with their history; what was drawn and read, without."""
        count = len(self.feeds)
        return [
            *[v if p is None else wrap(node.cls, v, p)
              for v, p in zip(kept[:count], node.parents, strict=False)],
            *kept[count:],
        ]

    def wanted(self) -> list[Node | None]:
        """The inner nodes of the feeds, and those of what is closed over."""
        return [*[n for _, n in self.feeds], *self.closed]

    def reverse(self, overrides: Any) -> Piece:
        """The piece that computes cotangents from what the feeds held, the cuts, and cotangents."""
        return self._derived(
            None if overrides is None else Rules(overrides.rules),
            lambda: self._reversed(overrides),
        )

    def pullback(self, places: tuple[int, ...]) -> Piece:
        """The piece that computes the cotangents of some of `wanted()`: first order, in one run."""
        return self._derived(("pull", places), lambda: self._reversed(None, places))

    def _derived(self, key: Any, make: Callable[[], tuple[list[End], list[Any]]]) -> Piece:
        with self._lock:
            found = self._pieces.get(key)
            if found is None:
                start = len(self.body.operations)
                extra, outputs = make()
                feeds = [*self.feeds, *[(s, None) for s in self.cuts], *extra]
                there = [(raw(v), v._node) for v in outputs if v is not None]
                name = f"{self.name}_derivative"
                found = self._pieces[key] = Piece(name, self.body, feeds, there)
                found.present = [v is not None for v in outputs]
                found.passing = self.passing or key.__class__ is Rules
                if found.passing:
                    self._spare(start)
            return found

    def _spare(self, start: int) -> None:
        """Hold what was built for overrides no longer than it is used, or may be used again."""
        self.body.release(start)
        others = [key for key in self._pieces if key.__class__ is Rules]
        for key in others[:-KEPT]:
            del self._pieces[key]

    present: list[bool]
    passing = False  # whether it is of some overrides, of which there may be others with each call

    def spread(self, answers: Sequence[Any], overrides: Any) -> list[Any]:
        """The results of `reverse`, with None where there is no derivative."""
        found = iter(answers)
        return [next(found) if there else None for there in self.reverse(overrides).present]

    def _reversed(
        self, overrides: Any, places: Sequence[int] | None = None
    ) -> tuple[list[End], list[Any]]:
        """Cotangents as inputs of the body, and the tensors of those of the feeds."""
        body, cls = self.body, self.body.tensor_class
        with building(body), body.name_scope("gradients") as scope:
            body.derived.add(scope)
            cotangents: dict[Node, Any] = {}
            gs: list[End] = []
            for symbol, node in self.outputs:
                if node is not None:
                    g = body.argument(symbol.shape, symbol.dtype, symbol.kind, "cotangent")
                    body.arguments.pop()
                    gs.append((g._data, g._node))
                    accumulate(cotangents, node, g)
            wanted = self.wanted()
            if places is not None:
                wanted = [wanted[i] for i in places]
            found = pull(
                cotangents, [n for n in wanted if n is not None], record=True, cls=cls,
                overrides=overrides, spans=self._spans,
            )
            answers = [None if n is None else found.get(n) for n in wanted]
            return gs, [a if a is None or isinstance(a, Tensor) else body.tensor(a)
                        for a in answers]

    # Pushing --------------------------------------------------------------------------------

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> Any:
        """The tangents of the outputs."""
        if node.saved is FREED:
            raise freed(node)
        places = tuple(i for i, t in enumerate(tangents) if t is not None)
        forward = self._derived(("push", places), lambda: self._pushed(places))
        kept = node.saved.args
        self.check(node, kept)
        args = self.linked(node, kept) if record else list(kept)
        answers = iter(forward([*args, *[tangents[i] for i in places]], node.cls))
        found = [next(answers) if there else None for there in forward.present]
        if not record:
            found = [None if t is None else raw(t) for t in found]
        return found[0] if len(found) == 1 and node.dtype is not None else found

    def _pushed(self, places: Sequence[int]) -> tuple[list[End], list[Any]]:
        """Tangents as inputs of the body, and the tensors of those of the outputs."""
        body, cls = self.body, self.body.tensor_class
        with building(body), body.name_scope("tangents") as scope:
            body.derived.add(scope)
            wanted = self.wanted()
            given: dict[Node, Any] = {}
            ts: list[End] = []
            for i in places:
                node = wanted[i]
                assert node is not None
                kind = self.feeds[i][0].kind if i < len(self.feeds) else numpy.ndarray
                t = body.argument(node.shape, node.dtype, kind, "tangent")
                body.arguments.pop()
                ts.append((t._data, t._node))
                given[node] = t
            targets = [n for _, n in self.outputs if n is not None]
            found = push(given, targets, record=True, spans=self._spans, cls=cls)
            answers = [None if n is None else found.get(n) for _, n in self.outputs]
            return ts, [a if a is None or isinstance(a, Tensor) else body.tensor(a)
                        for a in answers]

    # Overriding -----------------------------------------------------------------------------

    def contents(self) -> set[Any]:
        """The operations inside, those of pieces inside too: what an override may name."""
        found = set(self._operations)
        for op in self._operations:
            if hasattr(op, "contents"):
                found |= op.contents()
        return found

    def overridden(self, rules: Mapping[Any, Any]) -> Any:
        """What stands in for this piece where gradients inside are overridden; or None."""
        if not any(op in rules for op in self.contents()):
            return None
        return OverriddenPiece(self, RuleOverrides(rules))


class _Backward:
    """The two programs of a recorded call: forward, keeping what backward takes; and backward."""

    def __init__(self, piece: Piece) -> None:
        mark = piece.body.dropped + len(piece.body.operations)
        reverse = piece.reverse(None)
        fetches = [s for s, _ in reverse.outputs]
        gs = [s for s, _ in reverse.feeds[len(piece.feeds) + len(piece.cuts) :]]
        residuals = _taken(fetches, gs, mark)
        self.program = Program(fetches, [*residuals, *gs])
        outputs = [s for s, _ in piece.outputs]
        own = [s for s, _ in piece.feeds]
        self.forward = Program(
            [*outputs, *piece.cuts, *residuals, *piece.effects], own, piece.owned
        )
        self.forward_count = len(outputs) + len(piece.cuts) + len(residuals)
        self._present = reverse.present

    def spread(self, answers: Sequence[Any]) -> list[Any]:
        """The results of the program, with None where there is no derivative."""
        found = iter(answers)
        return [next(found) if there else None for there in self._present]


def _taken(fetches: Sequence[Symbol], gs: Sequence[Symbol], mark: int) -> list[Symbol]:
    """The symbols from before a number of operations that what comes after it takes."""
    found: dict[int, Symbol] = {}
    fed = {id(g) for g in gs}
    stack, seen = list(fetches), set()
    while stack:
        symbol = stack.pop()
        if id(symbol) in seen or id(symbol) in fed:
            continue
        seen.add(id(symbol))
        operation = symbol.operation
        if operation.value is not None:
            continue
        if operation.number < mark:
            found[id(symbol)] = symbol
        else:
            stack.extend(operation.takes)
    return list(found.values())


def _outside(node: Node, start: int) -> bool:
    """Whether a node at which paths end is of something that was there before the body."""
    if isinstance(node, Leaf):
        return node.variable is not None or node.born <= start
    return node.seq <= start


def _plain(symbol: Symbol) -> Any:
    try:
        return tuple(symbol.shape)
    except TypeError:
        return None


def argument_ends(body: Body) -> list[End]:
    """The inputs of a body and their nodes."""
    return [(s, None if s.face is None else s.face._node) for s in body.inputs()]


