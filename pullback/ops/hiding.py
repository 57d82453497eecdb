"""Hide an axis from the operations, and show it again: the entry and exit of `vmap`."""

from __future__ import annotations

from typing import Any

from ..arrays import batched
from ..arrays.symbol import Symbol
from .declaring import op

__all__: list[str] = []


@op(name="hide_axis", linear=True)
def hide_axis(xp: Any, x: Any, /, axis: int, tag: int) -> Any:
    """x with one axis hidden as the batch axis of the vmap with this tag: one entry per example.

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
    """x with the hidden axis of a tag put back at `axis`; without one, x repeated `size` times.

    >>> import numpy as np
    >>> show_axis(np.ones(3), axis=1, tag=7, size=2).shape
    (3, 2)
    """
    return batched.show(x, axis, tag, size)


@show_axis.pullback("x")
def pullback_show_axis(g: Any, *, axis: int, tag: int) -> Any:
    return hide_axis(g, axis=axis, tag=tag)


# These two operations handle the hidden axis of their own tag, which all others do not see.
hide_axis.op.kernels[batched.Batched] = batched.hide
show_axis.op.kernels[batched.Batched] = batched.show
# A symbol with a hidden axis is a batched array; graph operations handle it themselves.
hide_axis.op.kernels[Symbol] = batched.hide
show_axis.op.kernels[Symbol] = batched.show
