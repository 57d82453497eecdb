"""Losses as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from . import functional as F
from .configured import Configured
from .layers import PairwiseDistance

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]

_OLD = {"size_average": None, "reduce": None}
_MEAN = {**_OLD, "reduction": "mean"}


class _Loss(Configured):
    """Base class; tensor options become buffers."""

    _tensors_among: ClassVar = ("weight", "pos_weight")

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        for name in self._tensors_among:
            if name in self._options:
                value = self.__dict__.pop(name)
                self.register_buffer(name, value)
        old = self.__dict__.pop("size_average", None), self.__dict__.pop("reduce", None)
        if old != (None, None):
            averaged = "mean" if old[0] is not False else "sum"
            self.reduction = averaged if old[1] is not False else "none"

    def forward(self, *inputs: Any) -> Any:
        """Compute the loss of an input and a target."""
        options = {name: getattr(self, name) for name in self._options if name not in _OLD}
        return type(self)._function(*inputs, **options)

    def extra_repr(self) -> str:
        """Empty: no options are shown."""
        return ""


def _loss(function: Callable[..., Any], before: dict[str, Any], after: Any = ()) -> Any:
    return {**before, **_MEAN, **dict(after)}, staticmethod(function)


class MSELoss(_Loss):
    """Squared error: (input - target)²."""

    _options, _function = _loss(F.mse_loss, {})


class L1Loss(_Loss):
    """Absolute error: |input - target|."""

    _options, _function = _loss(F.l1_loss, {})


class SmoothL1Loss(_Loss):
    """Huber loss divided by beta."""

    _options, _function = _loss(F.smooth_l1_loss, {}, {"beta": 1.0})


class HuberLoss(_Loss):
    """Huber loss: quadratic within delta of the target, linear beyond."""

    _options, _function = {"reduction": "mean", "delta": 1.0}, staticmethod(F.huber_loss)


class CrossEntropyLoss(_Loss):
    """Cross entropy: -log(softmax(input)) of the target's class.

    >>> import pullback.torch as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """

    _options: ClassVar = {
        "weight": None, "size_average": None, "ignore_index": -100, "reduce": None,
        "reduction": "mean", "label_smoothing": 0.0,
    }
    _function = staticmethod(F.cross_entropy)


class NLLLoss(_Loss):
    """Negative log likelihood: -input of the target's class."""

    _options: ClassVar = {
        "weight": None, "size_average": None, "ignore_index": -100, "reduce": None,
        "reduction": "mean",
    }
    _function = staticmethod(F.nll_loss)


class BCELoss(_Loss):
    """Binary cross entropy: -t log(p) - (1 - t) log(1 - p) for probabilities p."""

    _options, _function = _loss(F.binary_cross_entropy, {"weight": None})


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits: -t log(p) - (1 - t) log(1 - p) with p = sigmoid(input)."""

    _options, _function = _loss(
        F.binary_cross_entropy_with_logits, {"weight": None}, {"pos_weight": None}
    )


class KLDivLoss(_Loss):
    """KL divergence: target · (log(target) - input)."""

    _options, _function = _loss(F.kl_div, {}, {"log_target": False})


class PoissonNLLLoss(_Loss):
    """Poisson negative log likelihood: exp(input) - target · input."""

    _options: ClassVar = {
        "log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None,
        "reduction": "mean",
    }
    _function = staticmethod(F.poisson_nll_loss)


class GaussianNLLLoss(_Loss):
    """Gaussian negative log likelihood: (log(var) + (input - target)² / var) / 2."""

    _options: ClassVar = {"full": False, "eps": 1e-6, "reduction": "mean"}
    _function = staticmethod(F.gaussian_nll_loss)


class SoftMarginLoss(_Loss):
    """Logistic loss: log(1 + exp(-target · input))."""

    _options, _function = _loss(F.soft_margin_loss, {})


class MarginRankingLoss(_Loss):
    """max(0, -target · (input1 - input2) + margin)."""

    _options, _function = _loss(F.margin_ranking_loss, {"margin": 0.0})


class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1."""

    _options, _function = _loss(F.hinge_embedding_loss, {"margin": 1.0})


class CosineEmbeddingLoss(_Loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

    _options, _function = _loss(F.cosine_embedding_loss, {"margin": 0.0})


class MultiMarginLoss(_Loss):
    """Multi-class margin loss: Σ max(0, margin - input[target] + input[i])ᵖ / number of classes."""

    _options, _function = _loss(F.multi_margin_loss, {"p": 1, "margin": 1.0, "weight": None})


class MultiLabelSoftMarginLoss(_Loss):
    """The mean of the logistic losses over the classes."""

    _options, _function = _loss(F.multilabel_soft_margin_loss, {"weight": None})


class TripletMarginLoss(_Loss):
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""

    _options, _function = _loss(
        F.triplet_margin_loss, {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}
    )


class TripletMarginWithDistanceLoss(_Loss):
    """Triplet loss with a custom distance function."""

    _options: ClassVar = {
        "distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean",
    }
    _function = staticmethod(F.triplet_margin_with_distance_loss)

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if vars(self).get("distance_function", self) is None:
            del self.distance_function
            self.distance_function: Any = PairwiseDistance()
