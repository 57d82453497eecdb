"""Rows of `pullback/ops/rounding.py`."""

import numpy as np

import pullback as pb
from tests.table import Row, real

WHOLE = (-2.0, -1.0, 0.0, 1.0, 2.0)
HALVES = (-1.5, -0.5, 0.5, 1.5)

ROWS = [
    Row("floor", pb.floor, np.floor, (real(2, 3, away=WHOLE),)),
    Row("ceil", pb.ceil, np.ceil, (real(2, 3, away=WHOLE),)),
    Row("trunc", pb.trunc, np.trunc, (real(2, 3, away=WHOLE),)),
    Row("round", pb.round, np.round, (real(2, 3, away=HALVES),), complex=False),
    Row("identity", pb.identity, np.array, (real(2, 3),), complex=True, analytic=True),
    Row("stop_gradient", pb.stop_gradient, lambda x: x, (real(2, 3),), complex=True,
        differentiable=False),
]
