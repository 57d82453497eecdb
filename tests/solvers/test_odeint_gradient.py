"""The gradient of `odeint`: one integration forwards, one of the adjoint; the code traced once."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import InplaceError
from pullback.solvers import ode, ode_numbers
from tests.solvers.checks import close, rng

TIMES = np.linspace(0.0, 10.0, 41)
START = np.array([10.0, 5.0])
RATES = np.array([1.1, 0.4, 0.4, 0.1])


def prey_and_predators(y: Any, t: Any, p: Any) -> Any:
    """The Lotka-Volterra equation."""
    both = y[0] * y[1]
    return pb.stack([p[0] * y[0] - p[1] * both, p[3] * both - p[2] * y[1]])


class Counted:
    """A right-hand side that counts how often its code runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def steps_of(run: Callable[[], Any]) -> int:
    """How many functions, of Python and of C, a call calls."""
    seen = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def test_the_code_runs_three_times_more_for_a_gradient() -> None:
    """To find what it depends on, to see that it still computes the same, and to be traced."""
    value, both = Counted(prey_and_predators), Counted(prey_and_predators)
    pb.odeint(value, START, TIMES, RATES)
    pb.grad(lambda p: pb.sum(pb.odeint(both, START, TIMES, p) ** 2))(RATES)
    assert both.calls == value.calls + 3


def test_a_gradient_takes_at_most_five_times_the_steps_of_a_value() -> None:
    loss = lambda p: pb.sum(pb.odeint(prey_and_predators, START, TIMES, p) ** 2)  # noqa: E731
    gradient = pb.grad(loss)
    p = pb.tensor(RATES)
    loss(p), gradient(p)  # what is loaded on its first use is loaded
    assert steps_of(lambda: gradient(p)) <= 5 * steps_of(lambda: loss(p))


def test_code_that_cannot_be_traced_runs_once_per_point_of_the_adjoint() -> None:
    """The solution itself is not integrated again: fewer calls than with it."""
    def f(y: Any, t: Any, p: Any) -> Any:
        return prey_and_predators(y, t, p) if float(t) >= 0.0 else y

    counted = Counted(f)
    loss = lambda p: pb.sum(pb.odeint(counted, START, TIMES, p) ** 2)  # noqa: E731
    loss(RATES)
    forward = counted.calls
    found = pb.grad(loss)(RATES)
    assert forward < counted.calls - forward < 4 * forward
    traced = pb.grad(lambda p: pb.sum(pb.odeint(prey_and_predators, START, TIMES, p) ** 2))(RATES)
    close(found, traced, 1e-9)


# All ways give the same -----------------------------------------------------------------------


def swing(y: Any, t: Any, p: Any) -> Any:
    return {"angle": y["speed"], "speed": -p["k"] * pb.sin(y["angle"]) - 0.1 * t}


def structured(p: Any, y0: Any, t: Any, **how: Any) -> Any:
    y = pb.odeint(swing, {"angle": y0, "speed": pb.zeros(3)}, t, {"k": p}, **how)
    return pb.sum(y["angle"] * rng(5).normal(size=(4, 3)) + y["speed"] ** 2)


def complexes(p: Any, y0: Any, t: Any, **how: Any) -> Any:
    y = pb.odeint(lambda y, t: (1j * p - 0.1) * y, y0 + 0.5j, t, **how)
    return pb.sum(pb.real(y * rng(6).normal(size=(4, 3))))


def captured(p: Any, y0: Any, t: Any, **how: Any) -> Any:
    w = pb.stack([p, pb.sin(p), p * p])
    square = pb.custom_gradient(lambda x: (x * x, lambda g: 2 * x * g))
    return pb.sum(pb.odeint(lambda y, t: pb.tanh(w @ y) - pb.sin(square(y)) * t, y0, t, **how) ** 2)


def several(p: Any, y0: Any, t: Any, **how: Any) -> Any:
    a, b = pb.odeint(lambda y, t: (p[:2] * y[1][:2], -y[1]), (y0[:2], y0), t, **how)
    return pb.sum(a[-1] * a[1]) + pb.sum(b[2])  # not all times get a cotangent


FUNCTIONS = [structured, complexes, captured, several]
POINT = (np.array([0.7, 1.3, 0.4]), np.array([0.3, -0.5, 0.8]), np.array([0.1, 0.5, 1.2, 2.0]))


def ways(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> list[Any]:
    """The results of a program, recorded, and integrated with the adjoint: and as it is."""
    found = [run()]
    with monkeypatch.context() as patched:
        patched.setattr(ode, "traced", lambda *args: None)
        found.append(run())
        patched.setattr(ode_numbers, "DENSE", 0)
        found.append(run())
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("reverse", [False, True])
def test_all_ways_give_the_same_gradient(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], reverse: bool
) -> None:
    p, y0, t = POINT
    t = t[::-1].copy() if reverse else t
    first, *others = ways(monkeypatch, lambda: pb.grad(function, (0, 1, 2))(p, y0, t))
    along = [np.eye(3)[1] if i < 2 else np.eye(4)[2] for i in range(3)]
    for i in range(3):
        for other in others:
            close(first[i], other[i], 1e-6)
        moved = [np.zeros_like(v) for v in (p, y0, t)]
        moved[i] = along[i]
        slope = pb.jvp(function, (p, y0, t), tuple(moved))[1]
        close(pb.sum(first[i] * along[i]), slope, 1e-6)


