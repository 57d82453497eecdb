"""Rows of `pullback/ops/shaping.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, Sample, ints, real

CUBE = real(2, 3, 4)


def shaped(name: str, *args: Any, sample: Sample = CUBE, theirs: Any = None, **how: Any) -> Row:
    """A row of an operation with its positional and named attributes given."""
    ours: Callable[..., Any] = getattr(pb, name)
    reference: Callable[..., Any] = theirs or getattr(np, name)
    label = ", ".join(map(str, [sample.shape, *args, *(f"{k}={v}" for k, v in how.items())]))
    meant = {k: v for k, v in how.items() if k != "copy"}  # which no value depends on
    return Row(name, lambda x: ours(x, *args, **how), lambda x: reference(x, *args, **meant),
               (sample,), label, complex=True, analytic=theirs is None)


ROWS = [
    Row("shape", pb.shape, lambda x: np.array(np.shape(x)), (CUBE,), "of a cube"),
    Row("shape", pb.shape, lambda x: np.array(np.shape(x), np.int64), (real(),), "no axes"),
    shaped("reshape", (4, 6)),
    shaped("reshape", (4, -1)),
    shaped("reshape", -1),
    shaped("reshape", (24,), copy=True),
    shaped("reshape", (0, 5), sample=real(5, 0)),
    shaped("reshape", (1, 1), sample=real()),
    shaped("reshape", (), sample=real(1, 1)),
    shaped("ravel"),
    shaped("expand_dims", axis=0),
    shaped("expand_dims", axis=-2),
    shaped("expand_dims", axis=(0, -1)),
    shaped("expand_dims", axis=(3, 1)),
    shaped("expand_dims", axis=0, sample=real()),
    shaped("squeeze", axis=0, sample=real(1, 3, 1)),
    shaped("squeeze", axis=(0, -1), sample=real(1, 3, 1)),
    shaped("squeeze", axis=(), sample=real(1, 3, 1)),
    shaped("permute_dims", (2, 0, 1)),
    shaped("permute_dims", (-1, 0, -2)),
    shaped("permute_dims", (), sample=real()),
    shaped("matrix_transpose"),
    shaped("matrix_transpose", sample=real(0, 2)),
    shaped("moveaxis", 0, -1),
    shaped("moveaxis", (0, -1), (-1, 0)),
    shaped("moveaxis", (-1, 0), (0, 1)),
    shaped("swapaxes", 0, -1),
    shaped("broadcast_to", (5, 2, 3, 4)),
    shaped("broadcast_to", (2, 3, 3), sample=real(2, 1, 3)),
    shaped("broadcast_to", (2, 3), sample=real()),
    shaped("broadcast_to", (), sample=real()),
    shaped("broadcast_to", (0, 3), sample=real(1, 3)),
    shaped("broadcast_to", (2, 0), sample=real()),
    Row("broadcast_arrays", pb.broadcast_arrays, np.broadcast_arrays,
        (real(2, 1), real(3), real()), complex=True),
    shaped("flip"),
    shaped("flip", axis=-1),
    shaped("flip", axis=(0, 2)),
    shaped("flip", sample=real()),
    shaped("roll", 5),
    shaped("roll", -2, axis=1),
    shaped("roll", (1, -1), axis=(0, 2)),
    shaped("roll", 1, axis=(0, 1)),
    shaped("roll", 2, axis=0, sample=real(0, 2)),
    shaped("tile", 2),
    shaped("tile", (2, 1, 3)),
    shaped("tile", (2, 3), sample=real(2)),
    shaped("tile", (2,), sample=real(2, 3)),
    shaped("tile", (2, 0), sample=real(2, 3)),
    shaped("tile", (3,), sample=real()),
    shaped("repeat", 2),
    shaped("repeat", 3, axis=1),
    shaped("repeat", 2, axis=-1),
    shaped("repeat", 0, axis=0),
    shaped("repeat", 2, sample=real()),
    shaped("repeat", (2, 0, 3), axis=1, theirs=np.repeat),
    shaped("repeat", (2,), axis=1, theirs=np.repeat),
    shaped("repeat", (1, 0, 2), sample=real(3), theirs=np.repeat),
    Row("repeat", lambda x, n: pb.repeat(x, n, axis=0), lambda x, n: np.repeat(x, n, axis=0),
        (real(3, 2), ints(3)), "counts", complex=True),
]
