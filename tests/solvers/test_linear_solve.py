"""`linear_solve`: matrices and linear functions, every solver, against `linalg.solve`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceError,
    ShapeError,
    SingularMatrixError,
)
from tests.solvers.checks import close, rng, same

SOLVERS = [None, "dense", "cg", "gmres"]
MATRIX = rng(0).normal(size=(3, 3))
POSITIVE = MATRIX @ MATRIX.T + np.eye(3)
RIGHT = rng(1).normal(size=3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_derivative_in_the_matrix(solver: str | None) -> None:
    """Of the function that the matrix is closed over by; symmetric where cg wants it so."""

    def matrix(d: Any) -> Any:
        return POSITIVE + pb.exp(d)[:, None] * np.eye(3)

    def f(d: Any) -> Any:
        a = matrix(d)
        return pb.linear_solve(lambda x: a @ x, RIGHT, solver=solver, symmetric=solver == "cg")

    same(f, lambda d: pb.linalg.solve(matrix(d), RIGHT), 0.3 * RIGHT)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_derivative_in_the_right_side(solver: str | None) -> None:
    same(
        lambda b: pb.linear_solve(POSITIVE, b, solver=solver),
        lambda b: np.linalg.inv(POSITIVE) @ b, RIGHT,
    )


@pytest.mark.parametrize("solver", ["dense", "gmres"])
def test_a_matrix_that_is_not_symmetric(solver: str) -> None:
    a = MATRIX + 4 * np.eye(3)
    both = pb.jacrev(lambda a, b: pb.linear_solve(lambda x: a @ x, b, solver=solver), (0, 1))(
        a, RIGHT
    )
    wanted = pb.jacrev(pb.linalg.solve, (0, 1))(a, RIGHT)
    for found, right in zip(both, wanted, strict=True):
        close(found, right, 1e-9)


class Product(pb.Function):
    """The product with a matrix, that nobody can pull through."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return POSITIVE @ x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise AssertionError("transposed")


def test_a_symmetric_function_is_its_own_transpose() -> None:
    def gradient(symmetric: bool) -> Any:
        return pb.grad(lambda b: pb.sum(
            pb.linear_solve(Product.apply, b, solver="cg", symmetric=symmetric)
        ))(RIGHT)

    close(gradient(True), np.linalg.inv(POSITIVE).sum(0), 1e-10)
    with pytest.raises(AssertionError, match="transposed"):
        gradient(False)


def test_a_matrix_and_no_solver_is_linalg_solve() -> None:
    a, b = rng(2).normal(size=(4, 3, 3)) + 4 * np.eye(3), rng(3).normal(size=(3, 2))
    close(pb.linear_solve(a, b), np.linalg.solve(a, b), 1e-12)
    close(pb.linear_solve([[2.0, 0.0], [0.0, 4.0]], [2, 2]), [1.0, 0.5], 1e-12)


@pytest.mark.parametrize("solver", ["dense", "cg", "gmres"])
def test_structures(solver: str) -> None:
    b = {"u": np.array([2.0, 6.0]), "v": (np.array([[8.0]]),)}
    w = pb.tensor([2.0, 3.0], requires_grad=True)
    product = lambda x: {"u": w * x["u"], "v": (x["v"][0] * 4.0,)}  # noqa: E731
    x = pb.linear_solve(product, b, solver=solver)
    close(x["u"].detach(), [1.0, 2.0], 1e-10)
    close(x["v"][0], [[2.0]], 1e-10)
    pb.sum(x["u"] * x["u"]).backward()
    close(w.grad, [-1.0, -8 / 3], 1e-10)


def test_complex_numbers() -> None:
    a = MATRIX + 1j * MATRIX.T + 4 * np.eye(3)
    b = RIGHT + 1j
    for solver in ("dense", "gmres"):
        f = lambda b, how=solver: pb.linear_solve(lambda x: a @ x, b, solver=how)  # noqa: E731
        close(f(b), np.linalg.solve(a, b), 1e-9)
        close(pb.jacrev(f, holomorphic=True)(b), np.linalg.inv(a), 1e-9)


@pytest.mark.parametrize("solver", ["dense", "cg", "gmres"])
def test_vmap_over_what_is_closed_over_alone(solver: str) -> None:
    d = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 0.1]])
    f = lambda d: pb.linear_solve(lambda x: d * x, np.ones(2), solver=solver)  # noqa: E731
    close(pb.vmap(f)(d), 1 / d, 1e-9)
    close(pb.vmap(pb.grad(lambda d: pb.sum(f(d))))(d), -1 / d**2, 1e-9)
    close(pb.grad(lambda s: pb.sum(pb.vmap(lambda d: f(s * d))(d)))(2.0), -(1 / d).sum() / 4, 1e-9)


def test_a_solver_of_ones_own() -> None:
    def jacobi(matvec: Any, b: Any) -> Any:
        x = pb.zeros_like(b)
        for _ in range(200):
            x = x + 0.1 * (b - matvec(x))
        return x

    a = np.eye(3) * 3 + 0.1 * POSITIVE
    f = lambda b: pb.linear_solve(lambda x: a @ x, b, solver=jacobi)  # noqa: E731
    same(f, lambda b: np.linalg.inv(a) @ b, RIGHT)


def test_single_precision_stays() -> None:
    b = RIGHT.astype("float32")
    for solver in (*SOLVERS, lambda matvec, b: np.asarray(b, "float64") / 2.0):
        found = pb.linear_solve(lambda x: 2.0 * x, b, solver=solver)
        assert found.dtype == np.float32
        close(found, b / 2, 1e-6)


def test_in_an_equation_it_is_solved_for_each_example_in_the_pull_too() -> None:
    d = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(d: Any) -> Any:
        solved = lambda: pb.linear_solve(lambda y: d * y, np.ones(2))  # noqa: E731
        return pb.sum(pb.root(lambda x: x - solved(), np.zeros(2)))

    close(pb.grad(lambda d: pb.sum(pb.vmap(f)(d)))(d), -1 / d**2, 1e-12)


def test_nothing_is_recorded_where_nobody_follows() -> None:
    for solver in SOLVERS:
        x = pb.linear_solve(lambda x: pb.where(x > 0, x, 2.0 * x), pb.ones(2), solver=solver)
        assert x.node is None


def test_errors() -> None:
    with pytest.raises(ConvergenceError, match=r"(?s)`cg`.*after 1 iterations"):
        pb.linear_solve(
            lambda x: POSITIVE @ x, RIGHT, solver=lambda m, b: pb.solvers.cg(m, b, maxiter=1)
        )
    with pytest.raises(ArgumentError, match="linear function"):
        pb.linear_solve(lambda x: x + 1.0, RIGHT)
    with pytest.raises(ShapeError, match="as many as the unknown has"):
        pb.linear_solve(lambda x: x[:2], RIGHT)
    with pytest.raises(ShapeError, match="the solver"):
        pb.linear_solve(lambda x: x, RIGHT, solver=lambda m, b: b[:2])
    with pytest.raises(ArgumentError, match="'gmres' or a function"):
        pb.linear_solve(lambda x: x, RIGHT, solver="lu")
    with pytest.raises(ArgumentTypeError, match="function"):
        pb.linear_solve(lambda x: x, RIGHT, solver=3)
    with pytest.raises(SingularMatrixError):
        pb.linear_solve(lambda x: 0.0 * x, RIGHT)
