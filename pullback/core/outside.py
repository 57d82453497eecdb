"""Tensors from outside in traced code: what stands there for them, and whether a thread traces.

While a thread builds the graph of a function, a tensor that the code reads without getting it as an
argument is an input of that graph, with a history of its own there; a variable is read through the
graph. The exchange has one place: the properties `Tensor._data` and `Tensor._node`, which all code
reads and writes. The slots behind them, `Tensor._array` and `Tensor._history`, are what a tensor
holds outside. Only hot paths read the slots: they test `traces`, and in a thread that traces they
leave the operation to `core.record.apply`, which reads the properties. So nothing is changed for
the whole process, and other threads never meet a symbol. A step that JAX compiles does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .state import Scoped

if TYPE_CHECKING:
    from .node import Node

traces: set[object] = set()
"""A mark for each body that is being built now, in whatever thread; empty: no thread traces."""

graph: Scoped[Any] = Scoped("graph", None)
step: Scoped[Any] = Scoped("step", None)
current_graph, current_step = graph.get, step.get
"""The graph that this thread builds, and the step around it that `jit` traces; or None."""


def exchanging() -> Any:
    """The graph or the step, whose `exchange()` has what stands there for tensors from outside."""
    return current_step() if (graph := current_graph()) is None else graph


class Exchanged:
    """What a Tensor holds, `_array` and `_history`, as the code of this thread is to see it."""

    __slots__ = ()

    _array: Any
    _history: Node | None

    @property
    def _data(self) -> Any:
        """The array; in traced code, the symbol that stands for that of a tensor from outside."""
        if traces and (inside := exchanging()) is not None:
            return inside.exchange().data(inside, self)
        return self._array

    @_data.setter
    def _data(self, data: Any) -> None:
        if traces and (inside := exchanging()) is not None:
            inside.exchange().put_data(inside, self, data)
        else:
            self._array = data

    @property
    def _node(self) -> Node | None:
        """The node, None where nothing is tracked; in traced code, the one that it has there."""
        if traces and (inside := exchanging()) is not None:
            node: Node | None = inside.exchange().node(inside, self)
            return node
        return self._history

    @_node.setter
    def _node(self: Any, node: Node | None) -> None:
        if traces and (inside := exchanging()) is not None:
            inside.exchange().put_node(inside, self, node)
        else:
            self._history = node
