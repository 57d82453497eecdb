"""`Graph`: operations in the order of building, their names, and the scopes they are built in."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from .._user_code import user_line
from ..arrays import adapters, is_array
from ..arrays.batched import Batched
from ..arrays.refusals import REFUSALS, refuse
from ..arrays.symbol import Symbol, is_open
from ..core.op import Op
from ..core.tensor import raw
from ..errors import (
    ArgumentError,
    GraphError,
    PullbackError,
    SymbolError,
    UnknownNameError,
    suggestion,
)
from ..kinds import symbols as _symbols
from . import spaces
from .aliasing import as_constant, same_values
from .operation import Kind, Operation, lifted
from .tensor import GraphTensor

CONSTANT = Kind("constant")
CONSTANT.stateful = False
NO_OP = Kind("no_op", lambda: None)
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_.\\/>-]")
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


def _clean(name: str) -> str:
    """A name with nothing in it that names may not have, as `<lambda>` and `__call__` have."""
    return _UNNAMEABLE.sub("", name).lstrip("_\\/>-") or "operation"


class Graph:
    """Operations that are built first, and computed when a session runs them.

    In a block `with graph.as_default():` operations on its tensors, and sources such as
    `placeholder`, are added to it. Tensors of a graph differentiate as all others do.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [None], name="x")
    ...     y = pb.sum(x * x)
    >>> [operation.type for operation in graph.get_operations()]
    ['placeholder', 'multiply', 'sum']
    >>> float(Session(graph).run(y, {x: [1.0, 2.0]}))
    5.0
    """

    tensor_class: type = GraphTensor

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.dropped = 0  # of these, so that numbers go on rising
        self.collections: dict[str, list[Any]] = {}
        self.variables: list[Any] = []
        self.finalized = False
        self.seed: int | None = None
        self._named: dict[str, Operation] = {}
        self._counts: dict[str, int] = {}
        self._scope = ""
        self.control: tuple[Operation, ...] = ()
        self.reads: dict[Any, tuple[Symbol, tuple[Operation, ...]]] = {}
        self._constants: dict[int, tuple[Any, Symbol]] = {}
        self.derived: set[str] = set()  # the scopes in which derivatives were built

    # Building -------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """The graph that operations are added to inside the block, in this thread."""
        with _symbols.building(self):
            yield self

    def exchange(self) -> Any:
        """What stands for tensors from outside while this graph is built, for the core."""
        from .tracing import Exchange

        return Exchange

    def type_of(self, op: Any) -> str:
        """What operations of a kind are called in this graph."""
        return str(op.name)

    def compute(self, op: Any, args: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Append an operation of the library's; what its kernel is, on symbols."""
        taken = tuple(map(self.own, args))
        if op.name == "shape" and not is_open(taken[0].shape):
            return self.constant(numpy.array(taken[0].shape, numpy.int64))
        found: list[Symbol] = []
        held = lifted(attrs, found)
        extra = tuple(map(self.own, found))
        try:
            kind, given = spaces.infer(op, taken, attrs)
        except (*REFUSALS, PullbackError) as error:
            self._refuse(op, taken, error)
        outputs = self.append(op, taken, held, given, kind, extra)
        return outputs if len(op.outputs) > 1 else outputs[0]

    def append(
        self, op: Any, args: Sequence[Any], attrs: Mapping[str, Any],
        given: Sequence[tuple[Any, Any]], kind: type, extra: Sequence[Symbol] = (),
        name: str | None = None,
    ) -> tuple[Symbol, ...]:
        """Append an operation and return the symbols of its outputs.

        given   shape and dtype of each output
        """
        if self.finalized:
            raise GraphError(
                f"operation `{op.name}`", "a graph that may grow", "a finalized one",
                "build everything before finalize(), or before the first run of a monitored loop",
            )
        made = Operation(
            self, op, self.unique_name(name or _clean(self.type_of(op))), tuple(args), attrs,
            tuple(extra), self.control, user_line(),
        )
        made.symbols = tuple([
            Symbol(made, i, kind, shape, dtype) for i, (shape, dtype) in enumerate(given)
        ])
        self.operations.append(made)
        self._named[made.name] = made
        return made.symbols

    def rewind(self, start: int) -> None:
        """Take back the library's operations that were appended after so many of all kinds.

        What was made for them, constants and captures, stays: others may know it by now.
        """
        for operation in self.operations[start:]:
            if isinstance(operation.op, Op) or getattr(operation.op, "spaces", None) is not None:
                del self._named[operation.name]
                self._counts.pop(operation.name.lower(), None)
        kept = [o for o in self.operations[start:] if o.name in self._named]
        self.operations[start:] = kept
        for place, operation in enumerate(kept, self.dropped + start):
            operation.number = place

    def own(self, value: Any) -> Any:
        """An argument of an operation of this graph: a symbol of it, or a number."""
        value = raw(value)
        if value.__class__ is Symbol:
            return value if value.operation.graph is self else self.capture(value)
        if value.__class__ is Batched:
            raise SymbolError(
                f"{value!r} as an argument of one operation of a graph", "an array or a tensor",
                "a batched value: this operation cannot be mapped by vmap while a graph is built",
                "call vmap outside the traced function, or map_fn inside it",
            )
        return self.constant(value) if is_array(value) else value

    def capture(self, symbol: Symbol) -> Symbol:
        """A symbol of another graph as one of this; a graph that is no function's has none.

        Raises `GraphError`.
        """
        raise GraphError(
            f"tensor {symbol.name!r}", "a tensor of this graph",
            f"one of another graph, built at {symbol.operation.line}",
            "build it inside the same `with graph.as_default():`",
        )

    def constant(self, array: Any, name: str | None = None) -> Symbol:
        """A constant, with the values that an array has now; the same array gives the same one."""
        known = self._constants.get(id(array))
        if known is not None and name is None and same_values(known[1].operation.value, array):
            return known[1]
        cls = array.__class__
        kind = numpy.ndarray if isinstance(array, numpy.generic) else cls
        (made,) = self.append(
            CONSTANT, (), {}, [(tuple(array.shape), array.dtype)], kind,
            name=name or self.type_of(CONSTANT),
        )
        made.operation.value = as_constant(array)
        made.operation.control = ()
        self._constants[id(array)] = array, made  # holds it, so that its id stays its own
        return made

    def is_constant(self, array: Any) -> bool:
        """Whether an array has become a constant of this graph."""
        return id(array) in self._constants

    def constant_for(self, number: Any, operation: Operation) -> Any:
        """A number among an operation's arguments as the constant that it stands for."""
        if isinstance(number, (bool, int, float, complex)):
            some = next((s for s in operation.takes), None)
            dtype = None if some is None else spaces.weak_dtype(some, number)
            kind = float if some is None else some.kind
            return self.tensor(self.constant(adapters[kind].asarray(number, dtype)))
        return number

    def tensor(self, symbol: Symbol) -> Any:
        """The tensor by which people know a symbol."""
        if symbol.face is None:
            made: Any = object.__new__(self.tensor_class)
            made._data, made._node = symbol, None
            symbol.face = made
        return symbol.face

    def source(
        self, kind: Kind, shape: Any, dtype: Any, attrs: Mapping[str, Any] | None = None,
        args: Sequence[Any] = (), name: str | None = None, array_kind: type = numpy.ndarray,
    ) -> Any:
        """The tensor of an operation that computes from nothing that has a derivative."""
        found: list[Symbol] = []
        held = lifted(attrs or {}, found)
        (made,) = self.append(
            kind, [self.own(a) for a in args], held, [(shape, dtype)], array_kind,
            tuple(map(self.own, found)), name,
        )
        return self.tensor(made)

    def _refuse(self, op: Any, taken: Sequence[Any], error: Exception) -> None:
        """Raise an error anew, naming the operation that was to be built and the user's line."""
        where = f"in operation {self._scope}{self.type_of(op)!s}, built at {user_line()}"
        try:
            refuse(op, taken, error)
        except Exception as refused:
            if where not in getattr(refused, "__notes__", ()):
                refused.add_note(where)
            raise

    # Names ----------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that no operation of this graph has, in the scope that is open.

        >>> graph = Graph()
        >>> graph.unique_name("x"), graph.unique_name("x")
        ('x', 'x_1')
        """
        if not _NAME.fullmatch(name):
            raise ArgumentError(
                f"name {name!r}", "letters, digits, `.`, `_`, `-` and `/`", "other characters"
            )
        whole = name[:-1] if name.endswith("/") else self._scope + name
        key = whole.lower()
        count = self._counts.get(key, 0)
        found = whole
        while found.lower() in self._counts:
            count += 1
            found = f"{whole}_{count}"
        if mark_as_used:
            self._counts[key] = max(count, self._counts.get(key, 0))
            self._counts.setdefault(found.lower(), 0)
        return found

    def rename(self, operation: Operation, name: str) -> None:
        """Give an operation another name."""
        del self._named[operation.name]
        self._counts.pop(operation.name.lower(), None)
        operation.name = self.unique_name(name)
        self._named[operation.name] = operation

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names inside the block begin with this one and a slash; None leaves all scopes."""
        before = self._scope
        if not name:
            self._scope = ""
        elif name.endswith("/"):
            self._scope = name
        else:
            self._scope = self.unique_name(name) + "/"
        try:
            yield self._scope
        finally:
            self._scope = before

    def call(self, operation: Operation, name: str) -> None:
        """Give a new operation the name that those of its kind have, and not that of its type."""
        scope, slash, leaf = operation.name.rpartition("/")
        own, rest = leaf[: len(name)], leaf[len(name) :]
        if own.lower() == name.lower() and (not rest or rest[0] == "_"):
            self.settle(operation, scope + slash + name + rest)
        else:
            self.free(operation.name)
            self.settle(operation, self.unique_name(name))

    def settle(self, operation: Operation, name: str) -> None:
        """Give an operation the very name of the scope that it was built in."""
        self._named.pop(operation.name, None)
        self.free(operation.name)
        operation.name = name
        self._counts.setdefault(name.lower(), 0)
        self._named[name] = operation

    def free(self, name: str) -> None:
        """Let go of a name under which nothing was built."""
        self._counts.pop(name.lower(), None)

    def get_name_scope(self) -> str:
        """The scope that is open, without the slash."""
        return self._scope[:-1]

    # Order ----------------------------------------------------------------------------------

    @contextmanager
    def control_dependencies(self, inputs: Sequence[Any] | None) -> Iterator[None]:
        """Operations built inside the block run after these; None leaves all such blocks."""
        before = self.control
        self.control = () if inputs is None else (*before, *map(self._operation, inputs))
        try:
            yield
        finally:
            self.control = before

    def _operation(self, value: Any) -> Operation:
        if isinstance(value, Operation):
            return value
        data = raw(value)
        if data.__class__ is Symbol:
            return data.operation
        raise GraphError("control_dependencies", "operations and tensors of the graph",
                         f"a {type(value).__name__}")

    def group(self, inputs: Sequence[Any], name: str | None = None) -> Operation:
        """An operation that does nothing but wait for others."""
        with self.control_dependencies(inputs):
            self.append(NO_OP, (), {}, [], numpy.ndarray, name=name)
        return self.operations[-1]

    # Asking ---------------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were built."""
        return list(self.operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name.

        Raises `UnknownNameError` with the closest name.
        """
        found = self._named.get(name)
        if found is None:
            raise UnknownNameError(
                f"operation {name!r}", "the name of an operation of this graph", "no such",
                suggestion(name, self._named),
            )
        return found

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor of a name such as `add:0`.

        Raises `ArgumentError` for a name without a number, `UnknownNameError` for one that the
        graph does not have.
        """
        operation, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            raise ArgumentError(
                f"tensor name {name!r}", "an operation's name, a colon and a number", "another",
                f"did you mean {name + ':0'!r}?",
            )
        outputs = self.get_operation_by_name(operation).outputs
        if int(index) >= len(outputs):
            raise UnknownNameError(
                f"tensor {name!r}", f"one of {len(outputs)} outputs", f"number {index}"
            )
        return outputs[int(index)]

    def as_graph_element(self, value: Any) -> Any:
        """The tensor or operation that a tensor, operation, variable or name stands for."""
        if isinstance(value, str):
            find: Callable[[str], Any] = (
                self.get_tensor_by_name if ":" in value else self.get_operation_by_name
            )
            return find(value)
        return value

    def finalize(self) -> None:
        """From now on nothing can be added."""
        self.finalized = True

    # Collections ----------------------------------------------------------------------------

    def add_to_collection(self, name: str, value: Any) -> None:
        """Put something into the collection of a name."""
        self.collections.setdefault(name, []).append(value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """What was put into a collection; with a scope, what has a name that matches it."""
        found = self.collections.get(name, [])
        if scope is None:
            return list(found)
        return [v for v in found if re.match(scope, getattr(v, "name", ""))]

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself, to be changed."""
        return self.collections.setdefault(name, [])

    # Showing --------------------------------------------------------------------------------

    def draw(
        self, targets: Any = None, *, between: Any = None, format: str = "svg",
        show: Collection[str] = ("type", "shape", "dtype"), fold: bool | None = None,
    ) -> Any:
        """A picture of the graph, from top to bottom, with name scopes as groups.

        targets  tensors, operations or their names: only what they need is drawn
        between  a pair (from, to) of the same: only what lies on a path between them is drawn
        format   what a notebook shows: "svg", or "html", a page that zooms, searches and folds
        show     what a box says besides the name: some of "type", "shape", "dtype", "line"
        fold     whether groups are drawn as one box; left out, as many as a large graph needs

        `save("graph.svg")` and `save("graph.html")` write files, `.svg` and `.html` have the texts.
        Raises `ArgumentError` and `ArgumentTypeError` for other arguments, `UnknownNameError` for a
        name that there is none of.

        >>> import pullback as pb
        >>> from pullback.graphs import Graph, placeholder
        >>> with Graph().as_default() as graph:
        ...     x = placeholder(pb.float64, [None], name="x")
        ...     y = pb.sum(x * x)
        >>> graph.draw(y)
        <picture of 3 operations>
        """
        from ..tools.draw.of_graph import draw

        return draw(self, targets, between=between, format=format, show=show, fold=fold)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.operations)} operations>"

    def __str__(self) -> str:
        from .listing import listing

        return listing(self)
