"""Rows of `pullback/ops/activations.py`; the references are the textbook's formulas."""

import math

import numpy as np

import pullback as pb
from pullback.ops.activations import gate
from tests.table import Row, real


def erf_of(x):
    x = np.asarray(x)
    return np.vectorize(math.erf, otypes=["float64"])(x).astype(x.dtype)


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def exp_over(x, axis):
    powers = np.exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


ROWS = [
    Row("relu", pb.relu, lambda x: np.where(x > 0, x, x * 0), (real(3, 4, away=(0.0,)),)),
    Row("relu", pb.relu, lambda x: np.where(x > 0, x, x * 0), (real(30, 50, away=(0.0,)),),
        label="large"),
    Row("gate", gate, lambda x, c: np.where(c > 0, x, x * 0), (real(3, 4), real(3, 4, away=(0.0,))),
        broadcast=True),
    Row("gate", gate, lambda x, c: np.where(c > 0, x, x * 0),
        (real(30, 50), real(30, 50, away=(0.0,))), label="large"),
    Row("leaky_relu", pb.leaky_relu, lambda x: np.where(x > 0, x, x * 0.01),
        (real(3, 4, away=(0.0,)),)),
    Row("leaky_relu", lambda x: pb.leaky_relu(x, 0.3), lambda x: np.maximum(x, x * 0.3),
        (real(3, 4, away=(0.0,)),), label="0.3"),
    Row("elu", lambda x: pb.elu(x, alpha=1.5), lambda x: np.where(x > 0, x, 1.5 * (np.exp(x) - 1)),
        (real(3, 4, away=(0.0,)),)),
    Row("hard_tanh", pb.hard_tanh, lambda x: np.maximum(-1, np.minimum(1, x)),
        (real(3, 4, away=(-1.0, 1.0)),)),
    Row("hard_tanh", lambda x: pb.hard_tanh(x, -0.5, 1.5),
        lambda x: np.maximum(-0.5, np.minimum(1.5, x)), (real(3, 4, away=(-0.5, 1.5)),),
        label="uneven"),
    Row("hard_sigmoid", pb.hard_sigmoid, lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
        (real(3, 4, low=-5, high=5, away=(-3.0, 3.0)),)),
    Row("sigmoid", pb.sigmoid, lambda x: 1 / (1 + np.exp(-x)), (real(3, 4, low=-5, high=5),),
        analytic=True),
    Row("log_sigmoid", pb.log_sigmoid, lambda x: -np.log(1 + np.exp(-x)), (real(3, 4),),
        analytic=True),
    Row("softplus", pb.softplus, lambda x: np.log(1 + np.exp(x)), (real(3, 4),), analytic=True),
    Row("softplus", lambda x: pb.softplus(x, beta=3.0), lambda x: np.log(1 + np.exp(3 * x)) / 3,
        (real(3, 4),), label="beta", analytic=True),
    Row("silu", pb.silu, lambda x: x / (1 + np.exp(-x)), (real(3, 4),), analytic=True),
    Row("erf", pb.erf, erf_of, (real(3, 4),)),
    Row("erfc", pb.erfc, lambda x: 1 - erf_of(x), (real(3, 4),)),
    Row("gelu", pb.gelu, lambda x: x / 2 * (1 + erf_of(x / math.sqrt(2))), (real(3, 4),)),
    Row("gelu", lambda x: pb.gelu(x, approximate="tanh"), gelu_tanh, (real(3, 4),), label="tanh",
        analytic=True),
    Row("softmax", pb.softmax, lambda x: exp_over(x, -1), (real(3, 4),), analytic=True),
    Row("softmax", lambda x: pb.softmax(x, axis=1), lambda x: exp_over(x, 1), (real(2, 3, 4),),
        label="inner axis", analytic=True),
    Row("log_softmax", pb.log_softmax, lambda x: np.log(exp_over(x, -1)), (real(3, 4),),
        analytic=True),
    Row("log_softmax", lambda x: pb.log_softmax(x, axis=0), lambda x: np.log(exp_over(x, 0)),
        (real(3, 4),), label="axis 0", analytic=True),
    Row("logsumexp", pb.logsumexp, lambda x: np.log(np.sum(np.exp(x))), (real(3, 4),),
        analytic=True),
    Row("logsumexp", lambda x: pb.logsumexp(x, axis=-1),
        lambda x: np.log(np.sum(np.exp(x), axis=-1)), (real(3, 4),), label="axis", analytic=True),
    Row("logsumexp", lambda x: pb.logsumexp(x, axis=(0, -1), keepdims=True),
        lambda x: np.log(np.sum(np.exp(x), axis=(0, 2), keepdims=True)), (real(2, 3, 4),),
        label="axes, kept", analytic=True),
]
