"""Move arrays to another device or another array library; cotangents are moved back."""

from __future__ import annotations

from typing import Any

from ..arrays import adapters
from ..arrays.batched import bare
from ..core.tensor import Tensor, raw, to_array
from .declaring import face_of, op
from .operands import stacked

__all__: list[str] = []


@op(name="to_device", linear=True, shape="x", dtype="x")
def _place(xp: Any, x: Any, /, to: tuple[type, Any], back: tuple[type, Any]) -> Any:
    kind, device = to
    return adapters[kind].place(x, device)


@_place.pullback("x")
def pullback_to_device(g: Any, *, to: Any, back: Any) -> Any:
    return _place(g, back, to)


@_place.batching
def batch_to_device(x: Any, *, to: Any, back: Any) -> Any:
    return _place(x, to, back)


def _place_of(x: Any) -> tuple[type, Any]:
    """The array type and the device of an array."""
    data = bare(raw(x))
    return data.__class__, getattr(data, "device", "cpu")


@face_of(_place, "to_device")
def to_device(x: Any, device: Any, /) -> Any:
    """x copied to another device of its array library; x itself if it is there already.

    Raises the array library's error for an unknown device.

    >>> import pullback as pb
    >>> to_device(pb.tensor([1.0, 2.0]), "cpu")
    Tensor([1., 2.])
    """
    here = _place_of(x)
    return x if str(device) == str(here[1]) else _place(x, (here[0], device), here)


def in_library_of(x: Any, like: Any) -> Any:
    """A Tensor of numbers, sequences, an array or a Tensor, in the library and on the device of
    another array.

    Memory is shared if both libraries use the same device; a Tensor stays tracked.
    """
    there = _place_of(like)
    x = stacked(x)
    if isinstance(x, Tensor):
        here = _place_of(x)
        if adapters[here[0]] is adapters[there[0]] and str(here[1]) == str(there[1]):
            return x
        return _place(x, there, here)
    like = bare(raw(like))
    adapter = adapters[like.__class__]
    array = to_array(x, like)
    if hasattr(array, "dtype"):
        return Tensor(adapter.place(array, there[1]))
    return Tensor(adapter.asarray(array, None, like))