@pytest.mark.full
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    how: dict[str, Any] = {"method": method, "rtol": 1e-7, "atol": 1e-7}
    p, y0, t = POINT
    wanted = pb.grad(structured)(p, y0, t)
    for found in ways(monkeypatch, lambda: pb.grad(lambda p: structured(p, y0, t, **how))(p)):
        close(found, wanted, 3e-5)


def test_jacobians_of_single_precision_and_of_examples() -> None:
    """A batch of cotangents, and of examples, along one dense solution."""
    decay = lambda k: pb.odeint(lambda y, t: -k * y, np.ones(2), np.array([0.0, 0.5, 1.0]))  # noqa: E731
    k = np.array([1.0, 2.0])
    each = -np.array([0.0, 0.5, 1.0])[:, None] * np.exp(-np.array([0.0, 0.5, 1.0])[:, None] * k)
    close(pb.jacrev(decay)(k), each[:, :, None] * np.eye(2), 1e-7)
    ks = np.stack([k, 2 * k])
    loop = np.stack([pb.grad(lambda k: pb.sum(decay(k) ** 2))(k) for k in ks])
    close(pb.vmap(pb.grad(lambda k: pb.sum(decay(k) ** 2)))(ks), loop, 1e-7)
    single = pb.grad(lambda k: pb.sum(decay(k)))(k.astype(np.float32))
    assert single.dtype == np.float32
    close(single, each.sum(axis=0), 1e-5)


def test_variables_of_a_network() -> None:
    def loss(w: Any) -> Any:
        return pb.sum(pb.odeint(lambda y, t: pb.tanh(w @ y), START, [0.0, 1.0, 2.0]) ** 2)

    w = pb.Variable(rng(1).normal(size=(2, 2)))
    unused = pb.Variable(3.0)
    for _ in range(2):  # also after the variable was assigned
        with pb.GradientTape() as tape:
            value = loss(w)
        found = tape.gradient(value, [w, unused])
        at = w.numpy()
        wanted = pb.grad(loss)(at)
        close(found[0], wanted, 1e-7)
        assert found[1] is None or not np.any(np.asarray(found[1]))
        w.assign(0.5 * at)


# What the traced code must not hide --------------------------------------------------------------


def test_a_parameter_that_was_written_since() -> None:
    rate = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.odeint(lambda y, t: -rate * y, START, [0.0, 1.0])
    with pb.no_grad():
        rate += 1.0
    with pytest.raises(InplaceError):
        pb.sum(y).backward()


def test_a_gradient_inside_the_equation() -> None:
    """A force is the gradient of an energy with a parameter that is closed over."""
    def end(k: Any) -> Any:
        energy = lambda q: pb.sum(k * q**4) / 4  # noqa: E731
        f = lambda y, t: (y[1], -pb.grad(energy)(y[0]))  # noqa: E731
        return pb.sum(pb.odeint(f, (np.array([0.5, 1.0]), np.zeros(2)), [0.0, 1.0, 2.0])[0] ** 2)

    k = np.array([1.0, 0.7])
    e = 1e-5 * np.array([1.0, -2.0])
    close(pb.sum(pb.grad(end)(k) * e), (end(k + e) - end(k - e)) / 2, 1e-8)
    hv = pb.grad(lambda k: pb.sum(pb.grad(end)(k) * e))(k)
    close(hv, (pb.grad(end)(k + e) - pb.grad(end)(k - e)) / 2, 1e-7)


def test_random_numbers_in_an_equation_are_drawn_at_each_point() -> None:
    """Not once for the whole integration, as traced code would draw them."""
    pb.random.seed(1)
    seen: list[float] = []

    def f(y: Any, t: Any) -> Any:
        seen.append(float(draw := pb.random.normal(())))
        return -y + 0.0 * draw

    close(pb.grad(lambda y: pb.odeint(f, y, [0.0, 1.0])[1])(1.0), np.exp(-1.0), 1e-7)
    assert len(set(seen)) == len(seen)


def test_nothing_stays_without_the_collector() -> None:
    """The trace refers to itself; what the user gave is not kept by it."""
    def run() -> list[Any]:
        y, w = (pb.tensor(rng(2).normal(size=s), requires_grad=True) for s in (2, (2, 2)))
        out = pb.odeint(lambda y, t: pb.tanh(w @ y), y, TIMES[:3])
        pb.sum(out * out).backward()
        return [weakref.ref(v) for v in (y, w, out, y.node, w.node, out.node)]

    run()
    gc.collect()
    gc.disable()
    try:
        assert [ref() for ref in run()] == [None] * 6
    finally:
        gc.enable()
