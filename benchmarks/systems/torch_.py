"""PyTorch, eager."""

from __future__ import annotations

import numpy
import torch
from torch.nn.functional import cross_entropy

from ..data import RATE, entries, network

torch.set_num_threads(2)


def small_ops(elements, ops):
    x = torch.tensor(numpy.full(elements, 0.5, numpy.float32), requires_grad=True)
    a = torch.tensor(numpy.full(elements, 0.999, numpy.float32))
    b = torch.tensor(numpy.full(elements, 0.001, numpy.float32))

    def run():
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return torch.autograd.grad(torch.sum(y), x)

    return run, ops


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


class Square(torch.autograd.Function):
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
    x = torch.ones(1, requires_grad=True)

    def run():
        y = x
        for _ in range(calls):
            y = function(y)
        return torch.autograd.grad(torch.sum(y), x)

    return run, calls


def elementwise(count):
    x = torch.tensor(entries(count), requires_grad=True)

    def run():
        y = torch.sum(torch.tanh(x) * torch.exp(-x * x) + torch.relu(x))
        return torch.autograd.grad(y, x)

    return run, 1


def mlp_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = torch.tensor(x), torch.tensor(classes)
    parameters = [torch.tensor(a, requires_grad=True) for a in arrays]
    optimizer = torch.optim.SGD(parameters, lr=RATE)

    def run():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = torch.relu(h @ parameters[i] + parameters[i + 1])
        loss = cross_entropy(h @ parameters[-2] + parameters[-1], classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run, 1


def memory_chain(count):
    x = torch.tensor(entries(count), requires_grad=True)

    def run():
        y = x
        for _ in range(10):
            y = torch.exp(torch.tanh(y)) * 0.3
        return torch.autograd.grad(torch.sum(y), x)

    return run, 1
