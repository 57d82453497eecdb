"""HIPS autograd."""

from __future__ import annotations

import autograd.numpy as np
import numpy
from autograd import grad
from autograd.extend import defvjp, primitive

from ..data import RATE, entries, network


def small_ops(elements, ops):
    x = numpy.full(elements, 0.5, numpy.float32)
    a = numpy.full(elements, 0.999, numpy.float32)
    b = numpy.full(elements, 0.001, numpy.float32)

    def chain(x):
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return np.sum(y)

    return _run(chain, x), ops


def _run(function, x):
    slope = grad(function)

    def run():
        return slope(x)

    return run


@primitive
def reversal(x):
    return x


defvjp(reversal, lambda answer, x: lambda g: -g)


@primitive
def square(x):
    return x * x


defvjp(square, lambda answer, x: lambda g: g * 2 * x)


def custom_reversal(calls):
    return _custom(reversal, calls)


def custom_square(calls):
    return _custom(square, calls)


def _custom(function, calls):
    def chain(y):
        for _ in range(calls):
            y = function(y)
        return np.sum(y)

    return _run(chain, numpy.ones(1, numpy.float32)), calls


def elementwise(count):
    def total(x):
        return np.sum(np.tanh(x) * np.exp(-x * x) + np.maximum(x, 0))

    return _run(total, entries(count)), 1


def mlp_step(batch, layers):
    x, classes, parameters = network(batch, layers)
    rows = numpy.arange(batch)

    def loss(parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = np.maximum(h @ parameters[i] + parameters[i + 1], 0)
        logits = h @ parameters[-2] + parameters[-1]
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
        return -np.mean(logs[rows, classes])

    slopes = grad(loss)

    def run():
        for p, g in zip(parameters, slopes(parameters), strict=True):
            p -= RATE * g

    return run, 1


def memory_chain(count):
    def total(y):
        for _ in range(10):
            y = np.exp(np.tanh(y)) * 0.3
        return np.sum(y)

    return _run(total, entries(count)), 1
