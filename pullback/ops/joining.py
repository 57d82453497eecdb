"""Joining and splitting arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ..arrays import adapters
from ..arrays.batched import zeros_by
from ..core.tensor import raw, to_array
from ..errors import ArgumentError, ShapeError, SymbolError
from ..kinds.shapes import axes_of, is_any, merged, shape_of
from ..kinds.symbols import length_of, whole
from .declaring import face_of, known_as, op
from .operands import stacked
from .parts import along, taken_apart
from .shaping import broadcast_arrays, ravel, reshape

__all__ = ["concat", "meshgrid", "pad", "split", "stack", "unstack"]


def _parts(arrays: Any, subject: str) -> list[Any]:
    parts = list(arrays)
    if not parts:
        raise ArgumentError(f"argument `arrays` of `{subject}`", "at least one array", "none")
    return parts


# Joining ------------------------------------------------------------------------------------


@op(name="concat")
def _concat(xp: Any, /, *arrays: Any, axis: int, starts: tuple[int, ...]) -> Any:
    return xp.concat(arrays, axis=axis)


@_concat.pullback("arrays")
def pullback_concat(g: Any, i: int, shape: Any, *, axis: int, starts: tuple[int, ...]) -> Any:
    return g[along(axis, slice(starts[i], starts[i] + shape[axis]))]


@_concat.pushforward()
def pushforward_concat(ts: Any, *, axis: int, starts: tuple[int, ...]) -> Any:
    some = next(t for t in ts if t is not None)
    before, after = tuple(some.shape[:axis]), tuple(some.shape[axis + 1 :])
    return _concat(
        *[
            _zeros(some, (*before, end - start, *after)) if t is None else t
            for t, (start, end) in zip(ts, pairwise(starts), strict=True)
        ],
        axis=axis, starts=starts,
    )


def _zeros(like: Any, shape: tuple[int, ...]) -> Any:
    """Raw zeros of a shape, for an array without a tangent."""
    return zeros_by(shape, raw(like))


@_concat.batching
def batch_concat(*arrays: Any, axis: int, starts: tuple[int, ...]) -> Any:
    return _concat(*arrays, axis=axis + 1, starts=starts)


@_concat.shaping
def shape_concat(*arrays: Any, axis: int, **how: Any) -> Any:
    known = [shape_of(a) for a in arrays if not is_any(a)]
    if not known:
        return None
    lengths = [n for n in (s[axis] for s in known) if n is not None]
    whole = sum(lengths) if len(lengths) == len(arrays) else None
    return merged([(*s[:axis], whole, *s[axis + 1 :]) for s in known], "concat")


@face_of(_concat, "concat")
@whole
def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an existing axis; None flattens them first.

    Raises `ShapeError` if they differ on another axis.

    >>> import numpy as np
    >>> concat([np.array([1.0]), np.array([2.0, 3.0])])
    array([1., 2., 3.])
    """
    parts = [stacked(a) for a in _parts(arrays, "concat")]
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    shapes = [tuple(to_array(a).shape) for a in parts]
    (axis,) = axes_of(axis, len(shapes[0]), "concat")
    rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len({len(shape) for shape in shapes}) > 1 or (
        len(rest) > 1 and None not in {n for shape in rest for n in shape}
    ):
        raise ShapeError(
            "`concat`", f"shapes that differ on axis {axis} only", _listed(shapes)
        )
    lengths = [length_of(part, axis) for part in map(to_array, parts)]
    starts = tuple(accumulate(lengths, initial=0))
    return _concat(*parts, axis=axis, starts=starts)


@op(name="stack")
def _stack(xp: Any, /, *arrays: Any, axis: int) -> Any:
    return xp.stack(arrays, axis=axis)


@_stack.pullback("arrays")
def pullback_stack(g: Any, i: int, *, axis: int) -> Any:
    return g[along(axis, i)]


@_stack.pushforward()
def pushforward_stack(ts: Any, *, axis: int) -> Any:
    some = next(t for t in ts if t is not None)
    shape = tuple(some.shape)
    return _stack(*[_zeros(some, shape) if t is None else t for t in ts], axis=axis)


@_stack.batching
def batch_stack(*arrays: Any, axis: int) -> Any:
    return _stack(*arrays, axis=axis + 1)


@_stack.shaping
def shape_stack(*arrays: Any, axis: int) -> Any:
    known = [shape_of(a) for a in arrays if not is_any(a)]
    if not known:
        return None
    own = merged(known, "stack")
    return (*own[:axis], len(arrays), *own[axis:])


@face_of(_stack, "stack")
@whole
def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
    """Arrays of one shape, stacked along a new axis of the result.

    Raises `ShapeError` if the shapes differ.

    >>> import numpy as np
    >>> stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])], axis=-1)
    array([[1., 3.],
           [2., 4.]])
    """
    parts = [stacked(a) for a in _parts(arrays, "stack")]
    parts = [to_array(a) if isinstance(a, (list, tuple)) else a for a in parts]
    shapes = [tuple(getattr(a, "shape", ())) for a in parts]
    if len(set(shapes)) > 1:
        raise ShapeError("`stack`", "arrays of one shape", _listed(shapes))
    (axis,) = axes_of(axis, len(shapes[0]) + 1, "stack")
    return _stack(*parts, axis=axis)


