"""Losses: the distance of predictions from targets, reduced to one number or one per example.

`reduction` is "mean", "sum" or "none" everywhere. A loss is one operation where that saves passes
over the data or avoids overflow, and otherwise a short composition.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays import Kernels, known
from ..arrays.batched import Batched, counted
from ..arrays.symbol import may_be
from ..core.tensor import is_inexact, raw, to_array
from ..errors import ArgumentError, ShapeError
from ..kinds.shapes import UndecidedError, is_any
from ..kinds.shapes import reduced as shape_reduced
from ..kinds.symbols import whole
from .activations import finite_max, log_softmax, sigmoid, softmax
from .arithmetic import abs as absolute
from .declaring import op
from .selecting import clip, where
from .shaping import expand_dims, hidden_axes, squeeze
from .statistics import count, mean
from .statistics import sum as total_of
from .taking import positive_axis, take_along_axis

__all__ = [
    "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "l1_loss", "mse_loss",
    "nll_loss",
]


def reduced(values: Any, reduction: str, subject: str) -> Any:
    """The unreduced losses, their mean or their sum."""
    _check_reduction(reduction, subject)
    if reduction == "none":
        return values
    return mean(values) if reduction == "mean" else total_of(values)


def _check_reduction(reduction: str, subject: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(
            f"argument `reduction` of `{subject}`", "'mean', 'sum' or 'none'", repr(reduction)
        )


def mse_loss(x: Any, target: Any, /, *, reduction: str = "mean") -> Any:
    """(x - target)².

    >>> import numpy as np
    >>> float(mse_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    2.0
    """
    difference = x - target
    return reduced(difference * difference, reduction, "mse_loss")


def l1_loss(x: Any, target: Any, /, *, reduction: str = "mean") -> Any:
    """|x - target|; the derivative is 0 where x equals target.

    >>> import numpy as np
    >>> float(l1_loss(np.array([1.0, 3.0]), np.array([1.0, 1.0])))
    1.0
    """
    return reduced(absolute(x - target), reduction, "l1_loss")


def huber_loss(x: Any, target: Any, /, *, delta: float = 1.0, reduction: str = "mean") -> Any:
    """d²/2 where |d| ≤ delta, else delta · (|d| - delta/2), for d = x - target.

    The derivative is d clamped to [-delta, delta].

    >>> import numpy as np
    >>> huber_loss(np.array([0.5, 3.0]), np.array([0.0, 0.0]), reduction="none")
    array([0.125, 2.5  ])
    """
    if not delta > 0:
        raise ArgumentError("argument `delta` of `huber_loss`", "a positive number", f"{delta}")
    difference = x - target
    limited = clip(difference, -delta, delta)
    return reduced(limited * (difference - limited * 0.5), reduction, "huber_loss")


@op(elementwise=True)
def logistic_loss(xp: Any, logits: Any, targets: Any, /) -> Any:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), accurate in both tails for t of 0 or 1.

    >>> import numpy as np
    >>> logistic_loss(np.array([-1000.0, 1000.0]), np.array([1.0, 1.0]))
    array([1000.,    0.])
    """
    rest = xp.log1p(xp.exp(-xp.abs(logits)))
    return xp.maximum(logits, xp.zeros_like(logits)) - logits * targets + rest


@logistic_loss.partial("logits")
def partial_logistic_loss_logits(logits: Any, targets: Any) -> Any:
    return sigmoid(logits) - targets


@logistic_loss.partial("targets")
def partial_logistic_loss_targets(logits: Any) -> Any:
    return -logits


def binary_cross_entropy_with_logits(
    logits: Any, targets: Any, /, *, reduction: str = "mean"
) -> Any:
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(logits), without overflow.

    derivatives  p - t  and  -logits

    >>> import numpy as np
    >>> float(binary_cross_entropy_with_logits(np.array([0.0]), np.array([1.0])))
    0.6931471805599453
    """
    values = logistic_loss(logits, targets)
    return reduced(values, reduction, "binary_cross_entropy_with_logits")


@whole
def nll_loss(
    log_probabilities: Any, targets: Any, /, *, axis: int = -1, reduction: str = "mean"
) -> Any:
    """-log_probabilities[target] along an axis; targets are integers, of the shape without it.

    >>> import numpy as np
    >>> float(nll_loss(np.array([[-1.0, -2.0]]), np.array([1])))
    2.0
    """
    axis = positive_axis(axis, len(log_probabilities.shape), "nll_loss")
    _check_targets(log_probabilities, raw(to_array(targets)), axis, "nll_loss")
    taken = take_along_axis(log_probabilities, expand_dims(targets, axis=axis), axis=axis)
    return reduced(-squeeze(taken, axis=axis), reduction, "nll_loss")


@op(dtype=lambda logits, targets: mean(logits))
def cross_entropy(
    xp: Any, logits: Any, targets: Any, /, *, axis: int = -1, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """-Σ q log(softmax(logits)) along an axis, for target classes or target probabilities q.

    targets          integer classes, of the logits' shape without the axis, or probabilities, of
                     the logits' shape; probabilities have a derivative: -log(softmax(logits))
    reduction        "mean" is over the examples (all axes except that of the classes); NaN if
                     there are none
    label_smoothing  the fraction of q that is spread evenly over the classes
    pullback         g · (softmax(logits) · Σ q - q)

    Raises `ShapeError` for targets of another shape, `ArgumentError` for a class out of range.

    >>> import numpy as np
    >>> float(cross_entropy(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([1, 0])))
    0.34657359027997264
    """
    axis = positive_axis(axis, len(logits.shape), "cross_entropy")
    _check_reduction(reduction, "cross_entropy")
    if _check_targets(logits, targets, axis, "cross_entropy"):
        shifted, total = _shifted(xp, logits, axis)
        q = _smoothed(targets, label_smoothing, logits.shape[axis])
        # A class of probability 0 contributes nothing, even where its log-probability is -inf.
        weighed = xp.where(q == 0, xp.zeros_like(shifted), shifted) * q
        losses = total * xp.sum(q, axis=axis) - xp.sum(weighed, axis=axis)
    else:
        losses = _class_losses[logits.__class__](logits, targets, axis, label_smoothing)
    return _reduce_losses(losses, reduction)


def _shifted(xp: Any, logits: Any, axis: int) -> tuple[Any, Any]:
    """The logits minus their maximum, and the logarithm of the sum of their exponentials."""
    shifted = logits - finite_max(xp, logits, axis)
    total = xp.sum(xp.exp(shifted), axis=axis)
    return shifted, xp.log(xp.where(total == 0, xp.ones_like(total), total))


def _losses_of_classes(
    xp: Any, logits: Any, targets: Any, axis: int, label_smoothing: float
) -> Any:
    """The cross-entropy of each example, for target classes."""
    shifted, total = _shifted(xp, logits, axis)
    at = xp.expand_dims(targets, axis=axis)
    picked = xp.squeeze(xp.take_along_axis(shifted, at, axis=axis), axis=axis)
    if label_smoothing:
        picked = picked * (1 - label_smoothing)
        picked = picked + xp.mean(shifted, axis=axis) * label_smoothing
    return total - picked


_class_losses = Kernels("class_losses", _losses_of_classes, None)
"""array type -> a faster implementation of these losses."""


@cross_entropy.pullback("logits")
def pullback_cross_entropy_logits(
    g: Any, logits: Any, targets: Any, *, axis: int, reduction: str, label_smoothing: float
) -> Any:
    slope = cross_entropy_slope(logits, targets, axis=axis, label_smoothing=label_smoothing)
    return slope * _cotangent_per_example(g, logits, axis, reduction)


@cross_entropy.pullback("targets")
def pullback_cross_entropy_targets(
    g: Any, logits: Any, *, axis: int, reduction: str, label_smoothing: float
) -> Any:
    each = _cotangent_per_example(g, logits, axis, reduction) * (label_smoothing - 1)
    return log_softmax(logits, axis=axis) * each


@cross_entropy.pushforward("logits")
def pushforward_cross_entropy_logits(
    t: Any, logits: Any, targets: Any, *, axis: int, reduction: str, label_smoothing: float
) -> Any:
    slope = cross_entropy_slope(logits, targets, axis=axis, label_smoothing=label_smoothing)
    return _reduce_losses(total_of(slope * t, axis=axis), reduction)


@cross_entropy.pushforward("targets")
def pushforward_cross_entropy_targets(
    t: Any, logits: Any, *, axis: int, reduction: str, label_smoothing: float
) -> Any:
    terms = where(t == 0, 0, log_softmax(logits, axis=axis)) * t
    return _reduce_losses(total_of(terms, axis=axis) * (label_smoothing - 1), reduction)


@cross_entropy.batching
def batch_cross_entropy(
    logits: Any, targets: Any, *, axis: int, reduction: str, label_smoothing: float
) -> Any:
    (axis,) = hidden_axes(axis, len(logits.shape) - 1, "cross_entropy")
    losses = cross_entropy(
        logits, targets, axis=axis, reduction="none", label_smoothing=label_smoothing
    )
    return _reduce_losses(losses, reduction, tuple(range(1, len(losses.shape))))


@cross_entropy.shaping
def shape_cross_entropy(
    logits: Any, targets: Any, *, axis: Any, reduction: str, **how: Any
) -> Any:
    if not is_any(logits, targets):
        fits = logits.shape if is_inexact(targets) else shape_without(logits, axis)
        if not may_be(tuple(fits), tuple(targets.shape)):
            raise UndecidedError
    return shape_without(logits, axis) if reduction == "none" else ()


def shape_without(x: Any, axis: Any) -> Any:
    """The shape of a symbol without an axis."""
    return shape_reduced("cross_entropy", x, axis=axis)


@op(shape="logits", dtype=lambda logits, targets: mean(logits))
def cross_entropy_slope(
    xp: Any, logits: Any, targets: Any, /, *, axis: int, label_smoothing: float
) -> Any:
    """softmax(logits) · Σ q - q: the derivative of the cross-entropy of each example.

    >>> import numpy as np
    >>> cross_entropy_slope(np.array([[0.0, 0.0]]), np.array([1]), axis=-1, label_smoothing=0.0)
    array([[ 0.5, -0.5]])
    """
    p, classes = softmax(logits, axis=axis), logits.shape[axis]
    if is_inexact(targets):
        q = _smoothed(targets, label_smoothing, classes)
        return p * xp.sum(q, axis=axis, keepdims=True) - q
    ndim = len(logits.shape)
    names = xp.reshape(counted(classes, logits), (classes, *(1,) * (ndim - 1 - axis % ndim)))
    hot = xp.astype(names == xp.expand_dims(targets, axis=axis), logits.dtype)
    return p - _smoothed(hot, label_smoothing, classes)


@cross_entropy_slope.pullback("logits")
def pullback_cross_entropy_slope_logits(
    g: Any, logits: Any, targets: Any, *, axis: int, label_smoothing: float
) -> Any:
    p = softmax(logits, axis=axis)
    weighted = g * p
    if is_inexact(targets):
        q = _smoothed(targets, label_smoothing, logits.shape[axis])
        weighted = weighted * total_of(q, axis=axis, keepdims=True)
    return weighted - p * total_of(weighted, axis=axis, keepdims=True)


@cross_entropy_slope.pullback("targets")
def pullback_cross_entropy_slope_targets(
    g: Any, logits: Any, *, axis: int, label_smoothing: float
) -> Any:
    weighted = total_of(g * softmax(logits, axis=axis), axis=axis, keepdims=True)
    return (weighted - g) * (1 - label_smoothing)


@cross_entropy_slope.pushforward("logits")
def pushforward_cross_entropy_slope_logits(
    t: Any, logits: Any, targets: Any, *, axis: int, label_smoothing: float
) -> Any:
    return pullback_cross_entropy_slope_logits(  # the Jacobian is symmetric
        t, logits, targets, axis=axis, label_smoothing=label_smoothing
    )


@cross_entropy_slope.pushforward("targets")
def pushforward_cross_entropy_slope_targets(
    t: Any, logits: Any, *, axis: int, label_smoothing: float
) -> Any:
    spread = softmax(logits, axis=axis) * total_of(t, axis=axis, keepdims=True)
    return (spread - t) * (1 - label_smoothing)


@cross_entropy_slope.batching
def batch_cross_entropy_slope(
    logits: Any, targets: Any, *, axis: int, label_smoothing: float
) -> Any:
    (axis,) = hidden_axes(axis, len(logits.shape) - 1, "cross_entropy_slope")
    return cross_entropy_slope(logits, targets, axis=axis, label_smoothing=label_smoothing)


def _smoothed(q: Any, label_smoothing: float, classes: int) -> Any:
    return q * (1 - label_smoothing) + label_smoothing / classes if label_smoothing else q


def _reduce_losses(losses: Any, reduction: str, axes: tuple[int, ...] | None = None) -> Any:
    """The losses (or their tangents) reduced along axes, or all; the mean of no entries is NaN.

    It does not use `mean`, which warns for no entries.
    """
    if reduction == "none":
        return losses
    total = total_of(losses, axis=axes)
    if reduction == "sum":
        return total
    n = count(tuple(losses.shape), axes)
    return total / n if n else total + math.nan


def _cotangent_per_example(g: Any, logits: Any, axis: int, reduction: str) -> Any:
    """The cotangent of the loss of each example."""
    if reduction == "none":
        return expand_dims(g, axis=axis)
    if reduction == "sum":
        return g
    shape = tuple(logits.shape)
    return g / max(1, count(shape, None) // shape[axis])


def _check_targets(logits: Any, targets: Any, axis: int, subject: str) -> bool:
    """Whether targets are probabilities; targets of both kinds are checked against the logits."""
    shape, given = tuple(logits.shape), tuple(targets.shape)
    without, classes = shape[:axis] + shape[axis + 1 :], shape[axis]
    soft = is_inexact(targets) and subject != "nll_loss"
    if given != (shape if soft else without) or not classes:
        raise ShapeError(
            f"argument `targets` of `{subject}`",
            f"probabilities of shape {shape}" if soft else f"classes of shape {without}",
            f"shape {given}", "pass the axis of the classes as `axis`",
        )
    while targets.__class__ is Batched:
        targets = targets.value
    targets = None if soft or 0 in targets.shape else known(targets)
    if targets is not None and (targets.min() < 0 or targets.max() >= classes):
        raise ArgumentError(
            f"argument `targets` of `{subject}`", f"classes in [0, {classes})",
            f"values from {targets.min()} to {targets.max()}",
        )
    return soft
