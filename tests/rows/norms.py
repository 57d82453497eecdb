"""Rows of `pullback/ops/norms.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, Sample, real

APART = real(2, 3, 4, distinct=True, low=0.3, high=4.0)


def norm(sample: Sample, **how: Any) -> Row:
    """A row of `vector_norm` with its attributes given."""
    return Row("vector_norm", lambda x: pb.vector_norm(x, **how),
               lambda x: np.linalg.vector_norm(x, **how), (sample,),
               ", ".join([str(sample.shape), *(f"{k}={v}" for k, v in how.items())]), complex=True)


ROWS = [
    norm(real(2, 3, 4)),
    norm(real(2, 3, 4), axis=1),
    norm(real(2, 3, 4), axis=(0, -1), keepdims=True),
    norm(real(2, 3, 4), keepdims=True, ord=3),
    norm(real()),
    norm(real(0)),
    norm(real(2, 0), axis=1, ord=1),
    norm(real(0, 2), axis=1, ord=math.inf),
    *(norm(real(2, 4, away=(0.0,)), axis=-1, ord=p) for p in (0, 1, 1.5, 2.5, 3, 4, 0.5, -1)),
    *(norm(APART, axis=(1, 2), ord=p) for p in (math.inf, -math.inf)),
    norm(APART, ord=math.inf, keepdims=True),
    norm(APART, axis=0, ord=-math.inf),
]
