"""Rows of `pullback/ops/products.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from tests.table import Row, real

MATMULS = [
    ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)),
    ((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((2, 4, 3), (3, 2)), ((4, 3), (2, 3, 2)),
    ((2, 4, 3), (2, 3, 2)), ((2, 1, 4, 3), (3, 3, 2)), ((1, 2, 3), (2, 3, 1)),
    ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((2, 0, 3), (3, 2)), ((2, 0), (0,)),
]

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->ji", (2, 3, 2)),
    ("iii->i", (2, 2, 2)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("i,j->ji", (2,), (3,)),
    ("i,j->j", (2,), (3,)),
    ("bqd,bkd->bqk", (2, 3, 4), (2, 5, 4)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 4)),
    ("...i,i", (2, 2, 3), (3,)),
    ("i...->...", (2, 3)),
    ("...,...", (2, 3), (3,)),
    ("ij,ij->ij", (2, 1), (2, 3)),
    ("ij,ij->i", (2, 1), (2, 3)),
    ("i,i->", (3,), (1,)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("ij,j,->i", (2, 3), (3,), ()),
    ("ij,jk->ik", (2, 0), (0, 3)),
    (" i j -> j i ", (2, 3)),
]


def matmul(*shapes: tuple[int, ...]) -> Row:
    label = " @ ".join(map(str, shapes))
    return Row("matmul", pb.matmul, np.matmul, tuple(real(*s) for s in shapes), label, complex=True)


def einsum(subscripts: str, *shapes: tuple[int, ...]) -> Row:
    return Row(
        "einsum", lambda *xs: pb.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs),
        tuple(real(*s) for s in shapes), f"{subscripts} {shapes}", complex=True,
    )


def tensordot(axes: Any, *shapes: tuple[int, ...]) -> Row:
    return Row(
        "tensordot", lambda a, b: pb.tensordot(a, b, axes=axes),
        lambda a, b: np.tensordot(a, b, axes=axes), tuple(real(*s) for s in shapes), str(axes),
        complex=True,
    )


def vecdot(axis: int, *shapes: tuple[int, ...]) -> Row:
    return Row(
        "vecdot", lambda a, b: pb.vecdot(a, b, axis=axis), lambda a, b: np.vecdot(a, b, axis=axis),
        tuple(real(*s) for s in shapes), f"{axis} {shapes}", complex=True,
    )


ROWS = [
    *[matmul(*shapes) for shapes in MATMULS],
    *[einsum(subscripts, *shapes) for subscripts, *shapes in EINSUMS],
    tensordot(2, (2, 3, 4), (3, 4, 2)),
    tensordot(0, (2,), (3, 2)),
    tensordot(1, (2, 0), (0, 3)),
    tensordot(((0, -1), (1, 0)), (2, 3, 4), (4, 2, 3)),
    tensordot((1, 0), (2, 3), (3, 2)),
    vecdot(-1, (3,), (3,)),
    vecdot(-1, (2, 3), (3,)),
    vecdot(-2, (3, 1), (2, 3, 4)),
    vecdot(0, (3, 2), (3, 2)),
    Row("outer", pb.outer, np.outer, (real(2), real(3)), complex=True),
]
