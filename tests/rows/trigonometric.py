"""Rows of `pullback/ops/trigonometric.py`."""

import numpy as np

import pullback as pb
from tests.table import Row, positive, real

INSIDE = real(2, 3, low=-0.8, high=0.8)

ROWS = [
    Row("sin", pb.sin, np.sin, (real(2, 3),), complex=True, analytic=True),
    Row("cos", pb.cos, np.cos, (real(2, 3),), complex=True, analytic=True),
    Row("tan", pb.tan, np.tan, (INSIDE,), complex=True, analytic=True),
    Row("asin", pb.asin, np.asin, (INSIDE,), complex=True, analytic=True),
    Row("acos", pb.acos, np.acos, (INSIDE,), complex=True, analytic=True),
    Row("atan", pb.atan, np.atan, (INSIDE,), complex=True, analytic=True),
    Row("atan2", pb.atan2, np.atan2, (real(2, 3, away=(0.0,)), real(2, 3, away=(0.0,))),
        broadcast=True),
    Row("sinh", pb.sinh, np.sinh, (real(2, 3),), complex=True, analytic=True),
    Row("cosh", pb.cosh, np.cosh, (real(2, 3),), complex=True, analytic=True),
    Row("tanh", pb.tanh, np.tanh, (INSIDE,), complex=True, analytic=True),
    Row("asinh", pb.asinh, np.asinh, (INSIDE,), complex=True, analytic=True),
    Row("acosh", pb.acosh, np.acosh, (positive(2, 3, low=1.3),), complex=True, analytic=True),
    Row("atanh", pb.atanh, np.atanh, (INSIDE,), complex=True, analytic=True),
]
