"""`tf.losses`: weighted losses, which are added to a collection."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from ... import ops
from ...errors import ArgumentError
from ..convert import as_tensor, matched, operand
from ..math import add_n, squared_difference
from ..shaping import cast
from . import nn as _nn
from .arrays import stop_gradient
from .graph import get_default_graph, graph_for, home, opened
from .keys import GraphKeys
from .naming import built
from .tensor import in_graph

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "get_losses",
    "get_regularization_loss", "get_regularization_losses", "get_total_loss", "hinge_loss",
    "huber_loss", "log_loss", "mean_squared_error", "sigmoid_cross_entropy",
    "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]


class Reduction:
    """How to reduce per-example losses to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All reduction modes."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS)


def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Weights and reduces losses to one number, and adds it to a collection."""
    return _collected("weighted_loss", (losses,), lambda: operand(losses), weights, scope,
                      loss_collection, reduction)


def _collected(
    default: str, values: Any, build: Callable[[], Any], weights: Any, scope: str | None,
    collection: str | None, reduction: str,
) -> Any:
    """Weight and reduce a loss, and add it to a collection."""
    if reduction not in Reduction.all():
        raise ArgumentError("argument `reduction` of a loss", ", ".join(Reduction.all()),
                            repr(reduction))
    graph = graph_for(values)

    def whole() -> Any:
        return _reduced(build(), weights, reduction)

    with opened(graph), graph.name_scope(scope or default):
        plain = reduction in (Reduction.NONE, Reduction.SUM)
        loss = built(graph, whole, None if plain else "value")
    if collection:
        home().add_to_collection(collection, loss)
    return loss


def _reduced(losses: Any, weights: Any, reduction: str) -> Any:
    w = cast(weights, losses.dtype)
    while 0 < w.shape.rank < losses.shape.rank:
        w = ops.expand_dims(w, axis=-1)
    total = losses * w
    if reduction == Reduction.NONE:
        return total
    whole = ops.sum(total)
    if reduction == Reduction.SUM:
        return whole
    if reduction == Reduction.MEAN:
        count = ops.sum(ops.ones_like(losses) * w)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = ops.sum(ops.ones_like(losses))
    else:
        present = ops.astype(ops.not_equal(w, 0), losses._data.dtype)
        count = ops.sum(ops.ones_like(losses) * present)
    none = ops.equal(count, 0)
    return ops.where(none, ops.zeros_like(whole), whole / ops.where(none, ops.ones_like(count),
                                                                    count))


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Predictions, and labels converted to their dtype and shape."""
    p = as_tensor(predictions)
    t = cast(labels, p.dtype)
    p.shape.assert_is_compatible_with(t.shape)
    return t, p


def _loss(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a weighted loss of a function of labels, predictions and options."""

    def decorate(build: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            bound = found.bind(*args, **keywords)
            bound.apply_defaults()
            values = bound.arguments
            how = [values.pop(p.name) for p in common]
            labels, predictions = (values[n] for n in [*values][:2])
            return _collected(name, (predictions, labels), lambda: build(**values), *how)

        common = [*signature(compute_weighted_loss).parameters.values()][1:]
        own = [*signature(build).parameters.values()]
        found = Signature([*own[:2], common[0], *own[2:], *common[1:]])
        call.__name__ = call.__qualname__ = build.__name__
        call.__doc__, call.__signature__ = build.__doc__, found  # type: ignore[attr-defined]
        return call

    return decorate


@_loss("mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any) -> Any:
    """Weighted mean of (predictions - labels)².

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0])
    ...     print(loss.name, sess.run(loss), tf.losses.get_losses() == [loss])
    mean_squared_error/value:0 2.5 True
    """
    t, p = _pair(labels, predictions)
    return squared_difference(p, t)


@_loss("absolute_difference")
def absolute_difference(labels: Any, predictions: Any) -> Any:
    """Weighted mean of |predictions - labels|."""
    t, p = _pair(labels, predictions)
    return ops.l1_loss(p, t, reduction="none")


@_loss("huber_loss")
def huber_loss(labels: Any, predictions: Any, delta: float = 1.0) -> Any:
    """Huber loss: the weighted mean of e² / 2 for |e| ≤ delta, linear beyond."""
    t, p = _pair(labels, predictions)
    return ops.huber_loss(p, t, delta=delta, reduction="none")


@_loss("log_loss")
def log_loss(labels: Any, predictions: Any, epsilon: float = 1e-7) -> Any:
    """Weighted mean of -t log(p + ε) - (1 - t) log(1 - p + ε)."""
    t, p = _pair(labels, predictions)
    return -t * ops.log(p + epsilon) - (1 - t) * ops.log(1 - p + epsilon)


@_loss("hinge_loss")
def hinge_loss(labels: Any, logits: Any) -> Any:
    """Hinge loss: the weighted mean of max(0, 1 - y · logits), with labels 0 and 1 as y = ±1."""
    t, x = _pair(labels, logits)
    return ops.relu(1 - (t * 2 - 1) * x)


@_loss("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, label_smoothing: float = 0
) -> Any:
    """Weighted mean of `tf.nn.sigmoid_cross_entropy_with_logits`."""
    t, x = _pair(multi_class_labels, logits)
    if label_smoothing:
        t = t * (1 - label_smoothing) + 0.5 * label_smoothing
    return _nn.sigmoid_cross_entropy_with_logits(labels=t, logits=x)


@_loss("softmax_cross_entropy_loss")
def softmax_cross_entropy(onehot_labels: Any, logits: Any, label_smoothing: float = 0) -> Any:
    """Weighted mean of `tf.nn.softmax_cross_entropy_with_logits`; labels have no gradient."""
    t, x = _pair(onehot_labels, logits)
    if label_smoothing:
        t = t * (1 - label_smoothing) + label_smoothing / t.shape.as_list()[-1]
    return _nn.softmax_cross_entropy_with_logits_v2(labels=stop_gradient(t), logits=x)


@_loss("sparse_softmax_cross_entropy_loss")
def sparse_softmax_cross_entropy(labels: Any, logits: Any) -> Any:
    """Weighted mean of `tf.nn.sparse_softmax_cross_entropy_with_logits`."""
    return _nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


# Collected losses -----------------------------------------------------------------------------


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection."""
    if loss_collection:
        home().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses in a collection."""
    return list(home().get_collection(loss_collection, scope))


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The collected regularization losses."""
    return get_losses(scope, GraphKeys.REGULARIZATION_LOSSES)


def _total(losses: list[Any], name: str | None) -> Any:
    graph = get_default_graph()
    with opened(graph):
        if not losses:
            return in_graph(graph, as_tensor(0.0), name)
        return built(graph, lambda: _added(losses), name)


def _added(losses: list[Any]) -> Any:
    return add_n(matched("add_n", *losses))


def get_regularization_loss(
    scope: str | None = None, name: str | None = "total_regularization_loss"
) -> Any:
    """The sum of the regularization losses; 0 if there are none."""
    return _total(get_regularization_losses(scope), name)


def get_total_loss(
    add_regularization_losses: bool = True, name: str | None = "total_loss",
    scope: str | None = None,
) -> Any:
    """The sum of the collected losses and, by default, the regularization losses."""
    losses = get_losses(scope)
    return _total(losses + (get_regularization_losses(scope) if add_regularization_losses else []),
                  name)
