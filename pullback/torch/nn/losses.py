"""Losses as modules."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .configured import Configured
from .functional.losses import reduction_of
from .layers import PairwiseDistance

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]

_OLD = {"size_average": None, "reduce": None}
_MEAN = {**_OLD, "reduction": "mean"}


class _Loss(Configured, show=""):
    """Base class; tensor options become buffers."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        for name in ("weight", "pos_weight"):
            if name in self._chosen():
                self.register_buffer(name, self.__dict__.pop(name))
        averaged, reduced = (self.__dict__.pop(name, None) for name in _OLD)
        if averaged is not None or reduced is not None:
            self.reduction = reduction_of(averaged, reduced)

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._options or () if name not in _OLD}


class MSELoss(_Loss, function=F.mse_loss, options=_MEAN):
    """Squared error: (input - target)²."""


class L1Loss(_Loss, function=F.l1_loss, options=_MEAN):
    """Absolute error: |input - target|."""


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss, options={**_MEAN, "beta": 1.0}):
    """Huber loss divided by beta."""


class HuberLoss(_Loss, function=F.huber_loss, options={"reduction": "mean", "delta": 1.0}):
    """Huber loss: quadratic within delta of the target, linear beyond."""


class CrossEntropyLoss(_Loss, function=F.cross_entropy, options={
    "weight": None, "size_average": None, "ignore_index": -100, "reduce": None,
    "reduction": "mean", "label_smoothing": 0.0,
}):
    """Cross entropy: -log(softmax(input)) of the target's class.

    >>> import pullback.torch as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """


class NLLLoss(_Loss, function=F.nll_loss, options={
    "weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean",
}):
    """Negative log likelihood: -input of the target's class."""


class BCELoss(_Loss, function=F.binary_cross_entropy, options={"weight": None, **_MEAN}):
    """Binary cross entropy: -t log(p) - (1 - t) log(1 - p) for probabilities p."""


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits, options={
    "weight": None, **_MEAN, "pos_weight": None,
}):
    """Binary cross entropy of logits: -t log(p) - (1 - t) log(1 - p) with p = sigmoid(input)."""


class KLDivLoss(_Loss, function=F.kl_div, options={**_MEAN, "log_target": False}):
    """KL divergence: target · (log(target) - input)."""


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, options={
    "log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None,
    "reduction": "mean",
}):
    """Poisson negative log likelihood: exp(input) - target · input."""


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss, options={
    "full": False, "eps": 1e-6, "reduction": "mean",
}):
    """Gaussian negative log likelihood: (log(var) + (input - target)² / var) / 2."""


class SoftMarginLoss(_Loss, function=F.soft_margin_loss, options=_MEAN):
    """Logistic loss: log(1 + exp(-target · input))."""


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss, options={"margin": 0.0, **_MEAN}):
    """max(0, -target · (input1 - input2) + margin)."""


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss, options={"margin": 1.0, **_MEAN}):
    """input where the target is 1, max(0, margin - input) where it is -1."""


class CosineEmbeddingLoss(
    _Loss, function=F.cosine_embedding_loss, options={"margin": 0.0, **_MEAN},
):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""


class MultiMarginLoss(
    _Loss, function=F.multi_margin_loss, options={"p": 1, "margin": 1.0, "weight": None, **_MEAN},
):
    """Multi-class margin loss: Σ max(0, margin - input[target] + input[i])ᵖ / number of classes."""


class MultiLabelSoftMarginLoss(
    _Loss, function=F.multilabel_soft_margin_loss, options={"weight": None, **_MEAN},
):
    """The mean of the logistic losses over the classes."""


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss, options={
    "margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **_MEAN,
}):
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss, options={
    "distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean",
}):
    """Triplet loss with a custom distance function."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if vars(self).get("distance_function", self) is None:
            del self.distance_function
            self.distance_function: Any = PairwiseDistance()
