"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ... import ops
from ...arrays.batched import moved_to
from ...core.tensor import is_inexact, raw

__all__ = ["attention"]


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, *, dropout: float = 0.0,
    causal: bool = False, scale: float | None = None, generator: Any = None,
) -> tuple[Any, Any]:
    """(softmax(query keyᵀ · scale + mask) value, weights), where the weights are the softmax.

    query, key, value  (…, queries, d), (…, keys, d), (…, keys, e)
    mask     booleans, True where a query may attend; or numbers, which are added to the scores
    causal   query i attends only to keys 0 … i
    scale    default 1 / √d

    A query that may attend to no key gets zeros.

    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 2)), np.ones((2, 2)), np.array([[1.0], [3.0]])
    >>> attention(q, k, v)[0]
    array([[2.]])
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = ops.matmul(query * scale, ops.matrix_transpose(key))
    if causal:
        seen = numpy.tri(query.shape[-2], key.shape[-2], dtype=bool)
        scores = ops.where(moved_to(seen, raw(scores)), scores, -math.inf)
    if mask is not None:
        scores = scores + mask if is_inexact(raw(mask)) else ops.where(mask, scores, -math.inf)
    weights = ops.softmax(scores, axis=-1)
    kept = ops.dropout(weights, dropout, generator=generator) if dropout else weights
    return ops.matmul(kept, value), weights
