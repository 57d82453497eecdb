"""A binarised network, trained by a TensorFlow 1 program and by eager Python.

Weights and activations are -1 or 1. The derivative of `sign` is zero, so both programs replace it
by that of a hard tanh, which passes the gradient where |x| ≤ 1. The first builds a graph and runs
it in a session, with `gradient_override_map`; the second runs eagerly, with `override_gradient`.
Both start with the same weights, and must end with the same.

    python examples/binarised_digits_graph.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pullback as pb
import pullback.tf.v1 as tf

HIDDEN, BATCH, RATE, MOMENTUM = 256, 64, 1.0, 0.9


@tf.RegisterGradient("HardTanh")
def hard_tanh(op, grad):
    """Used by both programs: `op` is an operation of the graph, or a recorded eager one."""
    x = op.inputs[0]
    return pb.where(pb.abs(x) <= 1, grad, pb.zeros_like(grad))


def digits():
    """Four fifths for training, one fifth held out: images in [-1, 1], labels."""
    images, labels = load_digits(return_X_y=True)
    return train_test_split(images / 8 - 1, labels, test_size=0.2, random_state=0, stratify=labels)


def first_weights(seed):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, size) for size in [(64, HIDDEN), (HIDDEN, 10)]]


def batches(count, epochs, seed):
    """The same batches for both: row indices of the training set."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[i : i + BATCH] for i in range(0, count - BATCH + 1, BATCH))


def train_as_graph(start, images, labels, epochs, seed):
    """Build a graph, then run it; returns the final weights."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [None, 64], name="images")
        y = tf.placeholder(tf.int64, [None], name="labels")
        first, last = (
            tf.Variable(w, name=name) for w, name in zip(start, ["first", "last"], strict=True)
        )
        with graph.gradient_override_map({"Sign": "HardTanh"}):
            hidden = tf.sign(tf.matmul(x, tf.sign(first)) / 8.0)
            logits = tf.matmul(hidden, tf.sign(last)) / 16.0
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        optimizer = tf.train.MomentumOptimizer(RATE, MOMENTUM)
        train = optimizer.minimize(tf.reduce_mean(losses))

        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for rows in batches(len(images), epochs, seed):
                session.run(train, {x: images[rows], y: labels[rows]})
            return session.run([first, last]), graph


def train_eagerly(start, images, labels, epochs, seed):
    """Train eagerly; returns the final weights."""
    weights = [pb.tensor(w.copy(), requires_grad=True) for w in start]
    speeds = [np.zeros_like(w) for w in start]
    for rows in batches(len(images), epochs, seed):
        first, last = weights
        with pb.override_gradient({"sign": "HardTanh"}):
            hidden = pb.sign(images[rows] @ pb.sign(first) / 8.0)
            logits = hidden @ pb.sign(last) / 16.0
        pb.cross_entropy(logits, labels[rows]).backward()
        with pb.no_grad():
            for i, weight in enumerate(weights):
                speeds[i] = MOMENTUM * speeds[i] + weight.grad.numpy()
                weight -= RATE * speeds[i]
                weight.grad = None
    return [w.numpy() for w in weights]


def accuracy(weights, images, labels):
    first, last = weights
    hidden = np.sign(images @ np.sign(first))
    return np.mean(np.argmax(hidden @ np.sign(last), axis=1) == labels)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", metavar="FILE", help="write a picture of the graph (.svg, .html)")
    options = parser.parse_args(arguments)
    images, held_images, labels, held_labels = digits()
    start = first_weights(options.seed)
    given = (start, images, labels, options.epochs, options.seed)

    began = time.perf_counter()
    of_graph, graph = train_as_graph(*given)
    middle = time.perf_counter()
    eager = train_eagerly(*given)
    ended = time.perf_counter()

    for name, weights, seconds in [
        ("before", start, 0), ("graph", of_graph, middle - began), ("eager", eager, ended - middle),
    ]:
        right = accuracy(weights, held_images, held_labels)
        print(f"{name:>7}: {right:6.1%} of the held-out digits right ({seconds:.1f} s)")
    for one, other in zip(of_graph, eager, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    print("Both have the same weights, to five digits.")
    if options.draw:
        print(f"The graph: {graph.draw().save(options.draw)}")


if __name__ == "__main__":
    main()
