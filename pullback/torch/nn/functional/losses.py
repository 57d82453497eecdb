"""Losses of `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
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


def reduction_of(size_average: Any, reduce: Any) -> str:
    """The reduction that the deprecated options choose."""
    averaged = "mean" if size_average is not False else "sum"
    return averaged if reduce is not False else "none"


def _modern(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a loss to the deprecated options size_average and reduce."""

    @wraps(function)
    def call(*args: Any, size_average: Any = None, reduce: Any = None, **keywords: Any) -> Any:
        if size_average is not None or reduce is not None:
            keywords["reduction"] = reduction_of(size_average, reduce)
        return function(*args, **keywords)

    return guarded(call)


def _named(
    function: Callable[..., Any], names: str, doc: str, name: str = ""
) -> Callable[..., Any]:
    """A loss of the core with other names of its first arguments."""
    own = [p for p in signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    olds = {new: p.name for new, p in zip(names.split(), own, strict=False)}

    def call(*args: Any, **keywords: Any) -> Any:
        return function(*args, **{olds.get(k, k): value for k, value in keywords.items()})

    news = [*olds, *[p.name for p in own[len(olds) :]]]
    call.__name__ = call.__qualname__ = name or function.__name__
    call.__doc__ = doc
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [p.replace(name=new) for p, new in zip(own, news, strict=True)]
    )
    return call


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
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Poisson negative log likelihood: exp(input) - target · input, for the log of the rate."""
    input, target = floating(input), floating(target)
    return core.poisson_nll_loss(input, target, log_input, full, eps, reduction)


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


@guarded
@of_scalars
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Cosine similarity x1 · x2 / (|x1| |x2|) along an axis."""
    return core.cosine_similarity(x1, x2, dim, eps)


# Losses of the core that differ in names only -----------------------------------------------

nll_loss = _modern(_named(
    core.nll_loss, "input",
    "Negative log likelihood: -input of the target's class, weighted; classes are on axis 1.",
))
mse_loss = _modern(_named(core.mse_loss, "input", "Squared error: (input - target)²."))
l1_loss = _modern(_named(core.l1_loss, "input", "Absolute error: |input - target|."))
huber_loss = guarded(_named(
    core.huber_loss, "input", "Huber loss: quadratic within delta of the target, linear beyond."
))
smooth_l1_loss = _modern(_named(
    core.smooth_l1_loss, "input", "Huber loss divided by beta; |input - target| for beta = 0."
))
kl_div = _modern(_named(
    core.kl_div, "input",
    'KL divergence: target · (log(target) - input); "batchmean" divides by the batch size.',
))
binary_cross_entropy = _modern(_named(
    core.binary_cross_entropy, "input",
    "Binary cross entropy of probabilities p: -t log(p) - (1 - t) log(1 - p), logs ≥ -100.",
))
binary_cross_entropy_with_logits = _modern(_named(
    core.binary_cross_entropy_with_logits, "input",
    "-c t log(p) - (1 - t) log(1 - p) with p = sigmoid(input), c = pos_weight; no overflow.",
))
gaussian_nll_loss = guarded(_named(
    core.gaussian_nll_loss, "input target var",
    "Gaussian negative log likelihood: (log(var) + (input - target)² / var) / 2.",
))
soft_margin_loss = _modern(_named(
    core.soft_margin_loss, "input",
    "Logistic loss: log(1 + exp(-target · input)) for targets 1 and -1.",
))
margin_ranking_loss = _modern(_named(
    core.margin_ranking_loss, "input1 input2", "max(0, -target · (input1 - input2) + margin)."
))
hinge_embedding_loss = _modern(_named(
    core.hinge_embedding_loss, "input",
    "input where the target is 1, max(0, margin - input) where it is -1.",
))
cosine_embedding_loss = _modern(_named(
    core.cosine_embedding_loss, "input1 input2",
    "1 - cos where the target is 1, max(0, cos - margin) where it is -1.",
))
multi_margin_loss = _modern(_named(
    core.multi_margin_loss, "input",
    "Multi-class margin loss: Σ max(0, margin - input[target] + input[i])ᵖ / number of classes.",
))
multilabel_soft_margin_loss = _modern(_named(
    core.multi_label_soft_margin_loss, "input",
    "The mean of the logistic losses over the classes.", name="multilabel_soft_margin_loss",
))
pairwise_distance = guarded(_named(
    core.pairwise_distance, "x1 x2 p eps keepdim",
    "The p-norm of x1 - x2 + eps along the last axis.",
))
