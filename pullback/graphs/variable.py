"""Variables of graphs: their values live in sessions, and operations read and assign them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy

from ..arrays import adapters
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core.node import Leaf, Node
from ..core.op import OPS
from ..core.tensor import Tensor, is_inexact, raw, wrap
from ..errors import ArgumentError, InplaceError, SessionError, ShapeError
from ..kinds.symbols import current_graph
from ..variable import reads
from .operation import Kind
from .sources import building
from .tensor import Symbolic


class _Stored(Kind):
    """A kind of operation that receives the values of variables."""

    stored = True


class Cell:
    """Where a variable's value is kept: the key under which a store has it.

    label   the variable's name
    space   shape (None for any) and dtype of what it holds
    kind    the class of the arrays
    """

    __slots__ = ("kind", "label", "space")

    def __init__(self, label: str, space: tuple[Any, Any], kind: type) -> None:
        self.label, self.space, self.kind = label, space, kind

    def __repr__(self) -> str:
        return f"<variable {self.label!r}>"

    def value(self, store: Any) -> Any:
        """The array that is there.

        Raises `SessionError` where there is none yet.
        """
        try:
            return store[self]
        except KeyError:
            raise SessionError(
                f"variable {self.label!r}", "a value", "none yet in this session",
                "run variable.initializer, or global_variables_initializer(), first",
            ) from None

    def write(self, store: Any, value: Any) -> Any:
        """Put an array into the values of a session or a function's variables."""
        shape = self.space[0]
        given = tuple(value.shape)
        if shape is not None and (len(shape) != len(given) or any(
            n is not None and n != m for n, m in zip(shape, given, strict=True)
        )):
            raise ShapeError(f"assignment to variable {self.label!r}", str(list(shape)),
                             str(list(given)))
        store[self] = value
        return value


def _read(store: Any, cell: Cell) -> Any:
    return cell.value(store)


def _write(store: Any, value: Any, cell: Cell) -> Any:
    return cell.write(store, value)


READ = _Stored("read_variable", _read)
ASSIGN = _Stored("assign", _write)
ASSIGN.effect = ASSIGN.retains = True


def read(graph: Any, cell: Cell) -> Symbol:
    """The symbol of a variable's value at this point of the building of a graph.

    One that was read before serves again, unless something was assigned since, or the operations
    that are to run first are others.
    """
    known = graph.reads.get(cell)
    if known is None or (known[1] != graph.control and not graph.finalized):
        with graph.name_scope(None):
            (symbol,) = graph.append(
                READ, (), {"cell": cell}, [cell.space], cell.kind, name=f"{cell.label}/read"
            )
        known = graph.reads[cell] = (symbol, graph.control)
    return known[0]


def assigned(graph: Any, cell: Cell, value: Any, name: str | None = None) -> Any:
    """The tensor of an assignment's result, which later reads of the variable return."""
    made = graph.source(
        ASSIGN, cell.space[0], cell.space[1], {"cell": cell}, [value],
        name=name or graph.type_of(ASSIGN), array_kind=cell.kind,
    )
    graph.reads.pop(cell, None)
    return made


