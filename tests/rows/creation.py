"""Rows of those functions in `pullback/ops/creation.py` that begin with an array."""

import numpy as np

import pullback as pb
from tests.table import Row, real

ROWS = [
    Row("zeros_like", pb.zeros_like, np.zeros_like, (real(2, 3),), complex=True,
        differentiable=False),
    Row("ones_like", pb.ones_like, np.ones_like, (real(2, 3),), complex=True,
        differentiable=False),
    Row("ones_like", lambda x: pb.ones_like(x, dtype=pb.int32),
        lambda x: np.ones_like(x, dtype="int32"), (real(),), "dtype", differentiable=False),
    Row("empty_like", lambda x: pb.zeros_like(pb.empty_like(x)), np.zeros_like, (real(2, 3),),
        complex=True, differentiable=False),
    Row("full_like", lambda x: pb.full_like(x, 3.5), lambda x: np.full_like(x, 3.5),
        (real(2, 3),), complex=True, differentiable=False),
    Row("tril", pb.tril, np.tril, (real(3, 3),), complex=True, analytic=True),
    Row("tril", lambda x: pb.tril(x, k=-1), lambda x: np.tril(x, k=-1), (real(2, 3, 4),), "k=-1",
        complex=True, analytic=True),
    Row("triu", pb.triu, np.triu, (real(3, 3),), complex=True, analytic=True),
    Row("triu", lambda x: pb.triu(x, k=1), lambda x: np.triu(x, k=1), (real(2, 4, 3),), "k=1",
        complex=True, analytic=True),
]
