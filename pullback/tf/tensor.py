"""`tf.Tensor`: the core's tensor with TensorFlow's attributes and strict operators."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy

from ..arrays.batched import Batched
from ..arrays.inexact import kind_of
from ..arrays.symbol import Symbol
from ..core.op import OPS
from ..core.outside import traces
from ..core.tensor import Tensor as CoreTensor
from ..errors import ArgumentTypeError
from ..ops.indexing import getitem
from . import strict
from .dtypes import DType, _known, as_dtype
from .errors import NoValueError, translated, wrong_dtype
from .shapes import TensorShape, shape_known
from .values import array_of, like

__all__ = ["Tensor"]


_UFUNCS = {
    "add": strict.add, "subtract": strict.subtract, "multiply": strict.multiply,
    "divide": strict.divide, "power": strict.power, "matmul": strict.matmul,
    "floor_divide": strict.floor_divide, "remainder": strict.remainder,
    "less": strict.less, "less_equal": strict.less_equal, "greater": strict.greater,
    "greater_equal": strict.greater_equal, "equal": strict.equal, "not_equal": strict.not_equal,
    "maximum": strict.maximum, "minimum": strict.minimum,
}


class Reference:
    """A hashable reference to a tensor or variable; equal if it refers to the same object."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """The tensor or variable."""
        return self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Reference) and self._target is other._target

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


class Members:
    """Members shared by `tf.Tensor` and `tf.Variable`."""

    __slots__ = ()
    _array: Any
    _data: Any
    _out: ClassVar[Any]

    @property
    def dtype(self) -> DType:
        """The dtype of the entries; compares equal to NumPy's."""
        dtype = (self._data if traces else self._array).dtype
        return _known.get(dtype) or as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes, as a TensorShape."""
        shape = (self._data if traces else self._array).shape
        return tuple.__new__(TensorShape, shape) if shape.__class__ is tuple else (
            shape_known(shape)
        )

    def get_shape(self) -> TensorShape:
        """The lengths of the axes, as a TensorShape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape (None matches any length).

        Raises `ShapeError` (a `ValueError`) if it does not match.
        """
        self.shape.assert_is_compatible_with(shape)

    def numpy(self) -> Any:
        """A copy of the value as a NumPy array; a NumPy scalar for a scalar tensor."""
        own: Any = self
        return numpy.array(own._leave(".numpy()"))[()]

    def ref(self) -> Reference:
        """A hashable reference to the tensor, for sets and dictionary keys.

        >>> from pullback import tf
        >>> x = tf.constant(1.0)
        >>> {x.ref(): "x"}[x.ref()]
        'x'
        """
        return Reference(self)

    def __hash__(self) -> int:
        raise ArgumentTypeError(
            f"hash of a {type(self).__name__}", "a hashable object", "a tensor", "use x.ref()"
        )

    def __float__(self) -> float:
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def _number(self, subject: str) -> Any:
        if self._data.shape:
            raise ArgumentTypeError(f"`{subject}` of a tensor", "a scalar", f"shape {self.shape}",
                                    "take one entry")
        own: Any = self
        return own._leave(f"{subject}()")[()]

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is not int:
            _check_index(index)
        try:
            return getitem(self, index)
        except (ValueError, IndexError) as error:
            raise translated(error, "getitem") from None

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ArgumentTypeError(
            "assignment to entries", "a mutable object", f"a {type(self).__name__}",
            "tf.tensor_scatter_nd_update for a tensor, v[…].assign(…) for a variable",
        )

    # Operators ------------------------------------------------------------------------------

    __add__ = __radd__ = strict.add
    __sub__, __rsub__ = strict.subtract, strict.reflected(strict.subtract)
    __mul__ = __rmul__ = strict.multiply
    __truediv__, __rtruediv__ = strict.divide, strict.reflected(strict.divide)
    __floordiv__, __rfloordiv__ = strict.floor_divide, strict.reflected(strict.floor_divide)
    __mod__, __rmod__ = strict.remainder, strict.reflected(strict.remainder)
    __pow__, __rpow__ = strict.power, strict.reflected(strict.power)
    __matmul__, __rmatmul__ = strict.matmul, strict.reflected(strict.matmul)
    __lt__, __le__ = strict.less, strict.less_equal
    __gt__, __ge__ = strict.greater, strict.greater_equal
    __eq__, __ne__ = strict.equal, strict.not_equal
    __and__ = __rand__ = strict.logical_and
    __or__ = __ror__ = strict.logical_or
    __xor__ = __rxor__ = strict.logical_xor

    # `x += y` binds x to a new tensor: tensors are immutable.
    __iadd__, __isub__, __imul__, __itruediv__ = __add__, __sub__, __mul__, __truediv__
    __ifloordiv__, __imod__, __ipow__, __imatmul__ = __floordiv__, __mod__, __pow__, __matmul__
    __iand__, __ior__, __ixor__ = __and__, __or__, __xor__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        """`array * x` takes the dtype of x; the core handles other NumPy functions."""
        function = _UFUNCS.get(ufunc.__name__)
        if function is None or method != "__call__" or how:
            inherited: Any = super()
            return inherited.__array_ufunc__(ufunc, method, *inputs, **how)
        first, second = inputs
        if not isinstance(first, CoreTensor):
            dtype = self._array.dtype
            first = self._out(array_of(like(first, dtype, ufunc.__name__), dtype))
        return function(first, second)

    def __neg__(self) -> Any:
        return OPS["negative"](_of_kind(self, "fci", "negative"))

    def __abs__(self) -> Any:
        return OPS["abs"](_of_kind(self, "fci", "abs"))

    def __invert__(self) -> Any:
        return OPS["bitwise_invert"](_of_kind(self, "biu", "invert"))


def _of_kind(x: Any, kinds: str, subject: str) -> Any:
    if kind_of(x._array.dtype) not in kinds:
        raise wrong_dtype(subject, x._array.dtype, kinds)
    return x


def _check_index(index: Any) -> None:
    for part in index if index.__class__ is tuple else (index,):
        data: Any = part._data if isinstance(part, CoreTensor) else part
        many = bool(getattr(data, "shape", ())) and data.dtype.kind != "b"
        if many or isinstance(data, list):
            raise ArgumentTypeError(
                "index of a tensor",
                "integers, slices, `...`, tf.newaxis, scalar integer tensors or a boolean mask",
                f"a {type(part).__name__} of indices", "tf.gather(x, indices)",
            )


class Tensor(Members, CoreTensor):
    """An immutable tensor: float32 by default, never mixing dtypes.

    >>> from pullback import tf
    >>> x = tf.constant([1.0, 2.0])
    >>> x + 1
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = ()
    _constant = True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        made = super().__array__(dtype, copy)
        if not copy:  # the array may be a view
            made = made.view()
            made.flags.writeable = False
        return made

    def __repr__(self) -> str:
        data = self._data
        if isinstance(data, Batched):
            return f"<tf.Tensor: {data!r}>"
        if data.__class__ is Symbol:
            return f"<tf.Tensor {data.name!r} shape={self.shape} dtype={self.dtype.name}>"
        value = self.numpy()
        text = repr(value) if self._data.shape else str(value)
        break_ = "\n" if "\n" in text else ""
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={break_}{text}>"

    def __str__(self) -> str:
        data = self._data
        if isinstance(data, Batched):
            return repr(self)
        if data.__class__ is Symbol:
            return f'Tensor("{data.name}", shape={self.shape}, dtype={self.dtype.name})'
        text = str(self.numpy())
        break_ = "\n" if "\n" in text else ""
        return f"tf.Tensor({break_}{text}, shape={self.shape}, dtype={self.dtype.name})"


Tensor._out = Tensor


class Valueless:
    """Mix-in for symbolic tensors: hides `numpy`, so that `hasattr` returns False."""

    __slots__ = ()

    @property
    def numpy(self) -> Any:
        """Raises an error that is also an `AttributeError`: no value until the graph runs."""
        own: Any = self
        if own._data.__class__ is not Symbol:
            return Tensor.numpy.__get__(self)
        raise NoValueError(
            f".numpy() of {own._data.name!r}", "a value",
            "a symbolic tensor, which has no value until the graph runs",
            "return it from the function, or run the graph, and use the result",
        )
