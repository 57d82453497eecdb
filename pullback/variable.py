"""`Variable`: a Tensor that can be assigned to, and that tapes watch automatically."""

from __future__ import annotations

import weakref
from typing import Any

import numpy

from .arrays import adapters
from .arrays.kept import check_kept
from .arrays.symbol import Symbol, is_open
from .core import state as _state
from .core.inplace import check_examples
from .core.node import Leaf, Node
from .core.op import OPS
from .core.outside import traces
from .core.tensor import Tensor, check_inexact, is_inexact, raw, to_array
from .departures import left
from .errors import ArgumentError, DtypeError
from .kinds import symbols
from .lost_paths import copied

reads = [0]
"""The number of reads of variables, so that `custom_gradient` can detect reads."""


class Variable(Tensor):
    """A trainable value: every active tape that reads it watches it.

    initial_value  an array, number, nested sequence or Tensor; it is copied
    trainable      whether tapes watch it automatically
    name           for printing and saving
    dtype          the dtype to convert to

    Assignment replaces the array, so a graph that read the old value keeps it.

    >>> import pullback as pb
    >>> v = pb.Variable([1.0, 2.0], name="v")
    >>> with pb.GradientTape() as tape:
    ...     y = pb.sum(v * v)
    >>> tape.gradient(y, v)
    Tensor([2., 4.])
    >>> v.assign_sub([1.0, 1.0])
    Variable([0., 1.], name='v')
    """

    __slots__ = ("_leaf", "_name", "_trainable")
    _out = Tensor
    _assignable = True

    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None,
        dtype: Any = None,
    ) -> None:
        array = to_array(initial_value)
        if array.__class__ is Symbol:  # created while a function is traced, with a traced value
            array = symbols.later.start_of(array)
        adapter = adapters[array.__class__]
        data = adapter.adopt(adapter.copy(adapter.asarray(array, dtype)))
        self._data = data
        self._name = name
        self._trainable = bool(trainable)
        self._leaf = None
        if is_inexact(data):
            self._leaf = Leaf(data, _state.ALL, trainable=self._trainable)
            self._leaf.variable = weakref.ref(self)
            copied(initial_value, self, "Variable()")

    @property
    def _history(self) -> Node | None:
        """The leaf; reading it informs the tapes that watch accessed variables."""
        leaf = self._leaf
        reads[0] += 1
        if leaf is not None:
            for tape in _state.state().tapes:
                tape.accessed(self, leaf)
        return leaf

    @_history.setter
    def _history(self, node: Node | None) -> None:
        if node is not None and not isinstance(node, Leaf):
            raise ArgumentError(
                f"in-place write to {self!r}", "an assignment",
                "an operation that would make it a computed tensor", "use assign, assign_add, …",
            )
        self._leaf = node

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = type(self)(self._data, self._trainable, self._name)
        memo[id(self)] = copied
        return copied

    def _leave(self, by: str) -> Any:
        left(self._leaf, by)
        return numpy.asarray(self._data)

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it automatically."""
        return self._trainable

    @property
    def name(self) -> str:
        """The name passed to the constructor, or `Variable`."""
        return self._name if self._name is not None else "Variable"

    @property
    def is_leaf(self) -> bool:
        """Always True: an assigned value has no history."""
        return True

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets whether it is recorded outside tapes too; returns it. See `Tensor`."""
        check_inexact(self._data, "requires_grad")
        assert self._leaf is not None
        self._leaf.level = _state.REQUIRED if requires_grad else _state.ALL
        return self

    def value(self) -> Any:
        """Returns the current value as a Tensor with its history."""
        return OPS["identity"](self)

    read_value = value

    def assign(self, value: Any) -> Any:
        """Replaces the value and returns the variable.

        Raises `ArgumentError` for another shape, `DtypeError` for a dtype of another kind.

        >>> import pullback as pb
        >>> pb.Variable([1.0, 2.0]).assign([3, 4])
        Variable([3., 4.])
        """
        return self._put(value, None)

    def assign_add(self, delta: Any) -> Any:
        """Adds to the value and returns the variable; see `assign`."""
        return self._put(delta, "add")

    def assign_sub(self, delta: Any) -> Any:
        """Subtracts from the value and returns the variable; see `assign`.

        >>> import pullback as pb
        >>> pb.Variable([1.0, 2.0]).assign_sub([0.5, 0.5])
        Variable([0.5, 1.5])
        """
        return self._put(delta, "subtract")

    def _put(self, value: Any, operation: str | None) -> Any:
        old = self._data if traces else self._array
        new = to_array(raw(value), old)
        subject = f"assignment to {self.name!r}"
        given = getattr(new, "shape", ())
        check_examples(self, "assign", new)
        # If a length is unknown while a function is traced, it is checked when the graph runs.
        if not is_open(given) and tuple(given) != tuple(old.shape):
            raise ArgumentError(subject, f"shape {tuple(old.shape)}", f"shape {tuple(given)}")
        if operation is not None:
            new = OPS[operation](old, new)
        adapter = adapters[old.__class__]
        made = adapter.asarray(new, None)
        if made.dtype != old.dtype:
            if is_inexact(made) and not is_inexact(old):
                raise DtypeError(
                    subject, f"dtype {old.dtype}", f"dtype {made.dtype}", "round it first"
                )
            made = adapter.asarray(made, old.dtype)
        check_kept(old, subject, made)
        # A new array, never an in-place write: graphs and users keep the old values.
        self._data = adapter.adopt(made if operation is not None else adapter.copy(made))
        data = self._data if traces else self._array  # a symbol, where a function is traced
        if self._leaf is not None and data.__class__ is not Symbol:
            self._leaf.renew(data)
            copied(value, self, "assign")
        return self

    def __reduce__(self) -> Any:
        return _made_again, (type(self), self.numpy(), self._trainable, self._name)

    def __repr__(self) -> str:
        text = super().__repr__().replace("Tensor(", "Variable(", 1)
        return text[:-1] + (f", name={self._name!r})" if self._name is not None else ")")


def _made_again(cls: type[Variable], data: Any, trainable: bool, name: str | None) -> Variable:
    return cls(data, trainable=trainable, name=name)
