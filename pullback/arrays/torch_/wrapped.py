"""Tensors inside `torch.func`, and fake tensors: they have no memory of their own.

`torch.func` wraps tensors: for `grad` to record what is computed with them, for `vmap` to hide an
axis. Such tensors stay as they are; detaching one would lose its derivative in silence.
"""

from __future__ import annotations

from typing import Any

from torch._C import _functorch  # torch.func has no public test for its tensors

from ...errors import ArgumentError

is_wrapped = _functorch.is_functorch_wrapped_tensor
"""Whether a tensor belongs to a running transformation of `torch.func`."""


def may_be_saved(array: Any) -> bool:
    """Whether PyTorch may have saved an array for a derivative, so that it must not be written."""
    return array.requires_grad or is_wrapped(array)



def transforming() -> bool:
    """Whether a transformation of `torch.func` runs: `out=` and many in-place writes fail there."""
    return _functorch.maybe_current_level() is not None


def detached(array: Any) -> Any:
    """The tensor without PyTorch's history, except inside `torch.func`, whose history it keeps."""
    return array if is_wrapped(array) else array.detach()


def stopped(array: Any) -> Any:
    """The tensor, through which `torch.func` computes no derivative either."""
    return array.detach() if is_wrapped(array) else array


def without_memory(array: Any) -> bool:
    """Whether the entries of a tensor cannot be read: inside `torch.func`, fake or "meta"."""
    return is_wrapped(array) or array.is_meta or hasattr(array, "fake_mode")


def innermost(array: Any) -> Any:
    """The tensor that transformations have wrapped; views of it wrap views."""
    while is_wrapped(array):
        array = _functorch.get_unwrapped(array)
    return array


def refuse(array: Any) -> None:
    """Raises an `ArgumentError` for a tensor whose entries cannot be read."""
    if without_memory(array):
        raise ArgumentError(
            "reading the entries of a PyTorch tensor", "a tensor with memory",
            "one inside a transformation of torch.func" if is_wrapped(array)
            else "a fake tensor, or one on the device \"meta\"",
            "compute with operations that PyTorch has (this one may be computed by SciPy), or "
            "transform the function with pullback.grad, pullback.vmap, …",
        )
