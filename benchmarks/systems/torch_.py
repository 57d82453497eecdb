"""PyTorch, eager."""

from __future__ import annotations

import numpy
import torch
from torch.nn.functional import conv2d, cross_entropy, max_pool2d

from ..data import RATE, entries, filters, images, network

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


def convolution(batch, channels, size, outputs, window, stride, groups):
    x = torch.tensor(images(batch, channels, size), requires_grad=True)
    w = torch.tensor(filters(outputs, channels // groups, window), requires_grad=True)
    how = {"stride": stride, "padding": window // 2, "groups": groups}
    cotangent = conv2d(x, w, **how).detach()

    def run():
        return torch.autograd.grad(conv2d(x, w, **how), (x, w), cotangent)

    return run, 1


def cnn_step(batch, size):
    x, classes = torch.tensor(images(batch, 1, size)), torch.tensor(network(batch, (1, 10))[1])
    last = network(1, (32 * (size // 4) ** 2, 10))[2]
    arrays = [filters(16, 1, 3), filters(32, 16, 3), *last]
    parameters = [torch.tensor(a, requires_grad=True) for a in arrays]
    optimizer = torch.optim.SGD(parameters, lr=RATE)

    def run():
        first, second, weight, bias = parameters
        h = max_pool2d(torch.relu(conv2d(x, first, padding=1)), 2)
        h = max_pool2d(torch.relu(conv2d(h, second, padding=1)), 2)
        loss = cross_entropy(h.reshape(batch, -1) @ weight + bias, classes)
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


def rosenbrock(x):
    return torch.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def hessian(count):
    x = torch.tensor(entries(count).astype(numpy.float64))
    second = torch.func.hessian(rosenbrock)
    return lambda: second(x), 1


def hessian_loop(count):
    x = torch.tensor(entries(count).astype(numpy.float64), requires_grad=True)
    basis = list(torch.eye(count, dtype=torch.float64))

    def run():
        (g,) = torch.autograd.grad(rosenbrock(x), x, create_graph=True)
        return torch.stack([
            torch.autograd.grad(g, x, e, retain_graph=True)[0] for e in basis
        ])

    return run, 1


def _loss(parameters, x, label):
    h = x
    for i in range(0, len(parameters) - 2, 2):
        h = torch.relu(h @ parameters[i] + parameters[i + 1])
    return cross_entropy(h @ parameters[-2] + parameters[-1], label)


def per_example(batch, layers):
    x, classes, arrays = network(batch, layers)
    gradients = torch.func.vmap(torch.func.grad(_loss), in_dims=(None, 0, 0))
    x, classes = torch.tensor(x), torch.tensor(classes)
    parameters = [torch.tensor(a) for a in arrays]
    return lambda: gradients(parameters, x, classes), 1


def per_example_loop(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = torch.tensor(x), torch.tensor(classes)
    parameters = [torch.tensor(a, requires_grad=True) for a in arrays]

    def run():
        rows = [
            torch.autograd.grad(_loss(parameters, x[i], classes[i]), parameters)
            for i in range(batch)
        ]
        return [torch.stack(column) for column in zip(*rows, strict=True)]

    return run, 1


def mapped_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = torch.tensor(x), torch.tensor(classes)
    parameters = [torch.tensor(a) for a in arrays]
    losses = torch.func.vmap(_loss, in_dims=(None, 0, 0))
    slopes = torch.func.grad(lambda p: torch.mean(losses(p, x, classes)))

    def run():
        gs = slopes(parameters)
        parameters[:] = [p - RATE * g for p, g in zip(parameters, gs, strict=True)]

    return run, 1


def penalty_step(batch, layers):
    x, _, arrays = network(batch, layers)
    x = torch.tensor(x, requires_grad=True)
    parameters = [torch.tensor(a, requires_grad=True) for a in arrays]
    optimizer = torch.optim.SGD(parameters, lr=RATE)

    def run():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = torch.tanh(h @ parameters[i] + parameters[i + 1])
        score = torch.sum(h @ parameters[-2] + parameters[-1])
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        lengths = torch.sqrt(torch.sum(slope * slope, dim=1))
        optimizer.zero_grad()
        torch.mean((lengths - 1) ** 2).backward(inputs=parameters)
        optimizer.step()

    return run, 1


def forward_ops(elements, ops):
    x = torch.full((elements,), 0.5)
    t = torch.ones(elements)
    a = torch.full((elements,), 0.999)
    b = torch.full((elements,), 0.001)

    def chain(y):
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return y

    return lambda: torch.func.jvp(chain, (x,), (t,)), ops
