"""Losses beyond those of `pullback.ops`: with weights, ignored classes, margins, distances.

`reduction` is "mean", "sum" or "none". Arithmetic on operands of two dtypes goes through Python
operators, so tensors of a compatibility front end follow its promotion rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import ops
from ...arrays import known
from ...arrays.batched import Batched
from ...core.tensor import is_inexact, raw
from ...errors import ArgumentError, ShapeError
from ...lost_paths import held_fixed
from ...ops.losses import reduced

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
    "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss", "nll_loss",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss",
]


def _weighted(
    loss: Callable[..., Any], x: Any, target: Any, reduction: str, weight: Any, **options: Any
) -> Any:
    """A loss times weights; the mean is divided by the sum of the weights."""
    if weight is None:
        return loss(x, target, reduction=reduction, **options)
    values = loss(x, target, reduction="none", **options) * weight
    if reduction != "mean":
        return reduced(values, reduction, loss.__name__)
    return ops.sum(values) / ops.sum(ops.broadcast_to(weight, tuple(values.shape)))


def mse_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
    """`pullback.mse_loss` times weights; the mean is divided by the sum of the weights.

    >>> import numpy as np
    >>> float(mse_loss(np.array([1.0, 3.0]), np.zeros(2), weight=np.array([1.0, 3.0])))
    7.0
    """
    return _weighted(ops.mse_loss, x, target, reduction, weight)


def l1_loss(x: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
    """`pullback.l1_loss`, with weights.

    >>> import numpy as np
    >>> float(l1_loss(np.array([1.0, -3.0]), np.zeros(2)))
    2.0
    """
    return _weighted(ops.l1_loss, x, target, reduction, weight)


def huber_loss(
    x: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """`pullback.huber_loss`, with weights.

    >>> import numpy as np
    >>> huber_loss(np.array([0.5, 3.0]), np.zeros(2), "none")
    array([0.125, 2.5  ])
    """
    return _weighted(ops.huber_loss, x, target, reduction, weight, delta=delta)


def smooth_l1_loss(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """d²/(2 · beta) where |d| < beta, else |d| - beta/2, for d = x - target; |d| for beta 0.

    Raises `ArgumentError` for a negative beta.

    >>> import numpy as np
    >>> smooth_l1_loss(np.array([0.5, 3.0]), np.zeros(2), "none")
    array([0.125, 2.5  ])
    """
    if beta < 0:
        raise ArgumentError("argument `beta` of `smooth_l1_loss`", "a number ≥ 0", f"{beta}")
    if beta == 0:
        return l1_loss(x, target, reduction)
    return ops.huber_loss(x, target, delta=beta, reduction=reduction) / beta


def kl_div(
    x: Any, target: Any, reduction: str = "mean", log_target: bool = False
) -> Any:
    """target · (log(target) - x), for a log-probability x; 0 where target is 0.

    reduction   also "batchmean": the sum divided by the length of the first axis
    log_target  target is a log-probability too

    >>> import numpy as np
    >>> float(kl_div(np.log([0.5, 0.5]), np.array([0.0, 1.0]), "sum"))
    0.6931471805599453
    """
    if log_target:
        values = ops.exp(target) * (target - x)
    else:
        positive = target > 0
        safe = ops.where(positive, target, ops.ones_like(target))
        values = ops.where(positive, target * ops.log(safe), ops.zeros_like(target)) - target * x
    if reduction == "batchmean":
        return ops.sum(values) / x.shape[0]
    return reduced(values, reduction, "kl_div")


def poisson_nll_loss(
    x: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """exp(x) - target · x; with log_input=False, x - target · log(x + eps).

    full  add Stirling's term, target · log(target) - target + log(2π · target) / 2, for target > 1

    >>> import numpy as np
    >>> float(poisson_nll_loss(np.array([0.0]), np.array([2.0])))
    1.0
    """
    values = ops.exp(x) - target * x if log_input else x - target * ops.log(x + eps)
    if full:
        above = target > 1
        term = stirling(ops.where(above, target, ops.ones_like(target)))
        values = values + ops.where(above, term, ops.zeros_like(term))
    return reduced(values, reduction, "poisson_nll_loss")


def stirling(t: Any) -> Any:
    """Stirling's approximation of log t!.

    >>> import numpy as np
    >>> stirling(np.array([3.0])).round(4)  # log 6 is 1.7918
    array([1.7641])
    """
    return t * ops.log(t) - t + ops.log(t * (2 * math.pi)) * 0.5


def gaussian_nll_loss(
    x: Any, target: Any, variance: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """(log(v) + (x - target)² / v) / 2, where v = max(variance, eps).

    The gradient passes through the clamp unchanged, as in PyTorch.

    full  add log(2π) / 2

    Raises `ShapeError` unless the variance has the shape of x, or that shape with a last axis of 1.

    >>> import numpy as np
    >>> float(gaussian_nll_loss(np.array([3.0]), np.array([1.0]), np.array([1.0])))
    2.0
    """
    shape = tuple(x.shape)
    if not hasattr(variance, "shape"):
        variance = ops.full_like(x, variance)
    if tuple(variance.shape) not in (shape, (*shape[:-1], 1)):
        if tuple(variance.shape) != shape[:-1]:
            raise ShapeError(
                "argument `variance` of `gaussian_nll_loss`", f"shape {shape}",
                f"shape {tuple(variance.shape)}",
            )
        variance = ops.expand_dims(variance, axis=-1)
    # A straight-through clamp: the gradient is taken at the clamped value and passed on.
    low = held_fixed(ops.where(variance < eps, eps - variance, ops.zeros_like(variance)))
    v = variance + low
    difference = x - target
    values = (ops.log(v) + difference * difference / v) * 0.5
    if full:
        values = values + 0.5 * math.log(2 * math.pi)
    return reduced(values, reduction, "gaussian_nll_loss")


def soft_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Any:
    """log(1 + exp(-target · x)), for targets 1 and -1.

    >>> import numpy as np
    >>> float(soft_margin_loss(np.array([0.0]), np.array([1.0])))
    0.6931471805599453
    """
    return reduced(ops.softplus(-target * x), reduction, "soft_margin_loss")


# Probabilities ------------------------------------------------------------------------------


def binary_cross_entropy(
    p: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """(-t log(p) - (1 - t) log(1 - p)) · weight; logarithms are clamped to at least -100.

    Where a logarithm is clamped, the gradient is PyTorch's: at most 1e12 times the cotangent.

    >>> import numpy as np
    >>> binary_cross_entropy(np.array([1.0, 0.0]), np.array([1.0, 1.0]), reduction="none")
    array([  0., 100.])
    """
    if tuple(p.shape) != tuple(target.shape):
        raise ShapeError(
            "argument `target` of `binary_cross_entropy`", f"shape {tuple(p.shape)}",
            f"shape {tuple(target.shape)}",
        )
    edge = p * (1 - p) < 1e-12
    inside = ops.where(edge, 0.5, p)
    values = -(target * ops.log(inside) + (1 - target) * ops.log1p(-inside))
    # There PyTorch's slope is (p - t) / 1e-12, while the value uses the clamped logarithms.
    fixed = held_fixed(p)
    ends = -(target * _cut_log(fixed) + (1 - target) * _cut_log(1 - fixed))
    values = ops.where(edge, ends + (p - fixed) * ((fixed - target) * 1e12), values)
    if weight is not None:
        values = values * weight
    return reduced(values, reduction, "binary_cross_entropy")


def _cut_log(p: Any) -> Any:
    return ops.clip(ops.log(ops.clip(p, 1e-44)), -100)


def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """(-c t log(p) - (1 - t) log(1 - p)) · weight, p = sigmoid(x), c = pos_weight; no overflow.

    >>> import numpy as np
    >>> x = np.array([0.0])
    >>> float(binary_cross_entropy_with_logits(x, np.array([1.0]), pos_weight=np.array([3.0])))
    2.0794415416798357
    """
    subject = "binary_cross_entropy_with_logits"
    if tuple(x.shape) != tuple(target.shape):
        raise ShapeError(
            f"argument `target` of `{subject}`", f"shape {tuple(x.shape)}",
            f"shape {tuple(target.shape)}",
        )
    if weight is None and pos_weight is None:
        return ops.binary_cross_entropy_with_logits(x, target, reduction=reduction)
    if pos_weight is None:
        values = ops.binary_cross_entropy_with_logits(x, target, reduction="none")
    else:
        values = (1 - target) * ops.softplus(x) + pos_weight * target * ops.softplus(-x)
    if weight is not None:
        values = values * weight
    return reduced(values, reduction, subject)


# Classes ------------------------------------------------------------------------------------


def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    *, axis: int | None = None,
) -> Any:
    """-x[target] · weight[target]; the mean is divided by the sum of the weights.

    weight        one number per class
    ignore_index  targets of this class have loss 0 and do not count in the mean
    axis          the axis of the classes: 1, or 0 if there is only one axis

    >>> import numpy as np
    >>> x = np.array([[-1.0, -2.0], [-5.0, -7.0]])
    >>> float(nll_loss(x, np.array([1, -100])))
    2.0
    """
    axis = _class_axis(x) if axis is None else axis
    if weight is None and not _has(target, ignore_index):
        return ops.nll_loss(x, target, axis=axis, reduction=reduction)
    values, weights = _picked(x, target, weight, ignore_index, axis)
    if reduction == "mean":
        return ops.sum(values) / ops.sum(weights)
    return reduced(values, reduction, "nll_loss")


def cross_entropy(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0, *, axis: int | None = None,
) -> Any:
    """-log(softmax(x)) of the target class; see `pullback.cross_entropy`.

    weight, ignore_index, axis  as for `nll_loss`; targets may be probabilities, to which
                                ignore_index does not apply

    >>> import numpy as np
    >>> float(cross_entropy(np.zeros((2, 2)), np.array([1, -100])))
    0.6931471805599453
    """
    axis = _class_axis(x) if axis is None else axis
    soft = is_inexact(raw(target))
    if weight is None and (soft or not _has(target, ignore_index)):
        return ops.cross_entropy(
            x, target, axis=axis, reduction=reduction, label_smoothing=label_smoothing
        )
    logs = ops.log_softmax(x, axis=axis)
    if soft:
        return _of_probabilities(logs, target, weight, reduction, label_smoothing, axis)
    values, weights = _picked(logs, target, weight, ignore_index, axis)
    if label_smoothing:
        shape = _along(axis, len(x.shape))
        each = logs if weight is None else logs * ops.reshape(weight, shape)
        spread = ops.where(target == ignore_index, 0.0, -ops.sum(each, axis=axis))
        share = label_smoothing / x.shape[axis]
        values = values * (1 - label_smoothing) + spread * share
    if reduction == "mean":
        return ops.sum(values) / ops.sum(weights)
    return reduced(values, reduction, "cross_entropy")


def _of_probabilities(
    logs: Any, q: Any, weight: Any, reduction: str, label_smoothing: float, axis: int
) -> Any:
    if tuple(q.shape) != tuple(logs.shape):
        raise ShapeError(
            "argument `target` of `cross_entropy`", f"probabilities of shape {tuple(logs.shape)}",
            f"shape {tuple(q.shape)}",
        )
    classes = logs.shape[axis]
    if label_smoothing:
        q = q * (1 - label_smoothing) + label_smoothing / classes
    weighed = logs * ops.reshape(weight, _along(axis, len(logs.shape)))
    return reduced(-ops.sum(weighed * q, axis=axis), reduction, "cross_entropy")


def _class_axis(x: Any) -> int:
    return 1 if len(x.shape) > 1 else 0


def _along(axis: int, ndim: int) -> tuple[int, ...]:
    """The shape in which one number per class broadcasts."""
    return (-1,) + (1,) * (ndim - 1 - axis % ndim)


def _has(target: Any, ignored: int) -> bool:
    """Whether the ignored class is among the targets, as far as they are known."""
    values = raw(target)
    while values.__class__ is Batched:
        values = values.value
    values = known(values)
    return values is not None and bool((values == ignored).any())


def _picked(
    x: Any, target: Any, weight: Any, ignored: int, axis: int
) -> tuple[Any, Any]:
    """The loss of each example, and its weight in the mean."""
    left_out = target == ignored
    safe = ops.where(left_out, 0, target)
    values = ops.nll_loss(x, safe, axis=axis, reduction="none")
    weights = ops.ones_like(values) if weight is None else ops.take(
        weight, ops.reshape(safe, (-1,)), axis=0
    )
    weights = ops.reshape(weights, tuple(values.shape))
    weights = ops.where(left_out, ops.zeros_like(weights), weights)
    return ops.where(left_out, ops.zeros_like(values), values * weights), weights
