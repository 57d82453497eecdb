"""Sampling images at computed coordinates, and unpooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

from .... import ops
from ....core.tensor import raw
from ....errors import ArgumentError, ShapeError
from ...creation import tensor
from ...errors import as_runtime, guarded
from ...indexing import scatter

__all__ = ["affine_grid", "grid_sample", "max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _places(align_corners: bool | None, n: int) -> Any:
    """The centres of n cells of [-1, 1]; with align_corners, n points that include both ends."""
    if n == 1:
        return numpy.zeros(1)
    ends = numpy.linspace(-1.0, 1.0, n)
    return ends if align_corners else ends * (n - 1) / n


@guarded
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The sampling grid of an affine map, for `grid_sample`.

    theta  matrices (batch, d, d + 1); size  (batch, channels, …) with d spatial lengths

    >>> import pullback.torch as torch
    >>> same = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> affine_grid(same, (1, 1, 1, 2), align_corners=True)[0, 0]
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """
    lengths = tuple(size)[2:]
    d = len(lengths)
    if tuple(theta.shape) != (size[0], d, d + 1):
        raise ShapeError("argument `theta` of `affine_grid`", f"shape {(size[0], d, d + 1)}",
                         f"{tuple(theta.shape)}")
    axes = numpy.meshgrid(*[_places(align_corners, n) for n in lengths], indexing="ij")
    base = numpy.stack([*axes[::-1], numpy.ones(lengths)], axis=-1).reshape(-1, d + 1)
    made = ops.matmul(tensor(base, dtype=theta.dtype), ops.matrix_transpose(theta))
    return ops.reshape(made, (size[0], *lengths, d))


@guarded
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Samples images (batch, channels, …) at coordinates in [-1, 1], with interpolation.

    grid           (batch, …, d): coordinates; the image's last axis comes first
    mode           "bilinear" or "nearest"
    padding_mode   values outside: "zeros", the "border", or the image's "reflection"
    align_corners  whether ±1 are the centres of the outermost pixels, or their outer edges

    >>> import pullback.torch as torch
    >>> row = torch.tensor([[[[1.0, 3.0]]]])
    >>> grid_sample(row, torch.tensor([[[[0.0, 0.0]]]]))
    tensor([[[[2.]]]])
    """
    lengths = tuple(input.shape)[2:]
    if len(grid.shape) != len(lengths) + 2 or tuple(grid.shape)[::len(lengths) + 1] != (
        input.shape[0], len(lengths)
    ):
        raise ShapeError("argument `grid` of `grid_sample`",
                         f"(examples, …, {len(lengths)}) with {len(lengths) + 2} axes",
                         f"{tuple(grid.shape)}")
    if mode not in ("bilinear", "nearest"):
        raise ArgumentError("argument `mode` of `grid_sample`", "'bilinear' or 'nearest'", mode)
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError("argument `padding_mode` of `grid_sample`",
                            "'zeros', 'border' or 'reflection'", padding_mode)
    at = [
        _inside(_coordinate(grid[..., -1 - k], n, align_corners), n, padding_mode, align_corners)
        for k, n in enumerate(lengths)
    ]
    if mode == "nearest":
        return _entries(input, [ops.round(c.detach()) for c in at], lengths)
    low = [ops.floor(c.detach()) for c in at]
    out = None
    for corner in itertools.product((0, 1), repeat=len(lengths)):
        share = math.prod(
            (c - a if b else 1 - (c - a)) for c, a, b in zip(at, low, corner, strict=True)
        )
        there = [a + b for a, b in zip(low, corner, strict=True)]
        part = _entries(input, there, lengths) * ops.expand_dims(share, axis=1)
        out = part if out is None else out + part
    return out


def _coordinate(g: Any, n: int, align_corners: bool | None) -> Any:
    return (g + 1) * ((n - 1) / 2) if align_corners else ((g + 1) * n - 1) / 2


def _inside(c: Any, n: int, padding_mode: str, align_corners: bool | None) -> Any:
    """Map a coordinate into the image; its derivative is 0 where that changed it."""
    if padding_mode == "zeros":
        return c
    if padding_mode == "reflection":
        start, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if not span:
            return c * 0
        c = ops.abs(c - start)
        turns = ops.floor(c.detach() / span)
        rest = c - turns * span
        c = ops.where(turns % 2 == 0, rest, span - rest) + start
    within = (c > 0) & (c < n - 1)
    return ops.where(within, c, ops.clip(c.detach(), 0, n - 1))


def _entries(input: Any, places: list[Any], lengths: tuple[int, ...]) -> Any:
    """The entries at integer coordinates, with channels first; 0 outside the image."""
    held: Any = True
    index = []
    for c, n in zip(places, lengths, strict=True):
        held = held & ((c >= 0) & (c <= n - 1))
        index.append(ops.astype(ops.clip(c, 0, n - 1), numpy.dtype("int64")))
    examples = numpy.arange(input.shape[0]).reshape((-1,) + (1,) * len(lengths))
    taken = ops.getitem(ops.moveaxis(input, 1, -1), (examples, *index))
    return ops.where(ops.expand_dims(held, axis=1), ops.moveaxis(taken, -1, 1), 0.0)


# Unpooling ----------------------------------------------------------------------------------


def _unpool(d: int) -> Callable[..., Any]:
    def call(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        window, ends = _each(kernel_size, d), _each(padding, d)
        steps = window if stride is None else _each(stride, d)
        lead = tuple(input.shape)[: len(input.shape) - d]
        lengths = tuple(output_size)[-d:] if output_size is not None else tuple([
            (n - 1) * s - 2 * p + k
            for n, s, p, k in zip(tuple(input.shape)[-d:], steps, ends, window, strict=True)
        ])
        total = math.prod(lengths)
        places = raw(indices)  # under vmap, several arrays
        if isinstance(places, numpy.ndarray) and ((places < 0) | (places >= total)).any():
            raise as_runtime(ArgumentError(
                f"argument `indices` of `max_unpool{d}d`", f"indices below {total}", "others"
            ))
        nothing = input.new_zeros((*lead, total))
        flat = [ops.reshape(v, (*lead, -1)) for v in (indices, input)]
        return ops.reshape(scatter(nothing, -1, *flat), (*lead, *lengths))

    call.__name__ = call.__qualname__ = f"max_unpool{d}d"
    call.__doc__ = (
        "The inverse of max pooling: entries return to their indices, zeros elsewhere.\n\n"
        "    indices      from the pool, with return_indices=True\n"
        "    output_size  the lengths before pooling, if several lengths fit\n    "
    )
    return guarded(call)


def _each(value: Any, d: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * d


max_unpool1d, max_unpool2d, max_unpool3d = map(_unpool, (1, 2, 3))
