"""Python's protocols on Tensors: numbers, lists and text made of them, copies, pickling."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy

from ..arrays import adapters, known
from ..arrays.batched import Batched
from ..arrays.refusals import no_value
from ..core.node import Leaf, maker_of
from ..core.tensor import Tensor, bound, unpickled, wrap
from ..errors import ArgumentError, ArgumentTypeError
from ..ops.parts import entries_of


@bound
class Values:
    """A Tensor as other values: these methods are bound to `Tensor`."""

    def numpy(self: Any) -> Any:
        """The values as a NumPy array that shares memory where the library can.

        >>> import pullback as pb
        >>> pb.tensor([1.0, 2.0]).numpy()
        array([1., 2.])
        """
        self._shared()
        return self._leave(".numpy()")

    def item(self: Any) -> Any:
        """The one entry as a Python number.

        >>> import pullback as pb
        >>> pb.tensor([3.0]).item()
        3.0
        """
        return self._number(".item()")

    def _number(self: Any, by: str) -> Any:
        if prod(self._data.shape) != 1:
            raise ArgumentError(
                "a Python number from a Tensor", "one entry",
                f"{prod(self._data.shape)} (shape {tuple(self._data.shape)})",
                "reduce it first, as with pullback.sum(x), or use x.tolist()",
            )
        return self._leave(by).item()

    def tolist(self: Any) -> Any:
        """The entries as nested lists of Python numbers."""
        return self._leave(".tolist()").tolist()

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.array(self._leave("numpy.asarray"), dtype=dtype, copy=copy)

    def __repr__(self: Any) -> str:
        if isinstance(self._data, Batched) or known(self._data) is None:
            return f"Tensor({self._data!r})"
        values = adapters[self._data.__class__].numpy(self._data)
        text = numpy.array2string(values, separator=", ", prefix="Tensor(")
        dtype = str(self.dtype).rpartition(".")[2]
        tail = "" if dtype in ("float64", "int64", "bool") else f", dtype={dtype}"
        if self.size == 0 and self.ndim > 1:  # the brackets of nothing do not tell
            tail = f", shape={self.shape}{tail}"
        if self.requires_grad:
            node = self._node
            tail += ", requires_grad=True" if isinstance(node, Leaf) else f", from={maker_of(node)}"
        return f"Tensor({text}{tail})"

    def __len__(self: Any) -> int:
        if not self._data.shape:
            raise ArgumentTypeError("len() of a Tensor", "at least one axis", "shape ()")
        return int(self._data.shape[0])

    def __bool__(self: Any) -> bool:
        if prod(self._data.shape) != 1:
            raise ArgumentError(
                "the truth of a Tensor", "one entry (of several it is ambiguous)",
                f"shape {tuple(self._data.shape)}", "use pullback.any(x) or pullback.all(x)",
            )
        data = self._data
        try:
            return bool(data)
        except TypeError as error:  # it has no value yet
            raise no_value([data], error) or error from None

    def __float__(self: Any) -> float:
        return float(self._number("float()"))

    def __int__(self: Any) -> int:
        return int(self._number("int()"))

    def __complex__(self: Any) -> complex:
        return complex(self._number("complex()"))

    def __index__(self: Any) -> int:
        return self._leave("an index").__index__()

    def __format__(self: Any, spec: str) -> str:
        looked = adapters[self._data.__class__].numpy  # which is no departure
        return format(looked(self._data).item() if spec and not self.ndim else str(self), spec)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if self._node is not None and not self.is_leaf:
            raise ArgumentError(
                "copy.deepcopy of a Tensor", "a leaf", f"a result of `{self._node.name()}`",
                "copy `x.detach()`",
            )
        copied = wrap(type(self), adapters[self._data.__class__].copy(self._data))
        node = self._node
        if isinstance(node, Leaf):
            copied._node = Leaf(copied._data, node.level, trainable=node.trainable)
        memo[id(self)] = copied
        return copied

    def __reduce__(self: Any) -> Any:
        if not self.is_leaf:
            raise ArgumentError(
                "pickling of a Tensor", "a leaf", f"a result of `{maker_of(self._node)}`",
                "pickle `x.detach()`",
            )
        return unpickled, (type(self), self.data, self.requires_grad)

    def __copy__(self: Any) -> Any:
        return wrap(self._out, self._data, self._node)

    def __iter__(self: Any) -> Iterator[Any]:
        return entries_of(self)
