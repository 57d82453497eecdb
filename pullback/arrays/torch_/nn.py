"""PyTorch: losses, convolutions and pooling, by PyTorch's own functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from ..numpy_.borrowed import shareable
from ..numpy_.nn import _taps
from .dtypes import matched
from .shapes import softmax
from .wrapped import may_be_saved

_Sizes = tuple[int, ...]


def class_losses(logits: Any, targets: Any, axis: int, label_smoothing: float) -> Any:
    """-Σ q log(softmax(logits)) of target classes; see the operation for q."""
    if not targets.numel():
        return logits.new_zeros(targets.shape)
    at = targets.to(torch.int64).unsqueeze(axis)

    def weighed(values: Any) -> Any:
        picked = values.gather(axis, at).squeeze(axis)
        if not label_smoothing:
            return picked
        return picked * (1 - label_smoothing) + values.mean(axis) * label_smoothing

    losses = weighed(torch.log_softmax(logits, axis)).neg_()
    largest = torch.amax(logits, axis)
    infinite = torch.isinf(largest)
    if infinite.any():  # PyTorch returns NaN there
        losses = torch.where(infinite, largest.abs() - weighed(logits), losses)
    return losses


def cross_entropy_slope(logits: Any, targets: Any, axis: int, label_smoothing: float) -> Any:
    """softmax(logits) · Σ q - q; see the operation for q."""
    slope = softmax(logits, axis)
    share = label_smoothing / logits.shape[axis] if label_smoothing else 0.0
    if targets.is_floating_point():
        q = targets * (1 - label_smoothing) + share if label_smoothing else targets
        return slope * q.sum(axis, keepdim=True) - q
    at = targets.to(torch.int64).unsqueeze(axis)
    ones = slope.new_full((), label_smoothing - 1).expand(at.shape)
    if may_be_saved(slope):
        return slope.scatter_add(axis, at, ones) - share
    slope.scatter_add_(axis, at, ones)
    return slope.sub_(share) if share else slope


def shared(array: Any) -> Any:
    """A PyTorch tensor with the memory of a NumPy array."""
    return torch.from_numpy(shareable(array))


def shared_back(tensor: Any) -> Any:
    """A NumPy array with the memory of a PyTorch tensor."""
    return tensor.numpy()


# Convolutions -------------------------------------------------------------------------------


def _padded(x: Any, windows: Any, fill: float = 0.0) -> Any:
    sides = [side for pair in reversed(windows.padding) for side in pair]
    return functional.pad(x, sides, value=fill) if any(sides) else x


def _how(windows: Any, groups: int) -> tuple[Any, ...]:
    """PyTorch's arguments for a convolution of a padded input."""
    none = [0] * len(windows.lengths)
    return list(windows.strides), none, list(windows.dilation), False, none, groups


def _bilinear(function: Callable[..., Any]) -> Callable[..., Any]:
    """A bilinear function of two arrays; complex arrays are computed by parts."""

    def kernel(x1: Any, x2: Any, *how: Any, **attrs: Any) -> Any:
        if not (x1.is_complex() or x2.is_complex()):
            return function(*matched(x1, x2), *how, **attrs)
        one, two = matched(x1, x2)
        a, b, c, d = one.real, one.imag, two.real, two.imag
        real = function(a, c, *how, **attrs) - function(b, d, *how, **attrs)
        return torch.complex(real, function(a, d, *how, **attrs) + function(b, c, *how, **attrs))

    kernel.__name__ = function.__name__
    return kernel


@_bilinear
def convolution(x: Any, w: Any, windows: Any, groups: int) -> Any:
    """Each entry of the output is the product of w and a window of x."""
    outs = windows.outs(x.shape[2:])
    if not math.prod((*x.shape, *w.shape, *outs)):
        return x.new_zeros((len(x), len(w), *outs))
    return torch.convolution(_padded(x, windows), w, None, *_how(windows, groups))


