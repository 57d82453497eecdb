"""Rows of `pullback/ops/selecting.py`."""

from __future__ import annotations

import numpy as np

import pullback as pb
from pullback.ops.selecting import larger_share
from tests.table import Row, Sample, bools, real

# Bounds that no entry of the samples comes near: kinks have tests of their own.
LOW, HIGH = Sample((2, 3), low=-1.3, high=-0.8), Sample((2, 3), low=0.8, high=1.3)
KINKS = tuple(sign * (0.8 + 0.1 * k) for sign in (-1, 1) for k in range(6))
OFF_BOUNDS = Sample((2, 3), away=KINKS)


def apart(rng: np.random.Generator) -> np.ndarray:
    """Numbers off the grid of multiples of 1/2, where those of `grid` are."""
    return rng.integers(-4, 4, (2, 3)) / 2 + 0.25


def grid(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-3, 3, (2, 3)) / 2


ROWS = [
    Row("where", pb.where, np.where, (bools(2, 3), real(2, 3), real(2, 3)), broadcast=True,
        complex=True),
    Row("maximum", pb.maximum, np.maximum, (Sample((2, 3), make=apart), Sample((2, 3), make=grid))),
    Row("minimum", pb.minimum, np.minimum, (Sample((2, 3), make=grid), Sample((2, 3), make=apart))),
    Row("larger_share", larger_share, lambda x, a, b: np.where(a > b, x, x * 0),
        (real(2, 3), Sample((2, 3), make=apart), Sample((2, 3), make=grid))),
    Row("larger_share", larger_share, lambda x, a, b: np.where(a > b, x, x * 0),
        (real(40, 30), real(40, 30, low=0.1), real(40, 30, high=-0.1)), "large"),
    Row("clip", pb.clip, np.clip, (OFF_BOUNDS, LOW, HIGH), broadcast=True),
    Row("clip", lambda x: pb.clip(x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0),
        (real(2, 3, away=(-1.0, 1.0)),), "numbers"),
    Row("clip", lambda x: pb.clip(x, min=0), lambda x: np.clip(x, 0, None),
        (real(2, 3, away=(0.0,)),), "min"),
    Row("clip", lambda x, high: pb.clip(x, None, high), lambda x, high: np.clip(x, None, high),
        (Sample((2, 3), make=apart), Sample((2, 3), make=grid)), "max"),
    Row("clip", lambda x, low, high: pb.clip(x, low, high),
        lambda x, low, high: np.clip(x, low, high), (real(2, 3), HIGH, LOW), "bounds crossed"),
]
