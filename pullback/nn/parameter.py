"""`Parameter`: a trainable tensor of a module."""

from __future__ import annotations

from typing import Any

from ..arrays import adapters
from ..core.tensor import Tensor, to_array
from ..lost_paths import copied


class Parameter(Tensor):
    """A tensor that requires gradients, for `backward`, and that tapes watch automatically.

    data           an array, number, nested sequence or Tensor; copied, because training writes
    requires_grad  False for a frozen parameter
    dtype          convert to this dtype

    Raises `DtypeError` for integers and booleans that require gradients.

    >>> Parameter([1.0, 2.0])
    Parameter([1., 2.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True, dtype: Any = None) -> None:
        array = to_array(data)
        adapter = adapters[array.__class__]
        super().__init__(adapter.copy(adapter.asarray(array, dtype)), requires_grad)
        copied(data, self, "Parameter()")

    def __repr__(self) -> str:
        return super().__repr__().replace("Tensor(", "Parameter(", 1)
