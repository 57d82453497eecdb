"""Losses of `tf.nn`; each returns one number per example."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..nn.functional import losses as core
from .convert import checked, matched, operand
from .errors import invalid

__all__ = [
    "l2_loss", "log_poisson_loss", "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]


@checked
def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Any:
    """Cross entropy of logits and integer labels: -log(softmax(logits)[label]) per example.

    >>> sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    classes = operand(labels, "iu", "sparse_softmax_cross_entropy_with_logits")
    x = operand(logits, "f", "sparse_softmax_cross_entropy_with_logits")
    return ops.cross_entropy(x, classes, axis=-1, reduction="none")


@checked
def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Any:
    """Cross entropy per example: -Σ labels · log(softmax(logits)); labels and logits get gradients.

    >>> softmax_cross_entropy_with_logits(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]]).numpy()
    array([0.6931472], dtype=float32)
    """
    x, q = matched("softmax_cross_entropy_with_logits", logits, labels)
    return ops.cross_entropy(x, q, axis=axis, reduction="none")


@checked
def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """-t log(p) - (1 - t) log(1 - p) with p = sigmoid(logits), computed without overflow.

    >>> sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0]).numpy()
    array([0.6931472], dtype=float32)
    """
    x, t = matched("sigmoid_cross_entropy_with_logits", logits, labels)
    if x.shape != t.shape:
        raise invalid("`sigmoid_cross_entropy_with_logits`", "labels and logits of one shape",
                      f"{t.shape} and {x.shape}")
    return ops.binary_cross_entropy_with_logits(x, t, reduction="none")


def l2_loss(t: Any, name: str | None = None) -> Any:
    """Half the squared 2-norm: Σ t² / 2.

    >>> l2_loss([3.0, 4.0]).numpy()
    np.float32(12.5)
    """
    x = operand(t, "f", "l2_loss")
    return ops.sum(x * x) / 2


@checked
def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Any:
    """`sigmoid_cross_entropy_with_logits` with a weight on the positive labels' term.

    >>> weighted_cross_entropy_with_logits([1.0], [0.0], 2.0).numpy()
    array([1.3862944], dtype=float32)
    """
    x, t, weight = matched("weighted_cross_entropy_with_logits", logits, labels, pos_weight)
    return core.binary_cross_entropy_with_logits(x, t, reduction="none", pos_weight=weight)


@checked
def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """Poisson loss: exp(c) - t c, with the log of the rate c and the count t.

    compute_full_loss  for t > 1 add Stirling's approximation of log t!, which does not depend on c

    >>> log_poisson_loss([1.0], [0.0]).numpy()
    array([1.], dtype=float32)
    """
    c, t = matched("log_poisson_loss", log_input, targets)
    loss = core.poisson_nll_loss(c, t, reduction="none")
    if not compute_full_loss:
        return loss
    small = (t >= 0) & (t <= 1)
    return loss + ops.where(small, ops.zeros_like(t), core.stirling(t))
