"""`Parameter` and `Buffer`: a module's trainable and non-trainable tensors."""

from __future__ import annotations

from typing import Any

from ... import nn as _nn
from ...core.tensor import Tensor as _CoreTensor
from ...core.tensor import wrap
from ...lost_paths import copied as _copied
from ..creation import empty
from ..tensor import Tensor as _Tensor
from ..tensor import tensor_of as _tensor_of

__all__ = ["Buffer", "Parameter"]


class Parameter(_nn.Parameter, _Tensor):
    """A tensor that is trained; shares memory with the tensor it is created from.

    data           a tensor or convertible value; by default an empty tensor
    requires_grad  False to freeze the parameter

    >>> import pullback.torch as torch
    >>> torch.nn.Parameter(torch.zeros(2)).requires_grad
    True
    """

    __slots__ = ()
    _out = _Tensor

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        values = empty(0) if data is None else _tensor_of(data)
        _CoreTensor.__init__(self, values._data, requires_grad)
        _copied(data, self, "Parameter()")

    __repr__ = _Tensor.__repr__


class Buffer(_Tensor):
    """A tensor that registers as a buffer when it is assigned to a module attribute.

    persistent  whether it is part of the module's `state_dict`

    >>> import pullback.torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> [name for name, _ in module.named_buffers()]
    ['mean']
    """

    __slots__ = ("persistent",)
    _out = _Tensor

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        values = empty(0) if data is None else _tensor_of(data)
        _CoreTensor.__init__(self, values._data, False)
        self.persistent = persistent

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = memo[id(self)] = Buffer(
            wrap(_Tensor, self._data.copy()), persistent=self.persistent
        )
        return copied
