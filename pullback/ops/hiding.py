"""Hiding an axis from the operations, and showing it again: where `vmap` begins and ends."""

from __future__ import annotations

from typing import Any

from ..arrays import batched
from ..arrays.symbol import Symbol
from ..core.op import op

__all__: list[str] = []


@op(name="hide_axis", linear=True)
def hide_axis(xp: Any, x: Any, /, axis: int, tag: int) -> Any:
    """x with an axis hidden: one entry an example, for the vmap of the tag.

    >>> import numpy as np
    >>> hide_axis(np.ones((3, 5)), axis=1, tag=7)
    <float64[3] for each of 5 examples>
    """
    return batched.hide(x, axis, tag)


@hide_axis.pullback("x")
def pullback_hide_axis(g: Any, shape: Any, *, axis: int, tag: int) -> Any:
    return show_axis(g, axis=axis, tag=tag, size=shape[axis])


@op(name="show_axis", linear=True)
def show_axis(xp: Any, x: Any, /, axis: int, tag: int, size: int) -> Any:
    """x with the axis that a tag hides in its place; without one, repeated `size` times.

    >>> import numpy as np
    >>> show_axis(np.ones(3), axis=1, tag=7, size=2).shape
    (3, 2)
    """
    return batched.show(x, axis, tag, size)


@show_axis.pullback("x")
def pullback_show_axis(g: Any, *, axis: int, tag: int) -> Any:
    return hide_axis(g, axis=axis, tag=tag)


# Batched arrays are what these two are about: they see the hidden axis of their own tag.
hide_axis.op.kernels[batched.Batched] = batched.hide
show_axis.op.kernels[batched.Batched] = batched.show
# A symbol with a hidden axis is a batched array; the operations on it are the graph's.
hide_axis.op.kernels[Symbol] = batched.hide
show_axis.op.kernels[Symbol] = batched.show
