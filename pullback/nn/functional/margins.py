"""Margin losses, and distances between vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ... import ops
from ...arrays.batched import moved_to
from ...core.tensor import raw
from ...errors import ArgumentError, ShapeError
from ...ops.losses import reduced

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "multi_label_soft_margin_loss", "multi_margin_loss", "pairwise_distance",
    "triplet_margin_loss",
]


def _above_zero(x: Any) -> Any:
    """max(x, 0) with derivative 1 at 0, as PyTorch's clamp."""
    return ops.clip(x, 0)


def cosine_similarity(x: Any, y: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """x · y / (|x| |y|) along an axis; norms are clamped to at least eps.

    >>> import numpy as np
    >>> cosine_similarity(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]]))
    array([0.8])
    """
    x, y = ops.broadcast_arrays(x, y)
    dot = ops.sum(x * y, axis=axis)
    lengths = [ops.vector_norm(v, axis=axis, keepdims=True) for v in (x, y)]
    a, b = (ops.squeeze(ops.clip(v, eps), axis=axis) for v in lengths)
    return dot / (a * b)


def pairwise_distance(
    x: Any, y: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Any:
    """The p-norm of x - y + eps along the last axis.

    >>> import numpy as np
    >>> pairwise_distance(np.array([[3.0, 4.0]]), np.zeros((1, 2)), eps=0.0)
    array([5.])
    """
    return ops.vector_norm(x - y + eps, axis=-1, ord=p, keepdims=keepdims)


def margin_ranking_loss(
    x: Any, y: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """max(0, -target · (x - y) + margin): target 1 ranks x above y, -1 below.

    >>> import numpy as np
    >>> float(margin_ranking_loss(np.array([1.0]), np.array([3.0]), np.array([1.0])))
    2.0
    """
    return reduced(_above_zero(-target * (x - y) + margin), reduction, "margin_ranking_loss")


def hinge_embedding_loss(
    x: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    """x where target is 1, max(0, margin - x) where it is -1.

    >>> import numpy as np
    >>> hinge_embedding_loss(np.array([0.5, 0.25]), np.array([1, -1]), reduction="none")
    array([0.5 , 0.75])
    """
    zero = ops.zeros_like(x)
    like = ops.where(target == -1, zero, x)
    unlike = ops.where(target == 1, zero, _above_zero(margin - x))
    return reduced(like + unlike, reduction, "hinge_embedding_loss")


def cosine_embedding_loss(
    x: Any, y: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cos(x, y) where target is 1, max(0, cos(x, y) - margin) where it is -1.

    >>> import numpy as np
    >>> x, y = np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]])
    >>> cosine_embedding_loss(x, y, np.array([-1]), margin=0.5).round(6)
    np.float64(0.3)
    """
    axis = -1
    dot = ops.sum(x * y, axis=axis)
    squares = [ops.sum(v * v, axis=axis) + 1e-12 for v in (x, y)]
    cosine = dot / ops.sqrt(squares[0] * squares[1])
    zero = ops.zeros_like(cosine)
    alike = ops.where(target == 1, 1 - cosine, zero)
    unlike = ops.where(target == -1, _above_zero(cosine - margin), zero)
    return reduced(alike + unlike, reduction, "cosine_embedding_loss")


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, *,
    distance: Callable[[Any, Any], Any] = pairwise_distance, swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), for a distance d.

    swap  use d(positive, negative) where it is smaller than d(anchor, negative)

    >>> import numpy as np
    >>> a, p, n = np.zeros((1, 1)), np.full((1, 1), 2.0), np.full((1, 1), 1.5)
    >>> round(float(triplet_margin_loss(a, p, n)), 4)
    1.5
    """
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(_above_zero(near - far + margin), reduction, "triplet_margin_loss")


def multi_margin_loss(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """Σ max(0, margin - x[target] + x[i])ᵖ / classes over the other classes i.

    weight  one number per class; multiplies the term before the power

    Raises `ArgumentError` unless p is 1 or 2, `ShapeError` for targets of another shape.

    >>> import numpy as np
    >>> float(multi_margin_loss(np.array([[1.0, 0.5]]), np.array([0])))
    0.25
    """
    if p not in (1, 2):
        raise ArgumentError("argument `p` of `multi_margin_loss`", "1 or 2", f"{p}")
    single = len(x.shape) == 1
    if single:
        x, target = ops.expand_dims(x, axis=0), ops.reshape(target, (1,))
    if tuple(target.shape) != tuple(x.shape[:1]):
        raise ShapeError("argument `target` of `multi_margin_loss`", f"shape {x.shape[:1]}",
                         f"shape {tuple(target.shape)}")
    at = ops.expand_dims(target, axis=1)
    terms = ops.relu(margin - ops.take_along_axis(x, at, axis=1) + x)
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * ops.expand_dims(ops.take(weight, target, axis=0), axis=1)
    classes = moved_to(numpy.arange(x.shape[1]), raw(x))
    terms = ops.where(classes == at, ops.zeros_like(terms), terms)
    values = ops.sum(terms, axis=1) / x.shape[1]
    return reduced(values[0] if single else values, reduction, "multi_margin_loss")


def multi_label_soft_margin_loss(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes (the last axis) of the weighted logistic losses.

    >>> import numpy as np
    >>> float(multi_label_soft_margin_loss(np.zeros((1, 2)), np.array([[1.0, 0.0]])))
    0.6931471805599453
    """
    values = -(target * ops.log_sigmoid(x) + (1 - target) * ops.log_sigmoid(-x))
    if weight is not None:
        values = values * weight
    return reduced(ops.mean(values, axis=-1), reduction, "multi_label_soft_margin_loss")