class GraphVariable(Symbolic, Tensor):
    """A value that sessions keep and operations of a graph change.

    initial_value  an array, number, nested sequence or tensor of the graph, or a function that
                   returns one; `initializer` is the operation that assigns it
    trainable      whether it is in the collection of trainable variables
    name           its operations' names begin with it
    dtype          converted to, when given
    validate_shape False: a value of any shape may be assigned

    >>> from pullback.graphs import Graph, GraphVariable, Session
    >>> with Graph().as_default() as graph:
    ...     v = GraphVariable([1.0, 2.0], name="v")
    ...     more = v.assign_add([1.0, 1.0])
    >>> session = Session(graph)
    >>> session.run(v.initializer)
    >>> session.run(more)
    array([2., 3.])
    """

    __slots__ = ("_graph", "_leaf", "cell", "initial_value", "initializer", "trainable")

    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None,
        dtype: Any = None, validate_shape: bool = True, collections: Any = None,
    ) -> None:
        graph = building("GraphVariable")
        self._graph = graph
        label = graph.unique_name(name or "Variable")
        with graph.name_scope(label + "/"), graph.control_dependencies(None):
            start = initial_value() if callable(initial_value) and not isinstance(
                initial_value, Tensor
            ) else initial_value
            symbol = self._start(graph, start, dtype)
            shape = symbol.shape if validate_shape else None
            self.cell = Cell(label, (shape, symbol.dtype), symbol.kind)
            self.trainable = bool(trainable)
            self._leaf = self._new_leaf(symbol) if is_inexact(symbol) else None
            self.initial_value = graph.tensor(symbol)
            self.initializer = assigned(graph, self.cell, symbol, "Assign").op
            self.value()  # the read that goes before any assignment
        graph.variables.append(self)
        for key in self._collections() if collections is None else collections:
            graph.add_to_collection(key, self)

    def _start(self, graph: Any, value: Any, dtype: Any) -> Symbol:
        """The symbol of the initial value."""
        data = raw(value)
        if data.__class__ is not Symbol:
            data = adapters[float].asarray(data, dtype)
            return graph.constant(data, "initial_value")
        own: Symbol = graph.own(data)
        if dtype is not None and own.dtype != numpy.dtype(dtype):
            own = raw(OPS["astype"](own, numpy.dtype(dtype)))
        return own

    def _new_leaf(self, symbol: Symbol) -> Leaf:
        leaf = Leaf(symbol, _state.TRACED, trainable=self.trainable)
        leaf.variable = weakref.ref(self)  # a custom gradient is told which variables were read
        return leaf

    def _collections(self) -> list[str]:
        return ["variables", "trainable_variables"] if self.trainable else ["variables"]

    @property
    def _array(self) -> Any:
        reads[0] += 1
        symbol = read(self._place(), self.cell)
        if symbol.face is None:  # an operation that has it as an input follows the variable
            wrap(self._graph.tensor_class, symbol, self._leaf)
        return symbol

    @_array.setter
    def _array(self, data: Any) -> None:
        raise _unwritable(self)

    def _place(self) -> Any:
        """The graph that reads it at this point: that of a branch or loop that is being built."""
        inner = graph = current_graph()
        while graph is not None and graph is not self._graph:
            graph = getattr(graph, "outer", None)
        return self._graph if graph is None else inner

    @property
    def _history(self) -> Node | None:
        return self._leaf

    @_history.setter
    def _history(self, node: Node | None) -> None:
        raise _unwritable(self)

    @property
    def op(self) -> Any:
        """The operation that reads it."""
        return self._data.operation

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name and `:0`."""
        return f"{self.cell.label}:0"

    def value(self) -> Any:
        """Its value as a tensor of the graph, read at this point."""
        return self._data.face

    read_value = value

    def initialized_value(self) -> Any:
        """The value it starts with."""
        return self.initial_value

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None,
               read_value: bool = True) -> Any:
        """The tensor of its value after an assignment, which happens when that runs.

        Raises `ShapeError` for another shape.
        """
        return self._assigned(value, None, name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> Any:
        """The tensor of its value after an addition, which happens when that runs."""
        return self._assigned(delta, "add", name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> Any:
        """The tensor of its value after a subtraction, which happens when that runs."""
        return self._assigned(delta, "subtract", name)

    def _assigned(self, value: Any, operation: str | None, name: str | None) -> Any:
        graph = self._place()
        symbol = raw(value)
        if symbol.__class__ is not Symbol:
            symbol = graph.constant(adapters[self.cell.kind].asarray(symbol, self.cell.space[1]))
        symbol = graph.own(symbol)
        if operation is not None:
            # What is added to is read when this runs, not where it was read before.
            graph.reads.pop(self.cell, None)
            symbol = OPS[operation](read(graph, self.cell), symbol)
        self._check(symbol)
        return assigned(graph, self.cell, symbol, name)

    def _check(self, symbol: Symbol) -> None:
        """Raise for a symbol that cannot be assigned."""
        subject = f"assignment to variable {self.name!r}"
        if symbol.dtype != self.cell.space[1]:
            raise ArgumentError(subject, f"dtype {self.cell.space[1]}", f"dtype {symbol.dtype}",
                                "cast it first")
        shape = self.cell.space[0]
        if shape is None or type(symbol.shape).__name__ == "AnyShape":
            return
        given = tuple(symbol.shape)
        if len(given) != len(shape) or any(
            n is not None and m is not None and n != m for n, m in zip(shape, given, strict=True)
        ):
            raise ShapeError(subject, f"shape {list(shape)}", f"shape {list(given)}")

    def load(self, value: Any, session: Any = None) -> None:
        """Put an array in place, in a session, the default one if none is given."""
        from .session import session_for

        found = session_for(session, self._graph)
        adapter = adapters[self.cell.kind]
        array = adapter.copy(adapter.asarray(raw(value), self.cell.space[1]))
        self.cell.write(found.store, array)

    def __repr__(self) -> str:
        shape, dtype = self.cell.space
        return f"<GraphVariable {self.name!r} shape={shape} dtype={dtype}>"


def _unwritable(variable: GraphVariable) -> InplaceError:
    return InplaceError(
        f"in-place write to {variable.name!r}", "an operation of the graph that assigns",
        "a write while it is built", "use assign, assign_add or assign_sub, and run the result",
    )


def initializer(variables: Any, name: str = "init") -> Any:
    """The operation that gives variables their initial values.

    >>> import numpy as np
    >>> from pullback.graphs import Graph, Session
    >>> with Graph().as_default() as graph:
    ...     v = GraphVariable(np.ones(2))
    ...     init = initializer([v])
    >>> with Session(graph) as session:
    ...     session.run(init)
    ...     session.run(v)
    array([1., 1.])
    """
    graph = building("variables_initializer")
    with graph.control_dependencies(None):
        return graph.group([v.initializer for v in variables], name)


