"""Matrix functions: traces, norms, ranks, powers, the exponential; and vector products.

They act on the last two axes; leading axes are a stack. Determinants are in `determinants.py`,
inverses in `solving.py`.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays.batched import identity_matrix, moved_to
from ..core.tensor import is_inexact, raw
from ..errors import ArgumentError, ShapeError
from ..kinds.shapes import broadcast, shape_of
from ..kinds.symbols import lengths_of, whole
from ..lost_paths import held_fixed
from .arithmetic import abs
from .creation import zeros_like
from .declaring import face_of, known_as, op
from .dtypes import finfo
from .indexing import getitem
from .joining import concat
from .norms import is_order, vector_norm
from .operands import (
    arrays_of,
    integer_of,
    matrices_of,
    matrix_examples,
    shared_axis,
    tolerance_of,
)
from .products import matmul
from .selecting import where
from .shaping import reshape, with_rank
from .solving import inv
from .spectral import svdvals
from .statistics import count_nonzero, max, min, sum

__all__ = [
    "cross", "diagonal", "expm", "matrix_norm", "matrix_power", "matrix_rank", "trace",
]


def eye_like(like: Any) -> Any:
    """Identity matrices of the shape and dtype of square matrices."""
    return identity_matrix(like.shape[-1], raw(like))


# Diagonals and cross products ---------------------------------------------------------------


@known_as(numpy="linalg.diagonal")
@whole
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal of each matrix, `offset` above the main one, as the last axis.

    A view of x where the memory of x is in row-major order; empty for an offset beyond the corners.

    >>> import numpy as np
    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    x, offset = matrices_of(x, "diagonal"), integer_of(offset, "offset", "diagonal")
    *lead, rows, columns = tuple(x.shape)
    length = columns - offset if offset > 0 else rows + offset
    length = sorted((0, length, rows, columns))[1] if length > 0 else 0
    first = offset if offset >= 0 else -offset * columns
    flat = reshape(x, (*lead, rows * columns))
    return getitem(flat, (..., slice(first, first + length * (columns + 1), columns + 1)))


@known_as(numpy="linalg.trace")
@whole
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The trace of each matrix: the sum over a diagonal, `offset` above the main one.

    >>> import numpy as np
    >>> trace(np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.float64(5.0)
    """
    return sum(diagonal(matrices_of(x, "trace"), offset=offset), axis=-1, dtype=dtype)


@op(name="cross", linear=True)
def _cross(xp: Any, x1: Any, x2: Any, /, *, axis: int) -> Any:
    return xp.linalg.cross(x1, x2, axis=axis)


@_cross.pullback("x1")
def pullback_cross_x1(g: Any, x2: Any, *, axis: int) -> Any:
    return _cross(x2, g, axis=axis)


@_cross.pullback("x2")
def pullback_cross_x2(g: Any, x1: Any, *, axis: int) -> Any:
    return _cross(g, x1, axis=axis)


@_cross.batching
def batch_cross(x1: Any, x2: Any, *, axis: int) -> Any:
    rank = len(x1.shape) if len(x1.shape) > len(x2.shape) else len(x2.shape)
    return _cross(with_rank(x1, rank), with_rank(x2, rank), axis=axis)


@_cross.shaping
def shape_cross(x1: Any, x2: Any, *, axis: int) -> Any:
    return broadcast([shape_of(x1), shape_of(x2)], "cross")


@known_as(numpy="linalg.cross", torch="linalg.cross(input,other,*,dim)")
@face_of(_cross)
@whole
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of 3-vectors along an axis; the other axes broadcast.

    axis   a negative number; or one in [0, ndim) if x1 and x2 have the same number of axes
    Nothing is conjugated. Raises `ShapeError` unless the axis has length 3, `PositionError` for an
    axis out of range, `ArgumentError` for an axis ≥ 0 with different numbers of axes.

    >>> import numpy as np
    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    x1, x2 = arrays_of(x1, x2)
    axis = shared_axis(axis, x1, x2, "cross")
    for name, x in (("x1", x1), ("x2", x2)):
        if x.shape[axis] != 3:
            raise ShapeError(
                f"argument `{name}` of `cross`", f"3 entries along axis {axis}",
                f"shape {tuple(x.shape)}",
            )
    return _cross(x1, x2, axis=axis)


# Norms and ranks ----------------------------------------------------------------------------


_ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


