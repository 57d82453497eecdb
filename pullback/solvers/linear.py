"""Linear systems: solved with a dense matrix, or with matrix-vector products only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import state as _state
from ..core.tensor import wrap
from ..errors import ArgumentError, ArgumentTypeError, ConvergenceError, ShapeError
from ..ops import matmul
from ..ops.linalg import solve
from .compiled import by_compiler, waits
from .implicit import Here, Implicit, zeros_like
from .vectors import Form, Joint, everywhere, floating, mapped_over, precision, tags_of, unrecorded

MatVec = Callable[[Any], Any]


def linear_solve(
    a: Any, b: Any, *, solver: Any = None, symmetric: bool = False
) -> Any:
    """The solution x of a(x) = b, as a pytree like b.

    a          a matrix, or a linear function of pytrees like b; gradients flow to the tracked
               tensors that it closes over
    solver     "dense" (the default: builds the matrix by one batched VJP), "cg" or "gmres" (from
               SciPy), or a function `solver(matvec, b)`, which sees each pytree as one real
               vector. Only the solution is differentiated, not the solver's steps
    symmetric  the matrix is symmetric, so the function is its own transpose; otherwise the
               transpose is computed by VJP

    With a matrix and no solver this is `linalg.solve`, including stacks of matrices. Under `vmap`,
    SciPy's solvers treat all examples as one system.

    Raises `SingularMatrixError`, `ConvergenceError`, `ArgumentError` for a function that is not
    linear, `ShapeError` unless a(x) has as many entries as b.

    >>> import pullback as pb
    >>> d = pb.tensor([2.0, 4.0])
    >>> pb.linear_solve(lambda x: d * x, pb.tensor([2.0, 2.0]), solver="cg", symmetric=True)
    Tensor([1. , 0.5])
    >>> pb.grad(lambda d: pb.sum(pb.linear_solve(lambda x: d * x, pb.tensor([2.0, 2.0]))))(d)
    Tensor([-0.5  , -0.125])
    """
    linear = solver_of(solver, "solver", "linear_solve")
    if not callable(a):
        a, b = floating(a, "linear_solve"), floating(b, "linear_solve")
        if linear is None:
            return solve(a, b)
        matrix = a

        def a(x: Any) -> Any:
            return matmul(matrix, x)

    form = Form(b, "linear_solve")
    matvec, vector = form.between(a), form.vector(b)
    if linear is None:
        return form.tree(_by_matrix(matvec, vector))
    return form.tree(solved(matvec, vector, linear, symmetric, "linear_solve"))


def _by_matrix(matvec: MatVec, b: Any) -> Any:
    here = Here("linear_solve", matvec, [zeros_like(b)])
    missing = mapped_over(here.leaves[0], tags_of(here.outs[0]))
    if tags_of(missing) != tags_of(here.leaves[0]):
        here = Here("linear_solve", matvec, [missing])
    if not (waits(b) or everywhere(here.outs[0]._data == 0)):
        raise ArgumentError(
            f"argument `a` of {here.subject}", "a linear function: a(0) = 0", "a(0) ≠ 0",
            "move constant terms to b; for nonlinear equations use root",
        )
    return solve(here.matrix(), b)


def solved(matvec: MatVec, b: Any, solver: Any, symmetric: bool, name: str) -> Any:
    """The solution of matvec(x) = b by a vector solver, with its implicit derivative."""
    before = unrecorded()
    try:
        x = vector_of(solver(matvec, wrap(b._out, b._data)), b, name)
    finally:
        _state.restore(before)
    return Implicit(name, lambda v: matvec(v) - b, solver, matvec, symmetric).recorded(x)


def vector_of(x: Any, like: Any, name: str) -> Any:
    """A solver's result as a tensor of the class of `like`.

    Raises `ShapeError` for another shape.
    """
    x = floating(x, f"the solver of {name}")
    if x.shape != like.shape:
        raise ShapeError(f"result of the solver of {name}", f"shape {like.shape}", f"{x.shape}")
    return wrap(like._out, x._data)


def solver_of(solver: Any, argument: str, subject: str) -> Any:
    """The function that a solver's name stands for; None for the dense one.

    Raises `ArgumentError` for an unknown name, `ArgumentTypeError` for a value of another type.
    """
    if solver is None or solver == "dense":
        return None
    if isinstance(solver, str):
        if solver not in _NAMED:
            raise ArgumentError(
                f"argument `{argument}` of {subject}", "'dense', 'cg', 'gmres' or a function",
                repr(solver),
            )
        return _NAMED[solver]
    if not callable(solver):
        raise ArgumentTypeError(
            f"argument `{argument}` of {subject}", "a name or a function `solver(matvec, b)`",
            f"a {type(solver).__name__}",
        )
    return solver


def cg(matvec: MatVec, b: Any, *, tol: float | None = None, maxiter: int | None = None) -> Any:
    """The solution of matvec(x) = b by conjugate gradients, for a symmetric positive matrix.

    For use in `linear_solve` and `root`, which add its derivative. `tol` bounds the norm of the
    residual relative to that of b; default eps^(3/4). Raises `ConvergenceError`.

    >>> import pullback as pb
    >>> pb.solvers.cg(lambda x: 2.0 * x, pb.tensor([1.0, 3.0]))
    Tensor([0.5, 1.5])
    """
    return _by_scipy("cg", matvec, b, tol, maxiter)


def gmres(matvec: MatVec, b: Any, *, tol: float | None = None, maxiter: int | None = None) -> Any:
    """The solution of matvec(x) = b by GMRES (generalised minimal residual), for a regular matrix.

    Arguments as for `cg`.

    >>> import pullback as pb
    >>> pb.solvers.gmres(lambda x: pb.flip(x), pb.tensor([1.0, 3.0]))
    Tensor([3., 1.])
    """
    return _by_scipy("gmres", matvec, b, tol, maxiter)


def _by_scipy(
    name: str, matvec: MatVec, b: Any, tol: float | None, maxiter: int | None
) -> Any:
    if waits(b):
        return by_compiler(name, matvec, b, precision(b.dtype) if tol is None else tol, maxiter)
    import scipy.sparse.linalg as sparse

    before = unrecorded()
    try:
        joint = Joint(b, tags_of(b, matvec(b)))
        right = joint.plain(b)
        product = sparse.LinearOperator(
            (right.size, right.size), matvec=joint.between(matvec), dtype=right.dtype
        )
        tol = precision(b.dtype) if tol is None else tol
        x, failed = getattr(sparse, name)(product, right, rtol=tol, atol=0.0, maxiter=maxiter)
        if failed:
            residual = abs(product.matvec(x) - right).max()
            raise ConvergenceError(
                f"`{name}`", f"a residual norm of at most {tol:.1g} times that of b",
                f"residual entries up to {residual:.3g} after {failed} iterations",
                "allow more iterations or a larger tol, with the solver "
                f"lambda matvec, b: pullback.solvers.{name}(matvec, b, maxiter=…, tol=…)",
            )
        return joint.tensor(x)
    finally:
        _state.restore(before)


_NAMED: dict[str, Callable[..., Any]] = {"cg": cg, "gmres": gmres}

__all__ = ["cg", "gmres", "linear_solve", "solved", "solver_of", "vector_of"]
