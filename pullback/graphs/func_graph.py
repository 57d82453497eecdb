"""`Body`: the graph of a function, a branch or a loop, built inside another one or by itself.

Tensors of the graphs around it are captured: each becomes an input. What is recorded in a body
leads to the nodes of what was captured, so that these are where the pull through it ends.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Any

from ..arrays.symbol import Symbol
from ..core.node import number
from .graph import Graph
from .operation import Kind

ARGUMENT = Kind("argument")
CAPTURED = Kind("captured")

LOCK = RLock()
"""Held while tracing, or adding derivatives to a body: one for all, so that two functions that
call each other may be traced by two threads."""
if hasattr(os, "register_at_fork"):  # another thread may have held it
    os.register_at_fork(after_in_child=LOCK._at_fork_reinit)  # type: ignore[attr-defined]


class Body(Graph):
    """A graph with inputs: its arguments, and what it captured of the graphs around it.

    outer     the graph in which it is built, or None
    start     the number from which on nodes are recorded in it
    closure   of a function: what it closes over, see `closure.py`; None in a branch or loop
    decided   pairs of tensors that share memory, or not, as the order of inputs has it
    assumed   the inputs that must be in row-major order; see `layouts.py`
    """

    closure: Any = None

    def __init__(self, outer: Graph | None = None, tensor_class: type | None = None) -> None:
        super().__init__()
        self.outer = outer
        self.start = number()
        self.arguments: list[Symbol] = []
        self.captured: dict[int, tuple[Symbol, Symbol]] = {}
        self.cells: dict[int, Any] = {}  # id of a variable of the outside -> where its value is
        self.created: list[Any] = []  # variables made while it was built
        self.decided: list[Any] = []
        self.assumed: dict[Symbol, None] = {}
        if outer is not None:
            self.tensor_class = tensor_class or outer.tensor_class
        elif tensor_class is not None:
            self.tensor_class = tensor_class

    def type_of(self, op: Any) -> str:
        """What the graph around it calls operations of a kind."""
        return super().type_of(op) if self.outer is None else self.outer.type_of(op)

    def argument(self, shape: Any, dtype: Any, kind: type, name: str = "argument") -> Any:
        """A new input, as a tensor of this graph; an `OpenShape` is shared with its symbol."""
        (made,) = self.append(ARGUMENT, (), {}, [(shape, dtype)], kind, name=name)
        self.arguments.append(made)
        return self.tensor(made)

    def capture(self, symbol: Symbol) -> Symbol:
        """A symbol of a graph around this one, as an input of this one.

        Raises `GraphError` for one of a graph that is not around it.
        """
        known = self.captured.get(id(symbol))
        if known is not None:
            return known[1]
        if self.outer is None:
            return super().capture(symbol)
        if symbol.operation.value is not None:
            return self.constant(symbol.operation.value)
        source = symbol if symbol.operation.graph is self.outer else self.outer.capture(symbol)
        known = self.captured.get(id(source))
        if known is not None:
            self.captured[id(symbol)] = (symbol, known[1])
            return known[1]
        with self.name_scope(None), self.control_dependencies(None):
            (made,) = self.append(
                CAPTURED, (), {}, [(_space(symbol), symbol.dtype)], symbol.kind, name="captured"
            )
        self.captured[id(symbol)] = (symbol, made)
        self.captured[id(source)] = (source, made)
        return made

    def release(self, start: int) -> None:
        """Drop operations after index `start` from the list; their symbols still refer to them.

        So what is built for one use, such as a gradient overridden in one pull, goes with it.
        """
        first = self.dropped + start
        for operation in self.operations[start:]:
            del self._named[operation.name]
            self._counts.pop(operation.name.lower(), None)
        self.dropped += len(self.operations) - start
        del self.operations[start:]
        self.reads = {k: v for k, v in self.reads.items() if v[0].operation.number < first}
        self._constants = {
            k: v for k, v in self._constants.items() if v[1].operation.number < first
        }

    def inputs(self) -> list[Symbol]:
        """The arguments, and then the inputs that stand for what was captured."""
        return [*self.arguments, *self._captures().values()]

    def taken(self) -> list[Symbol]:
        """What was captured, of the graph in which this one is built, in the order of `inputs`."""
        return list(self._captures())

    def _captures(self) -> dict[Symbol, Symbol]:
        outer = self.outer
        return {s: own for s, own in self.captured.values() if s.operation.graph is outer}


def _space(symbol: Symbol) -> Any:
    """The shape of a captured symbol: with its own unknown lengths."""
    try:
        return tuple(symbol.shape)
    except TypeError:
        return None