@known_as(numpy="linalg.matrix_norm")
@whole
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of each matrix; real, also for complex x.

    ord   "fro"         √Σ |x|²
          "nuc"         the sum of the singular values
          2, -2         the largest, the smallest singular value
          1, -1         the largest, the smallest column sum Σ |x|
          inf, -inf     the largest, the smallest row sum Σ |x|
    At a kink the gradient is a subgradient: 0 at x = 0; tied columns, rows and singular values
    share equally, but singular values tie only up to rounding; a singular value of exactly 0 adds
    nothing to "nuc". The norm of an empty matrix is 0, but the smallest of no values is a
    `ShapeError`.
    the smallest of nothing is a `ShapeError`.

    >>> import numpy as np
    >>> matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=1)
    np.float64(6.0)
    """
    x = matrices_of(x, "matrix_norm")
    named = isinstance(ord, str)
    if not (named or is_order(ord)) or ord not in (("fro", "nuc") if named else _ORDERS):
        raise ArgumentError(
            "argument `ord` of `matrix_norm`", "'fro', 'nuc', 1, -1, 2, -2, inf or -inf", repr(ord)
        )
    x = x if is_inexact(x) else x * 1.0  # to the library's default floating dtype
    if ord == "fro" or (0 in lengths_of(x)[-2:] and (named or ord > 0)):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        sizes = svdvals(x)[..., None, :]
        sizes = where(sizes == 0, 0, sizes)
    else:
        sizes = sum(abs(x), axis=-2 if ord in (1, -1) else -1, keepdims=True)
    choose = sum if named else max if ord > 0 else min
    return choose(sizes, axis=(-2, -1), keepdims=keepdims)


@op(name="matrix_rank", differentiable=False, shape="(n)->()", dtype=count_nonzero)
def _matrix_rank(xp: Any, sizes: Any, /, *, rtol: Any) -> Any:
    each = moved_to(rtol, sizes)[..., None] if getattr(rtol, "shape", ()) else rtol
    return xp.count_nonzero(sizes > sizes[..., :1] * each, axis=-1)


@_matrix_rank.batching
def batch_matrix_rank(sizes: Any, *, rtol: Any) -> Any:
    return _matrix_rank(sizes, rtol=rtol)


@face_of(_matrix_rank)
@whole
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The rank of each matrix: its number of nonzero singular values; an integer, no derivative.

    rtol   singular values up to rtol times the largest count as 0; a number, or one per matrix;
           default max(m, n) times the eps of the dtype
    Raises `ShapeError` if x has fewer than two axes or `rtol` does not broadcast to the stack,
    `ConvergenceError` for entries that are NaN or infinite.

    >>> import numpy as np
    >>> matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    np.int64(1)
    """
    x = matrices_of(x, "matrix_rank")
    sizes = svdvals(held_fixed(x))
    if rtol is None:
        rtol = sorted(x.shape[-2:])[1] * float(finfo(sizes.dtype).eps)
    return _matrix_rank(sizes, rtol=tolerance_of(rtol, x, "matrix_rank"))


# Powers and the exponential -----------------------------------------------------------------


@known_as(numpy="linalg.matrix_power", torch="linalg.matrix_power(A,n)")
@whole
def matrix_power(x: Any, n: int, /) -> Any:
    """The n-th power of square matrices; a power of x⁻¹ for negative n.

    The identity for n = 0, with derivative 0. Raises `SingularMatrixError` for a negative power of
    a singular matrix.

    >>> import numpy as np
    >>> matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """
    x = matrices_of(x, "matrix_power", square=True)
    n = integer_of(n, "n", "matrix_power")
    if n == 0:
        one = eye_like(x)
        return where(one == one, one, x)  # recorded, so that the derivative exists and is 0
    if n < 0:
        x, n = inv(x), -n
    result = None
    while n:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return result


@known_as(torch="linalg.matrix_exp(A)")
@op(shape="(n,n)->(n,n)")
def expm(xp: Any, x: Any, /) -> Any:
    """The matrix exponential Σ xᵏ / k! of square matrices, by Padé, scaling and squaring.

    Derivatives of all orders are blocks of exponentials of larger matrices.

    >>> import numpy as np
    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    x = matrices_of(x, "expm", square=True)
    return xp.linalg.expm(x)


@expm.pullback("x")
def pullback_expm(g: Any, x: Any) -> Any:
    return _expm_along(x.mT, g)


@expm.pushforward("x")
def pushforward_expm(t: Any, x: Any) -> Any:
    return _expm_along(x, t)


@expm.batching
def batch_expm(x: Any) -> Any:
    return expm(matrix_examples(x, "expm", square=True))


def _expm_along(x: Any, v: Any) -> Any:
    """The derivative of exp x along v: the corner of exp [[x, v], [0, x]]."""
    n = lengths_of(x)[-1]
    # The result is linear in v, which may be large: choose the scaling by x alone.
    size = vector_norm(held_fixed(v), axis=(-2, -1), keepdims=True)
    size = where(size == 0, 1, size)
    below = concat([zeros_like(x), x], axis=-1)
    blocks = concat([concat([x, v / size], axis=-1), below], axis=-2)
    return expm(blocks)[..., :n, n:] * size
