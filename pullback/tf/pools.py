"""Pooling of `tf.nn`, and space-to-depth conversions; channels last by default."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..core.op import OPS
from ..kinds.symbols import whole
from ..ops.convolution import windows_of
from .convert import checked, operand
from .errors import invalid
from .windows import LAYOUTS, as_given, channels_first, layout_of, padding_of, spatial

__all__ = [
    "avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d", "depth_to_space", "max_pool",
    "max_pool1d", "max_pool2d", "max_pool3d", "pool", "space_to_depth",
]


@whole
def _pooled(
    x: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, dilations: Any, subject: str,
    largest: bool,
) -> Any:
    x = operand(x, "f", subject)
    layout = layout_of(data_format, x.ndim - 2, subject)
    x = channels_first(x, layout, subject)
    windows = windows_of(
        x.shape[2:], spatial(ksize, layout), spatial(strides, layout),
        padding_of(padding, layout, subject), spatial(dilations, layout), subject,
    )
    if largest:
        return as_given(OPS["max_pool"](x, windows=windows), layout)
    out = OPS["sum_pool"](x, windows=windows)
    if any(map(any, windows.padding)):
        return as_given(out / OPS["sum_pool"](ops.ones_like(x), windows=windows), layout)
    return as_given(out / math.prod(windows.lengths), layout)


def _any_rank(x: Any, subject: str) -> Any:
    x = operand(x, "f", subject)
    if x.ndim - 2 not in LAYOUTS:
        raise invalid(f"argument `input` of `{subject}`", "3, 4 or 5 axes", f"shape {x.shape}")
    return x


def _pool_function(name: str, d: int | None) -> Any:
    largest = name.startswith("max")

    def call(
        input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
        name: str | None = None,
    ) -> Any:
        subject = call.__name__
        x = _any_rank(input, subject)
        if d is not None and x.ndim != d + 2:
            raise invalid(f"argument `input` of `{subject}`", f"{d + 2} axes", f"shape {x.shape}")
        return _pooled(x, ksize, strides, padding, data_format, 1, subject, largest)

    call.__name__ = call.__qualname__ = name
    what = (
        "The maximum of each window; among equal entries the first receives the gradient"
        if largest else "The mean of each window; padding is not counted"
    )
    call.__doc__ = (
        f"{what}.\n\nksize, strides  one int, one per spatial axis, or one per axis\n"
        'padding         "SAME", "VALID", or one pair per axis'
    )
    return checked(call)


max_pool, avg_pool = _pool_function("max_pool", None), _pool_function("avg_pool", None)
max_pool1d, avg_pool1d = _pool_function("max_pool1d", 1), _pool_function("avg_pool1d", 1)
max_pool2d, avg_pool2d = _pool_function("max_pool2d", 2), _pool_function("avg_pool2d", 2)
max_pool3d, avg_pool3d = _pool_function("max_pool3d", 3), _pool_function("avg_pool3d", 3)


@checked
def pool(
    input: Any, window_shape: Any, pooling_type: str, strides: Any = None, padding: Any = "VALID",
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Any:
    """`max_pool` or `avg_pool`, chosen by name; the windows may be dilated.

    pooling_type  "MAX" or "AVG"

    >>> pool([[[1.0], [3.0]]], [2], "MAX").numpy().ravel()
    array([3.], dtype=float32)
    """
    if pooling_type not in ("MAX", "AVG"):
        raise invalid("argument `pooling_type` of `pool`", "MAX or AVG", repr(pooling_type))
    x = _any_rank(input, "pool")
    return _pooled(x, window_shape, 1 if strides is None else strides, padding, data_format,
                   1 if dilations is None else dilations, "pool", pooling_type == "MAX")


@checked
@whole
def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Moves spatial blocks to channels: (n, h, w, c) becomes (n, h/b, w/b, b² c).

    >>> space_to_depth([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2).numpy().ravel()
    array([1., 2., 3., 4.], dtype=float32)
    """
    x, b = operand(input), int(block_size)
    x = x if data_format == "NHWC" else ops.permute_dims(x, (0, 2, 3, 1))
    n, h, w, c = x.shape
    if h % b or w % b:
        raise invalid("`space_to_depth`", f"a height and width divisible by {b}", f"{h} and {w}")
    parts = ops.reshape(x, (n, h // b, b, w // b, b, c))
    out = ops.reshape(ops.permute_dims(parts, (0, 1, 3, 2, 4, 5)), (n, h // b, w // b, b * b * c))
    return out if data_format == "NHWC" else ops.permute_dims(out, (0, 3, 1, 2))


@checked
@whole
def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Moves channels to spatial blocks: the inverse of `space_to_depth`.

    >>> depth_to_space([[[[1.0, 2.0, 3.0, 4.0]]]], 2).shape
    TensorShape([1, 2, 2, 1])
    """
    x, b = operand(input), int(block_size)
    x = x if data_format == "NHWC" else ops.permute_dims(x, (0, 2, 3, 1))
    n, h, w, c = x.shape
    if c % (b * b):
        raise invalid(
            "`depth_to_space`", f"a number of channels divisible by {b * b}", f"{c} channels"
        )
    parts = ops.reshape(x, (n, h, w, b, b, c // (b * b)))
    out = ops.reshape(ops.permute_dims(parts, (0, 1, 3, 2, 4, 5)), (n, h * b, w * b, c // (b * b)))
    return out if data_format == "NHWC" else ops.permute_dims(out, (0, 3, 1, 2))
