"""Rows of `pullback/ops/convolution.py` and `pooling.py`.

The references look at padded copies through windows.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import pullback as pb
from pullback.ops import convolution as c
from pullback.ops.pooling import (
    max_pool,
    max_pool_gather,
    max_pool_scatter,
    sum_pool,
    sum_pool_adjoint,
)
from tests.table import Row, real


def seen(x, windows, fill=0.0):
    """The entries of x in each window: (…, places, window)."""
    lengths, strides, padding, dilation = windows
    d = len(lengths)
    x = np.pad(x, [(0, 0)] * (x.ndim - d) + list(padding), constant_values=fill)
    wide = tuple((k - 1) * a + 1 for k, a in zip(lengths, dilation, strict=True))
    views = sliding_window_view(x, wide, axis=tuple(range(-d, 0)))
    steps = [slice(None, None, s) for s in (*strides, *dilation)]
    return views[(..., *steps)]


def convolved(x, w, windows, groups=1):
    """One group after the other, over (n, c, p, q, k, l)."""
    parts = zip(np.split(x, groups, axis=1), np.split(w, groups), strict=True)
    return np.concatenate(
        [np.einsum("ncpqkl,ockl->nopq", seen(a, windows), b) for a, b in parts], axis=1
    )


def by_transposing(linear, y, shape):
    """The transpose of a linear function at y, from its values at unit arrays of a shape."""
    units = np.eye(int(np.prod(shape)), dtype=y.dtype).reshape(-1, *shape)
    return np.array([np.sum(y * linear(u)) for u in units], y.dtype).reshape(shape)


def conv(**how):
    """A call of `conv2d` with attributes."""
    return lambda *arrays: pb.conv2d(*arrays, **how)


def windows(lengths, strides=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1)):
    return c.Windows(lengths, strides, padding, dilation)


def pooled_max(w):
    return lambda x: seen(x, w, -np.inf).max((-2, -1))


def scattered(y, x, w):
    """y at the first maximum of each window, a window at a time; w without padding."""
    total = np.zeros(x.shape, np.result_type(x, y))
    for n, ch, p, q in np.ndindex(y.shape):
        top, left = p * w.strides[0], q * w.strides[1]
        k = np.argmax(x[n, ch, top : top + w.lengths[0], left : left + w.lengths[1]])
        i, j = divmod(int(k), w.lengths[1])
        total[n, ch, top + i, left + j] += y[n, ch, p, q]
    return total


def gathered(y, x, w):
    return by_transposing(lambda u: scattered(u, x, w), y, max_pool(x, windows=w).shape)


PLAIN = windows((3, 2))
ODD = windows((3, 2), (2, 1), ((1, 2), (0, 1)), (1, 2))
SAME = windows((3, 4), (1, 1), ((1, 1), (1, 2)))
POOL = windows((2, 2), (2, 2))
LAPPED = windows((3, 3), (2, 2))
EDGED = windows((3, 2), (2, 1), ((1, 1), (0, 1)))
SIZES = (2, 2, 5, 6)

ROWS = [
    Row("convolution", lambda x, w: c.convolution(x, w, windows=ODD, groups=1),
        lambda x, w: convolved(x, w, ODD), (real(*SIZES), real(3, 2, 3, 2))),
    Row("convolution_input_adjoint",
        lambda y, w: c.convolution_input_adjoint(y, w, windows=ODD, sizes=(5, 6), groups=1),
        lambda y, w: by_transposing(lambda x: convolved(x[None], w, ODD), y, (1, 5, 6))[None],
        (real(1, 3, 3, 5), real(3, 1, 3, 2))),
    Row("convolution_weight_adjoint",
        lambda y, x: c.convolution_weight_adjoint(y, x, windows=ODD, groups=1),
        lambda y, x: by_transposing(lambda w: convolved(x, w, ODD), y, (3, 1, 3, 2)),
        (real(2, 3, 3, 5), real(2, 1, 5, 6))),
    Row("conv2d", pb.conv2d, lambda x, w, b: convolved(x, w, PLAIN) + b[:, None, None],
        (real(*SIZES), real(3, 2, 3, 2), real(3))),
    Row("conv2d", conv(stride=(2, 1), padding=((1, 2), (0, 1)), dilation=(1, 2)),
        lambda x, w: convolved(x, w, ODD), (real(*SIZES), real(3, 2, 3, 2)), label="all at once"),
    Row("conv2d", conv(padding="same"), lambda x, w: convolved(x, w, SAME),
        (real(*SIZES), real(3, 2, 3, 4)), label="same"),
    Row("conv2d", conv(groups=2), lambda x, w: convolved(x, w, PLAIN, 2),
        (real(2, 4, 4, 4), real(6, 2, 3, 2)), label="groups"),
    Row("conv2d", pb.conv2d, lambda x, w: np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]),
        (real(*SIZES), real(3, 2, 1, 1)), label="1 × 1", complex=True),
    Row("conv1d", lambda x, w, b: pb.conv1d(x, w, b, stride=2, padding=1),
        lambda x, w, b: convolved(
            x[:, :, None], w[:, :, None], windows((1, 3), (1, 2), ((0, 0), (1, 1)))
        )[:, :, 0] + b[:, None],
        (real(2, 2, 7), real(3, 2, 3), real(3))),
    Row("conv_transpose2d",
        lambda y, w, b: pb.conv_transpose2d(y, w, b, stride=2, padding=1, output_padding=1),
        lambda y, w, b: by_transposing(
            lambda x: convolved(x[None], w, windows((3, 3), (2, 2), ((1, 1), (1, 1)))), y, (2, 4, 6)
        )[None] + b[:, None, None],
        (real(1, 3, 2, 3), real(3, 2, 3, 3), real(2))),
    Row("max_pool", lambda x: max_pool(x, windows=EDGED), pooled_max(EDGED),
        (real(2, 2, 5, 4, distinct=True),)),
    Row("max_pool2d", lambda x: pb.max_pool2d(x, 2), pooled_max(POOL),
        (real(2, 1, 4, 6, distinct=True),)),
    Row("max_pool2d", lambda x: pb.max_pool2d(x, 3, stride=2), pooled_max(LAPPED),
        (real(2, 1, 5, 7, distinct=True),), label="overlapping"),
    Row("max_pool_scatter",
        lambda y, x: max_pool_scatter(y, x, max_pool(x, windows=LAPPED), windows=LAPPED),
        lambda y, x: scattered(y, x, LAPPED), (real(1, 2, 2, 3), real(1, 2, 5, 7, distinct=True))),
    Row("max_pool_gather",
        lambda y, x: max_pool_gather(y, x, max_pool(x, windows=LAPPED), windows=LAPPED),
        lambda y, x: gathered(y, x, LAPPED), (real(1, 1, 5, 5), real(1, 1, 5, 5, distinct=True))),
    Row("sum_pool", lambda x: sum_pool(x, windows=EDGED), lambda x: seen(x, EDGED).sum((-2, -1)),
        (real(2, 2, 5, 4),), complex=True),
    Row("sum_pool_adjoint", lambda y: sum_pool_adjoint(y, windows=EDGED, sizes=(5, 4)),
        lambda y: by_transposing(lambda x: seen(x, EDGED).sum((-2, -1)), y, (1, 2, 5, 4)),
        (real(1, 2, 3, 4),), complex=True),
    Row("avg_pool2d", lambda x: pb.avg_pool2d(x, (3, 2), stride=(2, 1), padding=((1, 1), (0, 1))),
        lambda x: seen(x, EDGED).mean((-2, -1)), (real(2, 2, 5, 4),), complex=True),
]
