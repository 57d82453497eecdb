"""Convolutions, pooling, patches and resizing of `torch.nn.functional`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .... import ops
from ....errors import ArgumentError
from ....nn import functional as core
from ...errors import as_runtime, guarded
from ...func import jvp
from ...tensor import tensor_of

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "fold",
    "interpolate", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    "pad", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
]


def _of_one(function: Callable[[Any], Any], input: Any, d: int) -> Any:
    """Call a function of batches; adds and removes the batch axis for a single example."""
    if len(input.shape) == d + 1:
        return ops.squeeze(function(ops.expand_dims(input, axis=0)), axis=0)
    return function(input)


def _even(value: Any) -> Any:
    """One number per axis; a single number serves all axes."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return value[0]
    return tuple(value) if isinstance(value, list) else value


# Convolutions -------------------------------------------------------------------------------


def _convolution(operation: Callable[..., Any], d: int) -> Callable[..., Any]:
    def call(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Any:
        how = {"stride": _even(stride), "padding": _even(padding), "dilation": _even(dilation)}
        return _of_one(lambda x: operation(x, weight, bias, groups=groups, **how), input, d)

    call.__name__ = call.__qualname__ = f"conv{d}d"
    call.__doc__ = (
        f"{d}-D convolution of (batch, channels, …); padding may be "
        "'same' or 'valid'."
    )
    return guarded(call)


def _transpose(operation: Callable[..., Any], d: int) -> Callable[..., Any]:
    def call(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Any:
        how = {
            "stride": _even(stride), "padding": _even(padding), "dilation": _even(dilation),
            "output_padding": _even(output_padding),
        }
        return _of_one(lambda x: operation(x, weight, bias, groups=groups, **how), input, d)

    call.__name__ = call.__qualname__ = f"conv_transpose{d}d"
    call.__doc__ = f"Transposed {d}-D convolution: the transpose of `conv{d}d` in its input."
    return guarded(call)


conv1d, conv2d = _convolution(ops.conv1d, 1), _convolution(ops.conv2d, 2)
conv3d = _convolution(core.conv3d, 3)
conv_transpose1d = _transpose(core.conv_transpose1d, 1)
conv_transpose2d = _transpose(ops.conv_transpose2d, 2)


# Pooling ------------------------------------------------------------------------------------


def _with_places(pool: Callable[[Any], Any], input: Any, d: int) -> tuple[Any, Any]:
    """Pooled entries and their indices: the pool's JVP applied to indices selects them."""
    lengths = tuple(input.shape)[len(input.shape) - d :]
    places = numpy.arange(float(math.prod(lengths))).reshape(lengths)
    every = numpy.array(numpy.broadcast_to(places, tuple(input.shape)))
    around = ops.astype(input.detach(), every.dtype)
    _, found = jvp(pool, (around,), (tensor_of(every),))
    return pool(input), ops.astype(found, numpy.dtype("int64"))


def _max_pool(d: int) -> Callable[..., Any]:
    def call(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:
        if return_indices:
            return _with_places(lambda x: call(
                x, kernel_size, stride, padding, dilation, ceil_mode
            ), input, d)
        return _of_one(lambda x: core.max_pool_nd(
            x, _even(kernel_size), stride=_even(stride) or None, padding=_even(padding),
            dilation=_even(dilation), ceil_mode=ceil_mode,
        ), input, d)

    call.__name__ = call.__qualname__ = f"max_pool{d}d"
    call.__doc__ = (
        "The maximum of each window; among equal entries the first receives the gradient.\n\n"
        "    return_indices  also return the flat index within the spatial axes\n    "
    )
    return guarded(call)


def _avg_pool(d: int) -> Callable[..., Any]:
    def call(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:
        return _of_one(lambda x: core.avg_pool(
            x, _even(kernel_size), stride=_even(stride) or None, padding=_even(padding),
            ceil_mode=ceil_mode, count_include_pad=count_include_pad, divisor=divisor_override,
        ), input, d)

    call.__name__ = call.__qualname__ = f"avg_pool{d}d"
    call.__doc__ = "The mean of each window; zero padding counts as entries."
    return guarded(call)


def _lp_pool(d: int) -> Callable[..., Any]:
    def call(
        input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Any:
        return _of_one(lambda x: core.lp_pool(
            x, norm_type, _even(kernel_size), stride=_even(stride), ceil_mode=ceil_mode
        ), input, d)

    call.__name__ = call.__qualname__ = f"lp_pool{d}d"
    call.__doc__ = "Power-average pooling: (Σ xᵖ)^(1/p) of each window."
    return guarded(call)


def _adaptive(operation: Callable[..., Any], kind: str, d: int) -> Callable[..., Any]:
    def call(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            return _with_places(lambda x: call(x, output_size), input, d)
        return _of_one(lambda x: operation(x, _even(output_size)), input, d)

    call.__name__ = call.__qualname__ = f"adaptive_{kind}_pool{d}d"
    call.__doc__ = f"The {kind} over a given number of windows."
    return guarded(call)


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive(core.adaptive_avg_pool, "avg", d) for d in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _adaptive(core.adaptive_max_pool, "max", d) for d in (1, 2, 3)
)


# Patches and resizing -----------------------------------------------------------------------


@guarded
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Extracts sliding windows, each as a column (im2col)."""
    return _of_one(lambda x: core.unfold(
        x, _even(kernel_size), dilation=_even(dilation), padding=_even(padding),
        stride=_even(stride),
    ), input, 2)


@guarded
def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """Sums columns into an image, the transpose of `unfold` (col2im)."""
    return _of_one(lambda x: core.fold(
        x, _even(output_size), _even(kernel_size), dilation=_even(dilation),
        padding=_even(padding), stride=_even(stride),
    ), input, 1)


@guarded
def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Pads the last axes: (before, after) of the last axis, of the one before it, ….

    Negative numbers crop. Modes besides "constant": "reflect", "replicate",
    "circular".

    >>> import pullback.torch as torch
    >>> torch.nn.functional.pad(torch.ones(1), (1, 2))
    tensor([0., 1., 0., 0.])
    """
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    first = len(input.shape) - len(pairs)
    for axis, (before, after) in enumerate(pairs, first):
        if before < 0 or after < 0:
            stop = input.shape[axis] + min(after, 0)
            index = (slice(None),) * axis + (slice(max(-before, 0), stop),)
            input = ops.getitem(input, index)
    pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if mode != "constant":
        return core.pad_mode(input, pairs, mode)
    return ops.pad(input, [(0, 0)] * first + pairs, constant_values=value or 0)


@guarded
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Resizes the spatial axes to given lengths or by factors.

    mode  "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"
    """
    if antialias or (size is None) == (scale_factor is None):
        raise ArgumentError("`interpolate`", "size or scale_factor, without antialias",
                            "antialias=True" if antialias else "both or neither")
    lengths = tuple(input.shape)[2:]
    if size is not None:
        sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,) * len(lengths)
        return core.interpolate(input, sizes, mode=mode, align_corners=bool(align_corners))
    several = isinstance(scale_factor, (tuple, list))
    factors = tuple(scale_factor) if several else (scale_factor,) * len(lengths)
    sizes = tuple([int(n * f) for n, f in zip(lengths, factors, strict=True)])
    return core.interpolate(
        input, sizes, mode=mode, align_corners=bool(align_corners),
        scales=None if recompute_scale_factor else factors,
    )


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """Older name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@guarded
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Moves channels to space: (…, c · r², h, w) becomes (…, c, h · r, w · r)."""
    return core.pixel_shuffle(input, upscale_factor)


@guarded
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Moves space to channels: the inverse of `pixel_shuffle`."""
    return core.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Any, groups: int) -> Any:
    """Interleaves the channels of several groups."""
    try:
        return core.channel_shuffle(input, groups)
    except ValueError as error:
        raise as_runtime(error) from None
