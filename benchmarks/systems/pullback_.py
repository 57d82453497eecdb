"""pullback."""

from __future__ import annotations

import numpy

import pullback as pb

from ..data import RATE, entries, network


def small_ops(elements, ops):
    x = pb.tensor(numpy.full(elements, 0.5, numpy.float32), requires_grad=True)
    a = pb.tensor(numpy.full(elements, 0.999, numpy.float32))
    b = pb.tensor(numpy.full(elements, 0.001, numpy.float32))

    def run():
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return pb.autograd.grad(pb.sum(y), x)

    return run, ops


class Reversal(pb.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


class Square(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def function_reversal(calls):
    return _functions(Reversal.apply, calls)


def function_square(calls):
    return _functions(Square.apply, calls)


def _functions(function, calls):
    x = pb.tensor(numpy.ones(1, numpy.float32), requires_grad=True)

    def run():
        y = x
        for _ in range(calls):
            y = function(y)
        return pb.autograd.grad(pb.sum(y), x)

    return run, calls


@pb.custom_gradient
def reversal(x):
    def grad(g):
        return -g

    return x, grad


@pb.custom_gradient
def square(x):
    def grad(g):
        return g * 2 * x

    return x * x, grad


def custom_reversal(calls):
    return _custom(reversal, calls)


def custom_square(calls):
    return _custom(square, calls)


def _custom(function, calls):
    x = pb.tensor(numpy.ones(1, numpy.float32))

    def run():
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(calls):
                y = function(y)
        return tape.gradient(y, x)

    return run, calls


def elementwise(count):
    x = pb.tensor(entries(count), requires_grad=True)

    def run():
        y = pb.sum(pb.tanh(x) * pb.exp(-x * x) + pb.relu(x))
        return pb.autograd.grad(y, x)

    return run, 1


def mlp_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.tensor(x), pb.tensor(classes)
    parameters = [pb.tensor(a, requires_grad=True) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = pb.relu(h @ parameters[i] + parameters[i + 1])
        loss = pb.cross_entropy(h @ parameters[-2] + parameters[-1], classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run, 1


def mlp_step_tape(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.tensor(x), pb.tensor(classes)
    parameters = [pb.Variable(a) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        with pb.GradientTape() as tape:
            h = x
            for i in range(0, len(parameters) - 2, 2):
                h = pb.relu(h @ parameters[i] + parameters[i + 1])
            loss = pb.cross_entropy(h @ parameters[-2] + parameters[-1], classes)
        optimizer.step(tape.gradient(loss, parameters))

    return run, 1


def memory_chain(count):
    x = pb.tensor(entries(count), requires_grad=True)

    def run():
        y = x
        for _ in range(10):
            y = pb.exp(pb.tanh(y)) * 0.3
        return pb.autograd.grad(pb.sum(y), x)

    return run, 1
