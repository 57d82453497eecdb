"""Changing shapes: reshape, reorder, broadcast.

Where the library allows it, `reshape`, `permute_dims`, `matrix_transpose`, `expand_dims`,
`squeeze`, `broadcast_to`, `flip` and their compositions return views.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays.symbol import AnyShape, OpenShape
from ..core.cotangent import unbroadcast
from ..core.tensor import Tensor, to_array, wrap
from ..errors import ArgumentError, ShapeError
from ..kinds.shapes import axes_of, broadcast, is_any, requested, shape_of, size_of
from ..kinds.symbols import whole
from .declaring import known_as, op
from .operands import stacked

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims", "flip",
    "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape", "roll", "squeeze",
    "swapaxes",
]


def hidden_axes(axis: Any, rank: int, subject: str) -> tuple[int, ...]:
    """`axes_of`, shifted by one hidden axis in front."""
    return tuple([a + 1 for a in axes_of(axis, rank, subject)])


# Views --------------------------------------------------------------------------------------


@op(view=True, linear=True, dtype="x")
def reshape(xp: Any, x: Any, /, shape: Any, *, copy: Any = None) -> Any:
    """The same entries, in row-major order, in another shape; one length may be -1.

    copy   True: always copy; False: raise an error if a copy is needed; None: share if possible

    >>> import numpy as np
    >>> reshape(np.array([1.0, 2.0, 3.0, 4.0]), (2, -1))
    array([[1., 2.],
           [3., 4.]])
    """
    return xp.reshape(x, shape, copy=copy)


@reshape.pullback("x")
def pullback_reshape(g: Any, shape: Any) -> Any:
    return reshape(g, shape)


@reshape.batching
def batch_reshape(x: Any, *, shape: Any, copy: Any) -> Any:
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    known = math.prod(n for n in lengths if n != -1)
    if known and lengths.count(-1) == 1:  # take it from one example: there may be no examples
        rest = math.prod(x.shape[1:]) // known
        lengths = tuple(rest if n == -1 else n for n in lengths)
    return reshape(x, (x.shape[0], *lengths), copy=copy)


@reshape.shaping
def shape_reshape(x: Any, *, shape: Any, copy: Any = None) -> Any:
    wanted, total = requested(shape), size_of(x.shape)
    if wanted is None or isinstance(wanted, OpenShape):
        return wanted
    if total is None or None in wanted:
        return tuple([None if n == -1 else n for n in wanted])
    rest = math.prod([n for n in wanted if n != -1])
    if wanted.count(-1) == 1 and rest and total % rest == 0:
        return tuple([total // rest if n == -1 else n for n in wanted])
    if -1 in wanted or rest != total:
        raise ShapeError("`reshape`", f"{total} entries, as of {list(x.shape)}", f"{list(wanted)}")
    return wanted


@op(view=True, linear=True, dtype="x")
def expand_dims(xp: Any, x: Any, /, axis: Any = 0) -> Any:
    """x with axes of length 1 inserted, at one or several positions of the result.

    >>> import numpy as np
    >>> expand_dims(np.array([1.0, 2.0]), axis=(0, -1)).shape
    (1, 2, 1)
    """
    return xp.expand_dims(x, axis=axis)


@expand_dims.pullback("x")
def pullback_expand_dims(g: Any, shape: Any) -> Any:
    return reshape(g, shape)


@expand_dims.batching
def batch_expand_dims(x: Any, *, axis: Any) -> Any:
    added = len(axis) if isinstance(axis, (tuple, list)) else 1
    return expand_dims(x, axis=hidden_axes(axis, len(x.shape) - 1 + added, "expand_dims"))


@expand_dims.shaping
def shape_expand_dims(x: Any, *, axis: Any) -> Any:
    rank = len(x.shape) + (1 if isinstance(axis, int) else len(axis))
    new = axes_of(axis, rank, "expand_dims")
    own = iter(x.shape)
    return tuple([1 if i in new else next(own) for i in range(rank)])


@op(view=True, linear=True, dtype="x")
def squeeze(xp: Any, x: Any, /, axis: Any) -> Any:
    """x without one or several axes of length 1.

    >>> import numpy as np
    >>> squeeze(np.ones((1, 3, 1)), axis=(0, -1)).shape
    (3,)
    """
    return xp.squeeze(x, axis=axis)


@squeeze.pullback("x")
def pullback_squeeze(g: Any, shape: Any) -> Any:
    return reshape(g, shape)


@squeeze.batching
def batch_squeeze(x: Any, *, axis: Any) -> Any:
    return squeeze(x, axis=hidden_axes(axis, len(x.shape) - 1, "squeeze"))


@squeeze.shaping
def shape_squeeze(x: Any, *, axis: Any) -> Any:
    gone = axes_of(axis, len(x.shape), "squeeze")
    if any(x.shape[a] not in (1, None) for a in gone):
        raise ShapeError(
            "`squeeze`", "axes of length 1", f"axis {axis} of shape {list(x.shape)}"
        )
    return tuple([n for i, n in enumerate(x.shape) if i not in gone])


def ravel(x: Any, /) -> Any:
    """All entries as one axis, in row-major order.

    >>> import numpy as np
    >>> ravel(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 2., 3., 4.])
    """
    return reshape(x, (-1,))


@op(view=True, linear=True, dtype="x")
def permute_dims(xp: Any, x: Any, /, axes: Any) -> Any:
    """x with its axes permuted: axis k of the result is axis `axes[k]` of x.

    >>> import numpy as np
    >>> permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return xp.permute_dims(x, axes)


