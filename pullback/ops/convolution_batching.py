"""Batching rules of convolutions: more examples or more channels in a single call.

If only the input is batched, its examples are merged into the axis of examples. If input and
weights are batched, each example becomes a group of channels, so per-example weight gradients are
one grouped convolution. If only the weights are batched, they become more output channels.
"""

from __future__ import annotations

from typing import Any

from ..arrays.batched import zeros_by
from .convolution import (
    Windows,
    convolution,
    convolution_input_adjoint,
    convolution_weight_adjoint,
)
from .shaping import moveaxis, reshape

__all__: list[str] = []


def merged(x: Any, axis: int, groups: int = 1) -> Any:
    """Merge the leading axis into another axis (counted without it), within each of its groups."""
    size, shape = x.shape[0], tuple(x.shape[1:])
    before, length, after = shape[:axis], shape[axis], shape[axis + 1 :]
    parted = reshape(x, (size, *before, groups, length // groups, *after))
    return reshape(moveaxis(parted, 0, axis + 1), (*before, size * length, *after))


def unmerged(x: Any, axis: int, size: int, length: int, groups: int = 1) -> Any:
    """The inverse of `merged`: `size` and `length` are the lengths of the two axes."""
    before, after = tuple(x.shape[:axis]), tuple(x.shape[axis + 1 :])
    parted = reshape(x, (*before, groups, size, length // groups, *after))
    return reshape(moveaxis(parted, axis + 1, 0), (size, *before, length, *after))


def _kept(first: Any, second: Any, hidden: tuple[bool, ...]) -> tuple[Any, int, tuple[bool, ...]]:
    """(second array, number of examples, batched flags); with no examples, only the first."""
    size = (first if hidden[0] else second).shape[0]
    if size or not all(hidden):
        return second, size, hidden
    shape = tuple(second.shape[1:])  # zero groups of channels are not allowed
    return zeros_by(shape, second), size, (True, False)


@convolution.batching
def batch_convolution(
    x: Any, w: Any, *, windows: Windows, groups: int, hidden: tuple[bool, ...]
) -> Any:
    w, size, hidden = _kept(x, w, hidden)
    if hidden == (True, False):
        return unmerged(
            convolution(merged(x, 0), w, windows=windows, groups=groups), 0, size, x.shape[1]
        )
    rows = w.shape[1]
    if hidden == (False, True):
        out = convolution(x, merged(w, 0, groups), windows=windows, groups=groups)
        return unmerged(out, 1, size, rows, groups)
    out = convolution(merged(x, 1), merged(w, 0), windows=windows, groups=groups * size)
    return unmerged(out, 1, size, rows)


@convolution_input_adjoint.batching
def batch_convolution_input_adjoint(
    y: Any, w: Any, *, windows: Windows, sizes: tuple[int, ...], groups: int,
    hidden: tuple[bool, ...],
) -> Any:
    w, size, hidden = _kept(y, w, hidden)
    if hidden == (True, False):
        out = convolution_input_adjoint(
            merged(y, 0), w, windows=windows, sizes=sizes, groups=groups
        )
        return unmerged(out, 0, size, y.shape[1])
    channels = w.shape[2] * groups
    if hidden == (False, True):
        out = convolution_input_adjoint(
            y, merged(w, 1), windows=windows, sizes=sizes, groups=groups
        )
        return unmerged(out, 1, size, channels, groups)
    out = convolution_input_adjoint(
        merged(y, 1), merged(w, 0), windows=windows, sizes=sizes, groups=groups * size
    )
    return unmerged(out, 1, size, channels)


@convolution_weight_adjoint.batching
def batch_convolution_weight_adjoint(
    y: Any, x: Any, *, windows: Windows, groups: int, hidden: tuple[bool, ...]
) -> Any:
    x, size, hidden = _kept(y, x, hidden)
    if hidden == (True, False):
        out = convolution_weight_adjoint(merged(y, 1, groups), x, windows=windows, groups=groups)
        return unmerged(out, 0, size, y.shape[2], groups)
    if hidden == (False, True):
        out = convolution_weight_adjoint(y, merged(x, 1, groups), windows=windows, groups=groups)
        return unmerged(out, 1, size, x.shape[2] // groups)
    out = convolution_weight_adjoint(
        merged(y, 1), merged(x, 1), windows=windows, groups=groups * size
    )
    return unmerged(out, 0, size, y.shape[2])
