"""Nonlinear equations: `root` and `fixed_point`, with implicit derivatives of the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..core import state as _state
from ..core.tensor import wrap
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceError,
    SingularMatrixError,
    suggestion,
)
from ..ops import abs, max, maximum, sum, vector_norm, where
from ..ops.linalg import solve
from .compiled import iterated, newton, waits
from .implicit import Here, Implicit
from .linear import solver_of, vector_of
from .vectors import (
    Form,
    Joint,
    everywhere,
    largest,
    mapped_over,
    precision,
    tags_of,
    unrecorded,
)

Equation = Callable[[Any], Any]


def root(
    f: Callable[..., Any], x0: Any, *args: Any, method: Any = None, tol: float | None = None,
    maxiter: int | None = None, linear_solver: Any = "dense",
) -> Any:
    """The x near x0 with f(x, *args) = 0, as a pytree like x0.

    f              returns as many numbers as x has; it may close over tracked tensors
    method         None: Newton's method, halving steps until |f| falls; a method name of
                   `scipy.optimize.root`; or a function `method(f, x0)`, with f of one argument
                   and the result a pytree like x0
    tol            bound on the largest |f|, relative to max(1, largest |f(x0)|); default
                   eps^(3/4). SciPy's methods receive it as their own `tol`
    maxiter        the maximum number of steps; Newton's method defaults to 100
    linear_solver  how the derivative solves with the Jacobian: see `linear_solve`

    Differentiable in args and in the tensors that f closes over, in both modes and to any order,
    by the implicit function theorem; the steps are not differentiated, and x0 has gradient zero.
    Under `vmap`, Newton's method runs on all examples at once, each until it has converged;
    SciPy's methods treat them as one large system.

    Raises `ConvergenceError` if no solution is found, `ShapeError` if f returns another number
    of entries than x has.

    >>> import pullback as pb
    >>> pb.root(lambda x, a: x * x - a, 1.0, 2.0)
    Tensor(1.41421356)
    >>> pb.grad(lambda a: pb.root(lambda x: x * x - a, 1.0))(4.0)
    Tensor(0.25)
    """
    linear = solver_of(linear_solver, "linear_solver", "root")
    form = Form(x0, "root")
    residual = form.between(f, args)
    before = unrecorded()
    try:
        start = form.vector(form.rebuild(form.parts))
        if method is None:
            with numpy.errstate(all="ignore"):  # a step may overflow or leave f's domain
                x = _newton(residual, start, tol, 100 if maxiter is None else maxiter)
        elif isinstance(method, str):
            x = _by_scipy(residual, start, method, tol, maxiter)
        elif callable(method):
            found = method(lambda x: f(x, *args), form.tree(start))
            x = vector_of(form.vector(found), start, "root")
        else:
            raise ArgumentTypeError(
                "argument `method` of root",
                "None, the name of a scipy.optimize.root method, or a function",
                f"a {type(method).__name__}",
            )
    finally:
        _state.restore(before)
    return form.tree(Implicit("root", residual, linear).recorded(x))


def fixed_point(
    f: Callable[..., Any], x0: Any, *args: Any, tol: float | None = None, maxiter: int = 1000,
    linear_solver: Any = "dense",
) -> Any:
    """The x with f(x, *args) = x, as a pytree like x0, by iterating f.

    tol   bound on the largest change in a step, relative to max(1, largest |x|); default
          eps^(3/4)

    Derivatives and `linear_solver` are as for `root`. Raises `ConvergenceError` after maxiter
    steps.

    >>> import pullback as pb
    >>> pb.fixed_point(pb.cos, 1.0)
    Tensor(0.73908513)
    >>> pb.grad(lambda a: pb.fixed_point(lambda x: 0.5 * x + a, 0.0))(3.0)
    Tensor(2.)
    """
    linear = solver_of(linear_solver, "linear_solver", "fixed_point")
    form = Form(x0, "fixed_point")
    step = form.between(f, args)
    before = unrecorded()
    try:
        x = _iterated(step, form.vector(form.rebuild(form.parts)), tol, maxiter)
    finally:
        _state.restore(before)
    return form.tree(Implicit("fixed_point", lambda v: v - step(v), linear).recorded(x))


def _iterated(step: Equation, x: Any, tol: float | None, maxiter: int) -> Any:
    tol = precision(x.dtype) if tol is None else tol
    if waits(x):
        return iterated(step, x, tol, maxiter)
    done, change = _size(x) < 0, _size(x)
    for _ in range(maxiter):
        new = where(done, x, step(x))
        change = _size(new - x) / maximum(_size(new), 1.0)
        x, done = new, change <= tol
        if everywhere(done):
            return x
    raise ConvergenceError(
        "`fixed_point`", f"steps of at most {tol:.2g}",
        f"steps up to {largest(change):.3g} after {maxiter} iterations",
        "start nearer to the solution, or find it by root(lambda x: f(x) - x, x0)",
    )


def _size(x: Any) -> Any:
    """The largest absolute value of each example."""
    return max(abs(x)) if x.shape[0] else sum(x)


# Methods --------------------------------------------------------------------------------------


def _newton(residual: Equation, x: Any, tol: float | None, maxiter: int) -> Any:
    """Newton's method with step halving, on all examples of a vmap at once.

    After |f| is small enough it takes one more step, which doubles the number of correct digits.
    """
    tol = precision(x.dtype) if tol is None else tol
    if waits(x):
        return newton(residual, x, tol, maxiter, precision(x.dtype))
    x = mapped_over(x, tags_of(residual(x)))
    here = Here("root", residual, [x])
    r = _value(here)
    small = tol * maximum(_size(r), 1.0)
    near, done = _size(r) <= small, _size(r) < 0
    for count in range(maxiter):
        try:
            step = _step(here, r, near | done)
        except SingularMatrixError:
            raise _not_converged(r, count, small, "the Jacobian is singular") from None
        x, here, fell = _descended(residual, x, here, step, near | done)
        r = _value(here)
        # Near rounding error |f| stops falling and steps are tiny.
        tiny = _size(step) <= precision(x.dtype) ** 0.5 * maximum(_size(x), 1.0)
        done = done | near | (tiny & ~fell)
        if everywhere(done):
            return x
        near = _size(r) <= small
        if not everywhere(fell | done):
            raise _not_converged(r, count + 1, small, "|f| does not fall along Newton's step")
    raise _not_converged(r, maxiter, small, "")


def _value(here: Here) -> Any:
    return wrap(here.outs[0]._out, here.outs[0]._data)


def _step(here: Here, r: Any, settled: Any) -> Any:
    """Newton's step."""
    matrix = here.matrix()
    try:
        return -solve(matrix, r)
    except SingularMatrixError:  # harmless if every example has converged
        unit = numpy.eye(r.shape[0], dtype=r.dtype)
        return where(settled, 0.0, -solve(where(settled, unit, matrix), r))


