"""Tensors from outside in traced code: what stands there for them, and whether a thread traces.

While a thread builds the graph of a function, a tensor that the code reads without getting it as an
argument is an input of that graph, with a history of its own there; a variable is read through the
graph. The exchange has one place: the properties `Tensor._data` and `Tensor._node`, which all code
reads and writes. The slots behind them, `Tensor._array` and `Tensor._history`, are what a tensor
holds outside. Only hot paths read the slots: they test `traces`, and in a thread that traces they
leave the operation to `core.record.apply`, which reads the properties.

So nothing is changed for the whole process, and other threads never meet a symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .above import above
from .state import Scoped

if TYPE_CHECKING:
    from .node import Node

traces: set[object] = set()
"""A mark for each body that is being built now, in whatever thread; empty: no thread traces."""

graph: Scoped[Any] = Scoped("graph", None)
current_graph: Callable[[], Any] = graph.get
"""The graph that is being built in this thread, or None."""


class Exchanged:
    """What a Tensor holds, `_array` and `_history`, as the code of this thread is to see it."""

    __slots__ = ()

    _array: Any
    _history: Node | None

    @property
    def _data(self) -> Any:
        """The array; in traced code, the symbol that stands for that of a tensor from outside."""
        if traces and (graph := current_graph()) is not None:
            return above.exchange().data(graph, self)
        return self._array

    @_data.setter
    def _data(self, data: Any) -> None:
        if traces and (graph := current_graph()) is not None:
            above.exchange().put_data(graph, self, data)
        else:
            self._array = data

    @property
    def _node(self) -> Node | None:
        """The node, None where nothing is tracked; in traced code, the one that it has there."""
        if traces and (graph := current_graph()) is not None:
            node: Node | None = above.exchange().node(graph, self)
            return node
        return self._history

    @_node.setter
    def _node(self: Any, node: Node | None) -> None:
        if traces and (graph := current_graph()) is not None:
            above.exchange().put_node(graph, self, node)
        else:
            self._history = node
