"""Pad, shuffle and resize images and signals: x is (examples, channels, *lengths)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ... import ops
from ...composed.padding import pad_with_entries
from ...errors import ArgumentError, ShapeError
from .windows import adaptive_avg_pool, along_axis

__all__ = ["channel_shuffle", "interpolate", "pad_mode", "pixel_shuffle", "pixel_unshuffle"]

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad_mode(x: Any, widths: Any, mode: str) -> Any:
    """Pad the last axes with existing entries: mirrored, repeated or wrapped around.

    widths  (before, after) of each of the last axes
    mode    "reflect", "replicate" or "circular"

    Raises `ArgumentError` for an unknown mode and for widths that the mode cannot fill.

    >>> import numpy as np
    >>> pad_mode(np.array([1.0, 2.0, 3.0]), [(1, 1)], "reflect")
    array([2., 1., 2., 3., 2.])
    """
    if mode not in _MODES:
        raise ArgumentError("argument `mode` of `pad`", f"one of {', '.join(_MODES)}", repr(mode))
    first = len(x.shape) - len(widths)
    for axis, pair in enumerate(widths, first):
        length = x.shape[axis]
        most = {"reflect": length - 1, "circular": length}.get(mode, math.inf)
        if max(pair) > most or min(pair) < 0:
            raise ArgumentError(
                f"widths of `pad` with mode {mode!r}", f"numbers in [0, {most}]", f"{tuple(pair)}"
            )
    return pad_with_entries(x, widths, _MODES[mode])


def _blocks(x: Any, factor: int, subject: str) -> tuple[tuple[int, ...], int, int, int]:
    if len(x.shape) < 3:
        raise ShapeError(
            f"argument `x` of `{subject}`", "at least 3 axes", f"shape {tuple(x.shape)}"
        )
    *lead, channels, height, width = x.shape
    return tuple(lead), channels, height, width


def pixel_shuffle(x: Any, factor: int) -> Any:
    """Reshape (…, c · factor², h, w) to (…, c, h · factor, w · factor).

    >>> import numpy as np
    >>> pixel_shuffle(np.arange(4.0).reshape(1, 4, 1, 1), 2)
    array([[[[0., 1.],
             [2., 3.]]]])
    """
    lead, channels, h, w = _blocks(x, factor, "pixel_shuffle")
    c, n, r = channels // factor**2, len(lead), factor
    if channels % r**2:
        raise ShapeError("argument `x` of `pixel_shuffle`", f"a multiple of {r**2} channels",
                         f"{channels}")
    parts = ops.reshape(x, (*lead, c, r, r, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return ops.reshape(ops.permute_dims(parts, order), (*lead, c, h * r, w * r))


def pixel_unshuffle(x: Any, factor: int) -> Any:
    """Reshape (…, c, h · factor, w · factor) to (…, c · factor², h, w).

    >>> import numpy as np
    >>> pixel_unshuffle(np.arange(4.0).reshape(1, 1, 2, 2), 2).shape
    (1, 4, 1, 1)
    """
    lead, c, height, width = _blocks(x, factor, "pixel_unshuffle")
    r, n = factor, len(lead)
    if height % r or width % r:
        raise ShapeError("argument `x` of `pixel_unshuffle`", f"lengths divisible by {r}",
                         f"shape {tuple(x.shape)}")
    parts = ops.reshape(x, (*lead, c, height // r, r, width // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    shape = (*lead, c * r * r, height // r, width // r)
    return ops.reshape(ops.permute_dims(parts, order), shape)


def channel_shuffle(x: Any, groups: int) -> Any:
    """Interleave the channels (axis 1) of `groups` groups.

    >>> import numpy as np
    >>> channel_shuffle(np.arange(4.0).reshape(1, 4), 2)
    array([[0., 2., 1., 3.]])
    """
    n, channels, *rest = x.shape
    if channels % groups:
        raise ShapeError("`channel_shuffle`", f"a multiple of {groups} channels", f"{channels}")
    parts = ops.swapaxes(ops.reshape(x, (n, groups, channels // groups, *rest)), 1, 2)
    return ops.reshape(parts, (n, channels, *rest))


# Interpolation ------------------------------------------------------------------------------


def interpolate(
    x: Any, size: tuple[int, ...], *, mode: str = "nearest", align_corners: bool = False,
    scales: tuple[float | None, ...] | None = None,
) -> Any:
    """Resize all axes of x except the first two.

    mode           "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"
    align_corners  align the centres of the corner entries, not the outer edges of the cells
    scales         scale factor per axis, used instead of the ratio of the lengths

    Raises `ArgumentError` for a mode that does not support this number of axes.

    >>> import numpy as np
    >>> interpolate(np.array([[[1.0, 3.0]]]), (4,), mode="linear")
    array([[[1. , 1.5, 2.5, 3. ]]])
    """
    axes = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
    known = (*axes, "nearest", "nearest-exact", "area")
    if mode not in known or axes.get(mode, len(size)) != len(x.shape) - 2:
        raise ArgumentError(
            "argument `mode` of `interpolate`",
            "linear (1 axis), bilinear (2), trilinear (3), bicubic (2), or, for any number of "
            "axes, nearest, nearest-exact or area",
            f"{mode!r} for {len(x.shape) - 2} axes",
        )
    if mode == "area":
        return adaptive_avg_pool(x, size)
    for i, count in enumerate(size):
        axis, length = i + 2, x.shape[i + 2]
        scale = scales[i] if scales is not None else None
        step = length / count if scale is None else 1 / scale
        if mode.startswith("nearest"):
            shift = 0.5 if mode == "nearest-exact" else 0.0
            places = numpy.floor((numpy.arange(count) + shift) * step).astype(int)
            x = ops.take(x, numpy.minimum(places, length - 1), axis=axis)
            continue
        if align_corners:
            places = numpy.arange(count) * ((length - 1) / (count - 1) if count > 1 else 0.0)
        else:
            places = (numpy.arange(count) + 0.5) * step - 0.5
        make = _cubic if mode == "bicubic" else _linear
        x = along_axis(x, make(places, length), axis)
    return x


def _linear(places: Any, length: int) -> Any:
    places = numpy.clip(places, 0, length - 1)
    low = numpy.minimum(numpy.floor(places).astype(int), length - 1)
    return _weights([(low, 1 - (places - low)), (low + 1, places - low)], length, len(places))


def _cubic(places: Any, length: int, a: float = -0.75) -> Any:
    low = numpy.floor(places).astype(int)
    t = places - low
    taps = []
    for k in (-1, 0, 1, 2):
        d = abs(t - k)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((d - 5) * d + 8) * d * a - 4 * a
        taps.append((low + k, numpy.where(d <= 1, near, far)))
    return _weights(taps, length, len(places))


def _weights(taps: list[tuple[Any, Any]], length: int, count: int) -> Any:
    matrix = numpy.zeros((length, count))
    for rows, values in taps:
        numpy.add.at(matrix, (numpy.clip(rows, 0, length - 1), numpy.arange(count)), values)
    return matrix
