"""`root`: values, derivatives of any order, batching, closures, structures, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    CaptureError,
    ConvergenceError,
    InplaceError,
    LostGradientError,
    ShapeError,
)
from tests.solvers.checks import close, rng, same

A = rng(0).normal(size=(3, 3)) * 0.3


def coupled(x: Any, a: Any) -> Any:
    """Three equations that have one solution."""
    return x + x**3 + A @ pb.tanh(x) - a


START = rng(1).normal(size=3)
AT = rng(2).normal(size=3)


def quadratic(a: Any, **how: Any) -> Any:
    return pb.root(lambda x, a: x * x + pb.flip(x) * 0.0 - a, np.ones(3), a, **how)


@pytest.mark.parametrize("linear_solver", ["dense", "cg", "gmres"])
def test_every_derivative_is_that_of_the_closed_form(linear_solver: str) -> None:
    same(lambda a: quadratic(a, linear_solver=linear_solver), pb.sqrt, [1.0, 2.0, 0.5])


def test_a_number() -> None:
    same(lambda a: pb.root(lambda x: x * x - a, 1.0), pb.sqrt, 2.0)


@pytest.mark.parametrize("method", [None, "hybr", "lm", "krylov"])
def test_solutions_are_scipys(method: str | None) -> None:
    found = pb.root(coupled, START, AT, method=method)
    wanted = optimize.root(
        lambda x: coupled(pb.tensor(x), AT).numpy(), START, tol=1e-13
    )
    close(found, wanted.x, 1e-8)


def test_coupled_equations_against_differences() -> None:
    def loss(a: Any) -> Any:
        return pb.sum(pb.sin(pb.root(coupled, START, a)))

    step = 1e-5 * np.eye(3)
    wanted = [float(loss(AT + h) - loss(AT - h)) / 2e-5 for h in step]
    close(pb.grad(loss)(AT), wanted, 1e-8)
    wanted = [(pb.grad(loss)(AT + h) - pb.grad(loss)(AT - h)).numpy() / 2e-5 for h in step]
    close(pb.hessian(loss)(AT), wanted, 1e-7)


def test_third_derivative() -> None:
    def f(a: Any) -> Any:
        return pb.root(lambda x: x * x - a, 1.0)

    close(pb.grad(pb.grad(pb.grad(f)))(4.0), 3 / 8 * 4.0**-2.5, 1e-12)
    close(pb.grad(lambda a: pb.jvp(pb.grad(f), (a,), (1.0,))[1])(4.0), 3 / 8 * 4.0**-2.5, 1e-12)


def test_a_jacobian_that_is_not_symmetric_is_transposed() -> None:
    matrix = np.array([[2.0, 5.0], [-1.0, 3.0]])
    for linear_solver in ("dense", "gmres"):
        def f(b: Any, how: str = linear_solver) -> Any:
            return pb.root(lambda x: matrix @ x - b, np.zeros(2), linear_solver=how)

        close(pb.jacrev(f)(np.ones(2)), np.linalg.inv(matrix), 1e-10)
        close(pb.jacfwd(f)(np.ones(2)), np.linalg.inv(matrix), 1e-10)


# What is closed over --------------------------------------------------------------------------


def test_gradients_flow_to_what_the_function_closes_over() -> None:
    w = pb.tensor(4.0, requires_grad=True)
    scale = pb.Variable(2.0)
    with pb.GradientTape() as tape:
        y = pb.root(lambda x: scale * x * x - w, 1.0)
    y.backward(retain_graph=True)
    close(w.grad, 1 / (4 * np.sqrt(2.0)), 1e-12)
    close(tape.gradient(y, scale), -np.sqrt(2.0) / 4, 1e-12)


def test_a_tape_in_a_tape() -> None:
    w = pb.Variable(4.0)
    with pb.GradientTape() as outer:
        with pb.GradientTape() as inner:
            y = pb.root(lambda x: x * x - w, 1.0)
        slope = inner.gradient(y, w)
    close(outer.gradient(slope, w), -1 / 32, 1e-12)


def test_a_solution_in_an_equation() -> None:
    """x² = y, y² = a: the fourth root, of which the inner is found in each step of the outer."""

    def f(a: Any) -> Any:
        inner = lambda x: pb.root(lambda y: y * y - a, 1.0)  # noqa: E731
        return pb.root(lambda x: x * x - inner(x), 1.0)

    same(f, lambda a: a**0.25, 2.0)


def test_per_example_gradients_of_a_closed_over_weight() -> None:
    xs = np.array([1.0, 4.0, 9.0])

    def f(w: Any, x: Any) -> Any:
        return pb.root(lambda y: y * y - w * x, 1.0)

    close(pb.vmap(pb.grad(f), (None, 0))(1.0, xs), np.sqrt(xs) / 2, 1e-12)
    close(pb.grad(lambda w: pb.sum(pb.vmap(lambda x: f(w, x))(xs)))(1.0), 3.0, 1e-12)


def test_forward_mode_of_what_is_closed_over() -> None:
    def f(a: Any) -> Any:
        return pb.root(lambda x: x * x - a, 1.0)

    close(pb.jvp(pb.vmap(f), (np.array([1.0, 4.0]),), (np.ones(2),))[1], [0.5, 0.25], 1e-12)
    with pb.no_grad():
        close(pb.jvp(f, (4.0,), (1.0,))[1], 0.25, 1e-12)


def test_a_hook_is_called_once_with_the_whole_gradient() -> None:
    seen = []
    w = pb.tensor(4.0, requires_grad=True)
    w.register_hook(lambda g: seen.append(float(g)))
    (pb.root(lambda x: x * x - w, 1.0) + w).backward()
    assert seen == [1.25]


def test_nothing_is_recorded_where_nobody_follows() -> None:
    assert pb.root(lambda x: x * x - 2.0, 1.0).node is None
    w = pb.tensor(4.0, requires_grad=True)
    with pb.no_grad():
        assert pb.root(lambda x: x * x - w, 1.0).node is None
    assert pb.root(lambda x: x * x - w, 1.0).requires_grad
    f = lambda a: pb.root(lambda x: x * x - a, 1.0)  # noqa: E731
    for transformed in (pb.grad(pb.grad(f)), lambda a: pb.jvp(pb.grad(f), (a,), (1.0,))[1],
                        lambda a: pb.jvp(lambda a: pb.jvp(f, (a,), (1.0,))[1], (a,), (1.0,))[1]):
        assert transformed(4.0).node is None


def test_the_beginning_has_a_gradient_of_zeros() -> None:
    close(pb.grad(lambda x0: pb.sum(pb.root(coupled, x0, AT)))(START), np.zeros(3), 0.0)


# Batches ---------------------------------------------------------------------------------------


def test_examples_converge_each_in_its_time() -> None:
    a = np.array([1.0, 1e6, 1e-3])
    close(pb.vmap(lambda a: pb.root(lambda x: x * x - a, 1.0))(a), np.sqrt(a), 1e-12)


def test_an_example_at_a_solution_where_the_jacobian_is_singular() -> None:
    f = pb.vmap(lambda x0, a: pb.root(lambda x: x**3 - a, x0))
    close(f(np.array([0.0, 1.0]), np.array([0.0, 8.0])), [0.0, 2.0], 1e-12)


def test_a_solution_that_is_the_same_for_all_examples() -> None:
    """(1 + a) x = 3 + a p, with the solution 3 for p = 3, and dx/dp = a / (1 + a)."""
    a = np.array([1.0, 2.0, 5.0])

    def f(p: Any) -> Any:
        equation = lambda a: pb.root(  # noqa: E731
            lambda x: a * (x - p) + x - 3.0, 1.0, method=lambda f, x0: 3.0
        )
        return pb.sum(pb.vmap(equation)(a))

    close(pb.grad(f)(3.0), np.sum(a / (1 + a)), 1e-12)


def test_an_equation_in_an_equation_is_solved_for_each_example_in_the_pull_too() -> None:
    """A linear one takes one step, and one more to be sure."""
    def f(a: Any) -> Any:
        inner = lambda: pb.root(lambda y: a * y - a * a, 1.0, maxiter=2)  # noqa: E731
        return pb.root(lambda x: x * x - inner(), 1.0)

    a = np.array([1.0, 4.0, 9.0])
    close(pb.grad(lambda a: pb.sum(pb.vmap(f)(a)))(a), 0.5 / np.sqrt(a), 1e-12)


def test_where_only_the_beginning_or_the_equation_is_batched() -> None:
    starts = np.array([1.0, -1.0])
    close(pb.vmap(lambda x: pb.root(lambda x: x * x - 4.0, x))(starts), 2 * starts, 1e-12)
    # The first example is solved before the first step.
    f = pb.vmap(lambda a: pb.root(lambda x: x * x - a, 1.0))
    close(pb.jacrev(f)(np.ones(2)), 0.5 * np.eye(2), 1e-12)


@pytest.mark.parametrize("method", ["hybr", "krylov"])
def test_scipys_methods_take_a_batch_as_one_system(method: str) -> None:
    a = rng(3).normal(size=(4, 3))
    found = pb.vmap(lambda a: pb.root(coupled, START, a, method=method))(a)
    close(found, np.stack([pb.root(coupled, START, row) for row in a]), 1e-8)


# Structures, dtypes, methods ------------------------------------------------------------------


def test_structures() -> None:
    def f(x: Any, p: Any) -> Any:
        return {"u": x["u"] ** 2 - p["a"], "v": (x["v"][0] - x["u"][0] * p["b"],)}

    def solved(p: Any) -> Any:
        return pb.root(f, {"u": np.ones(2), "v": (np.ones((1, 1)),)}, p)

    p = {"a": np.array([4.0, 9.0]), "b": 5.0}
    found = solved(p)
    close(found["u"], [2.0, 3.0], 1e-12)
    close(found["v"][0], [[10.0]], 1e-12)
    gradient = pb.grad(lambda p: pb.sum(solved(p)["v"][0]))(p)
    close(gradient["a"], [1.25, 0.0], 1e-12)
    close(gradient["b"], 2.0, 1e-12)


def test_rounding_may_keep_the_residual_from_falling() -> None:
    close(pb.root(lambda x: (1e9 + x) - 1e9 - 0.3, 1.0), 0.3, 1e-6)


def test_complex_unknowns() -> None:
    def f(a: Any) -> Any:
        return pb.root(lambda z: z * z - a, 1.0 + 1.0j)

    close(f(2.0j), 1.0 + 1.0j, 1e-12)
    close(pb.grad(f, holomorphic=True)(2.0j), 0.5 / (1.0 + 1.0j), 1e-12)
    # |z|² + i z = a is no equation between complex differentiable functions.
    def g(a: Any) -> Any:
        return pb.root(lambda z: z * pb.conj(z) + 1j * z - a, 0.1 + 0.1j)

    z = complex(g(0.3 + 0.2j))
    close(abs(z) ** 2 + 1j * z, 0.3 + 0.2j, 1e-12)
    step = 1e-6
    wanted = (complex(g(0.3 + step + 0.2j)) - complex(g(0.3 - step + 0.2j))) / (2 * step)
    close(pb.jvp(g, (0.3 + 0.2j,), (1.0 + 0.0j,))[1], wanted, 1e-8)


def test_single_precision_stays() -> None:
    found = pb.root(lambda x: x * x - pb.tensor([2.0], dtype=pb.float32), np.ones(1, "float32"))
    assert found.dtype == np.float32
    close(found, np.sqrt(np.float32([2.0])), 1e-6)


def test_a_method_of_ones_own() -> None:
    def bisected(f: Any, x0: Any) -> Any:
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) < 0 else (low, middle)
        return low

    same_value = pb.root(lambda x, a: x**3 - a, 1.0, 8.0, method=bisected)
    close(same_value, 2.0, 1e-12)
    f = lambda a: pb.root(lambda x, a: x**3 - a, 1.0, a, method=bisected)  # noqa: E731
    close(pb.grad(f)(8.0), 1 / 12, 1e-12)
    close(pb.grad(pb.grad(f))(8.0), -2 / 9 * 8.0 ** (-5 / 3), 1e-12)


def test_a_linear_solver_of_ones_own() -> None:
    calls = []

    def solver(matvec: Any, b: Any) -> Any:
        calls.append(b.shape)
        matrix = np.stack([matvec(e).numpy() for e in np.eye(b.shape[0])], axis=1)
        return np.linalg.solve(matrix, b.numpy())

    f = lambda a: pb.sum(quadratic(a, linear_solver=solver))  # noqa: E731
    close(pb.grad(f)(np.array([1.0, 4.0, 9.0])), [1 / 2, 1 / 4, 1 / 6], 1e-12)
    wanted = np.diag([-1 / 4, -1 / 32, -1 / 108])
    one = pb.jvp(pb.grad(f), (np.array([1.0, 4.0, 9.0]),), (np.ones(3),))[1]
    close(one, wanted.sum(0), 1e-12)
    assert set(calls) == {(3,)}


def test_an_override_holds_in_the_derivative() -> None:
    with pb.override_gradient({"sign": lambda op, g: g * 2.0}):
        y = pb.root(lambda x: x - pb.sign(A_LEAF), 0.3)
    y.backward()
    close(A_LEAF.grad, 2.0, 1e-12)


A_LEAF = pb.tensor(0.7, requires_grad=True)


# Errors -----------------------------------------------------------------------------------------


def test_no_solution_says_how_far_it_came() -> None:
    with pytest.raises(ConvergenceError, match=r"(?s)\|f\|.*after \d+ iterations"):
        pb.root(lambda x: x * x + 1.0, 1.0)
    with pytest.raises(ConvergenceError, match="after 2 iterations"):
        pb.root(lambda x: x * x - 2.0, 100.0, maxiter=2)
    with pytest.raises(ConvergenceError, match="Jacobian is singular"):
        pb.root(lambda x: 0.0 * x + 1.0, 1.0)
    with pytest.raises(ConvergenceError, match="hybr"):
        pb.root(lambda x: x * x + 1.0, 1.0, method="hybr")
    assert issubclass(ConvergenceError, RuntimeError)


def test_misuse() -> None:
    with pytest.raises(ShapeError, match="as many as the unknown has"):
        pb.root(lambda x: pb.stack([x, x]), 1.0)
    with pytest.raises(ArgumentError, match="linear_solver"):
        pb.root(lambda x: x, 1.0, linear_solver="lu")
    with pytest.raises(ArgumentTypeError, match="method"):
        pb.root(lambda x: x, 1.0, method=3)
    with pytest.raises(ArgumentError, match="did you mean 'hybr'"):
        pb.root(lambda x: x, 1.0, method="hybrid")


def test_an_unknown_that_leaves_is_an_error() -> None:
    with pytest.raises(LostGradientError, match=r"float\(\) at .*test_root"):
        pb.root(lambda x: float(x) ** 2 - 2.0, 1.0)


def test_a_function_that_changed_since_is_an_error() -> None:
    w = pb.Variable(4.0)
    with pb.GradientTape(persistent=True) as tape:
        y = pb.root(lambda x: x * x - w, 1.0)
    w.assign(9.0)
    with pytest.raises(InplaceError, match="unmodified since"):
        tape.gradient(y, w)
    used = [pb.tensor(4.0, requires_grad=True)]
    y = pb.root(lambda x: x * x - used[0], 1.0)
    used[0] = pb.tensor(4.0, requires_grad=True)
    with pytest.raises(CaptureError, match="captured in the forward pass"):
        y.backward()
