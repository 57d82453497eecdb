"""Numerical gradients and integrals along an axis."""

from __future__ import annotations

from typing import Any

from .. import ops

__all__ = ["slopes", "strips"]


def slopes(x: Any, gaps: Any, edge_order: int = 1) -> Any:
    """The slopes along the first axis: of parabolas through three adjacent entries.

    gaps        the distances between entries, which broadcast with x[1:]
    edge_order  1: at both ends the slopes of lines; 2: those of parabolas

    >>> import numpy as np
    >>> slopes(np.array([0.0, 1.0, 9.0]), np.array([1.0, 2.0]))
    array([1., 2., 4.])
    """
    lines = ops.diff(x, axis=0) / gaps
    if x.shape[0] == 2:
        return ops.concat([lines, lines], axis=0)
    before, after = gaps[:-1], gaps[1:]
    inner = (lines[:-1] * after + lines[1:] * before) / (before + after)
    first, last = lines[:1], lines[-1:]
    if edge_order == 2:
        bend = ops.diff(lines, axis=0) / (before + after)
        first, last = first - bend[:1] * gaps[:1], last + bend[-1:] * gaps[-1:]
    return ops.concat([first, inner, last], axis=0)


def strips(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The areas of the trapezoids under y along an axis, at points x or with distances dx.

    x  a vector, or points for each entry of y

    >>> import numpy as np
    >>> strips(np.array([0.0, 1.0, 3.0]))
    array([0.5, 2. ])
    """
    axis %= len(y.shape)
    n, lead = y.shape[axis], (slice(None),) * axis
    heights = (y[(*lead, slice(1, n))] + y[(*lead, slice(0, n - 1))]) * 0.5
    if x is None:
        return heights * dx
    steps = ops.diff(x, axis=-1 if len(x.shape) == 1 else axis)
    if len(x.shape) == 1:
        steps = ops.reshape(steps, (-1,) + (1,) * (len(y.shape) - axis - 1))
    return heights * steps
