"""Pooling over the last axes of arrays of shape (examples, channels, …).

Ties in a max pool: the first maximum, in memory order, receives the whole cotangent. Padding is
never the maximum. Pools and their adjoints are closed under differentiation, as convolutions are.
They treat channels separately, so a batch is more examples.
"""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..kinds.shapes import requested
from ..kinds.symbols import whole
from .convolution import Windows, check_rank, one_per_axis, windows_of
from .convolution_batching import merged, unmerged
from .declaring import op

__all__ = ["avg_pool2d", "max_pool2d"]


@op(native="max_pool", dtype="x")
def max_pool(x: Any, /, *, windows: Windows) -> Any:
    """The maximum of each window.

    >>> import numpy as np
    >>> max_pool(np.array([[[1.0, 3.0, 2.0]]]), windows=Windows((2,), (1,), ((0, 0),), (1,)))
    array([[[3., 3.]]])
    """


@max_pool.pullback("x")
def pullback_max_pool(g: Any, x: Any, out: Any, *, windows: Windows) -> Any:
    return max_pool_scatter(g, x, out, windows=windows)


@max_pool.pushforward("x")
def pushforward_max_pool(t: Any, x: Any, out: Any, *, windows: Windows) -> Any:
    return max_pool_gather(t, x, out, windows=windows)


@max_pool.batching
def batch_max_pool(x: Any, *, windows: Windows) -> Any:
    return unmerged(max_pool(merged(x, 0), windows=windows), 0, *x.shape[:2])


@max_pool.shaping
def shape_max_pool(x: Any, *, windows: Windows) -> Any:
    return (*x.shape[:2], *windows.outs(x.shape[2:]))


@op(native="max_pool_scatter", shape="x", dtype="y")
def max_pool_scatter(y: Any, x: Any, largest: Any, /, *, windows: Windows) -> Any:
    """y added at the position in x of each window's first maximum; linear in y.

    >>> import numpy as np
    >>> x, valid = np.array([[[1.0, 3.0, 2.0]]]), Windows((2,), (1,), ((0, 0),), (1,))
    >>> max_pool_scatter(np.array([[[5.0, 7.0]]]), x, max_pool(x, windows=valid), windows=valid)
    array([[[ 0., 12.,  0.]]])
    """


