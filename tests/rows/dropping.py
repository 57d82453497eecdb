"""Rows of `pullback/ops/dropout_.py`."""

import numpy as np

import pullback as pb
from tests.table import Row, ints, real


def dropped(x):
    kept = np.random.Generator(np.random.PCG64(5)).random((3, 4)) < 0.6
    return x * (kept / 0.6).astype(x.dtype)


ROWS = [
    Row("dropout", lambda x: pb.dropout(x, 0.4, generator=pb.random.Generator(5)), dropped,
        (real(3, 4),), analytic=True),
    Row("embedding", pb.embedding, lambda w, i: w[i], (real(4, 3), ints(2, 5, high=3))),
]
