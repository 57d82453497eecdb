"""`tf.Variable`: the core's variable with TensorFlow's attributes and strict assignment."""

from __future__ import annotations

import enum
from typing import Any

from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import raw, wrap
from ..errors import ArgumentError, InplaceError
from ..lost_paths import copied
from ..ops.indexing import set_at
from ..variable import Variable as CoreVariable
from .convert import constant, shape_of
from .dtypes import array_dtype
from .errors import translated
from .scopes import scoped
from .sparse_updates import SparseUpdates
from .tensor import Members, Tensor
from .values import array_of

__all__ = ["Variable", "VariableAggregation", "VariableSynchronization"]


class VariableSynchronization(enum.Enum):
    """When copies of a variable are synchronized; here there is only one copy."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    """How copies of a variable are aggregated; here there is only one copy."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class Variable(Members, SparseUpdates, CoreVariable):
    """A mutable tensor for training; tapes watch it if it is trainable.

    initial_value  a value for `tf.constant`, or a function without arguments that returns one
    trainable      whether tapes watch it automatically
    name           used in printing; TensorFlow appends `:0`
    dtype, shape   the value is converted to the dtype, and checked against the shape
    constraint     stored for optimizers; `assign` does not apply it

    `validate_shape`, `caching_device`, `variable_def`, `import_scope`, `synchronization`,
    `aggregation` and `experimental_enable_variable_lifting` are accepted and ignored.

    >>> from pullback import tf
    >>> v = tf.Variable([1.0, 2.0], name="v")
    >>> with tf.GradientTape() as tape:
    ...     y = v * v
    >>> tape.gradient(y, v).numpy()
    array([2., 4.], dtype=float32)
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'v:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = ("constraint",)
    _out = Tensor

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = None,
        validate_shape: bool = True, caching_device: Any = None, name: str | None = None,
        variable_def: Any = None, dtype: Any = None, import_scope: Any = None,
        constraint: Any = None, synchronization: Any = None, aggregation: Any = None,
        shape: Any = None, experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ArgumentError("tf.Variable", "an initial value", "None")
        if callable(initial_value) and not isinstance(initial_value, CoreTensor):
            initial_value = initial_value()
        wanted = array_dtype(dtype)
        if isinstance(initial_value, CoreTensor):
            array = initial_value._data
            if wanted is not None and array.dtype != wanted:
                raise ArgumentError("tf.Variable", f"a value of dtype {wanted}", f"{array.dtype}",
                                    f"tf.cast(value, tf.{wanted})")
        else:
            array = constant(initial_value, wanted)._data
        if shape is not None and shape_of(shape) != tuple(array.shape):
            raise ArgumentError("tf.Variable", f"a value of shape {shape_of(shape)}",
                                f"shape {tuple(array.shape)}")
        super().__init__(array, trainable is not False, scoped(name or "Variable"))
        copied(initial_value, self, "Variable()")
        self.constraint = constraint

    @property
    def name(self) -> str:
        """The name (`Variable` by default) followed by `:0`."""
        return f"{super().name}:0"

    @property
    def synchronization(self) -> VariableSynchronization:
        """Always AUTO: there is only one copy."""
        return VariableSynchronization.AUTO

    @property
    def aggregation(self) -> VariableAggregation:
        """Always NONE: there is only one copy."""
        return VariableAggregation.NONE

    @property
    def initial_shape(self) -> Any:
        """The shape, which never changes."""
        return self.shape

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assign a new value and return the variable.

        Raises `ArgumentError` (a `ValueError`) for a tensor of another dtype or shape.
        """
        return copied(value, self._put(self._given(value), None), "assign")

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add to the value and return the variable; the shapes must match."""
        return self._changed(delta, "add")

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract from the value and return the variable; the shapes must match."""
        return self._changed(delta, "subtract")

    def _changed(self, delta: Any, operation: str) -> Any:
        array = self._given(delta)
        try:
            return copied(delta, self._put(array, operation), "assign")
        except ArgumentError as error:
            raise translated(error, operation) from None

    def _given(self, value: Any) -> Any:
        """A value to assign, as an array of the variable's dtype."""
        dtype = self._data.dtype
        if isinstance(value, CoreTensor) and value._data.dtype != dtype:
            raise ArgumentError(
                f"assignment to {self.name!r}", f"a tensor of dtype {dtype}",
                f"a tensor of {value._data.dtype}", f"tf.cast(value, tf.{dtype})",
            )
        return array_of(raw(value), dtype)

    def __getitem__(self, index: Any) -> Any:
        taken = super().__getitem__(index)
        part = wrap(Part, taken._data, taken._node)
        part._variable, part._index = self, index
        return part

    def __repr__(self) -> str:
        text = repr(self.numpy()) if self._data.shape else str(self.numpy())
        break_ = "\n" if "\n" in text else ""
        return (
            f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}, "
            f"numpy={break_}{text}>"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copied = Variable(self._data, self._trainable, name=self._name, constraint=self.constraint)
        memo[id(self)] = copied
        return copied


def _refused(operator: str, instead: str) -> Any:
    def method(self: Any, value: Any) -> Any:
        raise InplaceError(
            f"`variable {operator}= value`", "an assign method, or a new tensor",
            "an in-place operator", f"{instead}, or out = variable {operator} value",
        )

    return method


for _name, _operator in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "matmul": "@",
}.items():
    _instead = {"+": "variable.assign_add(value)", "-": "variable.assign_sub(value)"}.get(
        _operator, f"variable.assign(variable {_operator} value)"
    )
    setattr(Variable, f"__i{_name}__", _refused(_operator, _instead))


class Part(Tensor):
    """A slice of a variable: a tensor with an `assign` method."""

    __slots__ = ("_index", "_variable")
    _out = Tensor
    _variable: Variable
    _index: Any

    def assign(self, value: Any) -> Any:
        """Assign to this slice of the variable, and return the variable.

        >>> from pullback import tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v[0].assign(5.0).numpy()
        array([5., 2.], dtype=float32)
        """
        variable = self._variable
        part = variable._given(value)
        return variable.assign(set_at(variable._data, part, self._index))
