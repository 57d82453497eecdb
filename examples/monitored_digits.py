"""Monitor the training of a small network on real handwritten digits (`pb.monitor`).

    python examples/monitored_digits.py
    python examples/monitored_digits.py --rate 3      # learning rate far too high: units die
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pullback as pb
from pullback import nn, optim
from pullback.tools.monitor import monitor


class Network(nn.Module):
    def __init__(self, generator):
        self.first = nn.Linear(64, 64, generator=generator)
        self.second = nn.Linear(64, 64, generator=generator)
        self.last = nn.Linear(64, 10, generator=generator)

    def forward(self, x):
        x = pb.relu(self.first(x))
        x = pb.relu(self.second(x))
        return self.last(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=Path("out/monitored_digits.html"))
    options = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    images, held_images, labels, held_labels = train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=labels
    )
    generator = pb.random.Generator(0)
    network = Network(generator)
    optimizer = optim.SGD(network.parameters(), lr=options.rate)
    with monitor(network, optimizer=optimizer, csv=options.out.with_suffix(".csv")) as seen:
        for _ in range(options.epochs):
            order = generator.permutation(len(images)).numpy()
            for batch in np.array_split(order, len(order) // 64):
                loss = pb.cross_entropy(network(pb.tensor(images[batch])), labels[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.step(loss)
    seen.save(options.out)
    print(seen.table())
    with pb.no_grad():
        guesses = pb.argmax(network(pb.tensor(held_images)), axis=1).numpy()
    print(f"held out: {np.mean(guesses == held_labels):.1%}; curves: {options.out}")


if __name__ == "__main__":
    main()
