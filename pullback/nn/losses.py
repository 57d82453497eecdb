"""Losses as modules."""

from __future__ import annotations

from typing import Any

from .. import ops
from .configured import Configured


class CrossEntropyLoss(Configured, options={
    "axis": -1, "reduction": "mean", "label_smoothing": 0.0,
}):
    """-Σ q log(softmax(logits)) for classes or probabilities q; see `pullback.cross_entropy`.

    axis             the axis of the logits that holds the classes
    reduction        "mean" or "sum" over all examples, or "none" for one loss per example
    label_smoothing  the fraction of each target that is spread evenly over all classes

    Call it with floating logits (examples, classes) and targets: integer classes (examples,), or
    probabilities of the logits' shape.

    >>> import pullback as pb
    >>> CrossEntropyLoss()(pb.tensor([[0.0, 0.0]]), pb.tensor([1])).item()
    0.6931471805599453
    """

    axis: int
    reduction: str
    label_smoothing: float

    def forward(self, logits: Any, targets: Any) -> Any:
        return ops.cross_entropy(logits, targets, **self._chosen())


class MSELoss(Configured, options={"reduction": "mean"}):
    """(x - target)²; see `pullback.mse_loss`.

    reduction  "mean" or "sum" over all entries, or "none"

    Call it with two floating tensors whose shapes broadcast.

    >>> import pullback as pb
    >>> MSELoss()(pb.tensor([1.0, 3.0]), pb.tensor([1.0, 1.0])).item()
    2.0
    """

    reduction: str

    def forward(self, x: Any, target: Any) -> Any:
        return ops.mse_loss(x, target, **self._chosen())