def _listed(shapes: Sequence[Any]) -> str:
    """The distinct shapes as text, in order of appearance."""
    found = list(dict.fromkeys(shapes))
    return ", ".join(map(str, found[:4])) + (", …" if len(found) > 4 else "")


# Splitting ----------------------------------------------------------------------------------


@known_as(numpy="unstack", torch="unbind(input,dim)")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, as a tuple; the axis is removed.

    >>> import numpy as np
    >>> unstack(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([1., 2.]), array([3., 4.]))
    """
    (axis,) = axes_of(axis, len(x.shape), "unstack")
    if x.shape[axis] is None:
        raise SymbolError(
            "`unstack`", "an axis of known length, because it is the number of results",
            f"shape {tuple(x.shape)}", "use set_shape, or x[i] for single slices",
        )
    return taken_apart(x, axis, range(x.shape[axis]))


@whole
def split(x: Any, sizes: int | Sequence[int], /, *, axis: int = 0) -> tuple[Any, ...]:
    """A tuple of pieces along an axis: `sizes` is a number of equal pieces, or their lengths.

    Raises `ArgumentError` if the lengths do not sum to the length of the axis.

    >>> import numpy as np
    >>> split(np.array([1.0, 2.0, 3.0]), (1, 2))
    (array([1.]), array([2., 3.]))
    """
    (axis,) = axes_of(axis, len(x.shape), "split")
    length = x.shape[axis]
    if isinstance(sizes, int):
        if sizes < 1 or length % sizes:
            raise ArgumentError("argument `sizes` of `split`", f"a divisor of {length}", str(sizes))
        sizes = [length // sizes] * sizes
    ends = list(accumulate(sizes, initial=0))
    if ends[-1] != length or min(sizes, default=0) < 0:
        raise ArgumentError(
            "argument `sizes` of `split`", f"lengths that sum to {length}", str(tuple(sizes))
        )
    return taken_apart(x, axis, [slice(start, end) for start, end in pairwise(ends)])


@whole
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays of a grid, one per vector of coordinates along an axis.

    indexing   "xy": the first vector runs along axis 1, as in an image; "ij": along axis 0
    The results are broadcast views with repeated memory: do not write to them.

    >>> import numpy as np
    >>> [a.shape for a in meshgrid(np.ones(2), np.ones(3))]
    [(3, 2), (3, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError("argument `indexing` of `meshgrid`", "'xy' or 'ij'", repr(indexing))
    rank = len(arrays)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = 1, 0
    spread = []
    for array, place in zip(arrays, places, strict=True):
        shape = [1] * rank
        shape[place] = -1
        spread.append(reshape(array, tuple(shape)))
    return broadcast_arrays(*spread)


# Padding ------------------------------------------------------------------------------------


@op(name="pad", dtype="x")
def _pad(
    xp: Any, x: Any, /, widths: tuple[tuple[int, int], ...], *, constant_values: Any = 0
) -> Any:
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, widths, strict=True))
    out = xp.full(shape, constant_values, dtype=x.dtype)
    return adapters[out.__class__].assign(out, _inside(x.shape, widths), x)


def _inside(shape: Any, widths: Any) -> tuple[slice, ...]:
    """The index of the unpadded part of a padded array."""
    return tuple(slice(before, before + n) for n, (before, _) in zip(shape, widths, strict=True))


@_pad.pullback("x")
def pullback_pad(g: Any, shape: Any, *, widths: Any) -> Any:
    return g[_inside(shape, widths)]


@_pad.pushforward("x")
def pushforward_pad(t: Any, *, widths: Any) -> Any:
    return _pad(t, widths)


@_pad.batching
def batch_pad(x: Any, *, widths: Any, constant_values: Any) -> Any:
    return _pad(x, ((0, 0), *widths), constant_values=constant_values)


@_pad.shaping
def shape_pad(x: Any, *, widths: Any, **how: Any) -> Any:
    own = (None,) * len(widths) if is_any(x) else x.shape
    return tuple([None if n is None else n + sum(w) for n, w in zip(own, widths, strict=True)])


@face_of(_pad)
@whole
def pad(x: Any, pad_width: Any, /, *, constant_values: Any = 0) -> Any:
    """x padded with a constant value before and after it along each axis.

    pad_width   a number for all sides, a pair (before, after) for all axes, or one pair per axis
    Raises `ArgumentError` for negative widths, `ShapeError` for the wrong number of pairs.

    >>> import numpy as np
    >>> pad(np.array([1.0, 2.0]), (1, 0))
    array([0., 1., 2.])
    """
    rank = len(x.shape)
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    given = tuple(pad_width)
    if given and isinstance(given[0], int):
        given = (given,) * rank
    widths = tuple((int(before), int(after)) for before, after in given)
    subject = "argument `pad_width` of `pad`"
    if len(widths) != rank:
        raise ShapeError(subject, f"one pair for each of {rank} axes", f"{len(widths)} pairs")
    if any(width < 0 for pair in widths for width in pair):
        raise ArgumentError(subject, "widths ≥ 0", str(widths), "cut with x[…] instead")
    return _pad(x, widths, constant_values=constant_values)
