"""`Parameter` and `Buffer`: what a module learns, and what it keeps and does not learn."""

from __future__ import annotations

from typing import Any

from ... import nn as _nn
from ...core.departures import copied as _copied
from ...core.tensor import Tensor as _CoreTensor
from ...core.tensor import wrap
from ..creation import empty
from ..tensor import Tensor as _Tensor
from ..tensor import tensor_of as _tensor_of

__all__ = ["Buffer", "Parameter"]


class Parameter(_nn.Parameter, _Tensor):
    """A tensor that a module learns; it shares memory with the tensor it is made of.

    data           a tensor, or what becomes one; left out, a tensor with no entries
    requires_grad  False for one that is not to learn now

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
    """A tensor that becomes a buffer of the module that it is made an attribute of.

    persistent  whether it is in the module's `state_dict`

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
