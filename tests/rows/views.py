"""Rows of `pullback/ops/views.py`: chains of views as one step."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.op import OPS
from pullback.ops.strides import lattice
from tests.table import Row, real

GETITEM, BROADCAST, PERMUTE, RESHAPE = (
    OPS[name].op for name in ("getitem", "broadcast_to", "permute_dims", "reshape")  # type: ignore[attr-defined]
)

CHAINS: dict[str, tuple[tuple[int, ...], Any]] = {
    "slice": ((4, 3), ((GETITEM, {"index": slice(1, 3)}),)),
    "slice of slice": ((4, 3), (
        (GETITEM, {"index": slice(None, None, -1)}),
        (GETITEM, {"index": (slice(1, 4, 2), None, 0)}),
    )),
    "one entry": ((3,), ((GETITEM, {"index": 1}),)),
    "rearranged": ((2, 3), (
        (PERMUTE, {"axes": (1, 0)}), (RESHAPE, {"shape": (6,), "copy": None}),
        (GETITEM, {"index": slice(1, 5)}),
    )),
}
STRETCHED = ((GETITEM, {"index": slice(1, 3)}), (BROADCAST, {"shape": (2, 2)}))


def region(x: np.ndarray, steps: Any) -> np.ndarray:
    for op, attrs in steps:
        if op is GETITEM:
            x = x[attrs["index"]]
        elif op is BROADCAST:
            x = np.broadcast_to(x, attrs["shape"])
        elif op is PERMUTE:
            x = x.transpose(attrs["axes"])
        else:
            x = x.reshape(attrs["shape"])
    return np.array(x)


def put(x: np.ndarray, value: np.ndarray, steps: Any) -> np.ndarray:
    out = np.array(x).reshape(-1)
    out[region(np.arange(x.size).reshape(x.shape), steps)] = value
    return out.reshape(x.shape)


def scattered(value: np.ndarray, steps: Any, shape: tuple[int, ...]) -> np.ndarray:
    positions = region(np.arange(np.prod(shape, dtype=int)).reshape(shape), steps)
    out = np.zeros(shape, value.dtype).reshape(-1)
    np.add.at(out, positions, value)
    return out.reshape(shape)


def rows_of(label: str, shape: tuple[int, ...], steps: Any) -> list[Row]:
    part = region(np.zeros(shape), steps).shape
    return [
        Row("take_view", lambda x: OPS["take_view"](x, steps=steps), lambda x: region(x, steps),
            (real(*shape),), label, complex=True),
        Row("scatter_view", lambda x: OPS["scatter_view"](x, steps=steps, shape=shape),
            lambda x: scattered(x, steps, shape), (real(*part),), label, complex=True),
        Row("put_view", lambda x, v: OPS["put_view"](x, v, steps=steps),
            lambda x, v: put(x, v, steps), (real(*shape), real(*part)), label, complex=True),
    ]


LATTICES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any]] = {
    "diagonal": ((3, 4), (3,), (0, 1), ((1, 1),)),
    "windows": ((5, 2), (2, 2, 3), (0, 0), ((2, 0), (0, 1), (1, 0))),
    "apart, backwards": ((6,), (2, 2), (5,), ((-3,), (-1,))),
    "nothing": ((3,), (0, 2), (0,), ((1,), (1,))),
}
"""label -> shape of x, shape of the result, start, steps."""


def lattice_row(label: str, size: Any, shape: Any, start: Any, steps: Any) -> Row:
    def picked(x: np.ndarray) -> np.ndarray:
        out = np.zeros(shape, x.dtype)
        for at in np.ndindex(shape):
            place = np.array(start) + sum(i * np.array(s) for i, s in zip(at, steps, strict=True))
            out[at] = x[tuple(place)]
        return out

    return Row("lattice", lambda x: lattice(x, shape=shape, start=start, steps=steps), picked,
               (real(*size),), label, complex=True)


ROWS = [
    *[lattice_row(label, *how) for label, how in LATTICES.items()],
    *[row for label, (shape, steps) in CHAINS.items() for row in rows_of(label, shape, steps)],
    Row("take_view", lambda x: OPS["take_view"](x, steps=STRETCHED),
        lambda x: region(x, STRETCHED), (real(4),), "stretched", complex=True),
    Row("scatter_view", lambda x: OPS["scatter_view"](x, steps=STRETCHED, shape=(4,)),
        lambda x: scattered(x, STRETCHED, (4,)), (real(2, 2),), "stretched", complex=True),
]
