"""Rows of `pullback/ops/searching.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, ints, real

DISTINCT = real(3, 4, distinct=True)
REPEATED = ints(3, 4, high=5)


def positions(name: str, **how: Any) -> Row:
    """A row of something that has no derivative."""
    ours: Callable[..., Any] = getattr(pb, name)
    theirs: Callable[..., Any] = getattr(np, name)
    label = ", ".join(f"{k}={v}" for k, v in how.items())
    return Row(name, lambda x: ours(x, **how), lambda x: theirs(x, **how), (REPEATED,), label,
               differentiable=False)


def falling(x: np.ndarray, axis: int) -> np.ndarray:
    return np.argsort(-x, axis=axis, stable=True)


def unique(x: np.ndarray) -> tuple[np.ndarray, ...]:
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True)


ROWS = [
    positions("argmax"),
    positions("argmax", axis=1),
    positions("argmax", axis=0, keepdims=True),
    positions("argmin"),
    positions("argmin", axis=-1),
    positions("nonzero"),
    positions("argsort", axis=0, stable=True),
    Row("argsort", lambda x: pb.argsort(x, axis=1, descending=True), lambda x: falling(x, 1),
        (REPEATED,), "descending", differentiable=False),
    Row("sort", pb.sort, np.sort, (DISTINCT,)),
    Row("sort", lambda x: pb.sort(x, axis=0, descending=True),
        lambda x: np.flip(np.sort(x, axis=0), axis=0), (DISTINCT,), "descending"),
    Row("sort", lambda x: pb.sort(x, axis=-2, stable=False), lambda x: np.sort(x, axis=-2),
        (real(3, 0),), "nothing"),
    Row("top_k", lambda x: pb.top_k(x, 2),
        lambda x: (np.take_along_axis(x, falling(x, 1), 1)[:, :2], falling(x, 1)[:, :2]),
        (DISTINCT,)),
    Row("top_k", lambda x: pb.top_k(x, 3, axis=0, mode="smallest"),
        lambda x: (np.sort(x, axis=0), np.argsort(x, axis=0)), (DISTINCT,), "smallest"),
    Row("searchsorted", lambda a, v: pb.searchsorted(pb.sort(a), v),
        lambda a, v: np.searchsorted(np.sort(a), v), (real(5), real(2, 2)), differentiable=False),
    Row("searchsorted", lambda a, v: pb.searchsorted(a, v, side="right", sorter=pb.argsort(a)),
        lambda a, v: np.searchsorted(a, v, side="right", sorter=np.argsort(a)),
        (ints(5), ints(6)), "sorter", differentiable=False),
    Row("isin", pb.isin, np.isin, (REPEATED, ints(2)), differentiable=False),
    Row("isin", lambda x, y: pb.isin(x, y, invert=True), lambda x, y: np.isin(x, y, invert=True),
        (REPEATED, ints(2)), "invert", differentiable=False),
    Row("unique_all", pb.unique_all, unique, (DISTINCT,)),
    Row("unique_all", pb.unique_all, unique, (REPEATED,), "repeated", differentiable=False),
    Row("unique_counts", pb.unique_counts, lambda x: (unique(x)[0], unique(x)[3]), (DISTINCT,)),
    Row("unique_inverse", pb.unique_inverse, lambda x: (unique(x)[0], unique(x)[2]), (DISTINCT,)),
    Row("unique_values", pb.unique_values, lambda x: unique(x)[0], (DISTINCT,)),
]