@permute_dims.pullback("x")
def pullback_permute_dims(g: Any, *, axes: Any) -> Any:
    rank = len(axes)
    inverse = [0] * rank
    for k, axis in enumerate(axes):
        inverse[axis] = k  # a negative axis works too, as a list index
    return permute_dims(g, tuple(inverse))


@permute_dims.batching
def batch_permute_dims(x: Any, *, axes: Any) -> Any:
    return permute_dims(x, (0, *hidden_axes(tuple(axes), len(x.shape) - 1, "permute_dims")))


@permute_dims.shaping
def shape_permute_dims(x: Any, *, axes: Any) -> Any:
    own = (None,) * len(axes) if is_any(x) else tuple(x.shape)
    order = axes_of(tuple(axes), len(own), "permute_dims")
    if len(order) != len(own):
        raise ShapeError("`permute_dims`", f"each of {len(own)} axes once", f"{tuple(axes)}")
    return tuple([own[a] for a in order])


@known_as(numpy="matrix_transpose linalg.matrix_transpose")
@op(view=True, linear=True, shape="(m,n)->(n,m)", dtype="x")
def matrix_transpose(xp: Any, x: Any, /) -> Any:
    """x with the last two axes swapped.

    >>> import numpy as np
    >>> matrix_transpose(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    if len(x.shape) < 2:
        raise _no_matrix(x.shape)
    return x.mT


def _no_matrix(shape: tuple[int, ...]) -> ShapeError:
    return ShapeError(
        "`matrix_transpose`", "at least two axes", f"shape {tuple(shape)}",
        "insert an axis with expand_dims",
    )


@matrix_transpose.pullback("x")
def pullback_matrix_transpose(g: Any) -> Any:
    return matrix_transpose(g)


@matrix_transpose.batching
def batch_matrix_transpose(x: Any) -> Any:
    if len(x.shape) == 2:
        raise _no_matrix(x.shape[1:])
    return matrix_transpose(x)


@known_as(
    numpy="moveaxis", torch="moveaxis(input,source,destination) movedim(input,source,destination)"
)
@whole
def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """x with some axes moved to other positions; the others keep their order.

    >>> import numpy as np
    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    rank = len(x.shape)
    sources = axes_of(source, rank, "moveaxis")
    places = axes_of(destination, rank, "moveaxis")
    if len(sources) != len(places):
        raise ArgumentError(
            "`moveaxis`", f"{len(sources)} destinations, one per source", f"{len(places)}"
        )
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


