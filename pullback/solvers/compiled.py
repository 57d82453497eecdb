"""Solvers in traced code: their steps are loops that `pullback.function` and XLA run.

Nothing can be raised there, as no number is known yet. So a solution that was not found is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import compiler_of, tracing
from ..arrays.batched import bare
from ..arrays.symbol import Symbol
from ..core.tensor import raw
from ..errors import SymbolError
from ..graphs.flow import while_loop
from ..kinds.symbols import current_graph
from ..ops import (
    abs,
    full_like,
    logical_and,
    logical_not,
    logical_or,
    max,
    maximum,
    sum,
    vector_norm,
    where,
)
from ..ops.linalg import solve
from .implicit import Here

Equation = Callable[[Any], Any]
_HALVINGS = 40


def waits(*values: Any) -> bool:
    """Whether code is traced, so that numbers are not known yet.

    >>> waits(1.0)
    False
    """
    return tracing() or current_graph() is not None or any(
        bare(raw(v)).__class__ is Symbol or compiler_of(raw(v)) is not None for v in values
    )


def size(x: Any) -> Any:
    """The largest absolute value."""
    return max(abs(x)) if x.shape[0] else sum(x)


def found_or_nan(x: Any, found: Any) -> Any:
    """The solution where one was found; NaN elsewhere."""
    return where(found, x, full_like(x, float("nan")))


def iterated(step: Equation, x: Any, tol: float, maxiter: int) -> Any:
    """The fixed point of a function, by iterating it."""
    def turn(state: Any) -> Any:
        old, _, count = state
        new = step(old)
        return new, size(new - old) <= tol * maximum(size(new), 1.0), count + 1

    x, done, _ = while_loop(
        lambda state: logical_and(logical_not(state[1]), state[2] < maxiter), turn,
        (x, size(x) < 0, 0),
    )
    return found_or_nan(x, done)


def newton(residual: Equation, x: Any, tol: float, maxiter: int, precision: float) -> Any:
    """A root by Newton's method with step halving, as on arrays: see `root._newton`."""
    small = tol * maximum(size(residual(x)), 1.0)

    def turn(state: Any) -> Any:
        x, near, _, _, count = state
        here = Here("root", residual, [x])
        r = here.outs[0].detach()
        step = -solve(here.matrix(), r)
        length = vector_norm(r)

        def shorter(state: Any) -> Any:
            return logical_and(state[1] < _HALVINGS,
                               logical_not(vector_norm(residual(x + state[0] * step)) < length))

        scale, _ = while_loop(shorter, lambda s: (s[0] * 0.5, s[1] + 1),
                              (full_like(length, 1.0), 0))
        trial = x + scale * step
        r = residual(trial)
        fell = vector_norm(r) < length
        tiny = size(step) <= precision**0.5 * maximum(size(x), 1.0)
        done = logical_or(near, logical_and(tiny, logical_not(fell)))
        stuck = logical_not(logical_or(fell, done))
        return where(fell, trial, x), size(r) <= small, done, stuck, count + 1

    no = small < 0
    x, _, done, _, _ = while_loop(
        lambda s: logical_and(logical_not(logical_or(s[2], s[3])), s[4] < maxiter), turn,
        (x, size(residual(x)) <= small, no, no, 0),
    )
    return found_or_nan(x, done)


def conjugate_gradients(matvec: Equation, b: Any, tol: float, maxiter: int | None) -> Any:
    """The solution of matvec(x) = b for a symmetric positive matrix."""
    limit = 10 * b.shape[0] if maxiter is None else maxiter
    bound = (tol * vector_norm(b)) ** 2

    def turn(state: Any) -> Any:
        x, r, p, rho, count = state
        product = matvec(p)
        alpha = rho / sum(p * product)
        x, r = x + alpha * p, r - alpha * product
        new = sum(r * r)
        return x, r, r + (new / rho) * p, new, count + 1

    x, _, _, rho, _ = while_loop(
        lambda s: logical_and(s[3] > bound, s[4] < limit), turn, (b * 0.0, b, b, sum(b * b), 0)
    )
    return found_or_nan(x, rho <= bound)


def by_compiler(name: str, matvec: Equation, b: Any, tol: float, maxiter: int | None) -> Any:
    """SciPy's solver of a linear system, as a compiled program has it.

    Raises a `SymbolError` where no compiler has one.
    """
    if name == "cg":
        return conjugate_gradients(matvec, b, tol, maxiter)
    raise SymbolError(
        f"solver '{name}' in traced code", "a solver of loops",
        "SciPy's, which needs numbers", "use 'dense' or 'cg', or a function solver(matvec, b)",
    )