def _adjoints(g: Any, x: Any, w: Any, windows: Any, groups: int, mask: list[bool]) -> Any:
    how = _how(windows, groups)
    return torch.ops.aten.convolution_backward(g, x, w, None, *how, mask)


@_bilinear
def convolution_weight_adjoint(g: Any, x: Any, windows: Any, groups: int) -> Any:
    """Σ over examples and places of g times the window of x."""
    w = x.new_zeros((g.shape[1], x.shape[1] // groups, *windows.lengths))
    if not math.prod((*g.shape, *x.shape, *w.shape)):
        return w
    return _adjoints(g, _padded(x, windows), w, windows, groups, [False, True, False])[1]


@_bilinear
def convolution_input_adjoint(g: Any, w: Any, windows: Any, sizes: _Sizes, groups: int) -> Any:
    """Adds each entry of g times w at its window."""
    shape = len(g), groups * w.shape[1], *sizes
    if not math.prod((*g.shape, *w.shape, *shape)):
        return g.new_zeros(shape)
    pairs = list(zip(sizes, windows.padding, strict=True))
    x = g.new_zeros((*shape[:2], *[n + before + after for n, (before, after) in pairs]))
    found = _adjoints(g, x, w, windows, groups, [True, False, False])[0]
    return found[(..., *[slice(before, before + n) for n, (before, _) in pairs])].contiguous()


# Pooling ------------------------------------------------------------------------------------


def sum_pool(x: Any, windows: Any) -> Any:
    """The sum of each window."""
    total = x.new_zeros((*x.shape[:2], *windows.outs(x.shape[2:])))
    for _, at_x, at_out in _taps(x.shape[2:], total.shape[2:], windows):
        total[at_out] += x[at_x]
    return total


def sum_pool_adjoint(g: Any, windows: Any, sizes: _Sizes) -> Any:
    """Adds each entry of g to all positions of its window."""
    total = g.new_zeros((*g.shape[:2], *sizes))
    for _, at_x, at_out in _taps(sizes, g.shape[2:], windows):
        total[at_x] += g[at_out]
    return total


def max_pool(x: Any, windows: Any) -> Any:
    """The largest entry of each window."""
    least = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    out = x.new_full((*x.shape[:2], *windows.outs(x.shape[2:])), least)
    for _, at_x, at_out in _taps(x.shape[2:], out.shape[2:], windows):
        largest = out[at_out].clone() if may_be_saved(x) else out[at_out]
        out[at_out] = torch.maximum(largest, x[at_x])
    return out


def _firsts(x: Any, out: Any, windows: Any) -> Iterator[tuple[Any, Any, Any]]:
    """For each position in the window: the windows whose first maximum it is."""
    free = torch.ones_like(out, dtype=torch.bool)
    for _, at_x, at_out in _taps(x.shape[2:], out.shape[2:], windows):
        first = free[at_out] & ~(x[at_x] < out[at_out])  # NaN is never less
        free[at_out] &= ~first
        yield at_x, at_out, first


def max_pool_scatter(g: Any, x: Any, out: Any, windows: Any) -> Any:
    """Adds each entry of g at the first maximum of its window."""
    total = torch.zeros_like(x, dtype=g.dtype)
    for at_x, at_out, first in _firsts(x, out, windows):
        total[at_x] += torch.where(first, g[at_out], 0)
    return total


def max_pool_gather(h: Any, x: Any, out: Any, windows: Any) -> Any:
    """The entry of h at the first maximum of each window of x."""
    total = torch.zeros_like(out, dtype=h.dtype)
    for at_x, at_out, first in _firsts(x, out, windows):
        total[at_out] += torch.where(first, h[at_x], 0)
    return total


KERNELS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        class_losses, convolution, convolution_input_adjoint, convolution_weight_adjoint,
        cross_entropy_slope, max_pool, max_pool_gather, max_pool_scatter, sum_pool,
        sum_pool_adjoint,
    )
}
