"""`Region`: a body that an operation runs, such as a branch, and what its derivatives need of it.

The derivative of a branch is a region of its own, which computes again what it needs of the branch
(`ghosts`), from the same captured tensors. What must not be computed twice, random numbers or what
was read from variables, is passed to it (`known`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

from ..arrays.symbol import OpenShape, Symbol
from ..core import state as _state
from ..core.cotangent import accumulate
from ..core.forward import push
from ..core.node import Leaf, Node, number
from ..core.reverse import pull, reached_ends, within
from .func_graph import ARGUMENT, CAPTURED, Body
from .operation import Operation
from .program import Program
from .variable import ASSIGN


class Region(Body):
    """A body inside a graph, which is finished before the operation that runs it is appended.

    ghosts   regions whose values are computed again here, where they are asked for
    known    for a value of theirs: what it is here
    stop     the number up to which nodes were recorded in it
    before   operations outside that are to run before the operation that runs this
    """

    def __init__(self, outer: Any, ghosts: Sequence[Region] = (), cls: type | None = None) -> None:
        super().__init__(outer, cls)
        self.seed = outer.seed
        self.ghosts = tuple(ghosts)
        self.known: dict[Symbol, Symbol] = {}
        self.stop: float = inf
        self.before: list[Operation] = []
        self._programs: dict[Any, Program] = {}

    @contextmanager
    def building(self) -> Iterator[None]:
        """The graph that operations are added to inside the block; tangents are not followed."""
        before = _state.change(accumulators=())
        try:
            with self.as_default():
                yield
        finally:
            _state.restore(before)
        self.stop = number()

    @contextmanager
    def control_dependencies(self, inputs: Sequence[Any] | None) -> Iterator[None]:
        """Operations in the block run after these; after those outside, the whole region does."""
        given = [self._operation(v) for v in inputs or ()]
        self.before += [o for o in given if o.graph is not self and o not in self.before]
        own = None if inputs is None else [o for o in given if o.graph is self]
        with super().control_dependencies(own):
            yield

    # What is seen of elsewhere ----------------------------------------------------------------

    def capture(self, symbol: Symbol) -> Symbol:
        """A symbol of a graph around this one as an input; of a ghost, computed again.

        Raises `GraphError` for one of another graph.
        """
        if symbol.operation.graph in self.ghosts:
            return self._repeat(symbol)
        made = super().capture(symbol)
        if isinstance(symbol.shape, OpenShape):
            made.narrow(symbol.shape)  # the same lengths, whatever they are
        return made

    def origin(self, symbol: Symbol) -> Symbol:
        """What an input that was captured stands for, in the graph around this one."""
        return next(s for s, own in self._captures().items() if own is symbol)

    def _repeat(self, symbol: Symbol) -> Symbol:
        """What a symbol of a ghost is here, its operation and those before it appended anew."""
        stack = [symbol]
        with self.name_scope(None), super().control_dependencies(None):
            while stack:
                now = stack[-1]
                waiting = [] if now in self.known else self._waiting(now)
                if waiting:
                    stack += waiting
                else:
                    stack.pop()
        return self.known[symbol]

    def _waiting(self, symbol: Symbol) -> list[Symbol]:
        """The symbols to be known first; where there are none, the symbol is known from now on."""
        stand = self._stand(symbol)
        takes = symbol.operation.takes if stand is None else [stand]
        waiting = [s for s in takes if s.operation.graph in self.ghosts and s not in self.known]
        if waiting:
            return waiting
        if stand is not None:
            self.known[symbol] = self.own(stand)
        else:
            self._copy(symbol.operation)
        return []

    def _stand(self, symbol: Symbol) -> Symbol | None:
        """A symbol with the same value that is nearer: a later ghost's, or one captured."""
        for ghost in self.ghosts:
            found = ghost.known.get(symbol)
            if found is not None:
                return found
        if symbol.operation.op is CAPTURED:
            return symbol.operation.graph.origin(symbol)
        return None

    def _copy(self, operation: Operation) -> None:
        if operation.value is not None:
            self.known[operation.symbols[0]] = self.constant(operation.value)
            return
        symbols = operation.symbols
        made = self.append(
            operation.op, [self._own(a) for a in operation.args], operation.attrs,
            [(s.shape, s.dtype) for s in symbols], symbols[0].kind,
            [self._own(s) for s in operation.extra],
        )
        self.known.update(zip(symbols, made, strict=True))

    def _own(self, value: Any) -> Any:
        return self.own(value) if value.__class__ is Symbol else value

    # Running ----------------------------------------------------------------------------------

    def finish(self, roots: Iterable[Operation] = ()) -> None:
        """Note the values that are fed when it runs, and those that a derivative needs.

        roots  operations to run though nothing is computed from them
        """
        self.effects = [
            *roots, *[o for o in self.operations if getattr(o.op, "effect", False)]
        ]
        self.feeds = self.inputs()
        self.takes = self.taken()
        self.saved = [
            s for o in self.operations
            if getattr(o.op, "stateful", False) and o.op not in (ARGUMENT, CAPTURED)
            and o.value is None for s in o.symbols
        ]

    @property
    def effect(self) -> bool:
        """Whether it changes something."""
        return bool(self.effects)

    @property
    def assigns(self) -> set[Any]:
        """The variables that it assigns."""
        found: set[Any] = set()
        for o in self.operations:
            found |= {o.attrs["cell"]} if o.op is ASSIGN else getattr(o.op, "assigns", set())
        return found

    def program(self, symbols: Sequence[Symbol]) -> Program:
        """What computes some of its symbols from `feeds`."""
        key = tuple(map(id, symbols))
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = Program([*symbols, *self.effects], self.feeds)
        return found

    # Derivatives ------------------------------------------------------------------------------

    @property
    def spans(self) -> list[tuple[int, float]]:
        """The numbers between which its nodes, and those of its ghosts, were recorded."""
        return [(r.start, r.stop) for r in (self, *self.ghosts)]

    def ends(self, nodes: Iterable[Node | None]) -> list[Node]:
        """The nodes outside that the paths from some nodes inside lead to."""
        spans = self.spans
        found = reached_ends({n: None for n in nodes if n is not None}, spans)
        return [n for n in found if not within(spans, _born(n))]

    def pulled(
        self, pairs: Iterable[tuple[Node | None, Any]], wanted: Sequence[Node], cls: type
    ) -> dict[Node, Any]:
        """The cotangents of some nodes, from those of the outputs; in the graph being built.

        pairs  a node and its cotangent, a Tensor, or None
        """
        roots: dict[Node, Any] = {}
        for node, g in pairs:
            if node is not None and g is not None:
                accumulate(roots, node, g)
        if not roots:
            return {}
        with _differentiating():
            return pull(roots, wanted, record=True, spans=self.spans, cls=cls, inner=True)

    def pushed(
        self, tangents: Mapping[Node, Any], targets: Iterable[Node | None], cls: type
    ) -> dict[Node, Any]:
        """The tangents of the outputs, from those of other nodes; in the graph being built."""
        wanted = [n for n in targets if n is not None]
        with _differentiating():
            return push(dict(tangents), wanted, record=True, spans=self.spans, cls=cls)


def _born(node: Node) -> int:
    return node.born if isinstance(node, Leaf) else node.seq


@contextmanager
def _differentiating() -> Iterator[None]:
    before = _state.recording(fresh=False)
    try:
        yield
    finally:
        _state.restore(before)
