"""`Tensor`: an array and, when it is tracked, the node that says where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from ..arrays import SCALARS, adapters, constant, entrances, is_array, refuse_foreign
from ..arrays.batched import adapter_of
from ..arrays.inexact import inexact_dtypes as inexact_dtypes
from ..errors import ArgumentError, ArgumentTypeError, DtypeError
from . import state as _state
from .above import above
from .compiled import TensorBase, compiled
from .node import FREED, Leaf, Node, maker_of, object_new
from .outside import Exchanged, traces

if TYPE_CHECKING:
    from .declared import Declared
else:
    Declared = object


class Tensor(Exchanged, TensorBase, Declared):
    """An array that knows how it was computed, if it is to be differentiated.

    `Tensor(array)` keeps the array, without a copy; numbers and nested sequences are
    turned into one. Operators are the Array API standard's, further methods NumPy's.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> pb.sum(x * x).backward()
    >>> x.grad
    Tensor([2., 4., 6.])
    """

    __slots__ = ()  # those of `TensorBase`

    _array: Any
    _history: Node | None
    _view_of: Any
    _views: Any
    _out: ClassVar[type[Tensor]]
    __array_priority__ = 1000
    _assignable: ClassVar[bool] = False  # a Variable may be written while it is watched
    _constant: ClassVar[bool] = False  # TensorFlow's tensors, which cannot be written to

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if isinstance(data, Tensor):
            data = data._data
        elif not is_array(data):
            data = adapters[float].asarray(to_array(data))
        self._data = adapters[data.__class__].adopt(data)
        self._node = None
        if requires_grad:
            self.requires_grad_()

    # What it is -----------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The raw array, of whatever library; writing to it is not noticed by any check."""
        return adapters[self._data.__class__].plain(self._data)

    @property
    def node(self) -> Node | None:
        """The recorded operation this came from, a `Leaf`, or None when nothing is tracked."""
        return self._node

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple((self._data if traces else self._array).shape)

    @property
    def dtype(self) -> Any:
        """The element type, as the array's library names it."""
        return (self._data if traces else self._array).dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._data.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self._data.shape)

    @property
    def device(self) -> Any:
        """Where the array lives, as its library names it."""
        return getattr(self._data, "device", "cpu")

    def _shared(self) -> Any:
        """The array, for another tensor that shares its memory: a NumPy scalar has none."""
        data = self._data if traces else self._array
        return above.owned(self) if data.shape == () else data

    def _leave(self, by: str) -> Any:
        """The values as a NumPy array; notes that they left the library."""
        node, data = (self._node, self._data) if traces else (self._history, self._array)
        if node is not None or _state.state().purpose == _state.QUIET:  # as in a forward
            return above.left(node, by, data)
        return adapters[data.__class__].numpy(data)

    def __hash__(self) -> int:
        return id(self)

    # PyTorch's life of a tensor -------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded outside tapes too, for `backward`."""
        node = self._node if traces else self._history
        return node is not None and node.level <= _state.REQUIRED

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Turn recording on or off for a leaf, in place, and return it.

        Raises `DtypeError` for integers and booleans, `ArgumentError` for a computed tensor.
        """
        if requires_grad == self.requires_grad:
            return self
        if requires_grad:
            check_inexact(self._data, "requires_grad")
        if not self.is_leaf:
            raise ArgumentError(
                f"requires_grad = {requires_grad}", "a leaf",
                f"a result of `{maker_of(self._node)}`",
                "use x.detach().requires_grad_()" if requires_grad
                else "use x.detach() for a tensor without history",
            )
        leaf = Leaf(self._data, _state.REQUIRED, trainable=True) if requires_grad else None
        if _state.state().accumulators:
            above.begin(self, leaf)
        else:
            self._node = leaf
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was given rather than computed from something tracked."""
        return self._node is None or not self._node.parents

    @property
    def grad_fn(self) -> Node | None:
        """The recorded operation that computed it; None for a leaf."""
        return None if self.is_leaf else self._node

    def detach(self) -> Any:
        """The same values, sharing memory, with no history.

        >>> import pullback as pb
        >>> pb.tensor([1.0], requires_grad=True).detach().requires_grad
        False
        """
        made = wrap(self._out, constant(data := self._shared()))
        if getattr(adapter_of(data), "immutable", False):
            above.share(self, made)
        if (node := self._node if traces else self._history) is not None:
            above.dropped("stopped", node, "detach", made)
        return made

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        overrides: Any = None,
    ) -> None:
        """Add d self / d leaf, times `gradient`, to the `grad` of every leaf that requires it.

        gradient      the cotangent, of this tensor's shape; may be left out for one entry only
        retain_graph  keep what the gradient needs, so that it can be asked for again
        create_graph  record the computation of the gradient, for a second derivative
        inputs        only these leaves (or retained tensors) receive a gradient
        overrides     {operation: registered name or rule} in force for this one pull

        Raises `DisconnectedError` without a history, `ArgumentError` for a missing gradient.
        """
        above.backward([self], [gradient], retain_graph, create_graph, inputs, overrides)


