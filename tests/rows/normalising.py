"""Rows of `pullback/ops/normalising.py`; the references divide by the standard deviation."""

import numpy as np

import pullback as pb
from pullback.ops.normalising import normalise
from tests.table import Row, positive, real


def standardised(x, axes, eps=1e-5):
    mean = x.mean(axes, keepdims=True)
    # Σ x² / n - mean²: no `var`, which takes absolute values, so that complex steps go through.
    return (x - mean) / np.sqrt((x * x).mean(axes, keepdims=True) - mean * mean + eps)


def layer(x, w, b):
    return standardised(x, -1) * w + b


def root_mean_square(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w


def channels(v):
    return v[:, None]


ROWS = [
    Row("normalise", lambda x: normalise(x, axes=(0, 2), eps=0.1),
        lambda x: standardised(x, (0, 2), 0.1), (real(3, 2, 4),), analytic=True),
    Row("normalise", lambda x: normalise(x, axes=(1,), eps=0.1, centred=False),
        lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 0.1), (real(3, 4),),
        label="not centred", analytic=True),
    Row("layer_norm", pb.layer_norm, layer, (real(3, 5), real(5), real(5)), analytic=True),
    Row("layer_norm", lambda x: pb.layer_norm(x, axes=(-2, -1)),
        lambda x: standardised(x, (1, 2)), (real(2, 3, 4),), label="two axes", analytic=True),
    Row("rms_norm", pb.rms_norm, root_mean_square, (real(3, 5), real(5)), analytic=True),
    Row("batch_norm", pb.batch_norm,
        lambda x, w, b: standardised(x, (0, 2)) * channels(w) + channels(b),
        (real(4, 3, 2), real(3), real(3)), label="training", analytic=True),
    Row("batch_norm", lambda x, w, b, m, v: pb.batch_norm(x, w, b, mean=m, variance=v),
        lambda x, w, b, m, v: (x - channels(m)) / np.sqrt(channels(v) + 1e-5) * channels(w)
        + channels(b),
        (real(4, 3, 2), real(3), real(3), real(3), positive(3)), label="evaluation",
        analytic=True, float32_tolerance=1e-4),
    Row("batch_norm", lambda x: pb.batch_norm(x, axis=-1),
        lambda x: standardised(x, (0, 1)), (real(4, 3, 2),), label="last axis", analytic=True),
    Row("batch_statistics", pb.batch_statistics, lambda x: (x.mean((0, 2)), x.var((0, 2))),
        (real(4, 3, 2),), differentiable=False),
]
