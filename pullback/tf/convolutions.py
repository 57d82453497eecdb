"""Convolutions of `tf.nn`; channels last by default."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.op import OPS
from ..kinds.symbols import whole
from ..ops.convolution import windows_of
from .convert import checked, matched, shape_of
from .errors import invalid
from .windows import LAYOUTS, as_given, channels_first, layout_of, padding_of, spatial

__all__ = [
    "atrous_conv2d", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "conv_transpose", "convolution", "depthwise_conv2d", "separable_conv2d",
]


@whole
def _convolved(
    x: Any, w: Any, strides: Any, padding: Any, data_format: Any, dilations: Any, subject: str,
    groups: int | None = None,
) -> Any:
    x, w = matched(subject, x, w)
    layout = layout_of(data_format, w.ndim - 2, subject)
    x = channels_first(x, layout, subject)
    if groups is None:
        groups = x.shape[1] // max(1, w.shape[-2])
    last = w.ndim - 1
    w = ops.permute_dims(w, (last, last - 1, *range(last - 1)))
    if groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise invalid(f"`{subject}`", "the same number of channels in filters and input",
                      f"{w.shape[1]} and {x.shape[1]}")
    windows = windows_of(
        x.shape[2:], w.shape[2:], spatial(strides, layout), padding_of(padding, layout, subject),
        spatial(1 if dilations is None else dilations, layout), subject,
    )
    return as_given(OPS["convolution"](x, w, windows=windows, groups=groups), layout)


@checked
def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = None, name: str | None = None,
) -> Any:
    """2-D convolution of images with filters of shape (height, width, in, out).

    strides, dilations  one int, one per spatial axis, or one per axis
    padding             "SAME", "VALID", or one pair per axis
    data_format         "NHWC" or "NCHW"

    If the images have a multiple of the filters' channels, the convolution is grouped.

    >>> conv2d([[[[1.0], [2.0]]]], [[[[10.0]]]], 1, "VALID").numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    return _convolved(input, filters, strides, padding, data_format, dilations, "conv2d")


@checked
def conv1d(
    input: Any, filters: Any, stride: Any, padding: Any, data_format: str = "NWC",
    dilations: Any = None, name: str | None = None,
) -> Any:
    """1-D convolution of sequences with filters of shape (width, in, out); see `conv2d`.

    >>> conv1d([[[1.0], [2.0]]], [[[10.0]]], 1, "VALID").numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    return _convolved(input, filters, stride, padding, data_format, dilations, "conv1d")


@checked
def conv3d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    dilations: Any = None, name: str | None = None,
) -> Any:
    """3-D convolution of volumes with filters of shape (depth, height, width, in, out).

    See `conv2d`.

    >>> conv3d([[[[[1.0]]]]], [[[[[10.0]]]]], 1, "VALID").numpy().ravel()
    array([10.], dtype=float32)
    """
    return _convolved(input, filters, strides, padding, data_format, dilations, "conv3d")


@checked
def convolution(
    input: Any, filters: Any, strides: Any = None, padding: Any = "VALID",
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Any:
    """`conv1d`, `conv2d` or `conv3d`, chosen by the rank of the filters.

    >>> convolution([[[1.0], [2.0]]], [[[10.0]]]).numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    strides = 1 if strides is None else strides
    return _convolved(input, filters, strides, padding, data_format, dilations, "convolution")