def _descended(
    residual: Equation, x: Any, here: Here, step: Any, settled: Any
) -> tuple[Any, Here, Any]:
    """The point after a step halved until |f| falls; and per example, whether it fell."""
    length = vector_norm(_value(here))
    scale: Any = 1.0
    for _ in range(_HALVINGS):
        trial = x + scale * step
        there = Here("root", residual, [trial])
        fell = vector_norm(_value(there)) < length
        if everywhere(fell):
            return trial, there, fell
        if everywhere(fell | settled):
            break
        scale = where(fell | settled, scale, 0.5 * scale)
    x = where(fell, trial, x)
    return x, Here("root", residual, [x]), fell


_HALVINGS = 40


def _not_converged(r: Any, count: int, small: Any, why: str) -> ConvergenceError:
    return ConvergenceError(
        "`root`", f"|f| of at most {largest(small):.2g}",
        f"{largest(r):.3g} after {count} iterations{': ' if why else ''}{why}",
        "start nearer to the solution, allow more iterations or a larger tol, or pass a method",
    )


def _by_scipy(
    residual: Equation, x: Any, method: str, tol: float | None, maxiter: int | None
) -> Any:
    from scipy import optimize

    if method not in _METHODS:
        raise ArgumentError(
            "argument `method` of root", f"None, a function, or one of {', '.join(_METHODS)}",
            repr(method), suggestion(method, _METHODS),
        )
    joint = Joint(x, tags_of(x, residual(x)))
    options = {} if maxiter is None else {_LIMIT.get(method, "maxiter"): maxiter}
    jac = None
    if method in _LIMIT and not joint.tags:

        def jac(vector: Any) -> Any:
            return Here("root", residual, [joint.tensor(vector)]).matrix().numpy()

    found = optimize.root(
        joint.between(residual), joint.plain(x), method=method, jac=jac, options=options,
        tol=precision(x.dtype) if tol is None else tol,
    )
    if not found.success:
        raise ConvergenceError(
            f"`root` by SciPy's {method!r}", "a solution",
            f"|f| up to {numpy.abs(found.fun).max():.3g}: {' '.join(found.message.split())}",
            "start nearer to the solution, or leave out `method`",
        )
    return joint.tensor(found.x)


_METHODS = (
    "hybr", "lm", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden",
    "excitingmixing", "krylov", "df-sane",
)
_LIMIT = {"hybr": "maxfev", "lm": "maxiter"}
"""SciPy's methods that use a Jacobian -> their option for the number of steps."""
