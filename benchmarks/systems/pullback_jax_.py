"""pullback on JAX's arrays, inside `jax.jit`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import pullback as pb

from ..data import RATE, network


def _step(parameters, x, classes):
    leaves = [pb.Tensor(p, requires_grad=True) for p in parameters]
    h = x
    for i in range(0, len(leaves) - 2, 2):
        h = pb.relu(h @ leaves[i] + leaves[i + 1])
    loss = pb.cross_entropy(h @ leaves[-2] + leaves[-1], classes)
    gs = pb.autograd.grad(loss, leaves)
    return [p - RATE * g.data for p, g in zip(parameters, gs, strict=True)]


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
