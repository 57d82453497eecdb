"""Linear systems, public as `pullback.linalg`."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from .declaring import known_as, op
from .products import matmul
from .shaping import permute_dims, reshape

__all__: list[str] = []


@known_as(numpy="linalg.solve")
@op(native="solve", shape="(n,n),(n,p?)->(n,p?)")
def solve(x1: Any, x2: Any, /) -> Any:
    """The solution x of x1 @ x = x2, of square matrices; leading axes broadcast.

    x2   a vector if it has one axis, used for every matrix; else matrices of right sides in columns
    Raises `SingularMatrixError` for singular x1, `ShapeError` for shapes that do not match.

    >>> import numpy as np
    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """


def _columns(function: Any, *arrays: Any) -> Any:
    """Apply a function of matrices to vectors, as one-column matrices."""
    return function(*[x[..., None] for x in arrays])[..., 0]


@solve.pullback("x1")
def pullback_solve_x1(g: Any, x1: Any, out: Any) -> Any:
    if len(g.shape) < len(x1.shape):  # x2 is a vector
        g, out = g[..., None], out[..., None]
    return -matmul(solve(x1.mT, g), out.mT)


@solve.pullback("x2")
def pullback_solve_x2(g: Any, x1: Any) -> Any:
    if len(g.shape) < len(x1.shape):
        return _columns(lambda b: solve(x1.mT, b), g)
    return solve(x1.mT, g)


@solve.pushforward("x1")
def pushforward_solve_x1(t: Any, x1: Any, out: Any) -> Any:
    if len(out.shape) < len(x1.shape):
        return _columns(lambda x: -solve(x1, matmul(t, x)), out)
    return -solve(x1, matmul(t, out))


@solve.pushforward("x2")
def pushforward_solve_x2(t: Any, x1: Any) -> Any:
    return solve(x1, t)


@solve.batching
def batch_solve(x1: Any, x2: Any, *, hidden: tuple[bool, ...]) -> Any:
    seen = tuple(x1.shape)[hidden[0] :], tuple(x2.shape)[hidden[1] :]
    if len(seen[0]) < 2 or not seen[1]:  # with the hidden axis they would look like matrices
        raise ShapeError(
            "`solve`", "matrices, and vectors or matrices", f"shapes {seen[0]} and {seen[1]}"
        )
    return solve_examples(solve, x1, x2, hidden)


def solve_examples(
    solving: Any, x1: Any, x2: Any, hidden: tuple[bool, ...], **how: Any
) -> Any:
    """Apply a solver `solving` to each example of matrices and right sides, some batched."""
    ranks = len(x1.shape) - hidden[0], len(x2.shape) - hidden[1]
    if ranks[1] == 1:
        if not hidden[1]:
            return solving(x1, x2, **how)
        if not hidden[0]:  # examples become columns, so that each matrix is factored once
            return _last_in_front(solving(x1, x2.mT, **how))
        return solving(x1, _stretched(x2[..., None], ranks[0]), **how)[..., 0]
    if ranks == (2, 2) and not hidden[0]:
        size, rows, columns = x2.shape
        right = reshape(permute_dims(x2, (1, 0, 2)), (rows, size * columns))
        found = reshape(solving(x1, right, **how), (rows, size, columns))
        return permute_dims(found, (1, 0, 2))
    rank = max(ranks)
    return solving(
        _stretched(x1, rank) if hidden[0] else x1, _stretched(x2, rank) if hidden[1] else x2, **how
    )


def _last_in_front(x: Any) -> Any:
    rank = len(x.shape)
    return permute_dims(x, (rank - 1, *range(rank - 1)))


def _stretched(x: Any, rank: int) -> Any:
    """x with axes of length 1 after the hidden one, so that it has `rank` visible axes."""
    shape = tuple(x.shape)
    return reshape(x, (shape[0], *(1,) * (rank + 1 - len(shape)), *shape[1:]))