@known_as(numpy="swapaxes", torch="swapaxes(input,dim0,dim1) transpose(input,dim0,dim1)")
@whole
def swapaxes(x: Any, axis1: int, axis2: int, /) -> Any:
    """x with two axes swapped.

    >>> import numpy as np
    >>> swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    order = list(range(len(x.shape)))
    (first,) = axes_of(axis1, len(order), "swapaxes")
    (second,) = axes_of(axis2, len(order), "swapaxes")
    order[first], order[second] = second, first
    return permute_dims(x, tuple(order))


@op(view=True, linear=True, dtype="x")
def broadcast_to(xp: Any, x: Any, /, shape: Any) -> Any:
    """x broadcast to a shape: a view with repeated memory, so do not write to it.

    >>> import numpy as np
    >>> broadcast_to(np.array([1.0, 2.0]), (2, 2))
    array([[1., 2.],
           [1., 2.]])
    """
    return xp.broadcast_to(x, shape)


@broadcast_to.pullback("x")
def pullback_broadcast_to(g: Any, shape: Any) -> Any:
    return unbroadcast(g, shape)


@broadcast_to.batching
def batch_broadcast_to(x: Any, *, shape: Any) -> Any:
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return broadcast_to(with_rank(x, len(lengths) + 1), (x.shape[0], *lengths))


@broadcast_to.shaping
def shape_broadcast_to(x: Any, *, shape: Any) -> Any:
    wanted = requested(shape)
    if wanted is None or is_any(x) or isinstance(wanted, AnyShape):
        return wanted
    own, whole = shape_of(x), tuple(wanted)
    pairs = zip(reversed(own), reversed(whole), strict=False)
    if len(own) > len(whole) or any(n not in (m, 1, None) and m is not None for n, m in pairs):
        raise ShapeError(
            "`broadcast_to`", f"a shape that broadcasts to {list(whole)}", f"{list(own)}"
        )
    return wanted


def with_rank(x: Any, rank: int) -> Any:
    """x with axes of length 1 inserted after the first, until it has `rank` axes."""
    missing = rank - len(x.shape)
    return reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if missing > 0 else x


@whole
def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """The arrays broadcast to their common shape; views, in a tuple.

    If one is a Tensor, all become Tensors.

    >>> import numpy as np
    >>> [a.shape for a in broadcast_arrays(np.ones(3), np.ones((2, 1)))]
    [(2, 3), (2, 3)]
    """
    arrays = tuple([stacked(a) for a in arrays])
    data = [to_array(a) for a in arrays]
    shape = broadcast([shape_of(a) for a in data], "broadcast_arrays")
    if (cls := next((a._out for a in arrays if isinstance(a, Tensor)), None)) is not None:
        pairs = zip(arrays, data, strict=True)
        data = [a if isinstance(a, Tensor) else wrap(cls, d) for a, d in pairs]
    return tuple([broadcast_to(a, shape) for a in data])


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape of some shapes; `ShapeError` if they do not broadcast.

    >>> broadcast_shapes((3,), (2, 1), ())
    (2, 3)
    """
    return broadcast(shapes, "broadcast_shapes")


@known_as(numpy="flip")
@op(view=True, linear=True, shape="x", dtype="x")
def flip(xp: Any, x: Any, /, *, axis: Any = None) -> Any:
    """x with the entries reversed along one axis, several, or all.

    >>> import numpy as np
    >>> flip(np.array([1.0, 2.0, 3.0]))
    array([3., 2., 1.])
    """
    return xp.flip(x, axis=axis)


@flip.pullback("x")
def pullback_flip(g: Any, *, axis: Any) -> Any:
    return flip(g, axis=axis)


@flip.batching
def batch_flip(x: Any, *, axis: Any) -> Any:
    return flip(x, axis=hidden_axes(axis, len(x.shape) - 1, "flip"))


# Copies -------------------------------------------------------------------------------------


@known_as(numpy="roll", torch="roll(input,shifts,dims)")
@op(linear=True, shape="x", dtype="x")
def roll(xp: Any, x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """x with the entries shifted cyclically by `shift` along an axis.

    Several axes take a tuple of shifts, or one for all; None rolls the flattened array.

    >>> import numpy as np
    >>> roll(np.array([1.0, 2.0, 3.0]), 1)
    array([3., 1., 2.])
    """
    return xp.roll(x, shift, axis=axis)


@roll.pullback("x")
def pullback_roll(g: Any, *, shift: Any, axis: Any) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift
    return roll(g, back, axis=axis)


@roll.batching
def batch_roll(x: Any, *, shift: Any, axis: Any) -> Any:
    if axis is not None:
        return roll(x, shift, axis=hidden_axes(axis, len(x.shape) - 1, "roll"))
    return reshape(roll(flat_examples(x), shift, axis=1), x.shape)


def flat_examples(x: Any) -> Any:
    """All axes except the first, merged into one."""
    return reshape(x, (x.shape[0], math.prod(x.shape[1:])))
