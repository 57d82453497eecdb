"""Rows of `pullback/ops/indexing.py`: reading, scattering, and writing out of place."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.core.op import OPS
from tests.table import Row, ints, real

MASK = np.array([[True, False, True], [False, False, True]])

INDICES: dict[str, tuple[tuple[int, ...], Any]] = {
    "integer": ((4, 3), 1),
    "negative integer": ((4,), -1),
    "slice": ((4, 3), slice(1, 3)),
    "backwards": ((4, 3), (slice(None, None, -2), slice(2, None, -1))),
    "nothing": ((4, 3), slice(2, 2)),
    "ellipsis and None": ((2, 3, 2), (..., None, 1)),
    "everything": ((), ...),
    "integers": ((4, 3), np.array([2, 0, 3])),
    "duplicates": ((4, 3), np.array([[1, 1], [-3, 0]])),
    "list": ((4,), [0, 0, 2]),
    "no integers": ((4, 3), np.array([], int)),
    "pairs": ((4, 3), (np.array([0, 1, 0]), np.array([2, -1, 2]))),
    "apart": ((2, 3, 2), (np.array([[0], [1]]), slice(None), np.array([1, 0, 1]))),
    "second axis": ((2, 3, 2), (slice(None), np.array([2, 2, 0]))),
    "mixed": ((4, 3, 2), (np.array([3, 3]), None, 1, slice(0, 1))),
    "mask": ((2, 3), MASK),
    "mask of rows": ((3, 2), (np.array([True, False, True]), 1)),
    "mask of none": ((2, 3), np.zeros((2, 3), bool)),
    "mask without axes": ((2, 3), True),
}


def scattered(x: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


def assigned(x: np.ndarray, value: np.ndarray, index: Any) -> np.ndarray:
    out = np.array(x, np.result_type(x, value))
    out[index] = value
    return out


def added(x: np.ndarray, value: np.ndarray, index: Any) -> np.ndarray:
    out = np.array(x, np.result_type(x, value))
    np.add.at(out, index, value)
    return out


def last(x: np.ndarray, index: Any) -> np.ndarray:
    """x[index], the slow way: entries that are written again later in the index are zero."""
    positions = np.arange(x.size).reshape(x.shape)[index].reshape(-1)
    taken = np.array(x[index]).reshape(-1)
    for k, position in enumerate(positions):
        if position in positions[k + 1 :]:
            taken[k] = 0
    return taken.reshape(x[index].shape)


def rows_of(label: str, shape: tuple[int, ...], index: Any) -> list[Row]:
    region = np.zeros(shape)[index].shape
    # The reference gives the value of the index, on fresh arrays each time.
    return [
        Row("getitem", lambda x: pb.getitem(x, index), lambda x: x[index], (real(*shape),),
            label, complex=True),
        Row("scatter", lambda x: OPS["scatter"](x, index=index, shape=shape),
            lambda x: scattered(x, index, shape), (real(*region),), label, complex=True),
        Row("set_at", lambda x, v: pb.set_at(x, v, index), lambda x, v: assigned(x, v, index),
            (real(*shape), real(*region)), label, complex=True),
        Row("add_at", lambda x, v: pb.add_at(x, v, index), lambda x, v: added(x, v, index),
            (real(*shape), real(*region)), label, complex=True),
    ]


TWICE = np.array([0, 2, 0, 0])

ROWS = [
    *[row for label, (shape, index) in INDICES.items()
      for row in rows_of(label, shape, pb.ops.indexing.plain(index))],
    Row("set_at", lambda x, v: pb.set_at(x, v, (slice(1, 3), 0)),
        lambda x, v: assigned(x, v, (slice(1, 3), 0)), (real(4, 3), real()), "one value"),
    Row("set_at", lambda x, v: pb.set_at(x, v, 1), lambda x, v: assigned(x, v, 1),
        (real(4, 3), real(1, 1, 3)), "axes in front"),
    Row("add_at", lambda x, v: pb.add_at(x, v, TWICE), lambda x, v: added(x, v, TWICE),
        (real(4, 3), real(3)), "one row, often"),
    Row("take_last", lambda x: OPS["take_last"](x, index=TWICE), lambda x: last(x, TWICE),
        (real(4, 3),), complex=True),
    Row("take", pb.take, np.take, (real(4), ints(3, low=-4, high=3)), "vector", complex=True),
    Row("take", lambda x, i: pb.take(x, i, axis=1), lambda x, i: np.take(x, i, axis=1),
        (real(2, 4, 2), ints(5, low=-4, high=3)), "axis", complex=True),
    Row("take", lambda x, i: pb.take(x, i, axis=-3), lambda x, i: np.take(x, i, axis=-3),
        (real(4, 1, 2), ints(2, 2, high=3)), "matrix of indices"),
    Row("take_along_axis", pb.take_along_axis, lambda x, i: np.take_along_axis(x, i, axis=-1),
        (real(2, 3), ints(2, 4, high=2)), complex=True),
    Row("take_along_axis", lambda x, i: pb.take_along_axis(x, i, axis=0),
        lambda x, i: np.take_along_axis(x, i, axis=0), (real(3, 4), ints(2, 1, low=-3, high=2)),
        "broadcast"),
]
