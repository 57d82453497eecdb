"""Rows of `pullback/ops/arithmetic.py`."""

import numpy as np

import pullback as pb
from tests.table import Row, real

ROWS = [
    Row("add", pb.add, np.add, (real(2, 3), real(2, 3)), broadcast=True, complex=True,
        analytic=True),
    Row("subtract", pb.subtract, np.subtract, (real(2, 3), real(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("multiply", pb.multiply, np.multiply, (real(2, 3), real(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("negative", pb.negative, np.negative, (real(2, 3),), complex=True, analytic=True),
]
