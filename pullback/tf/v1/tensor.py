"""`tf.Tensor` of a graph: TensorFlow's attributes and strict operators; no value until it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...arrays.symbol import Symbol
from ...core.tensor import Tensor as CoreTensor
from ...core.tensor import wrap
from ...errors import SymbolError
from ...graphs.tensor import Symbolic, merged
from .. import strict
from ..shapes import TensorShape
from ..tensor import Members, Valueless
from ..tensor import Tensor as EagerTensor
from . import shapes as _shapes
from .shapes import in_the_library

__all__ = ["Tensor"]

_PLAIN = {
    "add": strict.add, "sub": strict.subtract, "mul": strict.multiply,
    "truediv": strict.divide, "div": strict.divide, "floordiv": strict.floor_divide,
    "mod": strict.remainder, "pow": strict.power, "matmul": strict.matmul,
}


def _named(name: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator whose operation is called `add` where the function's is called `Add`."""

    def method(self: Any, other: Any) -> Any:
        return _called(self.graph, name, lambda: function(self, other))

    return method


def _called(graph: Any, name: str, build: Callable[[], Any]) -> Any:
    """The tensor that a function builds, with a name for its operation."""
    start = len(graph.operations)
    made = build()
    operation = made._data.operation
    if operation.number >= start and operation.graph is graph:
        graph.call(operation, name)
    return made


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return _named(name, strict.reflected(_PLAIN[name]))


class GraphMembers(Valueless, Symbolic, Members):
    """Members shared by graph tensors and graph variables."""

    __slots__ = ()

    @property
    def shape(self) -> TensorShape:
        """The static shape: None for a length that is unknown before the graph runs."""
        return _shapes.shape_of_symbol(self._data, dimensions=not in_the_library())

    def get_shape(self) -> TensorShape:
        """The static shape: None for a length that is unknown before the graph runs."""
        return _shapes.shape_of_symbol(self._data, dimensions=not in_the_library())

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape with known lengths.

        Raises `ShapeError` (a `ValueError`) if they contradict it.
        """
        given = TensorShape(shape)
        symbol = self._data
        if given.rank is not None:
            symbol.narrow(merged(symbol.shape, tuple(given), symbol.name))

    @property
    def device(self) -> str:
        """An empty string: a graph runs where its arrays are."""
        return ""

    # Graph tensors compare by identity, so that they can be keys of a feed_dict.
    def __hash__(self) -> int:
        return id(self)

    # The library's own rules compare entries, also in graphs.
    def __eq__(self, other: Any) -> Any:
        return strict.equal(self, other) if in_the_library() else self is other

    def __ne__(self, other: Any) -> Any:
        return strict.not_equal(self, other) if in_the_library() else self is not other

    # Operators ------------------------------------------------------------------------------

    __add__, __radd__ = _named("add", strict.add), _reflected("add")
    __sub__, __rsub__ = _named("sub", strict.subtract), _reflected("sub")
    __mul__, __rmul__ = _named("mul", strict.multiply), _reflected("mul")
    __truediv__, __rtruediv__ = _named("truediv", strict.divide), _reflected("truediv")
    __floordiv__ = _named("floordiv", strict.floor_divide)
    __rfloordiv__ = _reflected("floordiv")
    __mod__, __rmod__ = _named("mod", strict.remainder), _reflected("mod")
    __pow__, __rpow__ = _named("pow", strict.power), _reflected("pow")
    __matmul__, __rmatmul__ = _named("matmul", strict.matmul), _reflected("matmul")
    __iadd__, __isub__, __imul__, __itruediv__ = __add__, __sub__, __mul__, __truediv__
    __ifloordiv__, __imod__, __ipow__, __imatmul__ = __floordiv__, __mod__, __pow__, __matmul__

    def __getitem__(self, index: Any) -> Any:
        taken = super().__getitem__
        return _called(self.graph, "strided_slice", lambda: taken(index))

    # No value -------------------------------------------------------------------------------

    def _no_value(self, what: str) -> NoReturn:
        raise SymbolError(
            f"{what} of {self.name!r}", "a value", "a graph tensor, which has none until the "
            "graph runs", "use tf.cond, tf.where or tf.while_loop in the graph, or use the value "
            "that Session.run or eval() returns",
        )

    def __bool__(self) -> bool:
        self._no_value("the truth")

    def __float__(self) -> float:
        self._no_value("float()")

    def __int__(self) -> int:
        self._no_value("int()")

    def __complex__(self) -> complex:
        self._no_value("complex()")

    def __index__(self) -> int:
        self._no_value("an index")

    def __len__(self) -> int:
        self._no_value("len()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._no_value("an array")

    def __iter__(self) -> Iterator[Any]:
        raise SymbolError(
            f"iteration over {self.name!r}", "a sequence", "a graph tensor",
            "use tf.unstack, tf.split or tf.map_fn",
        )

    def item(self) -> Any:
        """Raises an error: a graph tensor has no value until the graph runs."""
        self._no_value(".item()")

    def tolist(self) -> Any:
        """Raises an error: a graph tensor has no value until the graph runs."""
        self._no_value(".tolist()")


class Tensor(GraphMembers, EagerTensor):
    """A symbolic tensor of a graph.

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None, 3], name="x")
    ...     (x * 2.0 + 1.0)
    <tf.Tensor 'add:0' shape=(None, 3) dtype=float32>
    """

    __slots__ = ()

    __repr__ = EagerTensor.__repr__

    @property
    def value_index(self) -> int:
        """The index of this tensor among its operation's outputs."""
        return int(self._data.index)


Tensor._out = Tensor


def in_graph(graph: Any, value: Any, name: str | None = None) -> Any:
    """Convert the result of a TensorFlow 2 front-end function to a graph tensor."""
    if not isinstance(value, CoreTensor) or isinstance(value, Symbolic):
        if isinstance(value, Tensor) and value._data.__class__ is not Symbol:
            return graph.tensor(graph.constant(value._data, name))
        return value
    data = value._data
    if data.__class__ is not Symbol:
        return graph.tensor(graph.constant(data, name))
    return data.face if data.face is not None else wrap(Tensor, data, value._node)
