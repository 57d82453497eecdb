"""PyTorch: tensors on any device, without PyTorch's own autograd.

Tensors that require gradients are detached first, so that no kernel builds a PyTorch graph. Writes
use PyTorch's indexing; where NumPy's allows more, positions in the flattened tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat.torch as compat
import numpy
import torch
from torch import Tensor

from .. import SCALARS, adapters, dominant
from ..numpy_ import special
from ..widening import WIDE, widened_kernel
from .dtypes import dtype_of
from .index import advanced, backwards, read, tensors
from .kernels import KERNELS
from .large import add, is_alone, move, scale
from .linalg import KERNELS as LINEAR
from .linalg import by_numpy
from .nn import KERNELS as NEURAL
from .wrapped import detached, innermost, is_wrapped, refuse, stopped, without_memory

_ALL: dict[str, Callable[..., Any]] = {**KERNELS, **NEURAL, **LINEAR}


_OTHERWISE = frozenset({"concat", "stack", "einsum", "take"})
"""Operations whose arguments differ from the standard's function of the same name."""


class Namespace:
    """The standard's functions on tensors: this file's own, else those of `array_api_compat`."""

    __name__ = "array_api_compat.torch"

    def __getattr__(self, name: str) -> Any:
        found = None if name in _OTHERWISE else _ALL.get(name)
        found = getattr(compat, name) if found is None else found
        self.__dict__[name] = found
        return found


