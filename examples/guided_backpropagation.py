"""Guided backpropagation, through a function that was traced before.

A convolutional network learns digits inside `pullback.function`, which traces it into a graph.
Afterwards the gradient of `relu` is overridden: it passes where the input *and* the gradient are
positive (Springenberg et al., 2015). The override applies inside the graph, without retracing.

    python examples/guided_backpropagation.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pullback as pb
from pullback import nn, optim

BATCH, SHOWN = 64, range(10)


@pb.register_gradient("GuidedRelu")
def guided_relu(op, g):
    return pb.where((op.inputs[0] > 0) & (g > 0), g, pb.zeros_like(g))


class Network(nn.Module):
    def __init__(self, generator):
        self.first = nn.Conv2d(1, 16, 3, padding=1, generator=generator)
        self.second = nn.Conv2d(16, 32, 3, padding=1, generator=generator)
        self.last = nn.Linear(32 * 8 * 8, 10, generator=generator)

    def forward(self, images):
        x = pb.relu(self.first(images))
        x = pb.relu(self.second(x))
        return self.last(pb.reshape(x, (x.shape[0], -1)))


def digits():
    """Four fifths for training, one fifth held out: images of shape (n, 1, 8, 8), labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32").reshape(-1, 1, 8, 8)
    return train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)


def train(logits, network, images, labels, epochs, seed):
    optimizer = optim.Adam(network.parameters(), lr=0.003)
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            pb.cross_entropy(logits(pb.tensor(images[rows])), labels[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()


def saliency(logits, images, overrides=None):
    """The gradient of each image's largest logit with respect to its pixels."""
    x = pb.tensor(images, requires_grad=True)
    best = pb.sum(pb.max(logits(x), axis=1))
    best.backward(overrides=overrides)
    return x.grad.numpy()


def plot(images, rows, path):
    """One row of pictures per kind of gradient; red: more ink increases the logit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(rows) + 1, len(images), figsize=(len(images), len(rows) + 1.55), layout="constrained"
    )
    for column, image in enumerate(images):
        axes[0, column].imshow(image[0], cmap="gray_r")
        for row, gradients in enumerate(rows.values(), 1):
            most = np.abs(gradients[column]).max()
            axes[row, column].imshow(gradients[column, 0], cmap="RdBu_r", vmin=-most, vmax=most)
    for row, name in enumerate(["digit", *rows]):
        axes[row, 0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=11)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color("#bbbbbb")
    figure.suptitle("Which pixels speak for the digit (red), and which against (blue)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/guided_backpropagation.png"))
    options = parser.parse_args(arguments)
    images, held_images, labels, held_labels = digits()
    network = Network(pb.random.Generator(options.seed))
    logits = pb.function(network)

    train(logits, network, images, labels, options.epochs, options.seed)
    guesses = np.argmax(logits(pb.tensor(held_images)).numpy(), axis=1)
    print(f"{np.mean(guesses == held_labels):.1%} of the held-out digits are read right.")

    shown = held_images[[np.flatnonzero(held_labels == digit)[0] for digit in SHOWN]]
    plain = saliency(logits, shown)
    traced = logits.experimental_get_tracing_count()
    guided = saliency(logits, shown, {"relu": "GuidedRelu"})
    assert logits.experimental_get_tracing_count() == traced, "the override needs no new trace"

    ink = shown > 0.2
    for name, gradients in ("plain", plain), ("guided", guided):
        share = np.abs(gradients[ink]).sum() / np.abs(gradients).sum()
        print(f"{name:>6}: {share:.0%} of the gradient lies on the ink")
    plot(shown, {"plain gradient": plain, "guided": guided}, options.out)
    print(f"Picture: {options.out}")


if __name__ == "__main__":
    main()
