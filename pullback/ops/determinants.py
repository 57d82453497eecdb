"""Determinants, and the adjugates that their derivatives consist of."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..arrays import adjugates
from ..core.cotangent import is_complex
from ..kinds.symbols import whole
from .complex_ import imag, real
from .creation import zeros_like
from .declaring import face_of, known_as, op
from .matrices import eye_like, trace
from .operands import matrices_of, matrix_examples
from .products import matmul
from .selecting import where
from .shaping import with_rank
from .solving import inv
from .statistics import sum

__all__ = ["det", "slogdet"]


@known_as(numpy="linalg.det", torch="linalg.det(A)")
@op(shape="(n,n)->()")
def det(xp: Any, x: Any, /) -> Any:
    """The determinants of square matrices (…, n, n); 1 for n = 0.

    Singular matrices need no special care: the derivative is the transposed adjugate, and second
    derivatives are right too. Third derivatives raise `SingularMatrixError` at singular matrices.

    >>> import numpy as np
    >>> det(np.array([[1.0, 2.0], [3.0, 4.0]])).round(12)
    np.float64(-2.0)
    """
    return xp.linalg.det(matrices_of(x, "det", square=True))


@det.pullback("x")
def pullback_det(g: Any, x: Any) -> Any:
    # See Note [the gradient of a determinant].
    return g[..., None, None] * adjugate(x).mT


@det.pushforward("x")
def pushforward_det(t: Any, x: Any) -> Any:
    return sum(adjugate(x).mT * t, axis=(-2, -1))


@det.batching
def batch_det(x: Any) -> Any:
    return det(matrix_examples(x, "det", square=True))


@op(shape="(n,n)->(n,n)")
def adjugate(xp: Any, x: Any, /) -> Any:
    """The adjugate (transposed cofactors) of square matrices: det(x) · x⁻¹ for regular x.

    >>> import numpy as np
    >>> adjugate(np.array([[0.0, 0.0], [0.0, 4.0]]))
    array([[4., 0.],
           [0., 0.]])
    """
    return adjugates.adjugate(xp, x)


@adjugate.pullback("x")
def pullback_adjugate(g: Any, x: Any) -> Any:
    return adjugate_along(x, g.mT).mT


@adjugate.pushforward("x")
def pushforward_adjugate(t: Any, x: Any) -> Any:
    return adjugate_along(x, t)


@adjugate.batching
def batch_adjugate(x: Any) -> Any:
    return adjugate(x)


@op(shape="(n,n),(n,n)->(n,n)")
def adjugate_along(xp: Any, x: Any, v: Any, /) -> Any:
    """The derivative of the adjugates of square matrices x along matrices v.

    >>> import numpy as np
    >>> adjugate_along(np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4., -2.],
           [-3.,  1.]])
    """
    return adjugates.adjugate_along(xp, x, v)


@adjugate_along.pullback("x")
def pullback_adjugate_along_x(g: Any, x: Any, v: Any) -> Any:
    return _adjugate_twice(x, v, g.mT).mT


@adjugate_along.pullback("v")
def pullback_adjugate_along_v(g: Any, x: Any) -> Any:
    return adjugate_along(x, g.mT).mT


@adjugate_along.pushforward("x")
def pushforward_adjugate_along_x(t: Any, x: Any, v: Any) -> Any:
    return _adjugate_twice(x, v, t)


@adjugate_along.pushforward("v")
def pushforward_adjugate_along_v(t: Any, x: Any) -> Any:
    return adjugate_along(x, t)


@adjugate_along.batching
def batch_adjugate_along(x: Any, v: Any) -> Any:
    rank = len(x.shape) if len(x.shape) > len(v.shape) else len(v.shape)
    return adjugate_along(with_rank(x, rank), with_rank(v, rank))


def _adjugate_twice(x: Any, v: Any, w: Any) -> Any:
    """The second derivative of the adjugates of regular matrices, along v and w."""
    if x.shape[-1] in (1, 2):  # linear in the entries, or constant
        return zeros_like(v * w)
    back = inv(x)
    a, b = matmul(back, v), matmul(back, w)
    p, q = (trace(m)[..., None, None] for m in (a, b))
    ab, ba = matmul(a, b), matmul(b, a)
    inner = (p * q - trace(ab)[..., None, None]) * eye_like(x) - p * b - q * a + ab + ba
    return det(x)[..., None, None] * matmul(inner, back)


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


@op(name="slogdet", outputs=("sign", "logabsdet"), shape="(n,n)->(),()")
def _slogdet(xp: Any, x: Any, /) -> Any:
    return tuple(xp.linalg.slogdet(matrices_of(x, "slogdet", square=True)))


def _times_log_slope(factor: Any, x: Any, sign: Any) -> Any:
    """A factor times the transposed inverses; NaN for a singular matrix, unless the factor is 0."""
    singular = (sign == 0)[..., None, None]
    slope = inv(where(singular, eye_like(x), x)).mT
    return factor * where(singular & (factor != 0), math.nan, slope)


@_slogdet.pullback("x")
def pullback_slogdet(g: Any, x: Any, sign: Any) -> Any:
    turn, slope = g
    if is_complex(x):  # d log det x = d(logabsdet + i · angle)
        slope = slope + imag(turn * sign) * 1j
    return _times_log_slope(slope[..., None, None], x, sign)


@_slogdet.pushforward("x")
def pushforward_slogdet(t: Any, x: Any, sign: Any) -> Any:
    change = sum(_times_log_slope(t, x, sign), axis=(-2, -1))
    if is_complex(x):
        return sign * (imag(change) * 1j), real(change)
    return zeros_like(sign), change


@_slogdet.batching
def batch_slogdet(x: Any) -> Any:
    return _slogdet(matrix_examples(x, "slogdet", square=True))


@known_as(numpy="linalg.slogdet", torch="linalg.slogdet(A)")
@face_of(_slogdet)
@whole
def slogdet(x: Any, /) -> SlogdetResult:
    """The signs of determinants (on the unit circle, or 0) and the logarithms of their magnitudes.

    det(x) is sign · exp(logabsdet), even where that would overflow or underflow. For singular
    matrices they are 0 and -inf, and the derivative is NaN, but 0 for a zero cotangent.
    The sign of a real determinant has derivative 0.

    >>> import numpy as np
    >>> sign, logabsdet = slogdet(np.array([[-2.0, 0.0], [0.0, 0.5]]))
    >>> sign.item(), logabsdet.item()
    (-1.0, 0.0)
    """
    return SlogdetResult(*_slogdet(x))
