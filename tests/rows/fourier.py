"""Rows of `pullback/ops/fourier.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, real

SINGLE: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((5,), {}),
    ((4,), {"norm": "ortho"}),
    ((3, 4), {"axis": 0, "norm": "forward"}),
    ((2, 3), {"n": 6}),
    ((5, 2), {"n": 3, "axis": -2, "norm": "ortho"}),
    ((2, 1), {"n": 1}),
    ((2, 0, 3), {"axis": 2, "n": 2}),
]
"""Of `fft` and `rfft`, and of the ways back from them."""

HALVES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((4,), {}),
    ((4,), {"n": 7, "norm": "forward"}),
    ((4,), {"n": 6, "norm": "ortho"}),
    ((3, 2), {"axis": 0, "n": 9}),
    ((4, 2), {"axis": -2, "n": 3}),
    ((3,), {"n": 2}),
    ((3,), {"n": 1}),
    ((1,), {"n": 3}),
    ((0, 3), {}),
]
"""Of `irfft` and `hfft`."""

SEVERAL: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3), {}),
    ((2, 3, 4), {"axes": (0, -1), "norm": "forward"}),
    ((3, 4), {"s": (4, 2), "axes": (1, 0), "norm": "ortho"}),
    ((2, 3, 2), {"s": (-1, 5), "axes": (2, 1)}),
    ((4,), {"axes": (0,)}),
]


def transform(name: str, shape: tuple[int, ...], how: dict[str, Any], **also: Any) -> Row:
    ours, theirs = getattr(pb.fft, name), getattr(np.fft, name)
    return Row(
        name, lambda x: ours(x, **how), lambda x: theirs(x, **how), (real(*shape),),
        f"{shape} {how}", **also,
    )


ROWS = [
    *[transform(f, s, how, complex=True) for f in ("fft", "ifft") for s, how in SINGLE],
    *[transform(f, s, how) for f in ("rfft", "ihfft") for s, how in SINGLE],
    *[transform(f, s, how, complex=True) for f in ("irfft", "hfft") for s, how in HALVES],
    *[transform(f, s, h, complex=True) for f in ("fftn", "ifftn", "irfftn") for s, h in SEVERAL],
    *[transform("rfftn", s, how) for s, how in SEVERAL],
    *[
        transform(f, (3, 4), {"axes": axes}, complex=True)
        for f in ("fftshift", "ifftshift") for axes in (None, 0, (0, -1))
    ],
]
