"""`odeint`: values, derivatives in everything and of any order, batching, structures, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    CaptureError,
    ConvergenceError,
    ShapeError,
)
from pullback.tools.check.laws import LAWS
from tests.solvers.checks import batched, close, first_order, rng, same, second_order

TIMES = np.array([0.2, 0.7, 1.5])
START = np.array([0.3, 0.6])


def logistic(y: Any, t: Any, rate: Any) -> Any:
    return rate * y * (1.0 - y)


def grown(y0: Any, t: Any, rate: Any) -> Any:
    """The solution of `logistic`, at all times."""
    t = pb.asarray(t)
    e = pb.exp(rate * (t - t[0]))[:, None]
    return y0 * e / (1.0 + y0 * (e - 1.0))


# Against closed forms -------------------------------------------------------------------------


@pytest.mark.full
def test_every_derivative_in_an_argument() -> None:
    same(
        lambda rate: pb.odeint(logistic, START, TIMES, rate),
        lambda rate: grown(START, TIMES, rate), 1.3, 1e-6,
    )


@pytest.mark.full
def test_every_derivative_in_the_beginning() -> None:
    same(lambda y0: pb.odeint(logistic, y0, TIMES, 1.3), lambda y0: grown(y0, TIMES, 1.3), START,
         1e-6)


@pytest.mark.full
def test_every_derivative_in_the_times() -> None:
    f, reference = (lambda t: pb.odeint(logistic, START, t, 1.3)), lambda t: grown(START, t, 1.3)
    first_order(f, reference, TIMES, 1e-6)
    second_order(f, reference, TIMES, 1e-6)


@pytest.mark.full
def test_times_are_batched() -> None:
    times = TIMES[:2]
    batched(lambda t: pb.odeint(logistic, START, t, 1.3), lambda t: grown(START, t, 1.3), times,
            1e-6)


@pytest.mark.full
def test_a_rate_that_depends_on_time_and_is_closed_over() -> None:
    """dy/dt = -a t y."""
    def f(p: Any) -> Any:
        return pb.odeint(lambda y, t: -p[0] * t * y, p[1], pb.stack([p[2], p[3]]))[1]

    def reference(p: Any) -> Any:
        return p[1] * pb.exp(-p[0] * (p[3] ** 2 - p[2] ** 2) / 2)

    same(f, reference, [0.7, 1.2, 0.3, 1.1], 1e-6)


def test_third_derivative() -> None:
    f = lambda rate: pb.odeint(lambda y, t: -rate * y, 1.0, [0.0, 1.3])[1]  # noqa: E731
    close(pb.grad(pb.grad(pb.grad(f)))(2.0), -(1.3**3) * np.exp(-2.6), 1e-6)


@pytest.mark.full
def test_times_that_fall() -> None:
    same(
        lambda y0: pb.odeint(logistic, y0, TIMES[::-1], 1.3),
        lambda y0: grown(y0, TIMES[::-1], 1.3), START, 1e-6,
    )


# Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "LSODA"])
def test_solutions_are_scipys(method: str) -> None:
    def swing(y: Any, t: Any) -> Any:
        return pb.stack([y[1], -pb.sin(y[0]) - 0.1 * y[1] * t])

    found = pb.odeint(swing, START, TIMES, method=method, rtol=1e-9, atol=1e-9)
    wanted = solve_ivp(
        lambda t, y: [y[1], -np.sin(y[0]) - 0.1 * y[1] * t], (TIMES[0], TIMES[-1]), START,
        t_eval=TIMES, rtol=1e-11, atol=1e-11,
    )
    close(found, wanted.y.T, 1e-6)


def test_one_time_is_the_beginning() -> None:
    close(pb.odeint(logistic, START, [3.0], 1.0), START[None], 0.0)
    close(pb.grad(lambda y: pb.sum(pb.odeint(logistic, y, [3.0], 1.0)))(START), np.ones(2), 0.0)


def test_structures() -> None:
    def f(y: Any, t: Any, p: Any) -> Any:
        return {"q": y["p"][0], "p": (-p["k"] * y["q"],)}

    def energy(p: Any) -> Any:
        y = pb.odeint(f, {"q": np.ones(2), "p": (pb.zeros(2),)}, TIMES, p)
        assert y["q"].shape == (3, 2)
        return pb.sum(y["q"][2] * y["q"][2])

    k = np.array([2.0, 3.0])
    span = TIMES[2] - TIMES[0]
    angle = np.sqrt(k) * span
    close(energy({"k": k}), np.sum(np.cos(angle) ** 2), 1e-6)
    wanted = -np.sin(2 * angle) * span / (2 * np.sqrt(k))
    close(pb.grad(energy)({"k": k})["k"], wanted, 1e-6)


def test_complex_numbers() -> None:
    f = lambda a: pb.odeint(lambda y, t: a * y, 1.0 + 0.5j, [0.0, 0.8])[1]  # noqa: E731
    a = 0.3 + 1.1j
    wanted = (1.0 + 0.5j) * np.exp(0.8 * a)
    close(f(a), wanted, 1e-7)
    close(pb.grad(f, holomorphic=True)(a), 0.8 * wanted, 1e-6)
    close(pb.jvp(f, (a,), (1j,))[1], 0.8j * wanted, 1e-6)
    size = lambda a: pb.abs(f(a))  # noqa: E731
    close(pb.grad(size)(a), 0.8 * abs(wanted), 1e-6)  # the imaginary part turns it only


def test_single_precision_stays() -> None:
    y0 = np.ones(2, "float32")
    found = pb.odeint(lambda y, t: -y, y0, np.array([0.0, 1.0], "float32"))
    assert found.dtype == np.float32
    close(found[1], np.exp(-np.ones(2)), 1e-5)
    gradient = pb.grad(lambda y: pb.sum(pb.odeint(lambda y, t: -y, y, [0.0, 1.0])[1]))(y0)
    assert gradient.dtype == np.float32
    close(gradient, np.exp(-np.ones(2)), 1e-5)


# What is closed over, and batches -------------------------------------------------------------


def network(w: Any) -> Any:
    return lambda y, t: pb.tanh(w @ y) - 0.1 * t


def test_gradients_of_a_closed_over_network() -> None:
    w0 = rng(0).normal(size=(2, 2))

    def loss(w: Any) -> Any:
        return pb.sum(pb.odeint(network(w), START, TIMES) ** 2)

    w = pb.Variable(w0)
    with pb.GradientTape() as tape:
        y = loss(w)
    gradient = tape.gradient(y, w)
    wanted = np.zeros((2, 2))
    for i, j in np.ndindex(2, 2):
        for sign in (1, -1):
            moved = w0.copy()
            moved[i, j] += sign * 1e-4
            wanted[i, j] += sign * float(loss(moved)) / 2e-4
    close(gradient, wanted, 1e-6)


def test_a_weight_that_all_examples_share() -> None:
    w = rng(1).normal(size=(2, 2))
    starts = rng(2).normal(size=(3, 2))

    def end(w: Any, y0: Any) -> Any:
        return pb.sum(pb.odeint(network(w), y0, TIMES)[2] ** 2)

    each = np.stack([pb.grad(end)(w, y0) for y0 in starts])
    close(pb.vmap(pb.grad(end), (None, 0))(w, starts), each, 1e-6)
    total = pb.grad(lambda w: pb.sum(pb.vmap(lambda y0: end(w, y0))(starts)))(w)
    close(total, np.sum(each, axis=0), 1e-6)


def test_parts_of_which_only_one_is_batched() -> None:
    """The other is integrated once, and its gradient is one for all."""
    def f(u0: Any, v0: Any) -> Any:
        return pb.odeint(lambda y, t: (-y[0] * y[1], -y[1]), (u0, v0), [0.0, 1.0])

    us = np.array([1.0, 2.0])
    total = lambda v0: pb.sum(pb.vmap(lambda u0: f(u0, v0)[0][1])(us))  # noqa: E731
    part = 1 - np.exp(-1.0)  # ∫v dt is v0 (1 - 1/e)
    close(total(0.5), us.sum() * np.exp(-0.5 * part), 1e-6)
    close(pb.grad(total)(0.5), -part * us.sum() * np.exp(-0.5 * part), 1e-6)
    found = pb.vmap(lambda u0: f(u0, 0.5)[1][1], out_axes=None)(us)
    close(found, 0.5 * np.exp(-1.0), 1e-6)


def test_nothing_is_recorded_where_nobody_follows() -> None:
    assert pb.odeint(logistic, START, TIMES, 1.0).node is None
    rate = pb.tensor(1.0, requires_grad=True)
    with pb.no_grad():
        assert pb.odeint(logistic, START, TIMES, rate).node is None


# Errors -----------------------------------------------------------------------------------------


def test_an_equation_that_cannot_be_solved() -> None:
    with pytest.raises(ConvergenceError, match=r"(?s)odeint.*up to t = 0\.9"):
        pb.odeint(lambda y, t: y * y, 1.0, [0.0, 0.5, 0.9, 2.0])
    with pytest.raises(ConvergenceError, match="finite"):
        pb.odeint(lambda y, t: y * np.nan, 1.0, [0.0, 1.0])


def test_misuse() -> None:
    with pytest.raises(ArgumentError, match="increasing or decreasing times"):
        pb.odeint(logistic, START, [0.0, 1.0, 0.5], 1.0)
    with pytest.raises(ShapeError, match="1-D array of at least one time"):
        pb.odeint(logistic, START, 1.0, 1.0)
    with pytest.raises(ShapeError, match=r"shape \(2,\), as y"):
        pb.odeint(lambda y, t: pb.sum(y), START, TIMES)
    with pytest.raises(ArgumentError, match="1 leaves like y"):
        pb.odeint(lambda y, t: (y, y), START, TIMES)
    with pytest.raises(ArgumentError, match="did you mean 'RK45'"):
        pb.odeint(logistic, START, TIMES, 1.0, method="RK4")
    with pytest.raises(ArgumentTypeError, match="real times"):
        pb.odeint(logistic, START, np.array([0.0, 1j]), 1.0)


@pytest.mark.full
def test_a_tensor_that_is_used_later_only_is_not_left_out() -> None:
    """What func closes over is found at the first time; another at a later one is an error."""
    early, late = (pb.tensor(1.0, requires_grad=True) for _ in range(2))
    y = pb.odeint(lambda y, t: -(early if t < 0.5 else late) * y, 1.0, [0.0, 1.0])
    with pytest.raises(CaptureError, match="captured in the forward pass"):
        y[1].backward()
    f = lambda y, t, a, b: -(a if t < 0.5 else b) * y  # noqa: E731
    end = lambda a, b: pb.odeint(f, 1.0, [0.0, 1.0], a, b, rtol=1e-10)[1]  # noqa: E731
    close(pb.grad(end, (0, 1))(1.0, 2.0), [-0.5 * np.exp(-1.5)] * 2, 1e-6)
    close(pb.hessian(end, 1)(1.0, 2.0), 0.25 * np.exp(-1.5), 1e-6)


def test_a_solution_leaves_nothing_behind() -> None:
    """SciPy's solvers refer to themselves: without the collector they would keep y0 and weights."""
    report = pb.check(
        lambda y: pb.odeint(lambda y, t: -y, y, np.array([0.0, 1.0]))[-1], np.array([0.5, -1.3]),
        skip=[law for law in LAWS if law != "leaks"],
    )
    assert report, str(report)
