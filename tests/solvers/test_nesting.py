"""Solvers around hand-written gradients and inside them, with modules, and with checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import nn
from tests.solvers.checks import close, same, second_order


class Square(pb.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x


@pb.custom_gradient
def squared(x: Any) -> Any:
    return x * x, lambda g: g * 2 * x


@pb.custom_vjp
def by_vjp(x: Any) -> Any:
    return x * x


by_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (g * 2 * x,))


@pb.custom_jvp
def by_jvp(x: Any) -> Any:
    return x * x


by_jvp.defjvps(lambda t, out, x: t * 2 * x)

SQUARES = {
    "Function": Square.apply, "custom_gradient": squared, "custom_vjp": by_vjp,
    "custom_jvp": by_jvp, "checkpoint": pb.checkpoint(lambda x: x * x),
}


@pytest.mark.full
@pytest.mark.parametrize("square", SQUARES.values(), ids=SQUARES)
def test_hand_written_gradients_in_an_equation(square: Callable[[Any], Any]) -> None:
    same(lambda a: pb.root(lambda x: square(x) - pb.exp(a), 1.0), lambda a: pb.exp(a / 2), 0.7)
    same(lambda a: pb.root(lambda x: x - square(a), 1.0), lambda a: a * a, 0.7)


@pytest.mark.full
@pytest.mark.parametrize("square", SQUARES.values(), ids=SQUARES)
def test_hand_written_gradients_in_a_differential_equation(square: Callable[[Any], Any]) -> None:
    """dy/dt = a² y²."""
    f = lambda a: pb.odeint(lambda y, t: square(a) * square(y), 0.5, [0.0, 1.0])[1]  # noqa: E731
    second_order(f, lambda a: 1.0 / (2.0 - a * a), np.array(0.7), 1e-6)


def test_a_solution_in_a_checkpoint_and_a_checkpoint_in_an_equation() -> None:
    w, x = (pb.tensor(v, requires_grad=True) for v in (3.0, 4.0))
    solved = pb.checkpoint(lambda x: pb.root(lambda y: y * y - w * w * x, 1.0))
    solved(x).backward()
    close([w.grad, x.grad], [2.0, 0.75], 1e-12)
    w.grad = None
    pb.root(lambda y: y - solved(x), 1.0).backward()
    close(w.grad, 2.0, 1e-12)


def test_a_solution_in_a_custom_vjp() -> None:
    solved = lambda a: pb.root(lambda x: x * x - a, 1.0)  # noqa: E731

    @pb.custom_vjp
    def root_of(a: Any) -> Any:
        return solved(a)

    root_of.defvjp(lambda a: (solved(a), a), lambda a, g: (g * pb.grad(solved)(a),))
    same(root_of, pb.sqrt, 4.0)


def test_a_network_is_the_right_side_of_a_differential_equation() -> None:
    pb.random.seed(0)
    first, last = nn.Linear(2, 4, dtype="float64"), nn.Linear(4, 2, dtype="float64")
    start = np.array([[0.3, -0.2], [1.0, 0.5]])

    def loss() -> Any:
        end = pb.odeint(lambda y, t: last(pb.tanh(first(y))), start, [0.0, 1.0])[1]
        return pb.sum(end * end)

    loss().backward()
    step = np.zeros((4, 2))
    step[1, 1] = 1e-4
    values = []
    for move in (step, -2 * step):
        with pb.no_grad():
            first.weight += move
        values.append(float(loss().detach()))
    close(first.weight.grad[1, 1], (values[0] - values[1]) / 2e-4, 1e-6)
