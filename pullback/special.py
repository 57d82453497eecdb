"""Special functions, with the names and signatures of `scipy.special`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .core.tensor import Tensor, raw, to_array
from .kinds.symbols import whole
from .lost_paths import held_fixed
from .ops import abs as _abs
from .ops import (
    erf,
    erfc,
    exp,
    finfo,
    isfinite,
    log,
    moveaxis,
    reshape,
    squeeze,
    where,
)
from .ops import log_sigmoid as log_expit
from .ops import log_softmax as _log_softmax
from .ops import logsumexp as _logsumexp
from .ops import max as _max
from .ops import sigmoid as expit
from .ops import sign as _sign
from .ops import softmax as _softmax
from .ops import sum as _sum
from .ops.operands import stacked
from .ops.special_bessel import i0, i0e, i1, i1e, iv, ive, j0, j1, jv, sinc, spherical_jn
from .ops.special_bessel_second import k0, k0e, k1, k1e, kv, kve, y0, y1, yv
from .ops.special_entropy import entr, kl_div, logit, rel_entr, xlog1py, xlogy
from .ops.special_error import erfcinv, erfinv, log_ndtr, ndtr, ndtri
from .ops.special_gamma import beta, betaln, digamma, gamma, gammaln, polygamma, zeta
from .ops.special_incomplete import betainc, gammainc, gammaincc

jn, kn, psi, yn = jv, kv, digamma, yv

__all__ = [
    "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfcinv", "erfinv", "expit",
    "gamma", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1",
    "jn", "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kn", "kv", "kve", "log_expit", "log_ndtr",
    "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "psi", "rel_entr", "sinc",
    "softmax", "spherical_jn", "xlog1py", "xlogy", "y0", "y1", "yn", "yv", "zeta",
]

Axis = int | tuple[int, ...] | None


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log |Σ b exp(a)| over all entries or along axes, without overflow.

    b            weights of either sign, which broadcast with a; None means 1. An entry of weight 0
                 contributes nothing, even if a is infinite or NaN there; the gradient of the weight
                 is still exp(a - out) there, or 0 where that is not a number
    return_sign  also return the sign of the sum; without it, a negative sum gives NaN

    A sum of 0 gives -∞ with zero gradients.

    >>> import pullback as pb
    >>> value, sign = pb.special.logsumexp(
    ...     pb.tensor([1000.0, 1000.0]), b=pb.tensor([1.0, -3.0]), return_sign=True
    ... )
    >>> value, sign
    (Tensor(1000.69314718), Tensor(-1.))
    """
    if b is None and not return_sign:
        return _logsumexp(a, axis=axis, keepdims=keepdims)
    a, b = stacked(a), 1.0 if b is None else stacked(b)
    a = a if isinstance(a, Tensor) else to_array(a)
    b = b if isinstance(b, Tensor) else to_array(b)
    largest = held_fixed(_max(where(b == 0, -math.inf, a), axis=axis, keepdims=True))
    largest = where(isfinite(largest), largest, 0.0)
    shifted = a - largest
    # 0 * inf is NaN, so an entry of weight 0 must not overflow or be NaN.
    far = (b == 0) & ~(shifted <= math.log(finfo(shifted.dtype).max))
    total = _sum(b * exp(where(far, -math.inf, shifted)), axis=axis, keepdims=True)
    if not keepdims:
        axes = tuple(range(len(total.shape))) if axis is None else axis
        total, largest = squeeze(total, axis=axes), squeeze(largest, axis=axes)
    nothing = total == 0
    value = where(nothing, -math.inf, log(_abs(where(nothing, 1.0, total))) + largest)
    sign = held_fixed(_sign(total))
    return (value, sign) if return_sign else where(sign < 0, math.nan, value)


@whole
def softmax(x: Any, axis: Axis = None) -> Any:
    """exp(x) / Σ exp(x); the sum is over all entries or along axes; edge cases as `pb.softmax`.

    >>> import pullback as pb
    >>> pb.special.softmax(pb.tensor([[0.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.25, 0.25],
            [0.25, 0.25]])
    """
    return _along(_softmax, x, axis)


@whole
def log_softmax(x: Any, axis: Axis = None) -> Any:
    """log(softmax(x)), over all entries or along axes; edge cases as `pb.log_softmax`.

    >>> import pullback as pb
    >>> pb.special.log_softmax(pb.tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])
    """
    return _along(_log_softmax, x, axis)


def _along(function: Callable[..., Any], x: Any, axis: Axis) -> Any:
    """Apply a function along one axis, or along several axes merged into one."""
    x = stacked(x)
    if isinstance(axis, int):
        return function(x, axis=axis)
    shape = tuple(getattr(raw(to_array(x)), "shape", ()))
    if axis is None:
        return reshape(function(reshape(x, (-1,)), axis=-1), shape)
    last = tuple(range(-len(axis), 0))
    moved = moveaxis(x, axis, last)
    flat = reshape(moved, (*moved.shape[: len(shape) - len(axis)], -1))
    return moveaxis(reshape(function(flat, axis=-1), tuple(moved.shape)), last, axis)
