"""A compiled training step does what the eager one does, and is traced once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn, optim
from pullback.optim import schedulers
from tests.tier import share
from tests.xla.steps import X, Y, largest, network, on_jax, pair, same, training

pytestmark = pytest.mark.needs("jax")
jax = pytest.importorskip("jax")

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in (
        "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop",
        "Rprop",
    )),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.2}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.3}),
]


def test_every_optimizer_is_here() -> None:
    every = {n for n in dir(optim) if isinstance(getattr(optim, n), type)
             and issubclass(getattr(optim, n), optim.Optimizer)}
    assert every - {"Optimizer", "LBFGS"} == {name for name, _ in OPTIMIZERS}


@pytest.mark.parametrize(("name", "options"), share(OPTIMIZERS))
def test_optimizers(name: str, options: dict[str, Any]) -> None:
    """Equal to eager, with a rate that changes with every step, in one trace."""
    assert same(network, lambda p: getattr(optim, name)(p, lr=0.05, **options)) == 1


LAYERS = {
    "layer norm": lambda g: [nn.Linear(4, 6, generator=g), nn.LayerNorm(6)],
    "batch norm": lambda g: [nn.Linear(4, 6, generator=g), nn.BatchNorm(6)],
    "average of all batches":
        lambda g: [nn.Linear(4, 6, generator=g), nn.BatchNorm(6, momentum=None)],
    "gelu": lambda g: [nn.Linear(4, 6, generator=g), nn.GELU()],
}


@pytest.mark.parametrize("name", share([*LAYERS], 4))
def test_layers(name: str) -> None:
    def make() -> Any:
        generator = pb.random.Generator(1)
        return nn.Sequential(*LAYERS[name](generator), nn.Linear(6, 3, generator=generator))

    # (Adam would scale up what rounding leaves of the gradient of a bias in front of batch norm.)
    assert same(make, lambda p: optim.SGD(p, lr=0.02, momentum=0.9)) == 1


def bent(v: Any, g: Any) -> Any:
    return pb.where(pb.abs(v) <= 1, g * 0.5, g * 0)


@pb.custom_gradient
def by_custom_gradient(v: Any) -> Any:
    return pb.sign(v), lambda g: bent(v, g)


class ByFunction(pb.Function):
    @staticmethod
    def forward(ctx: Any, v: Any) -> Any:
        ctx.save_for_backward(v)
        return pb.sign(v)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (v,) = ctx.saved_tensors
        return bent(v, g)


@pb.custom_vjp
def by_custom_vjp(v: Any) -> Any:
    return pb.sign(v)


by_custom_vjp.defvjp(lambda v: (pb.sign(v), v), lambda v, g: (bent(v, g),))


@pb.custom_jvp
def by_custom_jvp(v: Any) -> Any:
    return pb.sign(v)


@by_custom_jvp.defjvp
def jvp_by_custom_jvp(primals: Any, tangents: Any) -> Any:
    (v,), (t,) = primals, tangents
    return pb.sign(v), bent(v, t)


def by_override(v: Any) -> Any:
    with pb.override_gradient({"sign": lambda op, g: bent(op.inputs[0], g)}):
        return pb.sign(v)


WAYS = {
    "custom_gradient": by_custom_gradient, "Function": ByFunction.apply,
    "custom_vjp": by_custom_vjp, "custom_jvp": by_custom_jvp, "override": by_override,
    "straight_through": pb.straight_through(pb.sign, lambda v: pb.clip(v, -1, 1)),
    "stop_gradient": lambda v: v + pb.stop_gradient(pb.sign(v) - v),
    "checkpoint": pb.checkpoint(lambda v: pb.sin(v) * v),
}


class Bent(nn.Module):
    """A layer with a gradient written by hand."""

    def __init__(self, way: str) -> None:
        generator = pb.random.Generator(2)
        self.first, self.last = (nn.Linear(4, 5, generator=generator),
                                 nn.Linear(5, 3, generator=generator))
        self.way = way

    def forward(self, x: Any) -> Any:
        return self.last(WAYS[self.way](self.first(x)))


@pytest.mark.parametrize("way", share([*WAYS]))
def test_hand_written_gradients(way: str) -> None:
    assert same(lambda: Bent(way), lambda p: optim.SGD(p, lr=0.3, momentum=0.5)) == 1


SCHEDULERS = {
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, 8),
    "exponential": lambda o: schedulers.ExponentialLR(o, 0.5),
    "one cycle": lambda o: schedulers.OneCycleLR(o, 0.1, total_steps=8),
    "chained": lambda o: schedulers.ChainedScheduler(
        [schedulers.ExponentialLR(o, 0.5), schedulers.StepLR(o, 2)]),
    "sequential": lambda o: schedulers.SequentialLR(
        o, [schedulers.ConstantLR(o, 0.5, 2), schedulers.ExponentialLR(o, 0.5)], [2]),
}


@pytest.mark.parametrize("name", share([*SCHEDULERS], 4))
def test_schedulers_inside_the_step(name: str) -> None:
    """Also those that move momentum; the compiled step reads what they set, in one trace."""
    nets = pair(network)
    optimizers = [optim.SGD(n.parameters(), lr=0.1, momentum=0.9) for n in nets]
    every = [SCHEDULERS[name](o) for o in optimizers]
    eager = training(nets[0], optimizers[0], every[0])
    compiled = pb.jit(training(nets[1], optimizers[1], every[1]))
    for _ in range(5):
        assert abs(float(eager(on_jax(X), on_jax(Y))) - float(compiled(X, Y))) < 1e-6
        options = [{k: v for k, v in o.param_groups[0].items() if k != "params"}
                   for o in optimizers]
        assert options[0] == options[1]
    assert getattr(every[0], "last_epoch", 0) == getattr(every[1], "last_epoch", 0)
    assert compiled.traces == 1
    assert largest(*nets) < 2e-6


def test_a_scheduler_before_the_step_of_the_optimizer() -> None:
    nets = pair(network)
    optimizers = [optim.SGD(n.parameters(), lr=0.1) for n in nets]
    every = [schedulers.ExponentialLR(o, 0.5) for o in optimizers]

    def made(i: int) -> Any:
        def step() -> Any:
            optimizers[i].zero_grad()
            loss = pb.cross_entropy(nets[i](on_jax(X)), on_jax(Y))
            loss.backward()
            every[i].step()
            optimizers[i].step()
            return loss, optimizers[i].param_groups[0]["lr"], every[i].get_last_lr()

        return step

    eager, compiled = made(0), pb.jit(made(1))
    for _ in range(3):
        one, other = eager(), compiled()
        assert one[1:] == other[1:]  # numbers of Python in the result are those of this call
    assert compiled.traces == 1
    assert largest(*nets) < 2e-6


def test_options_written_in_the_step() -> None:
    w = pb.tensor(on_jax(np.ones(2, "float32")), requires_grad=True)
    optimizer = optim.SGD([w], lr=1.0)

    @pb.jit
    def step() -> None:
        optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.step([pb.ones(2, dtype="float32")])

    for _ in range(3):
        step()
    assert (w.tolist(), optimizer.param_groups[0]["lr"]) == ([0.125, 0.125], 0.125)
    assert step.traces == 1


def test_tapes_variables_and_several_groups() -> None:
    v = [pb.Variable(on_jax(np.ones(3, "float32"))) for _ in range(4)]
    optimizers = [optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
                  for a, b in (v[:2], v[2:])]

    def made(i: int) -> Any:
        a, b = v[2 * i : 2 * i + 2]

        def step(x: Any) -> Any:
            with pb.GradientTape() as tape:
                loss = pb.sum(pb.sin(a * x) * b)
            optimizers[i].step(tape.gradient(loss, [a, b]))
            return loss

        return step

    eager, compiled = made(0), pb.jit(made(1))
    x = on_jax(np.array([0.1, 0.2, 0.3], "float32"))
    for _ in range(4):
        assert abs(float(eager(x)) - float(compiled(x))) < 1e-6
    for one, other in zip(v[:2], v[2:], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-6)
    assert compiled.traces == 1


class Trainer:
    def __init__(self) -> None:
        self.net = network()
        self.optimizer = optim.AdamW(self.net.parameters(), lr=0.1)

    @pb.jit
    def step(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        loss = pb.cross_entropy(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    @pb.jit
    def predict(self, x: Any) -> Any:
        return self.net(x)


def test_methods() -> None:
    one, other = Trainer(), Trainer()
    losses = [float(one.step(X, Y)) for _ in range(3)]
    assert losses == [float(other.step(X, Y)) for _ in range(3)]
    before = one.predict(X)
    one.step(X, Y)
    after = one.predict(X)
    assert np.abs(before.numpy() - after.numpy()).max() > 0  # never a stale parameter
    assert one.step.traces == one.predict.traces == 1
    assert float(copy.deepcopy(other).step(X, Y)) == float(other.step(X, Y))


@pytest.mark.full
def test_front_ends() -> None:
    """Modules and optimizers of pullback.torch, an optimizer of the user's, and pullback.tf."""
    import pullback.tf as tf
    import pullback.torch as torch

    class Own(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "m" not in state:
                        state["m"] = torch.zeros_like(p)
                    state["m"].mul_(0.9).add_(p.grad)
                    p.sub_(state["m"], alpha=group["lr"])

    for kind in (torch.optim.Adam, Own):
        nets = []
        for _ in range(2):
            torch.manual_seed(0)
            nets.append(torch.nn.Linear(4, 3))
        steps = []
        for net in nets:
            optimizer = kind(net.parameters(), lr=0.1)

            def step(x: Any, y: Any, net: Any = net, optimizer: Any = optimizer) -> Any:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            steps.append(step)
        compiled = pb.jit(steps[1])
        for _ in range(4):
            arguments = torch.tensor(X), torch.tensor(Y)
            assert abs(float(steps[0](*arguments)) - float(compiled(*arguments))) < 1e-6

    v = tf.Variable(np.ones(3, "float32"))
    adam = tf.optimizers.Adam(0.1)
    adam.build([v])

    @pb.jit
    def minimise(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v * x)
        adam.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    x = tf.constant(np.ones(3, "float32"))
    np.testing.assert_allclose([float(minimise(x)) for _ in range(2)], [3.0, 2.43], atol=1e-5)
    assert minimise.traces == 1
