"""Losses of `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....errors import ArgumentError
from ....nn import functional as core
from ...dtypes import floating
from ...errors import guarded
from ...scalars import of_scalars

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "gaussian_nll_loss", "hinge_embedding_loss",
    "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "pairwise_distance", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _modern(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a loss to the deprecated options size_average and reduce."""

    @wraps(function)
    def call(*args: Any, size_average: Any = None, reduce: Any = None, **keywords: Any) -> Any:
        if size_average is not None or reduce is not None:
            averaged = "mean" if size_average is not False else "sum"
            keywords["reduction"] = averaged if reduce is not False else "none"
        return function(*args, **keywords)

    return guarded(call)


@_modern
def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:
    """Cross entropy of logits; the target holds class indices or class probabilities.

    Classes are on axis 1, or on the only axis.

    weight           one number per class; the mean is divided by the sum of the targets' weights
    ignore_index     a class that does not contribute
    label_smoothing  the fraction of the target spread evenly over the classes

    >>> import pullback.torch as torch
    >>> cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError("argument `label_smoothing` of `cross_entropy`", "a number in [0, 1]",
                            f"{label_smoothing}")
    return core.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


@_modern
def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """Negative log likelihood: -input of the target's class, weighted; classes are on axis 1."""
    return core.nll_loss(input, target, weight, ignore_index, reduction)


@_modern
def mse_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
    """Squared error: (input - target)²."""
    return core.mse_loss(input, target, reduction, weight)


@_modern
def l1_loss(input: Any, target: Any, reduction: str = "mean", weight: Any = None) -> Any:
    """Absolute error: |input - target|."""
    return core.l1_loss(input, target, reduction, weight)


@guarded
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """Huber loss: quadratic within delta of the target, linear beyond."""
    return core.huber_loss(input, target, reduction, delta, weight)


@_modern
def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """Huber loss divided by beta; |input - target| for beta = 0."""
    return core.smooth_l1_loss(input, target, reduction, beta)


@_modern
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """KL divergence: target · (log(target) - input); "batchmean" divides by the batch size."""
    return core.kl_div(input, target, reduction, log_target)


@_modern
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross entropy of probabilities p: -t log(p) - (1 - t) log(1 - p), logs ≥ -100."""
    return core.binary_cross_entropy(input, target, weight, reduction)


@_modern
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """-c t log(p) - (1 - t) log(1 - p) with p = sigmoid(input), c = pos_weight; no overflow."""
    return core.binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight)


@_modern
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Poisson negative log likelihood: exp(input) - target · input, for the log of the rate."""
    input, target = floating(input), floating(target)
    return core.poisson_nll_loss(input, target, log_input, full, eps, reduction)


@guarded
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """Gaussian negative log likelihood: (log(var) + (input - target)² / var) / 2."""
    return core.gaussian_nll_loss(input, target, var, full, eps, reduction)


@_modern
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Logistic loss: log(1 + exp(-target · input)) for targets 1 and -1."""
    return core.soft_margin_loss(input, target, reduction)


@_modern
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """max(0, -target · (input1 - input2) + margin)."""
    return core.margin_ranking_loss(input1, input2, target, margin, reduction)


@_modern
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    return core.hinge_embedding_loss(input, target, margin, reduction)


@_modern
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return core.cosine_embedding_loss(input1, input2, target, margin, reduction)


@_modern
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Any:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in the p-norm."""
    return core.triplet_margin_loss(
        anchor, positive, negative, margin, swap=swap, reduction=reduction,
        distance=lambda x, y: core.pairwise_distance(x, y, p, eps),
    )


@guarded
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:
    """Triplet loss with a custom distance function."""
    return core.triplet_margin_loss(
        anchor, positive, negative, margin, swap=swap, reduction=reduction,
        distance=distance_function or core.pairwise_distance,
    )


@_modern
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """Multi-class margin loss: Σ max(0, margin - input[target] + input[i])ᵖ / number of classes."""
    return core.multi_margin_loss(input, target, p, margin, weight, reduction)


@_modern
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """The mean of the logistic losses over the classes."""
    return core.multi_label_soft_margin_loss(input, target, weight, reduction)


@guarded
@of_scalars
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Cosine similarity x1 · x2 / (|x1| |x2|) along an axis."""
    return core.cosine_similarity(x1, x2, dim, eps)


@guarded
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return core.pairwise_distance(x1, x2, p, eps, keepdim)
