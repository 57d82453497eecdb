"""Batching rules of convolutions and pools: more examples or more channels in a single call.

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
    max_pool,
    max_pool_gather,
    max_pool_scatter,
    sum_pool,
    sum_pool_adjoint,
)
from .shaping import moveaxis, reshape

__all__: list[str] = []


def _into(x: Any, axis: int, groups: int = 1) -> Any:
    """Merge the leading axis into another axis (counted without it), within each of its groups."""
    size, shape = x.shape[0], tuple(x.shape[1:])
    before, length, after = shape[:axis], shape[axis], shape[axis + 1 :]
    parted = reshape(x, (size, *before, groups, length // groups, *after))
    return reshape(moveaxis(parted, 0, axis + 1), (*before, size * length, *after))


def _out_of(x: Any, axis: int, size: int, length: int, groups: int = 1) -> Any:
    """The inverse of `_into`: `size` and `length` are the lengths of the two axes."""
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
        return _out_of(
            convolution(_into(x, 0), w, windows=windows, groups=groups), 0, size, x.shape[1]
        )
    rows = w.shape[1]
    if hidden == (False, True):
        out = convolution(x, _into(w, 0, groups), windows=windows, groups=groups)
        return _out_of(out, 1, size, rows, groups)
    out = convolution(_into(x, 1), _into(w, 0), windows=windows, groups=groups * size)
    return _out_of(out, 1, size, rows)


@convolution_input_adjoint.batching
def batch_convolution_input_adjoint(
    y: Any, w: Any, *, windows: Windows, sizes: tuple[int, ...], groups: int,
    hidden: tuple[bool, ...],
) -> Any:
    w, size, hidden = _kept(y, w, hidden)
    if hidden == (True, False):
        out = convolution_input_adjoint(
            _into(y, 0), w, windows=windows, sizes=sizes, groups=groups
        )
        return _out_of(out, 0, size, y.shape[1])
    channels = w.shape[2] * groups
    if hidden == (False, True):
        out = convolution_input_adjoint(
            y, _into(w, 1), windows=windows, sizes=sizes, groups=groups
        )
        return _out_of(out, 1, size, channels, groups)
    out = convolution_input_adjoint(
        _into(y, 1), _into(w, 0), windows=windows, sizes=sizes, groups=groups * size
    )
    return _out_of(out, 1, size, channels)


@convolution_weight_adjoint.batching
def batch_convolution_weight_adjoint(
    y: Any, x: Any, *, windows: Windows, groups: int, hidden: tuple[bool, ...]
) -> Any:
    x, size, hidden = _kept(y, x, hidden)
    if hidden == (True, False):
        out = convolution_weight_adjoint(_into(y, 1, groups), x, windows=windows, groups=groups)
        return _out_of(out, 0, size, y.shape[2], groups)
    if hidden == (False, True):
        out = convolution_weight_adjoint(y, _into(x, 1, groups), windows=windows, groups=groups)
        return _out_of(out, 1, size, x.shape[2] // groups)
    out = convolution_weight_adjoint(
        _into(y, 1), _into(x, 1), windows=windows, groups=groups * size
    )
    return _out_of(out, 0, size, y.shape[2])


# Pools treat channels separately, so all examples fit into one array --------------------------


@max_pool.batching
def batch_max_pool(x: Any, *, windows: Windows) -> Any:
    return _out_of(max_pool(_into(x, 0), windows=windows), 0, *x.shape[:2])


@max_pool_scatter.batching
def batch_max_pool_scatter(y: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    out = max_pool_scatter(_into(y, 0), _into(x, 0), _into(largest, 0), windows=windows)
    return _out_of(out, 0, *x.shape[:2])


@max_pool_gather.batching
def batch_max_pool_gather(y: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    out = max_pool_gather(_into(y, 0), _into(x, 0), _into(largest, 0), windows=windows)
    return _out_of(out, 0, *x.shape[:2])


@sum_pool.batching
def batch_sum_pool(x: Any, *, windows: Windows) -> Any:
    return _out_of(sum_pool(_into(x, 0), windows=windows), 0, *x.shape[:2])


@sum_pool_adjoint.batching
def batch_sum_pool_adjoint(y: Any, *, windows: Windows, sizes: tuple[int, ...]) -> Any:
    out = sum_pool_adjoint(_into(y, 0), windows=windows, sizes=sizes)
    return _out_of(out, 0, *y.shape[:2])
