"""Rows of `pullback/ops/comparing.py`."""

import numpy as np

import pullback as pb
from tests.table import Row, Sample, bools, ints, real

SMALL = ints(2, 3, dtype="float64")  # floats that are often equal
BITS = ints(2, 3, low=-9, high=9)
PLACES = ints(2, 3, low=0, high=5)
ODD = Sample((6,), make=lambda rng: rng.permutation([0.0, -1.5, np.inf, -np.inf, np.nan, 1e30]))

ROWS = [
    *(
        Row(name, getattr(pb, name), getattr(np, name), args, label=label, broadcast=broadcast,
            differentiable=False)
        for names, args, label, broadcast in (
            ("equal not_equal less less_equal greater greater_equal", (SMALL, SMALL), "", True),
            ("equal not_equal less less_equal greater greater_equal", (ODD, ODD), "odd", False),
            ("isfinite isinf isnan", (ODD,), "", False),
            ("logical_and logical_or logical_xor", (bools(2, 3), bools(2, 3)), "", True),
            ("logical_not", (bools(2, 3),), "", True),
            ("bitwise_and bitwise_or bitwise_xor", (BITS, BITS), "", True),
            ("bitwise_and bitwise_or bitwise_xor", (bools(2, 3), bools(2, 3)), "booleans", True),
            ("bitwise_left_shift bitwise_right_shift", (BITS, PLACES), "", True),
            ("bitwise_invert", (BITS,), "", True),
            ("bitwise_invert", (bools(2, 3),), "booleans", True),
        )
        for name in names.split()
    ),
    Row("equal", pb.equal, np.equal, (real(2, 3), real(2, 3)), label="complex", complex=True,
        differentiable=False),
    Row("isfinite", pb.isfinite, np.isfinite, (real(2, 3),), label="complex", complex=True,
        differentiable=False),
]
