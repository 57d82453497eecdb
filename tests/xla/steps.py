"""Training steps for the tests of `pullback.jit`: the same one eagerly and compiled."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb

STEPS = 5
RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 4)).astype("float32")
Y = np.arange(12) % 3


def network() -> Any:
    """A small network, the same in each call."""
    generator = pb.random.Generator(3)
    return pb.nn.Sequential(
        pb.nn.Linear(4, 6, generator=generator), pb.nn.Tanh(),
        pb.nn.Linear(6, 3, generator=generator),
    )


def on_jax(value: Any) -> Any:
    """An array as one of JAX."""
    import jax.numpy as jnp

    return jnp.asarray(value)


def pair(make: Callable[[], Any]) -> tuple[Any, Any]:
    """Two equal modules with arrays of JAX."""
    one = make().to(like=on_jax(0.0))
    return one, copy.deepcopy(one)


def training(net: Any, optimizer: Any, scheduler: Any = None) -> Callable[[Any, Any], Any]:
    """One step of training."""

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = pb.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss

    return step


def largest(one: Any, other: Any) -> float:
    """The largest difference of two modules' parameters and buffers."""
    both = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return max(float(np.abs(a.numpy() - b.numpy()).max()) for (_, a), (_, b) in both)


def same(make: Callable[[], Any], optimizer: Callable[[Any], Any], steps: int = STEPS) -> int:
    """Check that a compiled step trains as an eager one does; returns the number of traces."""
    nets = pair(make)
    optimizers = [optimizer(net.parameters()) for net in nets]
    eager = training(nets[0], optimizers[0])
    compiled = pb.jit(training(nets[1], optimizers[1]))
    for i in range(steps):
        for o in optimizers:
            o.param_groups[0]["lr"] *= 0.7
        one, other = (float(f(pb.tensor(on_jax(X)), on_jax(Y))) for f in (eager, compiled))
        assert abs(one - other) < 1e-6, (i, one, other)
    assert largest(*nets) < 2e-6
    for kept, ours in zip(optimizers[0].state.values(), optimizers[1].state.values(), strict=True):
        assert set(kept) == set(ours)
        assert kept["step"] == ours["step"] == steps
    return int(compiled.traces)
