"""Building a body from Python: its operations, its reads of variables, and its random numbers.

In the thread that traces, variables are read through the graph that is being traced, and so are
tensors from outside: `Exchange` is what `Tensor._data` and `Tensor._node` ask there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from ..arrays import adapters
from ..arrays.batched import Batched, bare
from ..arrays.symbol import OpenShape, Symbol
from ..core import outside
from ..core import state as _state
from ..core.tensor import Tensor
from ..errors import BatchedValueError, GraphError, ShapeError
from ..kinds import symbols as _symbols
from ..kinds.batching import drawn
from ..kinds.symbols import current_graph
from ..rng_replay import block
from ..variable import Variable
from .closure import closure_of
from .func_graph import Body
from .operation import Kind
from .program import Program
from .tensor import Symbolic
from .variable import Cell, assigned, read


@contextmanager
def building(body: Body) -> Iterator[Body]:
    """A block in which operations go into a body, and variables are read in it.

    Tapes, overrides and tangents of the outside do not reach inside; every value is kept, so that
    gradients can be overridden afterwards.
    """
    mark, before = object(), _state.state()
    try:
        outside.traces.add(mark)
        _state.recording(fresh=True)
        _state.change(keep_values=True, watching=True)
        with body.as_default():
            yield body
    finally:
        try:
            _state.restore(before)  # first of all, as Ctrl-C may follow
        finally:
            outside.traces.discard(mark)


class Exchange:
    """What tensors hold in the graph that this thread builds, and what is written to them there.

    Tensors of a graph hold their symbols, and those made in the code what they were given. Where
    no function is traced, but a graph is built by hand, all hold what they hold outside.
    """

    @staticmethod
    def data(graph: Any, tensor: Tensor) -> Any:
        """The array of a tensor; of one from outside, the symbol that stands for it."""
        closure = closure_of(graph)
        if closure is None or isinstance(tensor, Symbolic):
            return tensor._array
        if isinstance(tensor, Variable):
            return read(graph, cell_of(graph, tensor))
        return closure.data(graph, tensor)

    @staticmethod
    def put_data(graph: Any, tensor: Tensor, data: Any) -> None:
        """Give a tensor an array; a variable that was there, by an assignment of the graph."""
        closure = closure_of(graph)
        if closure is None or isinstance(tensor, Symbolic):
            tensor._array = data
        elif _is_new(tensor):
            if isinstance(tensor, Variable):
                graph.created.append(tensor)
            else:
                closure.made[id(tensor)] = tensor
            tensor._array = data
        elif isinstance(tensor, Variable):
            assigned(graph, cell_of(graph, tensor), data)
            forget_reads(graph.outer, [tensor])
        else:
            closure.put_data(graph, tensor, data)

    @staticmethod
    def node(graph: Any, tensor: Tensor) -> Any:
        """The node of a tensor; of one from outside, the one that it has there."""
        closure = closure_of(graph)
        if closure is None or isinstance(tensor, (Symbolic, Variable)):
            return tensor._history
        return closure.node(tensor)

    @staticmethod
    def put_node(graph: Any, tensor: Tensor, node: Any) -> None:
        """Give a tensor a history; that of one from outside is not touched."""
        closure = closure_of(graph)
        if closure is None or isinstance(tensor, (Symbolic, Variable)):
            tensor._history = node
        else:
            closure.put_node(tensor, node)


def _is_new(tensor: Tensor) -> bool:
    """Whether a tensor is just being made."""
    try:
        tensor._array  # noqa: B018
    except AttributeError:
        return True
    return False


class VariableCell(Cell):
    """The place of an eager variable's value: the variable itself."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        data = variable._array
        super().__init__(
            variable.name.partition(":")[0] or "Variable", (tuple(data.shape), data.dtype),
            bare(data).__class__,
        )
        self.variable = variable

    def value(self, store: Any) -> Any:
        """The variable's array."""
        return self.variable._array

    def write(self, store: Any, value: Any) -> Any:
        """Put an array in place, as an assignment outside does."""
        if value.__class__ is Batched:
            raise BatchedValueError(
                f"assignment to variable {self.label!r} inside vmap", "one value for all examples",
                "another for each", "reduce it first, or take the assignment out of the function",
            )
        if tuple(value.shape) != self.space[0]:
            raise ShapeError(f"assignment to variable {self.label!r}", str(list(self.space[0])),
                             str(list(value.shape)))
        adapter = adapters[value.__class__]
        array = adapter.adopt(adapter.asarray(value))
        self.variable._array = array
        if self.variable._leaf is not None:
            self.variable._leaf.renew(array)
        return array


