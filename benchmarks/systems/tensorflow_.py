"""TensorFlow, eager."""

from __future__ import annotations

import numpy
import tensorflow as tf

from ..data import RATE, entries, network

tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.threading.set_inter_op_parallelism_threads(2)


def small_ops(elements, ops):
    x = tf.constant(numpy.full(elements, 0.5, numpy.float32))
    a = tf.constant(numpy.full(elements, 0.999, numpy.float32))
    b = tf.constant(numpy.full(elements, 0.001, numpy.float32))

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(ops // 2):
                y = y * a
                y = y + b
            y = tf.reduce_sum(y)
        return tape.gradient(y, x)

    return run, ops


@tf.custom_gradient
def reversal(x):
    def grad(g):
        return -g

    return x, grad


@tf.custom_gradient
def square(x):
    def grad(g):
        return g * 2 * x

    return x * x, grad


def custom_reversal(calls):
    return _custom(reversal, calls)


def custom_square(calls):
    return _custom(square, calls)


def _custom(function, calls):
    x = tf.constant(numpy.ones(1, numpy.float32))

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(calls):
                y = function(y)
        return tape.gradient(y, x)

    return run, calls


def elementwise(count):
    x = tf.constant(entries(count))

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(x) * tf.exp(-x * x) + tf.nn.relu(x))
        return tape.gradient(y, x).numpy()  # waits; shares the memory

    return run, 1


def mlp_step_tape(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = tf.constant(x), tf.constant(classes)
    parameters = [tf.Variable(a) for a in arrays]

    def run():
        with tf.GradientTape() as tape:
            h = x
            for i in range(0, len(parameters) - 2, 2):
                h = tf.nn.relu(h @ parameters[i] + parameters[i + 1])
            logits = h @ parameters[-2] + parameters[-1]
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
            )
        for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
            p.assign_sub(RATE * g)

    return run, 1


def mlp_step_function(batch, layers):
    run, count = mlp_step_tape(batch, layers)
    return tf.function(run), count


def function_call(calls):
    square = tf.function(lambda x: x * x)
    x = tf.ones([1])

    def run():
        for _ in range(calls):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = square(x)
            tape.gradient(y, x)

    return run, calls


def graph_chain(elements, ops):
    with tf.Graph().as_default() as graph:
        x = y = tf.compat.v1.placeholder(tf.float32, [elements])
        a, b = tf.fill([elements], 0.999), tf.fill([elements], 0.001)
        for _ in range(ops // 2):
            y = y * a
            y = y + b
    session = tf.compat.v1.Session(graph=graph)
    feed = {x: numpy.full(elements, 0.5, numpy.float32)}
    return lambda: session.run(y, feed), ops


def memory_chain(count):
    x = tf.constant(entries(count))

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(10):
                y = tf.exp(tf.tanh(y)) * 0.3
            y = tf.reduce_sum(y)
        return tape.gradient(y, x).numpy()

    return run, 1
