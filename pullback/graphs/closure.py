"""Tensors that a traced function closes over: inputs of its graph, passed with each call.

A tensor that was there before shows, in the thread that traces, the symbol of an input in place of
its array (`core/outside.py`), with a history of its own, as an argument has. So a call finds the
values, and the history, that the tensor has by then; and what the code writes to it in place is one
more output, which a call puts there.
"""

from __future__ import annotations

from typing import Any

from ..arrays import adapters
from ..arrays.batched import bare
from ..arrays.symbol import Symbol
from ..core import state as _state
from ..core.inplace import overwrite
from ..core.node import Leaf, Node
from ..core.state import REQUIRED
from ..core.tensor import Tensor
from ..errors import GraphError
from .operation import Kind
from .variable import Cell, read

CLOSED = Kind("closed")


class Closed:
    """A tensor from outside, and what stands for it inside.

    symbol, leaf  the input of the graph, and its node
    data, node    what the tensor holds at this point of the code
    """

    __slots__ = ("cls", "data", "leaf", "node", "symbol", "tensor", "written")

    def __init__(self, tensor: Any, symbol: Any, leaf: Node | None, cls: type) -> None:
        self.tensor, self.cls = tensor, cls
        self.symbol = self.data = symbol
        self.leaf = self.node = leaf
        self.written = False

    def fits(self) -> bool:
        """Whether the tensor is still one that the graph was made for."""
        data, symbol = self.tensor._data, self.symbol
        if data.shape != symbol.shape or data.dtype != symbol.dtype:
            return False
        cls = data.__class__
        return cls is self.cls or cls is Symbol or adapters[_kind(data)] is adapters[symbol.kind]

    def put(self, value: Any) -> None:
        """Write to the tensor what the code has written to it, with recording off as it was."""
        before = _state.quiet()
        try:
            overwrite(self.tensor, value, "a traced function")
        finally:
            _state.restore(before)


class Closure:
    """What a function that is traced closes over.

    made  tensors that its own code has made: these are its constants
    """

    def __init__(self, body: Any) -> None:
        self.body = body
        self.found: dict[int, Closed] = {}
        self.made: dict[int, Tensor] = {}
        self.sealed = False

    def seal(self) -> list[Closed]:
        """What was found, once all code has run; nothing is found any more."""
        self.sealed = True
        self.made.clear()
        return list(self.found.values())

    def of(self, tensor: Any) -> Closed | None:
        """What stands for a tensor; None for one that is a constant, or found too late."""
        known = self.found.get(id(tensor))
        if known is not None or self.sealed:
            return known
        data = tensor._array
        if id(tensor) in self.made or tensor._constant or data.__class__ is Symbol:
            return None
        body, kind = self.body, _kind(data)
        with body.name_scope(None), body.control_dependencies(None):
            (symbol,) = body.append(CLOSED, (), {}, [(tuple(data.shape), data.dtype)], kind)
        leaf: Any = body.tensor(symbol)._node
        if leaf is not None:  # it was there before the branch, or the pb.grad, that met it first
            leaf.seq = leaf.born = body.start
        history = tensor._history
        if leaf is not None and isinstance(history, Leaf):
            leaf.trainable, leaf.grad = history.trainable, history.grad
        known = self.found[id(tensor)] = Closed(tensor, symbol, leaf, data.__class__)
        return known

    # In a graph that is built: the body of the function, or that of a branch or loop in it ------

    def data(self, graph: Any, tensor: Any) -> Any:
        """The array of a tensor: of one from outside, what stands for it."""
        found = self.of(tensor)
        if found is not None:
            return found.data
        data = tensor._array
        if not self.sealed or tensor._constant or data.__class__ is Symbol:
            return data
        return read(graph, TensorCell(tensor))

    def node(self, tensor: Any) -> Node | None:
        """The node of a tensor: of one from outside, that of what stands for it."""
        found = self.of(tensor)
        node: Node | None = tensor._history if found is None else found.node
        return node

    def put_data(self, graph: Any, tensor: Any, data: Any) -> None:
        """Give a tensor an array: one from outside gets it when the function is called.

        Raises `GraphError` inside a branch or a loop.
        """
        found = self.of(tensor)
        if found is None:
            tensor._array = data
            return
        if graph is not self.body:
            raise GraphError(
                "in-place write to a tensor from outside", "a write in the function itself",
                "one in a branch or a loop",
                "return the value from there, and write it afterwards",
            )
        found.data, found.written = data, data is not found.symbol

    def put_node(self, tensor: Any, node: Node | None) -> None:
        """Give a tensor a history: that of one from outside is not touched there."""
        found = self.of(tensor)
        if found is not None:
            found.node = node
            return
        tensor._history = node
        if isinstance(node, Leaf) and node.level == REQUIRED:
            self.made.pop(id(tensor), None)  # a parameter of a layer that was made just now

    def renewed(self, graph: Any, tensor: Any) -> None:
        """Let a tensor be read anew: an operation that was appended has changed it."""
        found = self.of(tensor)
        if found is not None:
            found.data, found.written = read(graph, TensorCell(tensor)), False


def _kind(data: Any) -> type:
    cls: type = bare(data).__class__
    return adapters[cls].asarray(bare(data)).__class__


def closure_of(graph: Any) -> Closure | None:
    """What the function that is being built closes over; None where a graph is built by hand."""
    while graph is not None:
        found = getattr(graph, "closure", None)
        if found is not None:
            return found
        graph = getattr(graph, "outer", None)
    return None


class TensorCell(Cell):
    """The place of a tensor's array: the tensor itself."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        data = tensor._array
        super().__init__("tensor", (tuple(data.shape), data.dtype), _kind(data))
        self.tensor = tensor

    def value(self, store: Any) -> Any:
        """The tensor's array."""
        return self.tensor._data
