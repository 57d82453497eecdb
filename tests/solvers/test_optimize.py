"""SciPy's optimisers take the transformations as they are: values, gradients, Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import pullback as pb
from tests.solvers.checks import close, rng

START = np.array([0.8, 1.3, 0.7, 1.2])
ONES = np.ones(4)


def rosenbrock(x: Any) -> Any:
    return pb.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def residuals(x: Any) -> Any:
    return pb.concat([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def along(x: Any, p: Any) -> Any:
    return pb.hvp(rosenbrock, (x,), (p,))


FIRST = ["BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP", "trust-constr"]
HESSIAN = ["Newton-CG", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"]
PRODUCT = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]


def minimised(**how: Any) -> Any:
    found = optimize.minimize(pb.value_and_grad(rosenbrock), START, jac=True, tol=1e-10, **how)
    assert isinstance(float(found.fun), float)
    return found


@pytest.mark.parametrize("method", FIRST)
def test_minimize_with_value_and_grad(method: str) -> None:
    close(minimised(method=method).x, ONES, 1e-4)


@pytest.mark.parametrize("method", HESSIAN)
def test_minimize_with_the_hessian(method: str) -> None:
    found = minimised(method=method, hess=pb.hessian(rosenbrock))
    close(found.x, ONES, 1e-6)
    assert found.nit < 100


@pytest.mark.parametrize("method", PRODUCT)
def test_minimize_with_hessian_products(method: str) -> None:
    close(minimised(method=method, hessp=along).x, ONES, 1e-6)


def test_the_iterations_are_those_of_scipys_own_derivatives() -> None:
    ours = minimised(method="trust-exact", hess=pb.hessian(rosenbrock))
    theirs = optimize.minimize(
        optimize.rosen, START, jac=optimize.rosen_der, hess=optimize.rosen_hess, tol=1e-10,
        method="trust-exact",
    )
    assert (ours.nit, ours.nfev) == (theirs.nit, theirs.nfev)
    close(ours.x, theirs.x, 1e-10)
    close(ours.jac, theirs.jac, 1e-9)


def test_a_gradient_of_its_own_and_a_tensor_to_begin_with() -> None:
    found = optimize.minimize(
        rosenbrock, pb.tensor(START), jac=pb.grad(rosenbrock), method="BFGS", tol=1e-9
    )
    close(found.x, ONES, 1e-5)


@pytest.mark.parametrize("jacobian", [pb.jacfwd, pb.jacrev])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str, jacobian: Callable[..., Any]) -> None:
    found = optimize.least_squares(
        residuals, START, jac=jacobian(residuals), method=method, xtol=1e-12
    )
    close(found.x, ONES, 1e-8)
    assert found.nfev < 30


def equations(x: Any) -> Any:
    return pb.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


SOLUTION = [0.8411639019140096, 0.15883609808599033]


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method: str) -> None:
    found = optimize.root(equations, [0.0, 0.0], jac=pb.jacrev(equations), method=method, tol=1e-12)
    close(found.x, SOLUTION, 1e-10)
    both = lambda x: (equations(x), pb.jacfwd(equations)(x))  # noqa: E731
    close(optimize.root(both, [0.0, 0.0], jac=True, tol=1e-12).x, SOLUTION, 1e-10)


def test_equations_of_one_number() -> None:
    f = lambda x: x**3 - 2.0  # noqa: E731
    root = 2.0 ** (1 / 3)
    close(float(optimize.newton(f, 1.0, fprime=pb.grad(f))), root, 1e-12)
    found = optimize.root_scalar(
        f, x0=1.0, fprime=pb.grad(f), fprime2=pb.grad(pb.grad(f)), method="halley"
    )
    close(float(found.root), root, 1e-12)
    close(optimize.brentq(lambda x: pb.exp(x) - 2.0, 0.0, 2.0), np.log(2.0), 1e-10)


def inside(x: Any) -> Any:
    """Not negative within a circle."""
    return 1.5 - pb.sum(x * x)


def test_constraints() -> None:
    """The solution lies on the circle, and its two ways agree."""
    by_slsqp = minimised(
        method="SLSQP", constraints={"type": "ineq", "fun": inside, "jac": pb.grad(inside)}
    )
    constraint = optimize.NonlinearConstraint(
        inside, 0.0, np.inf, jac=pb.grad(inside), hess=lambda x, v: pb.hessian(inside)(x) * v[0]
    )
    by_trust = minimised(
        method="trust-constr", hess=pb.hessian(rosenbrock), constraints=constraint
    )
    close(np.sum(by_slsqp.x**2), 1.5, 1e-6)
    close(by_slsqp.x, by_trust.x, 1e-4)


def test_curve_fit() -> None:
    x = np.linspace(0.0, 1.0, 9)
    model = lambda x, a, b: pb.exp(-a * x) * b  # noqa: E731
    jacobian = lambda x, a, b: pb.stack(pb.jacfwd(model, (1, 2))(x, a, b), axis=1)  # noqa: E731
    found, _ = optimize.curve_fit(model, x, 3.0 * np.exp(-2.0 * x), p0=[1.0, 1.0], jac=jacobian)
    close(found, [2.0, 3.0], 1e-8)


def test_the_gradient_is_scipys() -> None:
    x = rng(0).normal(size=4)
    close(pb.grad(rosenbrock)(x), optimize.rosen_der(x), 1e-12)
    close(pb.hessian(rosenbrock)(x), optimize.rosen_hess(x), 1e-12)
