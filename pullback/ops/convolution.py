"""Convolution over the last axes of arrays of shape (examples, channels, …).

Convolution means cross-correlation, as in all neural network libraries: the window is not flipped.
It is linear in its input and in its weights. It and its two adjoints are closed under
differentiation, so the three are operations whose rules are each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import ArgumentError, ShapeError
from ..kinds.shapes import requested
from ..kinds.symbols import whole
from .arithmetic import multiply
from .declaring import op
from .shaping import reshape

__all__ = ["conv1d", "conv2d", "conv_transpose2d"]


class Windows(NamedTuple):
    """The windows of a convolution or pool: one number (or pair) for each of the last axes."""

    lengths: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]  # before and after
    dilation: tuple[int, ...]

    def outs(self, sizes: Any) -> tuple[Any, ...]:
        """The number of windows on each axis: the output lengths; None for an unknown length."""
        return tuple(
            None if size is None else (size + sum(ends) - apart * (length - 1) - 1) // stride + 1
            for size, length, stride, ends, apart in zip(sizes, *self, strict=True)
        )


# The three forms of a convolution: each sums the products of two of (g, w, x) over all windows.


@op(native="convolution", linear=True, dtype=multiply)
def convolution(x: Any, w: Any, /, *, windows: Windows, groups: int) -> Any:
    """out[n, o, p] = Σ w[o, c, k] · x[n, c, p · stride + k · dilation - padding].

    >>> import numpy as np
    >>> x, w = np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2))
    >>> convolution(x, w, windows=Windows((2,), (1,), ((0, 0),), (1,)), groups=1)
    array([[[1., 3., 5.]]])
    """


@convolution.pullback("x")
def pullback_convolution_x(g: Any, w: Any, shape: Any, *, windows: Windows, groups: int) -> Any:
    sizes = tuple(shape[2:])
    return convolution_input_adjoint(g, w, windows=windows, sizes=sizes, groups=groups)


@convolution.pullback("w")
def pullback_convolution_w(g: Any, x: Any, *, windows: Windows, groups: int) -> Any:
    return convolution_weight_adjoint(g, x, windows=windows, groups=groups)


@convolution.collapsing("w")
def collapse_convolution_w(g: Any, x: Any, *, windows: Windows, groups: int) -> Any:
    return pullback_convolution_w(_joined(g), _joined(x), windows=windows, groups=groups)


@convolution.shaping
def shape_convolution(x: Any, w: Any, *, windows: Windows, groups: int) -> Any:
    return (x.shape[0], w.shape[0], *windows.outs(x.shape[2:]))


def _joined(x: Any) -> Any:
    """The first two axes merged into one."""
    return reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


@op(native="convolution_input_adjoint", linear=True, dtype=multiply)
def convolution_input_adjoint(
    y: Any, w: Any, /, *, windows: Windows, sizes: tuple[int, ...], groups: int
) -> Any:
    """The transpose of `convolution` in its input, whose last axes have lengths `sizes`.

    >>> import numpy as np
    >>> y, w = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    >>> valid = Windows((2,), (1,), ((0, 0),), (1,))
    >>> convolution_input_adjoint(y, w, windows=valid, sizes=(4,), groups=1)
    array([[[1., 2., 2., 1.]]])
    """


@convolution_input_adjoint.pullback("y")
def pullback_convolution_input_adjoint_y(g: Any, w: Any, *, windows: Windows, groups: int) -> Any:
    return convolution(g, w, windows=windows, groups=groups)


@convolution_input_adjoint.pullback("w")
def pullback_convolution_input_adjoint_w(g: Any, y: Any, *, windows: Windows, groups: int) -> Any:
    return convolution_weight_adjoint(y, g, windows=windows, groups=groups)


@convolution_input_adjoint.collapsing("w")
def collapse_convolution_input_adjoint_w(g: Any, y: Any, *, windows: Windows, groups: int) -> Any:
    return convolution_weight_adjoint(_joined(y), _joined(g), windows=windows, groups=groups)


@convolution_input_adjoint.shaping
def shape_convolution_input_adjoint(
    y: Any, w: Any, *, windows: Windows, sizes: Any, groups: int
) -> Any:
    channels = None if w.shape[1] is None else w.shape[1] * groups
    return (y.shape[0], channels, *requested(sizes))


@op(native="convolution_weight_adjoint", linear=True, dtype=multiply)
def convolution_weight_adjoint(y: Any, x: Any, /, *, windows: Windows, groups: int) -> Any:
    """The transpose of `convolution` in its weights.

    >>> import numpy as np
    >>> y, x = np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 1, 4)
    >>> valid = Windows((2,), (1,), ((0, 0),), (1,))
    >>> convolution_weight_adjoint(y, x, windows=valid, groups=1)
    array([[[3., 6.]]])
    """


@convolution_weight_adjoint.pullback("y")
def pullback_convolution_weight_adjoint_y(g: Any, x: Any, *, windows: Windows, groups: int) -> Any:
    return convolution(x, g, windows=windows, groups=groups)


@convolution_weight_adjoint.pullback("x")
def pullback_convolution_weight_adjoint_x(
    g: Any, y: Any, shape: Any, *, windows: Windows, groups: int
) -> Any:
    sizes = tuple(shape[2:])
    return convolution_input_adjoint(y, g, windows=windows, sizes=sizes, groups=groups)


@convolution_weight_adjoint.shaping
def shape_convolution_weight_adjoint(
    y: Any, x: Any, *, windows: Windows, groups: int
) -> Any:
    channels = None if x.shape[1] is None else x.shape[1] // groups
    return (y.shape[1], channels, *windows.lengths)


@whole
def conv1d(
    x: Any, w: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    """1-D convolution of x (n, c, length) with w (o, c / groups, k), plus bias (o); see `conv2d`.

    >>> import numpy as np
    >>> conv1d(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2)))
    array([[[1., 3., 5.]]])
    """
    return _convolved(x, w, bias, stride, padding, dilation, groups, "conv1d", 1)


@whole
def conv2d(
    x: Any, w: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:
    """2-D convolution of x (n, c, height, width) with w (o, c / groups, k, l), plus bias (o).

    stride, dilation  one int, or one per axis: the step between windows, and within a window
    padding           zeros around x: one int, one per axis, a pair (before, after) per axis,
                      "valid" (none), or "same": output length ⌈length / stride⌉
    groups            each output channel uses only the input channels of its own group

    Raises `ShapeError` for shapes that do not match, `ArgumentError` for an invalid option.

    >>> import numpy as np
    >>> x, w = np.arange(9.0).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2))
    >>> conv2d(x, w, np.array([100.0]))
    array([[[[108., 112.],
             [120., 124.]]]])
    """
    return _convolved(x, w, bias, stride, padding, dilation, groups, "conv2d", 2)


def _convolved(
    x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, subject: str,
    d: int,
) -> Any:
    check_rank(x, d, "x", subject)
    check_rank(w, d, "w", subject)
    if groups < 1 or w.shape[0] % groups or x.shape[1] != w.shape[1] * groups:
        raise ShapeError(
            f"`{subject}` with groups={groups}",
            "x of shape (n, c, …) and w of shape (o, c / groups, …), o a multiple of groups",
            f"{tuple(x.shape)} and {tuple(w.shape)}",
        )
    windows = windows_of(x.shape[2:], w.shape[2:], stride, padding, dilation, subject)
    return _biased(convolution(x, w, windows=windows, groups=groups), bias, subject)


@whole
def conv_transpose2d(
    x: Any, w: Any, bias: Any = None, /, *, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:
    """The transpose of `conv2d` in its input, for x (n, o, height, width), w (o, c / groups, k, l).

    output_padding  entries added at the end of each axis, to choose among the input lengths that
                    a strided convolution maps to one output length

    >>> import numpy as np
    >>> conv_transpose2d(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 2)), stride=2)
    array([[[[1., 1., 1., 1.]]]])
    """
    subject, d = "conv_transpose2d", 2
    check_rank(x, d, "x", subject)
    check_rank(w, d, "w", subject)
    if groups < 1 or x.shape[1] % groups or x.shape[1] != w.shape[0]:
        raise ShapeError(
            f"`{subject}` with groups={groups}",
            "x of shape (n, o, …) and w of shape (o, c / groups, …), o a multiple of groups",
            f"{tuple(x.shape)} and {tuple(w.shape)}",
        )
    strides = one_per_axis(stride, d, 1, "stride", subject)
    apart = one_per_axis(dilation, d, 1, "dilation", subject)
    ends = _padding(padding, d, subject)
    extra = one_per_axis(output_padding, d, 0, "output_padding", subject)
    lengths = tuple(w.shape[2:])
    sizes = tuple(
        (n - 1) * s - sum(p) + a * (k - 1) + e + 1
        for n, s, p, a, k, e in zip(x.shape[2:], strides, ends, apart, lengths, extra, strict=True)
    )
    windows = Windows(lengths, strides, ends, apart)
    if min(sizes) < 1 or windows.outs(sizes) != tuple(x.shape[2:]):
        raise ArgumentError(
            f"argument `output_padding` of `{subject}`", f"less than the stride {strides}",
            f"{extra}",
        )
    out = convolution_input_adjoint(x, w, windows=windows, sizes=sizes, groups=groups)
    return _biased(out, bias, subject)


# Arguments --------------------------------------------------------------------------------------


def windows_of(
    sizes: Any, lengths: Any, stride: Any, padding: Any, dilation: Any, subject: str
) -> Windows:
    """The windows described by a user's arguments, after validation."""
    d = len(lengths)
    strides = one_per_axis(stride, d, 1, "stride", subject)
    apart = one_per_axis(dilation, d, 1, "dilation", subject)
    if padding == "same":
        ends = _same(sizes, lengths, strides, apart)
    else:
        ends = _padding(0 if padding == "valid" else padding, d, subject)
    windows = Windows(tuple(lengths), strides, ends, apart)
    known = tuple([max(lengths) * max(apart) if n is None else n for n in sizes])
    if min(lengths) < 1 or min(windows.outs(known)) < 1:
        raise ShapeError(
            f"`{subject}`", f"windows of length ≥ 1 that fit into {tuple(sizes)} plus padding",
            f"windows of {tuple(lengths)}, padding {ends}, dilation {apart}",
        )
    return windows