@checked
def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Any:
    """Dilated convolution: `conv2d` with `rate` as the distance between filter entries.

    >>> atrous_conv2d([[[[1.0], [2.0]]]], [[[[10.0]]]], 2, "VALID").numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    return _convolved(value, filters, 1, padding, "NHWC", rate, "atrous_conv2d")


@checked
def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Any:
    """Convolves each channel separately, with filters of shape (height, width, in, multiplier).

    >>> depthwise_conv2d([[[[1.0, 2.0]]]], [[[[3.0], [4.0]]]], 1, "VALID").numpy().ravel()
    array([3., 8.], dtype=float32)
    """
    input, filter = matched("depthwise_conv2d", input, filter)
    height, width, channels, many = filter.shape
    filters = ops.reshape(filter, (height, width, 1, channels * many))
    return _convolved(input, filters, strides, padding, data_format or "NHWC", dilations,
                      "depthwise_conv2d", channels)


@checked
def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any,
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Any:
    """`depthwise_conv2d` followed by a 1×1 convolution with filters of shape (1, 1, in, out).

    >>> separable_conv2d([[[[2.0]]]], [[[[3.0]]]], [[[[5.0]]]], 1, "VALID").numpy().ravel()
    array([30.], dtype=float32)
    """
    middle = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(middle, pointwise_filter, 1, "VALID", data_format or "NHWC")


# Transposed convolutions ------------------------------------------------------------------------


@whole
def _transposed(
    x: Any, w: Any, output_shape: Any, strides: Any, padding: Any, data_format: Any,
    dilations: Any, subject: str,
) -> Any:
    x, w = matched(subject, x, w)
    layout = layout_of(data_format, w.ndim - 2, subject)
    x = channels_first(x, layout, subject)
    last = w.ndim - 1
    w = ops.permute_dims(w, (last, last - 1, *range(last - 1)))  # (in, out, …): x has `in` channels
    sizes = shape_of(output_shape)
    if len(sizes) == len(layout):
        sizes = sizes[1:-1] if layout[1] != "C" else sizes[2:]
    windows = windows_of(
        sizes, w.shape[2:], spatial(strides, layout), padding_of(padding, layout, subject),
        spatial(1 if dilations is None else dilations, layout), subject,
    )
    if x.shape[1] != w.shape[0] or windows.outs(sizes) != tuple(x.shape[2:]):
        raise invalid(f"`{subject}`", f"an output_shape whose convolution has shape {x.shape}, "
                      f"{w.shape[0]} channels", f"{output_shape}")
    out = OPS["convolution_input_adjoint"](x, w, windows=windows, sizes=tuple(sizes), groups=1)
    return as_given(out, layout)


@checked
def conv2d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
    data_format: str = "NHWC", dilations: Any = None, name: str | None = None,
) -> Any:
    """Transposed 2-D convolution, with filters of shape (height, width, out, in).

    output_shape  the shape of the result, or its height and width: strides leave it ambiguous

    >>> conv2d_transpose([[[[1.0]]]], [[[[10.0]]]], [1, 1, 1, 1], 1).numpy().ravel()
    array([10.], dtype=float32)
    """
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations,
                       "conv2d_transpose")


@checked
def conv1d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
    data_format: str = "NWC", dilations: Any = None, name: str | None = None,
) -> Any:
    """Transposed 1-D convolution; see `conv2d_transpose`.

    >>> conv1d_transpose([[[1.0]]], [[[10.0]]], [1, 1, 1], 1).numpy().ravel()
    array([10.], dtype=float32)
    """
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations,
                       "conv1d_transpose")


@checked
def conv3d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
    data_format: str = "NDHWC", dilations: Any = None, name: str | None = None,
) -> Any:
    """Transposed 3-D convolution; see `conv2d_transpose`.

    >>> conv3d_transpose([[[[[1.0]]]]], [[[[[10.0]]]]], [1, 1, 1, 1, 1], 1).numpy().ravel()
    array([10.], dtype=float32)
    """
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations,
                       "conv3d_transpose")


@checked
def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Any:
    """Transposed convolution, of the number of axes that the filters have; see `conv2d_transpose`.

    >>> conv_transpose([[[1.0]]], [[[10.0]]], [1, 1, 1], 1).numpy().ravel()
    array([10.], dtype=float32)
    """
    data_format = data_format or LAYOUTS[len(shape_of(output_shape)) - 2][0]
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations,
                       "conv_transpose")
