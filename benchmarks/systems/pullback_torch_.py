"""pullback on PyTorch's tensors: the lines of `pullback_.py`."""

from __future__ import annotations

import torch

import pullback as pb

from ..data import RATE, entries, network

torch.set_num_threads(2)


def small_ops(elements, ops):
    x = pb.Tensor(torch.full((elements,), 0.5), requires_grad=True)
    a = pb.Tensor(torch.full((elements,), 0.999))
    b = pb.Tensor(torch.full((elements,), 0.001))

    def run():
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return pb.autograd.grad(pb.sum(y), x)

    return run, ops


def elementwise(count):
    x = pb.Tensor(torch.tensor(entries(count)), requires_grad=True)

    def run():
        y = pb.sum(pb.tanh(x) * pb.exp(-x * x) + pb.relu(x))
        return pb.autograd.grad(y, x)

    return run, 1


def mlp_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.Tensor(torch.tensor(x)), pb.Tensor(torch.tensor(classes))
    parameters = [pb.Tensor(torch.tensor(a), requires_grad=True) for a in arrays]
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
