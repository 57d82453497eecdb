"""NumPy alone, the floor: small ops forward only, the others with derivatives by hand."""

from __future__ import annotations

import numpy

from ..data import RATE, entries, network


def small_ops(elements, ops):
    x = numpy.full(elements, 0.5, numpy.float32)
    a = numpy.full(elements, 0.999, numpy.float32)
    b = numpy.full(elements, 0.001, numpy.float32)

    def run():
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return numpy.sum(y)

    return run, ops


def graph_chain(elements, ops):
    x = numpy.full(elements, 0.5, numpy.float32)
    a = numpy.full(elements, 0.999, numpy.float32)
    b = numpy.full(elements, 0.001, numpy.float32)

    def run():
        y = x
        for _ in range(ops // 2):
            y = numpy.multiply(y, a)
            y = numpy.add(y, b)
        return y

    return run, ops


def elementwise(count):
    x = entries(count)

    def run():
        t, e = numpy.tanh(x), numpy.exp(-x * x)
        numpy.sum(t * e + numpy.maximum(x, 0))
        return (1 - t * t) * e - 2 * x * t * e + (x > 0)

    return run, 1


def mlp_step(batch, layers):
    x, classes, parameters = network(batch, layers)
    rows = numpy.arange(batch)

    def run():
        inputs = [x]
        for i in range(0, len(parameters) - 2, 2):
            h = inputs[-1] @ parameters[i] + parameters[i + 1]
            inputs.append(numpy.maximum(h, 0, out=h))
        g = inputs[-1] @ parameters[-2] + parameters[-1]
        g = numpy.exp(g - g.max(axis=1, keepdims=True))
        g /= g.sum(axis=1, keepdims=True)
        g[rows, classes] -= 1
        g /= numpy.float32(batch)
        for i in range(len(parameters) - 2, -1, -2):
            weight, bias, h = parameters[i], parameters[i + 1], inputs[i // 2]
            before = (g @ weight.T) * (h > 0) if i else None
            weight -= RATE * (h.T @ g)
            bias -= RATE * g.sum(axis=0)
            g = before

    return run, 1
