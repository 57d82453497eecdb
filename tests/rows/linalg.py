"""Rows of `pullback/ops/linalg.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, constant, real

SHAPES = [
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)),
    ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1,)), ((0, 0), (0, 2)), ((2, 2), (2, 0)),
]


def solve(*shapes: tuple[int, ...]) -> Row:
    """On matrices with so large a diagonal that they are regular."""
    unit = 9.0 * np.eye(shapes[0][-1])

    def call(a: Any, b: Any) -> Any:
        return pb.linalg.solve(a + constant(unit, a), b)

    def reference(a: Any, b: Any) -> Any:
        return np.linalg.solve(a + unit.astype(a.dtype), b)

    return Row("solve", call, reference, tuple(real(*s) for s in shapes), str(shapes), complex=True)


ROWS = [solve(*shapes) for shapes in SHAPES]
