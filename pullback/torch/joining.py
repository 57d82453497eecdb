"""Joining tensors: stacks, block matrices, Cartesian products."""

from __future__ import annotations

import itertools
from typing import Any

from .. import ops
from ..core.tensor import raw
from .errors import guarded
from .shaping import cat, stack
from .tensor import tensor_of
from .views import atleast_1d, atleast_2d, atleast_3d

__all__ = [
    "block_diag", "cartesian_prod", "column_stack", "combinations", "concatenate", "dstack",
    "hstack", "row_stack", "vstack",
]

concatenate = cat


def hstack(tensors: Any) -> Any:
    """Concatenates tensors along the second axis (vectors along their only axis)."""
    several = [atleast_1d(t) for t in tensors]
    return cat(several, 1 if several and len(several[0].shape) > 1 else 0)


def vstack(tensors: Any) -> Any:
    """Stacks tensors along the first axis; vectors become rows."""
    return cat([atleast_2d(t) for t in tensors], 0)


row_stack = vstack


def dstack(tensors: Any) -> Any:
    """Stacks tensors along the third axis."""
    return cat([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors: Any) -> Any:
    """Concatenates tensors as columns; vectors become columns."""
    return cat([ops.reshape(t, (-1, 1)) if len(t.shape) < 2 else t for t in tensors], 1)


@guarded
def block_diag(*tensors: Any) -> Any:
    """A block-diagonal matrix; zeros elsewhere."""
    blocks = [atleast_2d(tensor_of(t)) for t in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for b in blocks:
        rows.append(ops.pad(b, [(0, 0), (left, width - left - b.shape[1])]))
        left += b.shape[1]
    return cat(rows, 0)


@guarded
def cartesian_prod(*tensors: Any) -> Any:
    """The Cartesian product of vectors, one row per combination."""
    if len(tensors) == 1:
        return tensors[0]
    grid = ops.meshgrid(*tensors, indexing="ij")
    return stack([ops.reshape(g, (-1,)) for g in grid], 1)


@guarded
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Combinations of r entries of a vector, in order, one row per combination."""
    of = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = ops.asarray([*of(range(input.shape[0]), r)], dtype=ops.int64)
    return ops.getitem(input, raw(ops.reshape(places, (-1, r))))
