"""Solvers in traced code: `pullback.function`, and `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import SymbolError
from tests.parts import need
from tests.tier import chosen

A = np.array([2.0, 3.0])
SOLUTIONS: dict[str, Callable[[Any], Any]] = {
    "root": lambda a: pb.root(lambda x: x * x * x - a - pb.sin(x), a * 0 + 1.0),
    "root of arguments": lambda a: pb.root(lambda x, b: x * x - b, a * 0 + 30.0, a),
    "root with halved steps": lambda a: pb.root(lambda x: pb.atan(x - a), a * 0),
    "fixed_point": lambda a: pb.fixed_point(lambda x: 0.5 * pb.cos(x) * a / 3, a * 0),
    "linear_solve": lambda a: pb.linear_solve(lambda x: a * x + pb.flip(x) * 0.1, a * a),
    "cg": lambda a: pb.linear_solve(lambda x: a * x, a**3, solver="cg", symmetric=True),
}


def derivatives(f: Any) -> dict[str, Callable[[Any], Any]]:
    first = pb.grad(lambda a: pb.sum(f(a) ** 2))
    return {
        "value": f, "gradient": first, "second": pb.grad(lambda a: pb.sum(first(a) * a)),
        "jvp": lambda a: pb.jvp(f, (a,), (a * a,))[1],
        "vmap": lambda a: pb.vmap(f)(pb.stack([a, a * 2, a + 1])),
    }


CASES = [(name, kind) for name in SOLUTIONS for kind in derivatives(None)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_solutions_in_a_graph(name: str, kind: str) -> None:
    f = derivatives(SOLUTIONS[name])[kind]
    found = pb.function(f)(pb.tensor(A)).numpy()
    np.testing.assert_allclose(found, f(pb.tensor(A)).numpy(), rtol=1e-9)


@pytest.mark.needs("jax")
@pytest.mark.parametrize(("name", "kind"), chosen(CASES, lambda case: case[1]))
def test_solutions_under_jax(name: str, kind: str) -> None:
    jax, f = need("jax"), derivatives(SOLUTIONS[name])[kind]
    with jax.enable_x64(True):
        found = jax.jit(lambda a: f(pb.Tensor(a)).data)(A)
        np.testing.assert_allclose(found, f(pb.tensor(A)).numpy(), rtol=1e-9)


def test_a_solution_that_is_not_found_is_nan() -> None:
    for f in (lambda a: pb.root(lambda x: pb.exp(x) + a, a * 0 + 1.0, maxiter=3),
              lambda a: pb.root(lambda x: x * x * x - a, a * 0 + 1.0, maxiter=2),
              lambda a: pb.fixed_point(lambda x: x + a, a, maxiter=5),
              lambda a: pb.linear_solve(lambda x: a * x, a, symmetric=True, solver=lambda m, b:
                                        pb.solvers.cg(m, b, maxiter=1))):
        assert np.isnan(pb.function(f)(pb.tensor(A)).numpy()).all()


def test_solvers_of_scipy_are_refused() -> None:
    with pytest.raises(SymbolError, match="'gmres' in traced code"):
        pb.function(lambda a: pb.linear_solve(lambda x: a * x, a, solver="gmres"))(pb.tensor(A))
