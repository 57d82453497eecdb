"""What a compiled function reads and writes: found, put back, never stale."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn, optim
from tests.loops import each
from tests.xla.steps import X, Y, network, on_jax, training

pytestmark = pytest.mark.needs("jax")
jax = pytest.importorskip("jax")
jnp = jax.numpy

ONES = np.ones(3, "float32")
HIDDEN: dict[str, Any] = {}


def leaf(value: Any = ONES) -> Any:
    return pb.tensor(on_jax(value), requires_grad=True)


def test_numpy_models_are_moved_once() -> None:
    net = network()
    step = pb.jit(training(net, optim.SGD(net.parameters(), lr=0.1)))
    logger, lines = logging.getLogger("pullback"), []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    try:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        step(X, Y)
        step(X, Y)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert [type(p.data) for p in net.parameters()] == [type(on_jax(0.0))] * 4
    (line,) = lines
    assert line.startswith("pullback.jit moved 4 tensors")
    wide = pb.tensor(np.ones(3), requires_grad=True)
    with pytest.raises(pb.errors.DtypeError, match="jax_enable_x64"):
        pb.jit(lambda: wide * 2)()


def test_gradients_of_parameters() -> None:
    """They accumulate; those that an optimizer has used are not kept."""
    w = leaf()
    accumulate = pb.jit(lambda x: pb.sum(w * x).backward())
    for _ in range(3):
        accumulate(ONES)
    assert w.grad.tolist() == [3.0, 3.0, 3.0]
    optimizer = optim.SGD([w], lr=0.1)

    @pb.jit
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        pb.sum(w * x).backward()
        optimizer.step()
        return w.grad

    assert step(ONES).tolist() == [1.0, 1.0, 1.0]
    assert w.grad is None
    step(ONES)
    assert step.traces == 1
    np.testing.assert_allclose(w.tolist(), [0.8, 0.8, 0.8])


def test_what_the_walk_cannot_reach_is_found_while_tracing() -> None:
    class Box:
        __slots__ = ("v",)

    box = Box()
    box.v = pb.Variable(np.zeros(3, "float32"))
    boxes = iter([box] * 20)
    step = pb.jit(lambda x: next(boxes).v.assign_add(x))
    for _ in range(3):
        step(ONES)
    assert box.v.tolist() == [3.0, 3.0, 3.0]
    w = leaf()
    optimizers = iter([optim.Adam([w], lr=0.1)] * 20)

    def advance() -> None:
        optimizer = next(optimizers)
        optimizer.step([pb.ones(3, dtype="float32")])

    compiled = pb.jit(advance)
    compiled()
    np.testing.assert_allclose(w.tolist(), [0.9, 0.9, 0.9], atol=1e-6)
    compiled()
    np.testing.assert_allclose(w.tolist(), [0.8, 0.8, 0.8], atol=1e-6)


def test_defaults_globals_attributes_partials() -> None:
    from functools import partial

    v = pb.Variable(np.zeros(3, "float32"))
    HIDDEN["v"] = v
    space = SimpleNamespace(inner=[{"v": v}])

    def by_default(x: Any, v: Any = v) -> None:
        v.assign_add(x)

    def by_partial(v: Any, x: Any) -> None:
        v.assign_add(x)

    for f in (
        by_default, partial(by_partial, v), lambda x: HIDDEN["v"].assign_add(x),
        lambda x: space.inner[0]["v"].assign_add(x),
    ):
        v.assign(np.zeros(3, "float32"))
        compiled = pb.jit(f)
        for _ in range(3):
            compiled(ONES)
        assert v.tolist() == [3.0, 3.0, 3.0]
        assert compiled.traces == 1


def test_plain_values_that_the_code_reads_are_never_stale() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    scale = 2.0
    f = pb.jit(lambda x: net(x) * scale)
    f(ONES[None])
    net.eval()
    first = f(ONES[None]).numpy()
    assert f(ONES[None]).numpy().tolist() == first.tolist()
    scale = 3.0
    np.testing.assert_allclose(f(ONES[None]).numpy(), first * 1.5, rtol=1e-6)
    net[0].weight.requires_grad_(False)
    assert f(ONES[None]).requires_grad
    net[0].bias.requires_grad_(False)
    assert not f(ONES[None]).requires_grad
    replaced = nn.Linear(3, 3)
    net.layers[0] = replaced
    expected = replaced(pb.tensor(ONES[None])).numpy() * 3.0
    np.testing.assert_allclose(f(ONES[None]).numpy(), expected, rtol=1e-5)


def test_states_are_loaded_into_a_running_step() -> None:
    net = network()
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    step = pb.jit(training(net, optimizer))
    step(X, Y)
    states = net.state_dict(), optimizer.state_dict()
    losses = [float(step(X, Y)) for _ in range(3)]
    net.load_state_dict(states[0])
    optimizer.load_state_dict(states[1])
    assert [float(step(X, Y)) for _ in range(3)] == losses
    assert step.traces == 1


def test_arrays_that_something_else_holds_are_not_given_away() -> None:
    """Donation takes an array only where nothing else refers to it."""
    w = leaf()
    kept = w.data, w.detach()
    twin = pb.tensor(w.data, requires_grad=True)  # two parameters on one array
    optimizer = optim.SGD([w, twin], lr=0.5)

    @pb.jit
    def step() -> None:
        optimizer.step([pb.ones(3, dtype="float32"), pb.zeros(3, dtype="float32")])

    step()
    step()
    assert (w.tolist(), twin.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert np.asarray(kept[0]).tolist() == kept[1].tolist() == [1.0] * 3
    state = optim.Adam([w], lr=0.1)
    compiled = pb.jit(lambda: state.step([pb.ones(3, dtype="float32")]))
    compiled()
    before = w._array
    w_before = np.array(before)
    del before
    compiled()
    assert w_before.tolist() != w.tolist()


def test_an_exception_leaves_everything_as_it_was() -> None:
    net = network().to(like=on_jax(0.0))
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    scheduler = optim.schedulers.ExponentialLR(optimizer, 0.5)
    arrays = [p.data for p in net.parameters()]
    run = training(net, optimizer, scheduler)

    def failing(x: Any, y: Any) -> None:
        net.note = "a new attribute"
        run(x, y)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        pb.jit(failing)(X, Y)
    assert all(p.data is a and p.grad is None
               for p, a in zip(net.parameters(), arrays, strict=True))
    assert (optimizer.state, optimizer.param_groups[0]["lr"], scheduler.last_epoch) == ({}, 0.1, 0)
    assert not hasattr(net, "note")
    np.testing.assert_allclose(net(on_jax(X)).numpy(), pb.jit(net)(X).numpy(), atol=1e-6)


def test_arguments() -> None:
    """Numbers are inputs, flags and named ones are fixed; what is written to one is written."""
    scaled = pb.jit(lambda x, a, twice=False: x * a * (2 if twice else 1))
    assert [scaled(ONES, a).tolist()[0] for a in (2.0, 3.0)] == [2.0, 3.0]
    assert scaled.traces == 1
    assert scaled(ONES, 2.0, twice=True).tolist()[0] == 4.0
    head = pb.jit(lambda x, n: x[:n], static_argnames="n")
    assert [head(ONES, n=n).shape for n in (1, 2, 1)] == [(1,), (2,), (1,)]
    assert head.traces == 2
    tree = pb.jit(lambda d: {"sum": d["a"] + d["b"][0], "none": None, "text": "t"})
    out = tree({"a": pb.tensor(ONES), "b": [on_jax(ONES)]})
    assert (out["sum"].tolist(), out["none"], out["text"]) == ([2.0] * 3, None, "t")

    def write(t: Any) -> None:
        t += 1.0

    target = pb.tensor(on_jax(ONES))
    pb.jit(write)(target)
    assert target.tolist() == [2.0] * 3
    w = leaf()
    pb.jit(lambda t: pb.sum(t * t).backward())(w)
    assert w.grad.tolist() == [2.0] * 3
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    apply = pb.jit(lambda net, x: net(x))
    for module in (net, other, net):
        expected = apply(module, ONES).numpy()
        np.testing.assert_allclose(module(on_jax(ONES)).numpy(), expected, rtol=1e-5)
    assert apply.traces == 2


def test_state_that_only_python_keeps_is_an_error() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            self.count, self.last, self.seen = 0, pb.zeros(3, dtype="float32"), []

    def counted(m: Any, x: Any) -> None:
        m.count += 1

    def rebound(m: Any, x: Any) -> None:
        m.last = m.last * 0.9 + x

    def appended(m: Any, x: Any) -> None:
        m.seen.append(pb.sum(pb.tensor(x)))

    def changes(change: Any) -> None:
        module = Counting()
        with pytest.raises(pb.errors.GraphError, match=r"pullback\.Variable"):
            pb.jit(lambda x: change(module, x))(ONES)
        assert (module.count, module.last.tolist(), module.seen) == (0, [0.0] * 3, [])

    each([counted, rebound, appended], changes)


def test_other_refusals() -> None:
    w = leaf()
    lbfgs = optim.LBFGS([w])
    with pytest.raises(pb.errors.SymbolError, match=r"LBFGS\.step inside pullback\.jit"):
        pb.jit(lambda: lbfgs.step(lambda: pb.sum(w * w)))()
    with pytest.raises(pb.errors.GraphError, match="made inside"):
        pb.jit(lambda x: pb.Variable(x))(ONES)
    with pytest.raises(pb.errors.ArgumentError, match="static_argnames"):
        pb.jit(lambda x: x, static_argnames="y")(ONES)
    with pytest.raises(pb.errors.ArgumentTypeError, match="a function"):
        pb.jit(3)
    plateau = optim.schedulers.ReduceLROnPlateau(optim.SGD([w], lr=0.1))
    with pytest.raises(pb.errors.SymbolError, match="ReduceLROnPlateau"):
        pb.jit(lambda: plateau.step(pb.sum(w)))()


def test_a_number_on_which_an_optimizer_branches() -> None:
    """Right in every step: where the branch changes, the step is traced again."""

    class Warm(optim.Optimizer):
        def _update(self, x: Any, g: Any, slots: Any, count: Any, group: Any) -> None:
            if count > 2:
                x -= group["lr"] * g
            else:
                x -= 0.5 * group["lr"] * g

    values = []
    for wrap in (pb.jit, lambda f: f):
        w = leaf()
        optimizer = Warm([w], {"lr": 0.1})
        step = wrap(lambda o=optimizer: o.step([pb.ones(3, dtype="float32")]))
        for _ in range(4):
            step()
        values.append(w.tolist())
        if wrap is pb.jit:
            assert step.traces == 2
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