def _same(sizes: Any, lengths: Any, strides: Any, apart: Any) -> tuple[tuple[int, int], ...]:
    ends = []
    for size, length, stride, a in zip(sizes, lengths, strides, apart, strict=True):
        reach = a * (length - 1)
        total = reach
        if stride > 1:
            total = max(0, (-(-size // stride) - 1) * stride + reach + 1 - size)
        ends.append((total // 2, total - total // 2))
    return tuple(ends)


def one_per_axis(value: Any, d: int, least: int, name: str, subject: str) -> tuple[int, ...]:
    """One integer per axis."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * d
    if len(given) != d or not all(isinstance(n, int) and n >= least for n in given):
        raise ArgumentError(
            f"argument `{name}` of `{subject}`", f"an integer ≥ {least}, or {d} of them",
            f"{value!r}",
        )
    return given


def _padding(value: Any, d: int, subject: str) -> tuple[tuple[int, int], ...]:
    """One pair per axis."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * d
    pairs = tuple(tuple(n) if isinstance(n, (tuple, list)) else (n, n) for n in given)
    fits = len(pairs) == d and all(len(pair) == 2 for pair in pairs)
    if not fits or not all(isinstance(n, int) and n >= 0 for pair in pairs for n in pair):
        raise ArgumentError(
            f"argument `padding` of `{subject}`",
            f"an integer ≥ 0, {d} of them, {d} pairs, 'same' or 'valid'", f"{value!r}",
        )
    return pairs


def check_rank(x: Any, d: int, name: str, subject: str) -> None:
    if len(x.shape) != d + 2:
        raise ShapeError(
            f"argument `{name}` of `{subject}`", f"{d + 2} axes", f"shape {tuple(x.shape)}",
            "add an axis of examples with expand_dims" if name == "x" else "",
        )


def _biased(out: Any, bias: Any, subject: str) -> Any:
    if bias is None:
        return out
    if tuple(bias.shape) != out.shape[1:2]:
        raise ShapeError(
            f"argument `bias` of `{subject}`",
            f"shape ({out.shape[1]},)",
            f"shape {tuple(bias.shape)}",
        )
    return out + reshape(bias, (-1,) + (1,) * (len(out.shape) - 2))


from . import convolution_batching as convolution_batching  # noqa: E402  # rules for `vmap`
