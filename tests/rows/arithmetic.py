"""Rows of `pullback/ops/arithmetic.py`."""

import numpy as np

import pullback as pb
from pullback.ops.arithmetic import product_or_zero
from tests.table import Row, positive, real

NEAR_5_HALVES = real(2, 3, low=2.1, high=2.9)  # whose quotients with what is near 7/4 lie
NEAR_7_QUARTERS = real(2, 3, low=1.5, high=2.0)  # between 1 and 2, away from the jumps
NEGATIVE = real(2, 3, low=-2.9, high=-2.1)
AWAY_FROM_0 = real(2, 3, away=(0.0,))


def unit(x):
    return x / np.abs(x)


ROWS = [
    Row("add", pb.add, np.add, (real(2, 3), real(2, 3)), broadcast=True, complex=True,
        analytic=True),
    Row("subtract", pb.subtract, np.subtract, (real(2, 3), real(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("multiply", pb.multiply, np.multiply, (real(2, 3), real(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("negative", pb.negative, np.negative, (real(2, 3),), complex=True, analytic=True),
    Row("positive", pb.positive, np.positive, (real(2, 3),), complex=True, analytic=True),
    Row("divide", pb.divide, np.divide, (real(2, 3), positive(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("divide", lambda x: pb.divide(x, 4.0), lambda x: x / 4, (real(2, 3),),
        label="by a number", complex=True, analytic=True),
    Row("divide", lambda x: pb.divide(2, x), lambda x: 2 / x, (positive(40, 30),),
        label="of a number", complex=True, analytic=True),
    Row("quotient", pb.quotient, np.divide, (real(2, 3), positive(2, 3)), broadcast=True,
        complex=True, analytic=True),
    Row("quotient", pb.quotient, np.divide, (real(40, 30), positive(40, 30)), label="large",
        complex=True, analytic=True),
    Row("product_or_zero", product_or_zero, np.multiply, (real(2, 3), real(2, 3)),
        broadcast=True, complex=True, analytic=True),
    Row("reciprocal", pb.reciprocal, np.reciprocal, (positive(2, 3),), complex=True,
        analytic=True),
    Row("floor_divide", pb.floor_divide, np.floor_divide, (NEAR_5_HALVES, NEAR_7_QUARTERS),
        broadcast=True),
    Row("remainder", pb.remainder, np.remainder, (NEAR_5_HALVES, NEAR_7_QUARTERS),
        broadcast=True),
    Row("remainder", pb.remainder, np.remainder, (NEGATIVE, NEAR_7_QUARTERS), broadcast=True,
        label="of negative numbers"),
    Row("remainder", pb.remainder, np.remainder, (NEAR_7_QUARTERS, NEGATIVE), broadcast=True,
        label="by negative numbers"),
    Row("abs", pb.abs, np.abs, (AWAY_FROM_0,), complex=True),
    Row("sign", pb.sign, unit, (AWAY_FROM_0,), complex=True),
    Row("signbit", pb.signbit, np.signbit, (real(2, 3),), differentiable=False),
    Row("copysign", pb.copysign, np.copysign, (AWAY_FROM_0, AWAY_FROM_0), broadcast=True),
    Row("nextafter", pb.nextafter, np.nextafter, (real(2, 3), real(2, 3)), broadcast=True),
]