def cell_of(body: Body, variable: Variable) -> VariableCell:
    """The cell of an eager variable, the same in a body and in those around it."""
    known = body.cells.get(id(variable))
    if known is None:
        outer = body.outer
        known = cell_of(outer, variable) if isinstance(outer, Body) else VariableCell(variable)
        body.cells[id(variable)] = known
    return known


def forget_reads(graph: Any, variables: Iterable[Any]) -> None:
    """Let variables be read anew in a graph and in those around it: something assigns them."""
    while graph is not None:
        for variable in variables:
            known = getattr(graph, "cells", {}).get(id(variable))
            if known is not None:
                graph.reads.pop(known, None)
        graph = getattr(graph, "outer", None)


def effect(
    name: str, run: Callable[..., None], args: Sequence[Any], variables: Sequence[Tensor]
) -> None:
    """Append an operation that calls a Python function on arrays, which changes variables."""
    body = current_graph()
    if not isinstance(body, Body):
        raise GraphError(
            f"`{name}`", "a function that is traced, or no graph", "a graph built by hand",
            "use assign, or the optimizers of pullback.tf.v1.train",
        )
    kind = Kind(name, lambda *arrays: run(*arrays))
    kind.effect = True
    body.append(kind, [body.own(a) for a in args], {}, [], numpy.ndarray, name=name)
    forget_reads(body, [v for v in variables if isinstance(v, Variable)])
    closure = closure_of(body)
    for tensor in variables:
        if closure is not None and not isinstance(tensor, Variable):
            closure.renewed(body, tensor)


def start_of(symbol: Symbol) -> Any:
    """The array that a variable made in a traced function begins with.

    Raises `GraphError` where that depends on the function's arguments.
    """
    graph = symbol.operation.graph
    try:
        (value,) = Program([symbol])([], {})
    except Exception as error:
        raise GraphError(
            "a variable made inside a function", "an initial value that needs no argument of it",
            str(error).splitlines()[0], "make the variable outside, and use it inside",
        ) from error
    assert graph is not None
    return value


class Random(Kind):
    """Random numbers, drawn whenever the graph runs."""

    def __init__(self, draw: Callable[[tuple[int, ...]], Any], subject: str) -> None:
        super().__init__("random")
        self.draw, self.subject = draw, subject

    def kernel(self, shape: Any) -> Any:
        """Other numbers with every call."""
        return drawn(self.draw, tuple(int(n) for n in shape), self.subject)


def random(
    draw: Callable[[tuple[int, ...]], Any], shape: Sequence[Any], subject: str, dtype: Any
) -> Symbol:
    """The symbol of random numbers of a shape."""
    opened = isinstance(shape, OpenShape)
    static = shape if opened else tuple(
        n if isinstance(n, (int, numpy.integer)) else None for n in shape
    )
    graph = current_graph()

    def make() -> Symbol:
        attrs = {"shape": shape if opened else tuple(shape)}
        found: Symbol = graph.source(Random(draw, subject), static, dtype, attrs)._data
        return found

    symbol: Symbol = block().symbol(make)  # a second run gets that of the first
    return symbol


later: Any = _symbols.later
later.start_of = start_of
later.random = random
