"""The shape as an array: how a graph computes with lengths that are unknown until it runs."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays import adapters
from ..kinds.shapes import is_any, shape_of
from .declaring import op

__all__ = ["shape"]


@op(differentiable=False)
def shape(xp: Any, x: Any, /) -> Any:
    """The shape of x as a vector of int64; in a graph, that of the array it runs on.

    >>> import pullback as pb
    >>> shape(pb.ones((2, 3)))
    Tensor([2, 3])
    """
    lengths = numpy.array(tuple(x.shape), numpy.int64)
    return adapters[x.__class__].asarray(lengths, None, x)  # on the device of x


@shape.batching
def batch_shape(x: Any, *, hidden: tuple[bool, ...]) -> Any:
    from .shaping import broadcast_to

    lengths = shape(x)[1:]
    return broadcast_to(lengths, (x.shape[0], *lengths.shape))


@shape.shaping
def shape_shape(x: Any) -> Any:
    return (None,) if is_any(x) else (len(shape_of(x)),)
