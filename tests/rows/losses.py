"""Rows of `pullback/ops/losses.py`; the references are the definitions, one example at a time."""

import numpy as np

import pullback as pb
from pullback.ops.losses import cross_entropy_slope, logistic_loss
from tests.table import Row, Sample, ints, positive, real


def probabilities(x, axis=-1):
    powers = np.exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


def one_hot(targets, classes):
    return np.eye(classes)[targets]


def entropies(x, q, smoothing=0.0):
    q = (q * (1 - smoothing) + smoothing / x.shape[-1]).astype(x.dtype)
    return -(q * np.log(probabilities(x))).sum(-1)


def entropy_of(reduction="mean", smoothing=0.0):
    """(a call, its reference) for classes on the last axis."""
    shorten = {"mean": np.mean, "sum": np.sum, "none": lambda values: values}[reduction]

    def call(x, targets):
        return pb.cross_entropy(x, targets, reduction=reduction, label_smoothing=smoothing)

    def reference(x, targets):
        if targets.dtype.kind == "i":
            targets = one_hot(targets, x.shape[-1])
        return shorten(entropies(x, targets, smoothing))

    return call, reference


def distributions(rng):
    return probabilities(rng.normal(size=(5, 4)))


def huber(x, t):
    d = np.abs(x - t)
    return np.where(d <= 0.8, d * d / 2, 0.8 * (d - 0.4)).mean()


def logistic(x, t):
    p = 1 / (1 + np.exp(-x))
    return -t * np.log(p) - (1 - t) * np.log(1 - p)


PAIR = (real(3, 4), real(3, 4))
CLASSES = (real(5, 4), ints(5, high=3))
# Weights that do not add up to 1 show whether Σ q is where it belongs.
WEIGHTS = (real(5, 4), positive(5, 4))

ROWS = [
    Row("mse_loss", pb.mse_loss, lambda x, t: ((x - t) ** 2).mean(), PAIR, analytic=True),
    Row("mse_loss", lambda x, t: pb.mse_loss(x, t, reduction="none"), lambda x, t: (x - t) ** 2,
        PAIR, label="none", broadcast=True, analytic=True),
    Row("l1_loss", lambda x, t: pb.l1_loss(x, t, reduction="sum"),
        lambda x, t: np.abs(x - t).sum(), (real(3, 4, low=2.5, high=4), real(3, 4)), label="sum"),
    Row("l1_loss", pb.l1_loss, lambda x, t: np.abs(x - t).mean(),
        (real(3, 4), real(3, 4, low=2.5, high=4))),
    Row("huber_loss", lambda x, t: pb.huber_loss(x, t, delta=0.8), huber,
        (real(3, 4, away=(-0.8, 0.8)), Sample((3, 4), make=lambda rng: np.zeros((3, 4)))),
        float32_tolerance=1e-4),
    Row("logistic_loss", logistic_loss, logistic, (real(3, 4), positive(3, 4)), broadcast=True),
    Row("binary_cross_entropy_with_logits", pb.binary_cross_entropy_with_logits,
        lambda x, t: logistic(x, t).mean(), (real(3, 4), positive(3, 4))),
    Row("nll_loss", pb.nll_loss, lambda x, t: -np.mean([x[i, c] for i, c in enumerate(t)]),
        CLASSES),
    Row("cross_entropy", *entropy_of(), CLASSES),
    Row("cross_entropy", *entropy_of("sum", 0.2), CLASSES, label="sum, smoothed"),
    Row("cross_entropy", *entropy_of("none"), CLASSES, label="none"),
    Row("cross_entropy", *entropy_of("none", 0.1), WEIGHTS, label="weights, smoothed"),
    Row("cross_entropy", *entropy_of(), WEIGHTS, label="weights"),
    Row("cross_entropy", *entropy_of(), (real(5, 4), Sample((5, 4), make=distributions)),
        label="probabilities"),
    Row("cross_entropy", lambda x, t: pb.cross_entropy(x, t, axis=1),
        lambda x, t: entropies(np.moveaxis(x, 1, -1), one_hot(t, 3)).mean(),
        (real(2, 3, 4), ints(2, 4, high=2)), label="inner axis"),
    Row("cross_entropy_slope",
        lambda x, t: cross_entropy_slope(x, t, axis=-1, label_smoothing=0.1),
        lambda x, t: (probabilities(x) - 0.9 * one_hot(t, 4) - 0.025).astype(x.dtype), CLASSES),
    Row("cross_entropy_slope",
        lambda x, q: cross_entropy_slope(x, q, axis=-1, label_smoothing=0.0),
        lambda x, q: probabilities(x) * q.sum(-1, keepdims=True) - q, WEIGHTS, label="weights"),
    Row("cross_entropy_slope",
        lambda x, q: cross_entropy_slope(x, q, axis=0, label_smoothing=0.2),
        lambda x, q: probabilities(x, 0) * (0.8 * q + 0.04).sum(0) - (0.8 * q + 0.04), WEIGHTS,
        label="weights, smoothed, axis 0"),
]
