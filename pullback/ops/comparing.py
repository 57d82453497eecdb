"""Comparisons, predicates, logic and bits: results without derivative, which are never recorded."""

from __future__ import annotations

from typing import Any

from .declaring import known_as, op

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
]


@known_as(torch="eq")
@op(native="equal", elementwise=True, differentiable=False)
def equal(x1: Any, x2: Any, /) -> Any:
    """Whether x1 = x2. NaN equals nothing.

    >>> import pullback as pb
    >>> pb.equal(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([False,  True, False])
    """


@known_as(torch="ne")
@op(native="not_equal", elementwise=True, differentiable=False)
def not_equal(x1: Any, x2: Any, /) -> Any:
    """Whether x1 ≠ x2. NaN differs from everything.

    >>> import pullback as pb
    >>> pb.not_equal(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([ True, False,  True])
    """


@known_as(torch="lt")
@op(native="less", elementwise=True, differentiable=False)
def less(x1: Any, x2: Any, /) -> Any:
    """Whether x1 < x2.

    >>> import pullback as pb
    >>> pb.less(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([ True, False, False])
    """


@known_as(torch="le")
@op(native="less_equal", elementwise=True, differentiable=False)
def less_equal(x1: Any, x2: Any, /) -> Any:
    """Whether x1 ≤ x2.

    >>> import pullback as pb
    >>> pb.less_equal(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([ True,  True, False])
    """


@known_as(torch="gt")
@op(native="greater", elementwise=True, differentiable=False)
def greater(x1: Any, x2: Any, /) -> Any:
    """Whether x1 > x2.

    >>> import pullback as pb
    >>> pb.greater(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([False, False,  True])
    """


@known_as(torch="ge")
@op(native="greater_equal", elementwise=True, differentiable=False)
def greater_equal(x1: Any, x2: Any, /) -> Any:
    """Whether x1 ≥ x2.

    >>> import pullback as pb
    >>> pb.greater_equal(pb.tensor([1.0, 2.0, 3.0]), 2.0)
    Tensor([False,  True,  True])
    """


@op(native="isfinite", elementwise=True, differentiable=False)
def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN.

    >>> import pullback as pb
    >>> pb.isfinite(pb.tensor([1.0, float('inf'), float('nan')]))
    Tensor([ True, False, False])
    """


@op(native="isinf", elementwise=True, differentiable=False)
def isinf(x: Any, /) -> Any:
    """Whether x is infinite, of either sign.

    >>> import pullback as pb
    >>> pb.isinf(pb.tensor([1.0, float('inf'), float('nan')]))
    Tensor([False,  True, False])
    """


@op(native="isnan", elementwise=True, differentiable=False)
def isnan(x: Any, /) -> Any:
    """Whether x is NaN.

    >>> import pullback as pb
    >>> pb.isnan(pb.tensor([1.0, float('inf'), float('nan')]))
    Tensor([False, False,  True])
    """


@op(native="logical_and", elementwise=True, differentiable=False)
def logical_and(x1: Any, x2: Any, /) -> Any:
    """Whether both are true.

    >>> import pullback as pb
    >>> pb.logical_and(pb.tensor([True, True, False]), pb.tensor([True, False, False]))
    Tensor([ True, False, False])
    """


@op(native="logical_or", elementwise=True, differentiable=False)
def logical_or(x1: Any, x2: Any, /) -> Any:
    """Whether at least one is true.

    >>> import pullback as pb
    >>> pb.logical_or(pb.tensor([True, True, False]), pb.tensor([True, False, False]))
    Tensor([ True,  True, False])
    """


@op(native="logical_xor", elementwise=True, differentiable=False)
def logical_xor(x1: Any, x2: Any, /) -> Any:
    """Whether exactly one is true.

    >>> import pullback as pb
    >>> pb.logical_xor(pb.tensor([True, True, False]), pb.tensor([True, False, False]))
    Tensor([False,  True, False])
    """


@op(native="logical_not", elementwise=True, differentiable=False)
def logical_not(x: Any, /) -> Any:
    """Whether x is false.

    >>> import pullback as pb
    >>> pb.logical_not(pb.tensor([True, False]))
    Tensor([False,  True])
    """


@op(native="bitwise_and", elementwise=True, differentiable=False)
def bitwise_and(x1: Any, x2: Any, /) -> Any:
    """The bits set in both.

    >>> import pullback as pb
    >>> pb.bitwise_and(pb.tensor([12, 10]), 6)
    Tensor([4, 2])
    """


@op(native="bitwise_or", elementwise=True, differentiable=False)
def bitwise_or(x1: Any, x2: Any, /) -> Any:
    """The bits set in at least one.

    >>> import pullback as pb
    >>> pb.bitwise_or(pb.tensor([12, 10]), 6)
    Tensor([14, 14])
    """


@op(native="bitwise_xor", elementwise=True, differentiable=False)
def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    """The bits set in exactly one.

    >>> import pullback as pb
    >>> pb.bitwise_xor(pb.tensor([12, 10]), 6)
    Tensor([10, 12])
    """


@known_as(numpy="invert", torch="bitwise_not")
@op(native="bitwise_invert", elementwise=True, differentiable=False)
def bitwise_invert(x: Any, /) -> Any:
    """Every bit inverted: -x - 1 for signed integers, `not` for booleans.

    >>> import pullback as pb
    >>> pb.bitwise_invert(pb.tensor([12, -1]))
    Tensor([-13,   0])
    """


@known_as(numpy="left_shift")
@op(native="bitwise_left_shift", elementwise=True, differentiable=False)
def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    """x1 · 2^x2: the bits shifted left by x2.

    >>> import pullback as pb
    >>> pb.bitwise_left_shift(pb.tensor([3, 5]), 2)
    Tensor([12, 20])
    """


@known_as(numpy="right_shift")
@op(native="bitwise_right_shift", elementwise=True, differentiable=False)
def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """⌊x1 / 2^x2⌋: the bits shifted right by x2, keeping the sign.

    >>> import pullback as pb
    >>> pb.bitwise_right_shift(pb.tensor([12, -5]), 2)
    Tensor([ 3, -2])
    """
