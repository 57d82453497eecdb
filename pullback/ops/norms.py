"""Vector norms. At a kink (at 0, at ties, at zero entries) the gradient is 0 or shared equally."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from ..errors import ArgumentTypeError
from .arithmetic import abs
from .complex_ import conj
from .creation import ones_like, zeros_like
from .declaring import face_of, known_as, op
from .selecting import where
from .statistics import Axis, kept, shared
from .statistics import sum as total_of

__all__ = ["vector_norm"]


@op(name="vector_norm", reduction=True)
def _vector_norm(xp: Any, x: Any, /, *, axis: Axis, keepdims: bool, ord: float) -> Any:
    return xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


@_vector_norm.pullback("x")
def pullback_vector_norm(
    g: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool, ord: float
) -> Any:
    shape = tuple(x.shape)
    if ord == 0 or 0 in shape:
        return zeros_like(x)
    if ord == 2:
        return kept(_over(g, out), shape, axis, keepdims) * conj(x)
    size = abs(x)
    if ord in (math.inf, -math.inf):
        share = shared(g, size, out, axis, keepdims)
        return share * _over(where(size == math.inf, 0, conj(x)), size)
    if ord == 1:
        return kept(g, shape, axis, keepdims) * _over(conj(x), size)
    # g |x|^(ord-2) x / out^(ord-1), as ratios, which do not overflow or raise 0 to a power < 0.
    slope = kept(_over(g, out), shape, axis, keepdims)
    ratio = _over(size, kept(out, shape, axis, keepdims))
    none = ratio == 0
    weight = where(none, 0, where(none, 1, ratio) ** (ord - 2))
    return where(weight == 0, 0, slope * weight * conj(x))  # also where x is infinite


@_vector_norm.pushforward("x")
def pushforward_vector_norm(
    t: Any, x: Any, out: Any, *, axis: Axis, keepdims: bool, ord: float
) -> Any:
    if ord == 2:
        return _over(total_of(conj(x) * t, axis=axis, keepdims=keepdims), out)
    slopes = pullback_vector_norm(
        ones_like(out), x, out, axis=axis, keepdims=keepdims, ord=ord
    )
    return total_of(slopes * t, axis=axis, keepdims=keepdims)


@known_as(numpy="linalg.vector_norm")
@face_of(_vector_norm, "vector_norm")
def vector_norm(
    x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """(Σ |x|^ord)^(1/ord) over an axis, several, or all; real, also for complex x.

    ord   any number; inf and -inf give the largest and the smallest |x|, 0 counts the nonzero
          entries (and has derivative 0)
    The derivative is 0 for an entry that is 0, and where the norm is 0; entries that tie for the
    largest or smallest share the cotangent equally. There is no derivative in `ord`.
    Raises `ArgumentTypeError` if `ord` is not a Python real number (such as a Tensor).

    >>> import pullback as pb
    >>> pb.vector_norm(pb.tensor([3.0, 4.0]))
    Tensor(5.)
    """
    if ord.__class__ is not int and not is_order(ord):
        raise ArgumentTypeError("argument `ord` of `vector_norm`", "a real number", repr(ord))
    return _vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def is_order(ord: Any) -> bool:
    """Whether a value is a real number, and so a valid order of a norm.

    >>> is_order(math.inf), is_order("fro")
    (True, False)
    """
    return isinstance(ord, Real) and ord == ord


def _over(x1: Any, x2: Any) -> Any:
    """x1 / x2, and 0 where x2 is 0."""
    none = x2 == 0
    return where(none, 0, x1 / where(none, 1, x2))
