"""Draw docs/pictures/monitor.png: python docs/make_monitor_picture.py."""

from pathlib import Path

import numpy as np

import pullback as pb
from pullback.tools.monitor import monitor

TARGET = Path(__file__).parent / "pictures" / "monitor.png"


def main() -> None:
    """Train a small network on points in a ring, and save what was seen."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(512, 2)).astype("float32")
    classes = (np.hypot(*points.T) > 1.2).astype("int64")
    generator = pb.random.Generator(0)
    layers = [
        pb.nn.Linear(2, 32, generator=generator), pb.nn.ReLU(),
        pb.nn.Linear(32, 32, generator=generator), pb.nn.ReLU(),
        pb.nn.Linear(32, 2, generator=generator),
    ]
    net = pb.nn.Sequential(*layers)
    optimizer = pb.optim.SGD(net.parameters(), lr=0.2)
    with monitor(net, optimizer=optimizer, live=False, every=5) as seen:
        for _ in range(400):
            batch = rng.integers(0, 512, 64)
            logits = net(pb.tensor(points[batch]))
            loss = pb.cross_entropy(logits, classes[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right = float(np.mean(logits.detach().numpy().argmax(1) == classes[batch]))
            seen.step(loss, accuracy=right)
    seen.save(TARGET)


if __name__ == "__main__":
    main()
