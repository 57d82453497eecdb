"""Rows of `pullback/ops/exponential.py`."""

import math

import numpy as np

import pullback as pb
from tests.table import Row, ints, positive, real

ROWS = [
    Row("exp", pb.exp, np.exp, (real(2, 3),), complex=True, analytic=True),
    Row("exp2", pb.exp2, np.exp2, (real(2, 3),)),
    Row("expm1", pb.expm1, np.expm1, (real(2, 3),), complex=True, analytic=True),
    Row("log", pb.log, np.log, (positive(2, 3),), complex=True, analytic=True),
    Row("log1p", pb.log1p, np.log1p, (positive(2, 3, low=-0.6),), complex=True, analytic=True),
    Row("log2", pb.log2, np.log2, (positive(2, 3),), complex=True, analytic=True),
    Row("log10", pb.log10, np.log10, (positive(2, 3),), complex=True, analytic=True),
    Row("logaddexp", pb.logaddexp, np.logaddexp, (real(2, 3), real(2, 3)), broadcast=True),
    Row("logaddexp", lambda x: pb.logaddexp(x, 0.5), lambda x: np.log(np.exp(x) + math.exp(0.5)),
        (real(2, 3),), label="with a number", analytic=True),
    Row("pow", pb.pow, np.power, (positive(2, 3), real(2, 3)), broadcast=True, complex=True,
        analytic=True),
    Row("pow", pb.pow, np.power, (real(2, 3, away=(0.0,)), ints(2, 3, low=-3)), broadcast=True,
        label="array of whole numbers", complex=True, analytic=True),
    Row("pow", lambda x: pb.pow(x, 2), lambda x: x * x, (real(2, 3),), label="2", complex=True,
        analytic=True),
    Row("pow", lambda x: pb.pow(x, 3), lambda x: x * x * x, (real(2, 3),), label="3",
        complex=True, analytic=True),
    Row("pow", lambda x: pb.pow(x, -2.0), lambda x: 1 / (x * x), (real(2, 3, away=(0.0,)),),
        label="-2", complex=True, analytic=True),
    Row("pow", lambda x: pb.pow(x, 0), lambda x: 1 + 0 * x, (real(2, 3),), label="0",
        complex=True, analytic=True),
    Row("pow", lambda x: pb.pow(x, 0.5), np.sqrt, (positive(2, 3),), label="half", complex=True,
        analytic=True),
    Row("pow", lambda x: pb.pow(x, 1 - 0.5j), lambda x: x ** (1 - 0.5j), (positive(2, 3),),
        label="complex number"),
    Row("pow", lambda y: pb.pow(2.0, y), np.exp2, (real(2, 3),), label="of 2"),
    Row("square", pb.square, np.square, (real(2, 3),), complex=True, analytic=True),
    Row("sqrt", pb.sqrt, np.sqrt, (positive(2, 3),), complex=True, analytic=True),
    Row("rsqrt", pb.rsqrt, lambda x: 1 / np.sqrt(x), (positive(2, 3),), complex=True,
        analytic=True),
    Row("cbrt", pb.cbrt, np.cbrt, (real(2, 3, away=(0.0,)),)),
    Row("hypot", pb.hypot, np.hypot, (real(2, 3), positive(2, 3)), broadcast=True),
]
