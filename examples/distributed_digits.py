"""Training in several processes that survives being killed: the binarised digits, data parallel.

Each process holds the network and a part of every batch; the gradients are those of the whole
batch. After each step all processes write one checkpoint with `pb.save_state`. The program starts
its processes itself, on this machine:

    python examples/distributed_digits.py --processes 2 --steps 30 --state out/run --kill-in 12
    python examples/distributed_digits.py --processes 4 --steps 30 --state out/run

The first command dies in the middle of step 12, the second goes on from step 11. With the same
number of processes the losses are those of an unbroken run, bit for bit; with another number sums
are rounded in another order. `--library torch` connects the processes with PyTorch in place of JAX.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import pullback as pb
from pullback import nn, optim

BATCH, KILLED = 64, 70


@pb.register_gradient("DistributedStraightThrough")
def straight_through(op, g):
    x = op.inputs[0]
    return pb.where(pb.abs(x) <= 1, g, pb.zeros_like(g))


class OverJAX:
    """Batches are arrays that are spread over the processes: XLA adds up what crosses them."""

    def __init__(self, rank, count, address):
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_x64", True)
        if count > 1:
            jax.distributed.initialize(address, count, rank)
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
        self.everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self.spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        self.put = jax.device_put

    def parameter(self, values):
        return nn.Parameter(self.put(values, self.everywhere))

    def batch(self, *arrays):
        return [self.put(array, self.spread) for array in arrays]

    def reduced(self, loss, parameters):
        return float(loss)


class OverPyTorch:
    """Each process computes on its own rows; gradients and losses are averaged explicitly."""

    def __init__(self, rank, count, address):
        import torch

        self.torch, self.rank, self.count = torch, rank, count
        torch.set_num_threads(1)
        if count > 1:
            torch.distributed.init_process_group(
                "gloo", f"tcp://{address}", rank=rank, world_size=count
            )

    def parameter(self, values):
        return nn.Parameter(self.torch.tensor(values))

    def batch(self, *arrays):
        rows = slice(self.rank * BATCH // self.count, (self.rank + 1) * BATCH // self.count)
        return [self.torch.tensor(array[rows]) for array in arrays]

    def reduced(self, loss, parameters):
        loss = self.torch.tensor(float(loss), dtype=self.torch.float64)
        if self.count > 1:
            for value in [*(p.grad.data for p in parameters), loss]:
                self.torch.distributed.all_reduce(value)
                value /= self.count
        return float(loss)


class Network(nn.Module):
    """Three layers with weights and activations -1 or 1; their inputs keep their mean by scale."""

    def __init__(self, generator, parameter, width=128):
        sizes = [64, width, width, 10]
        self.weights = [
            parameter(generator.uniform(shape, low=-1, high=1).numpy())
            for shape in itertools.pairwise(sizes)
        ]

    def forward(self, x):
        for n, weight in enumerate(self.weights):
            x = x @ pb.sign(weight) / weight.shape[0] ** 0.5
            x = pb.sign(x) if n < len(self.weights) - 1 else x
        return x


def work(options):
    """What each process does."""
    library = {"jax": OverJAX, "torch": OverPyTorch}[options.library](
        options.rank, options.processes, options.address
    )
    generator = pb.random.Generator(options.seed)
    network = Network(generator, library.parameter)
    optimizer = optim.Adam(network.parameters(), lr=0.01)
    run = {"network": network, "optimizer": optimizer, "generator": generator}
    images, labels = load_digits(return_X_y=True)
    first = pb.load_state(options.state, **run)["step"] if options.state.exists() else 0
    for step in range(first, options.steps):
        rows = generator.integers(0, len(images), (BATCH,)).numpy()
        x, y = library.batch(images[rows] / 8 - 1, labels[rows])
        optimizer.zero_grad()
        with pb.override_gradient({"sign": "DistributedStraightThrough"}):
            loss = pb.cross_entropy(network(pb.tensor(x)), y)
        loss.backward()
        if step == options.kill_in:
            os._exit(KILLED)
        value = library.reduced(loss.detach(), network.parameters())
        optimizer.step()
        pb.save_state(options.state, **run, step=step + 1)
        if options.rank == 0:
            print(f"step {step:>3}  loss {value!r}", flush=True)


def start(options):
    """Start the processes, and wait for them; returns the highest of their exit codes."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    own = [sys.executable, __file__, *sys.argv[1:], "--address", address]
    running = [
        subprocess.Popen([*own, "--rank", str(rank)]) for rank in range(options.processes)
    ]
    return max(process.wait() for process in running)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--library", choices=["jax", "torch"], default="jax")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("out/run"))
    parser.add_argument("--kill-in", type=int, default=-1, help="a step to die in")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.state.parent.mkdir(parents=True, exist_ok=True)
    if options.rank >= 0:
        work(options)
    else:
        sys.exit(start(options))


if __name__ == "__main__":
    main()