@max_pool_scatter.pullback("y")
def pullback_max_pool_scatter(g: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    return max_pool_gather(g, x, largest, windows=windows)


@max_pool_scatter.pushforward("y")
def pushforward_max_pool_scatter(t: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    return max_pool_scatter(t, x, largest, windows=windows)


@max_pool_scatter.batching
def batch_max_pool_scatter(y: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    out = max_pool_scatter(merged(y, 0), merged(x, 0), merged(largest, 0), windows=windows)
    return unmerged(out, 0, *x.shape[:2])


@op(native="max_pool_gather", shape="largest", dtype="y")
def max_pool_gather(y: Any, x: Any, largest: Any, /, *, windows: Windows) -> Any:
    """The entries of y at the position in x of each window's first maximum; linear in y.

    >>> import numpy as np
    >>> x, valid = np.array([[[1.0, 3.0, 2.0]]]), Windows((2,), (1,), ((0, 0),), (1,))
    >>> max_pool_gather(np.array([[[5.0, 7.0, 9.0]]]), x, max_pool(x, windows=valid), windows=valid)
    array([[[7., 7.]]])
    """


@max_pool_gather.pullback("y")
def pullback_max_pool_gather(g: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    return max_pool_scatter(g, x, largest, windows=windows)


@max_pool_gather.pushforward("y")
def pushforward_max_pool_gather(t: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    return max_pool_gather(t, x, largest, windows=windows)


@max_pool_gather.batching
def batch_max_pool_gather(y: Any, x: Any, largest: Any, *, windows: Windows) -> Any:
    out = max_pool_gather(merged(y, 0), merged(x, 0), merged(largest, 0), windows=windows)
    return unmerged(out, 0, *x.shape[:2])


@whole
def max_pool2d(
    x: Any, window: Any, /, *, stride: Any = None, padding: Any = 0, dilation: Any = 1
) -> Any:
    """Max pooling of x (n, c, height, width).

    stride    one int, or one per axis; the default is the window
    padding   as in `conv2d`, but smaller than the window; it is -∞ and never the maximum

    The first of several equal maxima receives the cotangent.

    >>> import numpy as np
    >>> max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """
    check_rank(x, 2, "x", "max_pool2d")
    windows = _pool_windows(x, window, stride, padding, dilation, "max_pool2d")
    return max_pool(x, windows=windows)


@op(native="sum_pool", linear=True, dtype="x")
def sum_pool(x: Any, /, *, windows: Windows) -> Any:
    """The sum of each window.

    >>> import numpy as np
    >>> sum_pool(np.array([[[1.0, 3.0, 2.0]]]), windows=Windows((2,), (1,), ((0, 0),), (1,)))
    array([[[4., 5.]]])
    """


@sum_pool.pullback("x")
def pullback_sum_pool(g: Any, shape: Any, *, windows: Windows) -> Any:
    return sum_pool_adjoint(g, windows=windows, sizes=tuple(shape[2:]))


@sum_pool.batching
def batch_sum_pool(x: Any, *, windows: Windows) -> Any:
    return unmerged(sum_pool(merged(x, 0), windows=windows), 0, *x.shape[:2])


@sum_pool.shaping
def shape_sum_pool(x: Any, *, windows: Windows) -> Any:
    return (*x.shape[:2], *windows.outs(x.shape[2:]))


@op(native="sum_pool_adjoint", linear=True, dtype="y")
def sum_pool_adjoint(y: Any, /, *, windows: Windows, sizes: tuple[int, ...]) -> Any:
    """The transpose of `sum_pool`, for an input whose last axes have lengths `sizes`.

    >>> import numpy as np
    >>> valid = Windows((2,), (1,), ((0, 0),), (1,))
    >>> sum_pool_adjoint(np.array([[[1.0, 2.0]]]), windows=valid, sizes=(3,))
    array([[[1., 3., 2.]]])
    """


@sum_pool_adjoint.pullback("y")
def pullback_sum_pool_adjoint(g: Any, *, windows: Windows) -> Any:
    return sum_pool(g, windows=windows)


@sum_pool_adjoint.batching
def batch_sum_pool_adjoint(y: Any, *, windows: Windows, sizes: tuple[int, ...]) -> Any:
    out = sum_pool_adjoint(merged(y, 0), windows=windows, sizes=sizes)
    return unmerged(out, 0, *y.shape[:2])


@sum_pool_adjoint.shaping
def shape_sum_pool_adjoint(y: Any, *, windows: Windows, sizes: Any) -> Any:
    return (*y.shape[:2], *requested(sizes))


@whole
def avg_pool2d(x: Any, window: Any, /, *, stride: Any = None, padding: Any = 0) -> Any:
    """Average pooling of x (n, c, height, width); zeros of the padding count in the mean.

    Arguments as for `max_pool2d`.

    >>> import numpy as np
    >>> avg_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]])
    """
    check_rank(x, 2, "x", "avg_pool2d")
    windows = _pool_windows(x, window, stride, padding, 1, "avg_pool2d")
    return sum_pool(x, windows=windows) / (windows.lengths[0] * windows.lengths[1])


def _pool_windows(
    x: Any, window: Any, stride: Any, padding: Any, dilation: Any, subject: str
) -> Windows:
    lengths = one_per_axis(window, 2, 1, "window", subject)
    stride = lengths if stride is None else stride
    windows = windows_of(x.shape[2:], lengths, stride, padding, dilation, subject)
    if any(max(e) >= n for e, n in zip(windows.padding, lengths, strict=True)):
        raise ArgumentError(
            f"argument `padding` of `{subject}`", f"less than the window {lengths}",
            f"{windows.padding}",
        )
    return windows
