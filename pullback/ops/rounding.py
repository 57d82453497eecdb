"""Rounding, and two operations that return their argument unchanged.

Rounding is piecewise constant: its derivative is 0, also at the jumps, where it does not exist.
Rules keep the inputs anyway, for overrides that replace the gradient.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..lost_paths import detached
from .declaring import known_as, op

__all__ = ["ceil", "floor", "identity", "round", "stop_gradient", "trunc"]


@op(native="floor", elementwise=True, flat=True)
def floor(x: Any, /) -> Any:
    """⌊x⌋: the largest integer not above x. Its derivative is 0.

    >>> import pullback as pb
    >>> pb.floor(pb.tensor([1.7, -1.2]))
    Tensor([ 1., -2.])
    """


@op(native="ceil", elementwise=True, flat=True)
def ceil(x: Any, /) -> Any:
    """⌈x⌉: the smallest integer not below x. Its derivative is 0.

    >>> import pullback as pb
    >>> pb.ceil(pb.tensor([1.2, -1.7]))
    Tensor([ 2., -1.])
    """


@known_as(numpy="rint")
@op(native="round", elementwise=True, flat=True)
def round(x: Any, /) -> Any:
    """The nearest integer, with ties to even. Its derivative is 0.

    >>> import pullback as pb
    >>> pb.round(pb.tensor([0.5, 1.5, 1.7]))
    Tensor([0., 2., 2.])
    """


@known_as(numpy="fix", torch="fix")
@op(native="trunc", elementwise=True, flat=True)
def trunc(x: Any, /) -> Any:
    """x without its fractional part. Its derivative is 0.

    >>> import pullback as pb
    >>> pb.trunc(pb.tensor([1.7, -1.7]))
    Tensor([ 1., -1.])
    """


@known_as(numpy="copy", torch="clone")
@op(elementwise=True)
def identity(xp: Any, x: Any, /) -> Any:
    """The values of x in a new recorded tensor: a place to attach another gradient, or a hook.

    >>> import pullback as pb
    >>> pb.identity(pb.tensor([1.0, 2.0]))
    Tensor([1., 2.])
    """
    return xp.asarray(x, copy=True)


@identity.pullback("x")
def pullback_identity(g: Any) -> Any:
    return g


def stop_gradient(x: Any, /) -> Any:
    """The values of x, sharing memory, without history: a constant for differentiation.

    >>> import pullback as pb
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> y = x * pb.stop_gradient(x)
    >>> y.backward()
    >>> x.grad
    Tensor(3.)
    """
    return detached(x, "stop_gradient") if isinstance(x, Tensor) else x
