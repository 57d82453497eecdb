"""JAX, eager: `grad` without `jit`, but for the steps that say so."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy
from jax.experimental.ode import odeint

from ..data import RATE, entries, network, prey


def small_ops(elements, ops):
    x = jnp.asarray(numpy.full(elements, 0.5, numpy.float32))
    a = jnp.asarray(numpy.full(elements, 0.999, numpy.float32))
    b = jnp.asarray(numpy.full(elements, 0.001, numpy.float32))

    def chain(x):
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return jnp.sum(y)

    return _run(chain, x), ops


def _run(function, x):
    slope = jax.grad(function)

    def run():
        return slope(x).block_until_ready()

    return run


@jax.custom_vjp
def reversal(x):
    return x


def reversal_forward(x):
    return x, None


def reversal_backward(_, g):
    return (-g,)


reversal.defvjp(reversal_forward, reversal_backward)


@jax.custom_vjp
def square(x):
    return x * x


def square_forward(x):
    return x * x, x


def square_backward(x, g):
    return (g * 2 * x,)


square.defvjp(square_forward, square_backward)


def custom_reversal(calls):
    return _custom(reversal, calls)


def custom_square(calls):
    return _custom(square, calls)


def _custom(function, calls):
    def chain(y):
        for _ in range(calls):
            y = function(y)
        return jnp.sum(y)

    return _run(chain, jnp.ones(1, jnp.float32)), calls


def elementwise(count):
    def total(x):
        return jnp.sum(jnp.tanh(x) * jnp.exp(-x * x) + jax.nn.relu(x))

    return _run(total, jnp.asarray(entries(count))), 1


def mlp_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = jnp.asarray(x), jnp.asarray(classes)
    parameters = [jnp.asarray(a) for a in arrays]

    def loss(parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = jax.nn.relu(h @ parameters[i] + parameters[i + 1])
        logs = jax.nn.log_softmax(h @ parameters[-2] + parameters[-1])
        return -jnp.mean(jnp.take_along_axis(logs, classes[:, None], axis=1))

    slopes = jax.grad(loss)

    def run():
        gs = slopes(parameters)
        parameters[:] = [p - RATE * g for p, g in zip(parameters, gs, strict=True)]
        jax.block_until_ready(parameters)

    return run, 1


def _step(parameters, x, classes):
    def loss(parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = jax.nn.relu(h @ parameters[i] + parameters[i + 1])
        logs = jax.nn.log_softmax(h @ parameters[-2] + parameters[-1])
        return -jnp.mean(jnp.take_along_axis(logs, classes[:, None], axis=1))

    return [p - RATE * g for p, g in zip(parameters, jax.grad(loss)(parameters), strict=True)]


def _arguments(batch, layers):
    x, classes, arrays = network(batch, layers)
    return [jnp.asarray(a) for a in arrays], jnp.asarray(x), jnp.asarray(classes)


def compiled_step(batch, layers):
    parameters, x, classes = _arguments(batch, layers)
    step = jax.jit(_step)

    def run():
        parameters[:] = step(parameters, x, classes)
        jax.block_until_ready(parameters)

    return run, 1


def traced_step(batch, layers):
    arguments = _arguments(batch, layers)
    return lambda: jax.jit(lambda *given: _step(*given)).lower(*arguments), 1


def memory_chain(count):
    def total(y):
        for _ in range(10):
            y = jnp.exp(jnp.tanh(y)) * 0.3
        return jnp.sum(y)

    return _run(total, jnp.asarray(entries(count))), 1


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def hessian(count):
    with jax.enable_x64(True):
        x = jnp.asarray(entries(count).astype(numpy.float64))
    second = jax.hessian(rosenbrock)

    def run():
        with jax.enable_x64(True):
            return second(x).block_until_ready()

    return run, 1


def _loss(parameters, x, label):
    h = x
    for i in range(0, len(parameters) - 2, 2):
        h = jax.nn.relu(h @ parameters[i] + parameters[i + 1])
    return -jax.nn.log_softmax(h @ parameters[-2] + parameters[-1])[label]


def per_example(batch, layers):
    x, classes, arrays = network(batch, layers)
    gradients = jax.vmap(jax.grad(_loss), in_axes=(None, 0, 0))
    x, classes, parameters = jnp.asarray(x), jnp.asarray(classes), [jnp.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(gradients(parameters, x, classes)), 1


def per_example_loop(batch, layers):
    x, classes, arrays = network(batch, layers)
    slopes = jax.grad(_loss)
    x, classes, parameters = jnp.asarray(x), jnp.asarray(classes), [jnp.asarray(a) for a in arrays]

    def run():
        rows = [slopes(parameters, x[i], classes[i]) for i in range(batch)]
        return jax.block_until_ready([jnp.stack(c) for c in zip(*rows, strict=True)])

    return run, 1


def mapped_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes, parameters = jnp.asarray(x), jnp.asarray(classes), [jnp.asarray(a) for a in arrays]
    losses = jax.vmap(_loss, in_axes=(None, 0, 0))
    slopes = jax.grad(lambda p: jnp.mean(losses(p, x, classes)))

    def run():
        gs = slopes(parameters)
        parameters[:] = [p - RATE * g for p, g in zip(parameters, gs, strict=True)]
        jax.block_until_ready(parameters)

    return run, 1


def penalty_step(batch, layers):
    x, _, arrays = network(batch, layers)
    x, parameters = jnp.asarray(x), [jnp.asarray(a) for a in arrays]

    def score(x, parameters):
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = jnp.tanh(h @ parameters[i] + parameters[i + 1])
        return jnp.sum(h @ parameters[-2] + parameters[-1])

    def penalty(parameters):
        slope = jax.grad(score)(x, parameters)
        lengths = jnp.sqrt(jnp.sum(slope * slope, axis=1))
        return jnp.mean((lengths - 1) ** 2)

    slopes = jax.grad(penalty)

    def run():
        gs = slopes(parameters)
        parameters[:] = [p - RATE * g for p, g in zip(parameters, gs, strict=True)]
        jax.block_until_ready(parameters)

    return run, 1


def _prey(y, t, p):
    both = y[0] * y[1]
    return jnp.stack([p[0] * y[0] - p[1] * both, p[3] * both - p[2] * y[1]])


def _integrated(count):
    start, rates, times = map(jnp.asarray, prey(count))
    return lambda p: odeint(_prey, start, times, p, rtol=1e-8, atol=1e-8), rates


def equation(count):
    with jax.enable_x64(True):
        solution, rates = _integrated(count)

    def run():
        with jax.enable_x64(True):
            return solution(rates).block_until_ready()

    return run, 1


def equation_gradient(count):
    with jax.enable_x64(True):
        solution, rates = _integrated(count)
    slopes = jax.grad(lambda p: jnp.sum(solution(p) ** 2))

    def run():
        with jax.enable_x64(True):
            return slopes(rates).block_until_ready()

    return run, 1


def forward_ops(elements, ops):
    x = jnp.full(elements, 0.5, jnp.float32)
    t = jnp.ones(elements, jnp.float32)
    a = jnp.full(elements, 0.999, jnp.float32)
    b = jnp.full(elements, 0.001, jnp.float32)

    def chain(y):
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return y

    return lambda: jax.block_until_ready(jax.jvp(chain, (x,), (t,))), ops