Tensor._out = Tensor
if compiled is not None:
    compiled.adopt(Node, Leaf, Tensor, FREED)


def wrap(cls: type, data: Any, node: Node | None = None) -> Any:
    """A tensor of a class around a raw array, with none of the constructor's checks."""
    made: Any = object_new(cls)
    if traces:
        made._data, made._node = data, node
    else:
        made._array, made._history = data, node
    return made


def bound(members: type) -> type:
    """Bind the methods and properties of a class to `Tensor`; declared in `declared.pyi`."""
    for name, member in vars(members).items():
        if isinstance(member, FunctionType):
            member.__qualname__ = f"Tensor.{name}"
        if isinstance(member, (FunctionType, property)):
            setattr(Tensor, name, member)
    return members


def unpickled(cls: type, data: Any, requires_grad: bool) -> Any:
    """The tensor that was pickled."""
    return wrap(cls, data).requires_grad_(requires_grad)


_unpickled = unpickled  # its name in files that were pickled with it


def raw(value: Any) -> Any:
    """The array inside a Tensor; anything else as it is."""
    if isinstance(value, Tensor):
        return value._data if traces else value._array
    return value


def node_of(value: Any) -> Node | None:
    """The node of a Tensor; None of anything else."""
    if isinstance(value, Tensor):
        return value._node if traces else value._history
    return None


def is_inexact(data: Any) -> bool:
    """Whether a raw array holds real or complex floating numbers, the ones with derivatives."""
    return inexact_dtypes[data.dtype]


def check_inexact(data: Any, subject: str) -> None:
    """Raise a `DtypeError` unless an array can have a derivative."""
    if not is_inexact(data):
        raise DtypeError(
            subject, "a real or complex floating dtype", f"dtype {data.dtype}",
            "convert it first, as with pullback.astype(x, pullback.float64)",
        )


def to_array(value: Any, like: Any = None) -> Any:
    """A raw operand: Tensors are unwrapped, numbers kept, sequences made arrays of `like`'s kind.

    Raises `ArgumentTypeError` for anything that is no array.
    """
    if isinstance(value, Tensor):
        return value._data if traces else value._array
    if isinstance(value, SCALARS) or is_array(value):
        enter = entrances.get(value.__class__)
        return value if enter is None else enter(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        adapter = adapters[float if like is None else type(like)]
        return adapter.asarray([to_list(v) for v in value], None, like)
    refuse_foreign(value)
    if hasattr(value, "__array__"):
        return numpy.asarray(value)
    raise ArgumentTypeError(
        "operand", "a Tensor, an array, a number or a sequence of numbers",
        f"a {type(value).__name__}",
    )


def to_list(value: Any) -> Any:
    """Nested sequences with any Tensors inside replaced by their arrays."""
    if isinstance(value, (list, tuple)):
        return [to_list(v) for v in value]
    if isinstance(value, Tensor) and value._node is not None:
        above.left(value._node, "a new tensor made of a list")
    return refuse_foreign(raw(value))
