"""Straight-through gradients: train a network with weights and activations -1 or 1, twice.

The derivative of `sign` is zero, so with its own gradient the network learns nothing. The second
run is the same code inside `override_gradient` with a straight-through gradient, which passes
where |x| ≤ 1 (Hubara et al., 2016). The data are real handwritten digits.

    python examples/binarised_digits.py
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import pullback as pb
from pullback import nn, optim

BATCH = 64
RUNS = {"sign's own gradient": {}, "straight through": {"sign": "StraightThrough"}}


@pb.register_gradient("StraightThrough")
def straight_through(op, g):
    x = op.inputs[0]
    return pb.where(pb.abs(x) <= 1, g, pb.zeros_like(g))


class Binarised(nn.Module):
    """A linear layer with weights sign(w), w trainable, followed by batch norm."""

    def __init__(self, inputs, outputs, generator):
        first = generator.uniform((inputs, outputs), low=-1, high=1, dtype="float32")
        self.weight = nn.Parameter(first)
        self.norm = nn.BatchNorm(outputs, affine=False, momentum=1.0)

    def forward(self, x):
        return self.norm(x @ pb.sign(self.weight))


class Network(nn.Module):
    def __init__(self, generator, width=256):
        self.first = Binarised(64, width, generator)
        self.second = Binarised(width, width, generator)
        self.last = Binarised(width, 10, generator)

    def forward(self, x):
        x = pb.sign(self.first(x))
        x = pb.sign(self.second(x))
        return self.last(x) * 3.0


def digits(seed):
    """Four fifths for training, one fifth held out: images in [-1, 1], labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 8 - 1).astype("float32")
    return train_test_split(images, labels, test_size=0.2, random_state=seed, stratify=labels)


def accuracy(network, images, held_images, held_labels):
    """On the held-out fifth, normalised by the statistics of all training images."""
    with pb.no_grad():
        network.train()(pb.tensor(images))
        guesses = pb.argmax(network.eval()(pb.tensor(held_images)), axis=1)
    network.train()
    return float(np.mean(guesses.numpy() == held_labels))


def train(seed, epochs, override, report):
    """The held-out accuracy before training and after every epoch."""
    images, held_images, labels, held_labels = digits(seed)
    generator = pb.random.Generator(seed)
    network = Network(generator)
    optimizer = optim.Adam(network.parameters(), lr=0.01)
    curve = [accuracy(network, images, held_images, held_labels)]
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = 0.005 * (1 + math.cos(math.pi * epoch / epochs))
        order = generator.permutation(len(images)).numpy()
        losses = []
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            with pb.override_gradient(override) if override else contextlib.nullcontext():
                logits = network(pb.tensor(images[batch]))
                loss = pb.cross_entropy(logits, labels[batch])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            with pb.no_grad():
                for weight in network.parameters():
                    weight[...] = pb.clip(weight, -1, 1)
            losses.append(loss.item())
        curve.append(accuracy(network, images, held_images, held_labels))
        report(loss=np.mean(losses), accuracy=curve[-1])
    return curve


def plot(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.8), layout="constrained")
    for (name, curve), color in zip(curves.items(), ("#c44e52", "#2a6fbb"), strict=True):
        percent = [100 * a for a in curve]
        axes.plot(percent, color=color, linewidth=2.2, label=f"{name}: {percent[-1]:.1f} %")
    axes.axhline(10, color="#777777", linewidth=1, linestyle=(0, (4, 3)), label="chance: 10 %")
    axes.set_title("A network of signs learns digits once sign has a gradient", fontsize=13, pad=12)
    axes.set_xlabel("epoch")
    axes.set_ylabel("accuracy on the held-out fifth, %")
    axes.set_xlim(0, max(map(len, curves.values())) - 1)
    axes.set_ylim(0, 101)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def run(options, console):
    """The learning curve of each run, with a live progress bar in a terminal."""
    columns = (
        TextColumn("{task.description:<20}"), BarColumn(), TextColumn("epoch {task.completed:>2}"),
        TextColumn("loss {task.fields[loss]:.3f}  accuracy {task.fields[accuracy]:6.1%}"),
        TimeElapsedColumn(),
    )
    curves = {}
    live = console.is_terminal and not options.quiet
    with Progress(*columns, console=console, disable=not live) as progress:
        for name, override in RUNS.items():
            task = progress.add_task(name, total=options.epochs, loss=math.nan, accuracy=0.0)

            def report(task=task, **fields):
                progress.update(task, advance=1, **fields)

            curves[name] = train(options.seed, options.epochs, override, report)
    return curves


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/binarised_digits.png"))
    parser.add_argument("--at-least", type=float, default=0.95, metavar="ACCURACY",
                        help="exit with an error if the second run ends below (default 0.95)")
    parser.add_argument("--quiet", action="store_true", help="print only the results")
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    console = Console()
    began = time.perf_counter()
    with threadpool_limits(1):  # the matrices are small: more threads mostly wait for each other
        curves = run(options, console)
    plot(curves, options.out)
    table = Table(title="accuracy on the held-out fifth")
    table.add_column("gradient of sign")
    for heading in ("before", "after"):
        table.add_column(heading, justify="right")
    for name, curve in curves.items():
        table.add_row(name, f"{curve[0]:.1%}", f"{curve[-1]:.1%}")
    console.print(table)
    seconds = time.perf_counter() - began
    console.print(f"Learning curves: {options.out} ({seconds:.0f} s)", soft_wrap=True)
    reached = curves["straight through"][-1]
    if reached < options.at_least:
        sys.exit(f"the straight-through run reached {reached:.1%}, not {options.at_least:.1%}")


if __name__ == "__main__":
    main()
