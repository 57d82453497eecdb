"""Converting a module's tensors to another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ...core.tensor import inexact_dtypes
from ...errors import ArgumentError, DtypeError
from ...recording import no_grad
from .. import dtypes
from ..errors import as_runtime

__all__ = ["Converting"]


class Converting:
    """The dtype and device methods of modules."""

    def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Replace every parameter, its gradient and every buffer by `fn` of it, in place."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for p in self._parameters.values():
            if p is not None:
                _convert(p, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Convert the module's floating-point parameters and buffers, in place; returns the module.

        Accepts a dtype, the device "cpu" (the only one), both, or a tensor with the dtype. Integers
        are unchanged. Raises a `TypeError` for a dtype that is not floating-point.

        >>> import pullback.torch as torch
        >>> torch.nn.Linear(3, 2).to(torch.float64).weight.dtype
        dtype('float64')
        """
        given = next((a for a in args if hasattr(a, "requires_grad")), None)
        dtype = kwargs.pop("dtype", None)
        others = []
        for a in args:
            if isinstance(a, numpy.dtype):
                dtype = a
            elif given is not None and a is given:
                dtype = given.dtype
            else:
                others.append(a)
        if dtype is not None and not inexact_dtypes[dtype]:
            raise DtypeError(f"{type(self).__name__}.to", "a floating dtype", str(dtype))

        def converted(t: Any) -> Any:
            inexact = t.is_floating_point() or t.is_complex()
            return t.to(*others, **kwargs, **({"dtype": dtype} if inexact and dtype else {}))

        return self._apply(converted)

    def type(self: Any, dst_type: Any) -> Any:
        """Convert all parameters and buffers."""
        return self._apply(lambda t: t.to(dst_type))

    def _floats(self: Any, dtype: Any) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def double(self: Any) -> Any:
        """Convert floating-point parameters and buffers to float64."""
        return self._floats(dtypes.float64)

    def float(self: Any) -> Any:
        """Convert floating-point parameters and buffers to float32."""
        return self._floats(dtypes.float32)

    def half(self: Any) -> Any:
        """Convert floating-point parameters and buffers to float16."""
        return self._floats(dtypes.float16)

    def bfloat16(self: Any) -> Any:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._floats(dtypes.of_bfloat16())

    def cpu(self: Any) -> Any:
        """Returns the module: tensors already live in CPU memory."""
        return self

    def cuda(self: Any, device: Any = None) -> Any:
        """Raises an error: there is no CUDA device here."""
        raise as_runtime(ArgumentError(f"{type(self).__name__}.cuda", "the device cpu", "cuda"))


def _convert(p: Any, fn: Callable[[Any], Any]) -> None:
    with no_grad():
        made, grad = fn(p.data), p.grad
        if made._data is p._data:
            return
        p.grad = None
        p.data = made
        if grad is not None:
            p.grad = fn(grad.detach())