class Torch:
    """The adapter of `torch.Tensor` and its subclasses."""

    name = "torch"
    namespace = Namespace()
    hosts = 0
    forward_only = True
    refusals = (RuntimeError, NotImplementedError)
    read = staticmethod(read)
    add, scale, move = staticmethod(add), staticmethod(scale), staticmethod(move)
    stopped = staticmethod(stopped)

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """PyTorch's own function, if it does more than the standard's."""
        if name in _SPECIAL:
            return getattr(torch.special, name)
        if name in special.LAZY:  # PyTorch lacks these
            return by_numpy(name)
        return _ALL.get(name)

    def finished(self, name: str, cls: type, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Computes half precision in float32 where PyTorch has no kernel for it."""
        if name not in WIDE:
            return kernel
        return widened_kernel(kernel, (torch.float16, torch.bfloat16), Tensor.to, torch.float32)

    def rank(self, cls: type) -> int:
        """Constant: PyTorch's functions accept subclasses."""
        return 0

    def adopt(self, array: Any) -> Any:
        """The tensor, detached if PyTorch's autograd would record operations on it."""
        if array.requires_grad or isinstance(array, torch.nn.Parameter):
            return detached(array)
        return array

    enter = adopt

    def plain(self, array: Any) -> Any:
        """The tensor unchanged."""
        return array

    def owner(self, array: Any) -> Any:
        """The storage, which all views share."""
        return (innermost(array) if is_wrapped(array) else array).untyped_storage()

    def known(self, array: Any) -> Any:
        """The tensor; None if it is fake or inside `torch.func`."""
        return None if without_memory(array) else array

    def dtype(self, dtype: Any) -> Any:
        """PyTorch's dtype for any library's dtype."""
        return dtype_of(dtype)

    def numpy(self, array: Any) -> Any:
        """A NumPy array; shares the memory of a CPU tensor."""
        refuse(array)
        array = array.detach().cpu().resolve_conj().resolve_neg()
        return (array.float() if array.dtype is torch.bfloat16 else array).numpy()

    def place(self, array: Any, device: Any = None) -> Any:
        """A tensor on a device with the values of any array; shares memory if possible."""
        if not isinstance(array, Tensor):
            array = self.asarray(array)
        return array if device is None else array.to(device)

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """A tensor of numbers, nested sequences or arrays, on the device of `like`.

        Python floats in sequences get the precision of `like`.
        """
        if isinstance(value, Tensor):
            made = detached(value) if value.requires_grad else value
        else:
            made = _converted(value, like)
        if dtype is not None:
            made = made.to(dtype_of(dtype))
        return made if like is None or made.device == like.device else made.to(like.device)

    def own(self, array: Any) -> Any:
        """The tensor, or a copy if its memory is shared, part of a larger block, or foreign."""
        return array if is_alone(array) else self.copy(array)

    def copy(self, array: Any) -> Any:
        """A copy."""
        return torch.clone(array.resolve_conj(), memory_format=torch.contiguous_format)

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros, on the device of another tensor."""
        if isinstance(like, Tensor):
            return like.new_zeros(tuple(shape), dtype=dtype_of(dtype))
        return torch.zeros(tuple(shape), dtype=dtype_of(dtype))

    def sealed(self, array: Any) -> Any:
        """A view marked as read-only."""
        view = array.view_as(array) if is_wrapped(array) else array.detach()
        view._pullback_sealed = True
        return view

    def is_sealed(self, array: Any) -> bool:
        """Whether it is marked as read-only, or has overlapping entries (stride 0)."""
        return hasattr(array, "_pullback_sealed") or any(
            not stride and n > 1 for stride, n in zip(array.stride(), array.shape, strict=True)
        )

    def write(self, array: Any, value: Any) -> Any:
        """`array[...] = value`."""
        return self.assign(array, ..., value)

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; a repeated entry gets its last value."""
        value = self._value(array, value)
        index = tensors(index, array)
        with _refusing():
            if backwards(index):
                array.put_(_positions(array, index), _spread(array, index, value))
            elif advanced(index):
                at = _positions(array, index).reshape(-1)
                values = _spread(array, index, value).reshape(-1)
                array.put_(*_last(at, values, array.numel()))
            else:
                array[index] = value
        return array

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`; repeated entries get the sum of their values."""
        value = self._value(array, value)
        index = tensors(index, array)
        parts = index if isinstance(index, tuple) else (index,)
        with _refusing():
            if all(isinstance(p, Tensor) and p.dtype is torch.int64 for p in parts):
                array.index_put_(parts, value, accumulate=True)
            else:
                where = _positions(array, index)
                array.put_(where, _spread(array, index, value), accumulate=True)
        return array

    def _value(self, array: Any, value: Any) -> Any:
        """A value to write to an array, in the array's dtype."""
        if not isinstance(value, Tensor):
            if value.__class__ not in SCALARS:
                dominant[array.__class__, value.__class__]  # raises for another library's array
            return torch.as_tensor(value, dtype=array.dtype, device=array.device)
        if value.dtype is not array.dtype:
            value = value.real if value.is_complex() and not array.is_complex() else value
            value = value.to(array.dtype)
        return value


_SPECIAL = frozenset({
    "entr", "erfinv", "gammaln", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr",
    "ndtri", "xlog1py", "xlogy", "zeta",
})
"""Operations with kernels in `torch.special`, except for `bessel_j0` and `bessel_j1`, which have
only 8 correct digits."""


class _refusing:  # noqa: N801  # used as a function
    """Raises a `ValueError`, as NumPy does, if PyTorch refuses a write."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is RuntimeError:
            raise ValueError(str(error).partition("\n")[0]) from None


def _converted(value: Any, like: Any) -> Any:
    """A tensor from a value that is not a tensor."""
    known = value.__class__ in adapters and value.__class__ not in SCALARS
    array = adapters[value.__class__].numpy(value) if known else numpy.asarray(value)
    if not known:
        kind = torch.get_default_dtype() if like is None else like.dtype
        wide = kind.is_complex or kind.is_floating_point
        if array.dtype.kind in "fc" and wide:
            made = torch.as_tensor(numpy.ascontiguousarray(array).reshape(array.shape))
            return made.to(kind.to_complex() if array.dtype.kind == "c" else _real(kind))
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()  # PyTorch warns about read-only and rejects negative strides
    return torch.as_tensor(array)


def _real(dtype: Any) -> Any:
    return dtype.to_real() if dtype.is_complex else dtype


def _positions(array: Any, index: Any) -> Any:
    """The positions, in the flattened array, of the entries at an index."""
    count = torch.arange(array.numel(), device=array.device)
    return read(count.reshape(array.shape), index)


def _spread(array: Any, index: Any, value: Any) -> Any:
    """A value, broadcast to the entries at an index."""
    shape = read(array, index).shape
    extra = value.ndim - len(shape)
    if extra > 0:  # NumPy allows leading axes of length 1
        value = value.reshape(value.shape[extra:])
    return value.expand(shape)


def _last(at: Any, values: Any, count: int) -> tuple[Any, Any]:
    """Written positions and values, in which a repeated position has its last value only."""
    order = torch.arange(at.numel(), device=at.device)
    last = torch.zeros(count, dtype=torch.int64, device=at.device)
    winners = last.scatter_reduce(0, at, order, "amax")[at]
    if is_wrapped(values):  # each position once: PyTorch would count its derivative repeatedly
        return at[winners == order], values[winners == order]
    return at, values[winners]


ADAPTER = Torch()
