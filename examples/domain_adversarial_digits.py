"""Gradient reversal (domain adaptation): read shifted digits, with labels for unshifted ones.

The features must predict the digit, but not the domain (source or target). So the domain
classifier reads them through `identity`, whose gradient is reversed: the classifier improves, and
the features make its task harder (Ganin et al., 2016). A TensorFlow 1 program and eager Python
train the same network: the first with `gradient_override_map` in a graph, the second with
`override_gradient`.

    python examples/domain_adversarial_digits.py
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits

import pullback as pb
import pullback.tf.v1 as tf

BATCH, RATE, MOMENTUM, STRENGTH = 64, 0.03, 0.9, 0.5
SIZES = {
    "features": (64, 64), "digit": (64, 10), "hidden": (64, 32), "domain": (32, 2),
}
DOMAINS = np.repeat([0, 1], BATCH)


@tf.RegisterGradient("Reversed")
def reverse(op, grad):
    return -STRENGTH * grad


def two_domains(seed):
    """Images and labels: half of the digits unchanged, half shifted right by one pixel."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    source, target = np.array_split(order, 2)
    shifted = np.roll(images[target].reshape(-1, 8, 8), 1, axis=2).reshape(-1, 64)
    return (images[source] / 16, labels[source]), (shifted / 16, labels[target])


def first_parameters(seed):
    """Weights and biases by name."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(0, 0.1, size) for name, size in SIZES.items()}
    return weights | {f"{name}_bias": np.zeros(size[1]) for name, size in SIZES.items()}


def batches(source, target, steps, seed):
    """The same batches for every run: images of both domains, and labels of the first half."""
    rng = np.random.default_rng(seed)
    (images, labels), (others, _) = source, target
    for _ in range(steps):
        here, there = rng.integers(0, len(images), BATCH), rng.integers(0, len(others), BATCH)
        yield np.concatenate([images[here], others[there]]), labels[here]


def train_as_graph(start, data, steps, seed, overrides):
    """Train in a graph with a session; returns the final parameters and the graph."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [2 * BATCH, 64], name="images")
        y = tf.placeholder(tf.int64, [BATCH], name="labels")
        p = {name: tf.Variable(value, name=name) for name, value in start.items()}

        def layer(inputs, name):
            return tf.matmul(inputs, p[name]) + p[f"{name}_bias"]

        def loss(labels, logits):
            return tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )

        features = tf.tanh(layer(x, "features"))
        digits = layer(features[:BATCH], "digit")
        with graph.gradient_override_map(overrides):
            turned = tf.identity(features)
        domains = layer(tf.nn.relu(layer(turned, "hidden")), "domain")
        total = loss(y, digits) + loss(tf.constant(DOMAINS), domains)
        train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(total)

        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for images, labels in batches(*data, steps, seed):
                session.run(train, {x: images, y: labels})
            return session.run(p), graph


def train_eagerly(start, data, steps, seed, overrides):
    """Train eagerly; returns the final parameters."""
    p = {name: pb.tensor(value.copy(), requires_grad=True) for name, value in start.items()}
    speeds = dict.fromkeys(p, 0.0)

    def layer(inputs, name):
        return inputs @ p[name] + p[f"{name}_bias"]

    for images, labels in batches(*data, steps, seed):
        features = pb.tanh(layer(images, "features"))
        digits = layer(features[:BATCH], "digit")
        with pb.override_gradient(overrides):
            turned = pb.identity(features)
        domains = layer(pb.relu(layer(turned, "hidden")), "domain")
        (pb.cross_entropy(digits, labels) + pb.cross_entropy(domains, DOMAINS)).backward()
        with pb.no_grad():
            for name, value in p.items():
                speeds[name] = MOMENTUM * speeds[name] + value.grad.numpy()
                value -= RATE * speeds[name]
                value.grad = None
    return {name: value.numpy() for name, value in p.items()}


def accuracy(p, images, labels):
    features = np.tanh(images @ p["features"] + p["features_bias"])
    return np.mean(np.argmax(features @ p["digit"] + p["digit_bias"], axis=1) == labels)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", metavar="FILE", help="write a picture of the graph (.svg, .html)")
    options = parser.parse_args(arguments)
    data = two_domains(options.seed)
    start = first_parameters(options.seed)
    given = (start, data, options.steps, options.seed)

    print("Accuracy on             source  target")
    graph = None
    for title, of_graph, of_eager in [
        ("without reversal", {}, {}),
        ("with reversal", {"Identity": "Reversed"}, {"identity": "Reversed"}),
    ]:
        parameters, graph = train_as_graph(*given, of_graph)
        eager = train_eagerly(*given, of_eager)
        for name, p in ("graph", parameters), ("eager", eager):
            there = "  ".join(f"{accuracy(p, *domain):6.1%}" for domain in data)
            print(f"{title:>16}, {name}  {there}")
        for name, value in parameters.items():
            np.testing.assert_allclose(value, eager[name], rtol=1e-5, err_msg=name)
    print("Graph and eager have the same parameters, to five digits.")
    if options.draw:
        print(f"The graph: {graph.draw().save(options.draw)}")


if __name__ == "__main__":
    main()
