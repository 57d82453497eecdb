"""Rows of `pullback/ops/joining.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, Sample, real

THREE = (real(2, 3), real(2, 3), real(2, 3))


def joined(name: str, *samples: Sample, axis: Any) -> Row:
    """A row of an operation on a list of arrays."""
    ours, theirs = getattr(pb, name), getattr(np, name)
    shapes = ", ".join(str(sample.shape) for sample in samples)
    return Row(name, lambda *xs: ours(xs, axis=axis), lambda *xs: theirs(xs, axis=axis), samples,
               f"{shapes}, axis={axis}", complex=True, analytic=True)


def grid(*samples: Sample, indexing: str) -> Row:
    return Row("meshgrid", lambda *xs: pb.meshgrid(*xs, indexing=indexing),
               lambda *xs: np.meshgrid(*xs, indexing=indexing), samples,
               f"{len(samples)}, {indexing}", complex=True)


def padded(width: Any, *shape: int, value: float = 0) -> Row:
    return Row("pad", lambda x: pb.pad(x, width, constant_values=value),
               lambda x: np.pad(x, width, constant_values=value), (real(*shape),),
               f"{shape}, {width}, {value}", complex=True)


ROWS = [
    joined("concat", *THREE, axis=0),
    joined("concat", *THREE, axis=-1),
    joined("concat", *THREE, axis=None),
    joined("concat", real(2, 1), real(2, 3), real(2, 0), axis=1),
    joined("concat", real(2, 3), axis=0),
    joined("concat", real(), real(2), axis=None),
    joined("stack", *THREE, axis=0),
    joined("stack", *THREE, axis=1),
    joined("stack", *THREE, axis=-1),
    joined("stack", real(), real(), axis=0),
    joined("stack", real(0, 2), real(0, 2), axis=1),
    Row("concat", lambda x: pb.concat([x, x * x, x], axis=1),
        lambda x: np.concat([x, x * x, x], axis=1), (real(2, 2),), "one array thrice",
        complex=True, analytic=True),
    Row("unstack", pb.unstack, tuple, (real(3, 2),), complex=True),
    Row("unstack", lambda x: pb.unstack(x, axis=-1), lambda x: tuple(np.moveaxis(x, -1, 0)),
        (real(2, 1, 3),), "the last axis", complex=True),
    Row("split", lambda x: pb.split(x, 2, axis=1), lambda x: np.split(x, 2, axis=1),
        (real(3, 4),), "in halves", complex=True),
    Row("split", lambda x: pb.split(x, (1, 0, 3), axis=-1),
        lambda x: np.split(x, (1, 1), axis=-1), (real(3, 4),), "of lengths", complex=True),
    grid(real(2), real(3), indexing="xy"),
    grid(real(2), real(3), real(4), indexing="ij"),
    grid(real(2), real(3), real(1), indexing="xy"),
    grid(real(3), indexing="xy"),
    padded(1, 2, 3),
    padded((0, 2), 2, 3, value=1.5),
    padded(((1, 0), (0, 2)), 2, 3),
    padded(2, 0),
    padded(0, 2, 2),
]
