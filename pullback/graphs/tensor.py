"""Tensors of a graph: they have a name and a producer, and no value until the graph is run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arrays.symbol import AnyShape, OpenShape, Symbol
from ..core import state as _state
from ..core.node import Leaf, Node
from ..core.tensor import Tensor, is_inexact
from ..errors import ShapeError

_ARRAY: Any = Tensor._array
_HISTORY: Any = Tensor._history


class Symbolic:
    """What makes a class of Tensors one of a graph's.

    Every one that may have a derivative has a node: what is computed from it is always recorded,
    and where a path ends (`stop_gradient`, `no_grad`) another begins. Its symbol knows it, so that
    an operation's inputs are the very tensors that it was built from.
    """

    __slots__ = ()

    @property
    def _array(self) -> Any:
        return _ARRAY.__get__(self)

    @_array.setter
    def _array(self, data: Any) -> None:
        _ARRAY.__set__(self, data)
        if data.__class__ is Symbol and data.face is None:
            data.face = self

    @property
    def _history(self) -> Node | None:
        return _HISTORY.__get__(self)

    @_history.setter
    def _history(self, node: Node | None) -> None:
        data = self._array
        if node is None and data.__class__ is Symbol and is_inexact(data):
            node = Leaf(data, _state.TRACED)
        _HISTORY.__set__(self, node)

    @property
    def size(self) -> int:
        """The number of entries; a `SymbolError` where a length is not known."""
        return int(self._array.size)

    def _number(self: Any, by: str) -> Any:
        data = self._array
        return data.__array__() if data.__class__ is Symbol else Tensor._number(self, by)

    def __len__(self: Any) -> int:
        data = self._array
        return len(data) if data.__class__ is Symbol and data.shape != () else Tensor.__len__(self)

    @property
    def op(self) -> Any:
        """The operation that computes it."""
        return self._array.operation

    @property
    def graph(self) -> Any:
        """The graph it belongs to."""
        return self._array.operation.graph

    @property
    def name(self) -> str:
        """The operation's name and the number of the output, as `add:0`."""
        return str(self._array.name)

    def consumers(self) -> list[Any]:
        """The operations that take it."""
        symbol = self._array
        return [o for o in self.graph.operations if any(s is symbol for s in o.takes)]

    def set_shape(self, shape: Any) -> None:
        """Take note of lengths that are known; None where one is not.

        Raises `ShapeError` (a `ValueError`) where they contradict what is known.
        """
        symbol = self._array
        symbol.narrow(merged(symbol.shape, shape, symbol.name))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value, from a session, the default one if none is given."""
        from .session import session_for

        return session_for(session, self.graph).run(self, feed_dict)

    def __bool__(self) -> bool:
        return bool(self._array)  # an error, which says what to do

    def __repr__(self) -> str:
        data = self._array
        if data.__class__ is not Symbol:
            return super().__repr__()
        return f"<Tensor {data.name!r} shape={data.shape!r} dtype={data.dtype}>"


def merged(known: Any, shape: Any, name: str) -> Any:
    """Two shapes of one tensor as one that says all that is known; None where nothing is.

    Raises `ShapeError` where they contradict each other.
    """
    if shape is None or isinstance(shape, AnyShape):
        return known
    given = tuple(shape)
    if isinstance(known, AnyShape):
        return given
    own = tuple(known)
    if len(own) != len(given) or any(
        n is not None and m is not None and n != m for n, m in zip(own, given, strict=True)
    ):
        raise ShapeError(f"shape of {name!r}", str(list(own)), str(list(given)))
    found = tuple(m if n is None else n for n, m in zip(own, given, strict=True))
    return known if isinstance(known, OpenShape) and found == own else found


class GraphTensor(Symbolic, Tensor):
    """A tensor of a graph: a shape, of which lengths may be unknown, and a dtype; no numbers yet.

    >>> import numpy as np
    >>> from pullback.graphs import Graph, placeholder
    >>> with Graph().as_default():
    ...     x = placeholder(np.float64, [None, 3], name="x")
    >>> x.mT
    <Tensor 'matrix_transpose:0' shape=(3, None) dtype=float64>
    """

    __slots__ = ()


GraphTensor._out = GraphTensor


_SYMBOLIC: dict[type, type] = {Tensor: GraphTensor}
_EAGER: dict[type, type] = {GraphTensor: Tensor}


def register_symbolic(front: type, symbolic: type) -> None:
    """Make a class that of a graph's tensors for a class of eager tensors."""
    _SYMBOLIC[front], _EAGER[symbolic] = symbolic, front


def symbolic_class(front: type) -> type:
    """The class of a graph's tensors with the methods of a class of eager tensors.

    `x.transpose(0, 1)` means another thing in NumPy than in PyTorch: code that is written for
    `pullback.torch` keeps the methods of its tensors when it is traced.
    """
    found = _SYMBOLIC.get(front)
    if found is None:
        methods: dict[str, Any] = {"__slots__": (), "__doc__": GraphTensor.__doc__}
        if not isinstance(front.__dict__.get("size"), property):
            methods |= {n: front.__dict__[n] for n in ("size", "name") if n in front.__dict__}
        made: Any = type("GraphTensor", (Symbolic, front), methods)
        found = made._out = made
        register_symbolic(front, made)
    return found


def eager_class(tensors: Iterable[Any], own: type) -> type:
    """The class of eager tensors whose methods a function expects that is called on some tensors.

    own   the class of a front end, which a function of that front end keeps, or `Tensor`
    """
    if own is Tensor:
        for x in tensors:
            cls = _EAGER.get(found := getattr(x, "_out", Tensor), found)
            if cls is not Tensor:
                return cls
    return own
