"""`fixed_point`: values, derivatives of any order, batching, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ConvergenceError, ShapeError
from tests.solvers.checks import close, rng, same

MATRIX = 0.2 * rng(0).normal(size=(3, 3))
RIGHT = rng(1).normal(size=3)


@pytest.mark.parametrize("linear_solver", ["dense", "gmres"])
def test_every_derivative_is_that_of_the_closed_form(linear_solver: str) -> None:
    inverse = np.linalg.inv(np.eye(3) - MATRIX)

    def f(b: Any) -> Any:
        return pb.fixed_point(
            lambda x, b: MATRIX @ x + pb.sin(b), np.zeros(3), b, linear_solver=linear_solver
        )

    same(f, lambda b: inverse @ pb.sin(b), RIGHT, 1e-9)


def test_herons_square_root() -> None:
    same(lambda a: pb.fixed_point(lambda x: (x + a / x) / 2, 1.0), pb.sqrt, 2.0)


def test_keplers_equation_is_the_root() -> None:
    """E = M + e sin E."""

    def by_root(e: Any) -> Any:
        return pb.root(lambda x: x - 1.0 - e * pb.sin(x), 1.0)

    same(lambda e: pb.fixed_point(lambda x: 1.0 + e * pb.sin(x), 1.0), by_root, 0.3)


def test_gradients_flow_to_closed_over_weights_of_a_network() -> None:
    """A layer that is its own input: z = tanh(W z + x)."""
    w = pb.tensor(MATRIX, requires_grad=True)
    z = pb.fixed_point(lambda z: pb.tanh(w @ z + RIGHT), np.zeros(3))
    pb.sum(z * z).backward()
    step = 1e-6
    wanted = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        for sign in (1, -1):
            moved = MATRIX.copy()
            moved[i, j] += sign * step
            z = pb.fixed_point(lambda z, m=moved: pb.tanh(m @ z + RIGHT), np.zeros(3))
            wanted[i, j] += sign * float(pb.sum(z * z)) / (2 * step)
    close(w.grad, wanted, 1e-8)


def test_examples_stop_each_in_its_time() -> None:
    """One that begins at its fixed point is held there, while another goes on."""
    a = np.array([0.0, 0.9, 0.5])
    found = pb.vmap(lambda a: pb.fixed_point(lambda x: a * x + 1.0, 1.0))(a)
    close(found, 1 / (1 - a), 1e-10)
    close(pb.vmap(pb.grad(lambda a: pb.fixed_point(lambda x: a * x + 1.0, 1.0)))(a),
          1 / (1 - a) ** 2, 1e-10)


def test_an_example_does_not_depend_on_the_others() -> None:
    f = lambda a: pb.fixed_point(lambda x: a * x + 1.0, 0.0)  # noqa: E731
    a = np.array([0.5, 0.9, 0.95])
    close(pb.vmap(f)(a), [float(f(one)) for one in a], 1e-15)


def test_structures() -> None:
    f = lambda x, a: (x[1] / 2, [x[0] / 2 + a][0])  # noqa: E731
    u, v = pb.fixed_point(f, (0.0, 0.0), 3.0)
    close([float(u), float(v)], [2.0, 4.0], 1e-10)
    slope = pb.jvp(lambda a: pb.fixed_point(f, (0.0, 0.0), a), (3.0,), (1.0,))[1]
    close([float(s) for s in slope], [2 / 3, 4 / 3], 1e-10)


def test_errors() -> None:
    with pytest.raises(ConvergenceError, match=r"(?s)after 20 iterations.*root"):
        pb.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, maxiter=20)
    with pytest.raises(ConvergenceError, match="nan"):
        pb.fixed_point(lambda x: x * np.nan, 1.0, maxiter=5)
    with pytest.raises(ShapeError, match="as many as the unknown has"):
        pb.fixed_point(lambda x: pb.stack([x, x]), 1.0)
