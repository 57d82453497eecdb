"""`Operation`: one node of a graph, with a name, its inputs and its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from ..arrays.symbol import OpenShape, Symbol
from ..core.tensor import raw
from ..errors import UnknownNameError, suggestion


class Hole:
    """Stands in attributes for one of the operation's further inputs."""

    __slots__ = ("position", "shape")

    def __init__(self, position: int, shape: bool) -> None:
        self.position, self.shape = position, shape  # shape: not the value is meant but its shape

    def __repr__(self) -> str:
        return f"<input {self.position}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole) and (self.position, self.shape) == (
            other.position, other.shape
        )

    def __hash__(self) -> int:
        return hash((self.position, self.shape))


def lifted(value: Any, found: list[Symbol]) -> Any:
    """Attributes with holes in the place of symbols, which are added to `found`."""
    value = raw(value)
    if value.__class__ is Symbol:
        found.append(value)
        return Hole(len(found) - 1, False)
    if isinstance(value, OpenShape):
        found.append(value.symbol)
        return Hole(len(found) - 1, True)
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([lifted(v, found) for v in value])
    if isinstance(value, Mapping):
        return {k: lifted(v, found) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*[lifted(v, found) for v in (value.start, value.stop, value.step)])
    return value


def filled(value: Any, values: Sequence[Any]) -> Any:
    """Attributes with the values of further inputs in their holes; numbers in slices and shapes."""
    if value.__class__ is Hole:
        found = values[value.position]
        return found.shape if value.shape else found
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([_entry(filled(v, values), v) for v in value])
    if value.__class__ is dict:
        return {k: filled(v, values) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*[
            _entry(filled(v, values), v) for v in (value.start, value.stop, value.step)
        ])
    return value


def _entry(value: Any, hole: Any) -> Any:
    """The value in a hole among others: one number, where it is one of a shape or a slice."""
    if hole.__class__ is Hole and not hole.shape and getattr(value, "shape", None) == ():
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, numpy.dtype) and dtype.kind in "iu":
            return int(value)
    return value


class Operation:
    """One operation of a graph.

    op        the `Op` of the library, or one of the graph's own kinds
    args      what it takes: symbols, and Python's numbers
    attrs     its keyword arguments; a `Hole` stands for a symbol in them, which is in `extra`
    number    its place in the order of building
    line      the user's line that built it

    >>> import numpy as np
    >>> from pullback.graphs import Graph, placeholder
    >>> with Graph().as_default() as graph:
    ...     y = placeholder(np.float64, [2], name="x") * 2.0
    >>> y.op.type, y.op.name, [x.name for x in y.op.inputs]
    ('multiply', 'multiply', ['x:0', 'constant:0'])
    """

    __slots__ = (
        "__weakref__", "args", "attrs", "control", "extra", "graph", "line", "name", "number",
        "op", "symbols", "value",
    )

    def __init__(
        self, graph: Any, op: Any, name: str, args: tuple[Any, ...], attrs: Mapping[str, Any],
        extra: tuple[Symbol, ...], control: tuple[Operation, ...], line: str,
    ) -> None:
        self.graph, self.op, self.name = graph, op, name
        self.args, self.attrs, self.extra = args, attrs, extra
        self.control, self.line = control, line
        self.number = graph.dropped + len(graph.operations)
        self.symbols: tuple[Symbol, ...] = ()
        self.value: Any = None  # the array of a constant

    @property
    def type(self) -> str:
        """What it computes, in the graph's way of naming."""
        return str(self.graph.type_of(self.op))

    @property
    def takes(self) -> list[Symbol]:
        """The symbols it is computed from, those in attributes too."""
        return [*[a for a in self.args if a.__class__ is Symbol], *self.extra]

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors it is computed from; numbers among them as constants."""
        return tuple(
            self.graph.tensor(a) if a.__class__ is Symbol else self.graph.constant_for(a, self)
            for a in (*self.args, *self.extra)
        )

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The tensors it computes."""
        return tuple(map(self.graph.tensor, self.symbols))

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that run before it without handing it anything."""
        return list(self.control)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, such as `axis`.

        Raises `UnknownNameError` when it has none of that name.
        """
        if name not in self.attrs:
            raise UnknownNameError(
                f"attribute {name!r} of operation {self.name!r} ({self.type})",
                f"one of {', '.join(self.attrs) or 'none'}", "no such",
                suggestion(name, self.attrs),
            )
        return self.attrs[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in a session, the default one if none is given."""
        from .session import session_for

        session_for(session, self.graph).run(self, feed_dict)

    @property
    def node_def(self) -> str:
        """The operation as text: name, type, inputs, attributes, what it gives."""
        lines = [f"name: {self.name!r}", f"op: {self.type!r}"]
        lines += [f"input: {s.name!r}" for s in self.takes]
        lines += [f"input: '^{c.name}'" for c in self.control]
        lines += [f"attr {k}: {v!r}" for k, v in self.attrs.items()]
        lines += [f"output: {s.dtype}{_shape_text(s)}" for s in self.symbols]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.node_def

    def __repr__(self) -> str:
        return f"<Operation {self.name!r} type={self.type}>"


def _shape_text(symbol: Symbol) -> str:
    shape = symbol.shape
    return repr(shape) if type(shape).__name__ == "AnyShape" else str(list(shape))


class Kind:
    """What an operation does that is none of the library's: placeholders, assignments, loops.

    stateful   it is never left out for another one like it, nor computed ahead
    effect     it changes something: a `function` runs it even if its value is unused
    stored     its kernel takes the values of variables first: a dictionary
    retains    its kernel puts its argument somewhere for good
    owning     its results share memory with nothing else
    unsteady   the classes of the arrays that it gives do not follow from those that it takes
    """

    elementwise = True  # nothing about it waits for shapes
    stateful = True
    effect = False
    stored = False
    unsteady = False
    retains = False
    owning = False

    def __init__(self, name: str, kernel: Callable[..., Any] | None = None) -> None:
        self.name = name
        if kernel is not None:
            self.kernel = kernel

    kernel: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
