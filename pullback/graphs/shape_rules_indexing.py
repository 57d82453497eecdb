"""Shapes of what is read from arrays: by indices, at positions, in windows."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays.symbol import Symbol, may_be
from ..errors import PositionError
from .shape_rules import (
    UndecidedError,
    axes_of,
    broadcast,
    is_any,
    rule,
    shape_of,
    shapes,
)


@rule("getitem", "take_last", same_dtype=True)
def getitem(subject: str, x: Symbol, /, *, index: Any) -> Any:
    """One entry per axis that slices keep; the broadcast shape of positions replaces theirs.

    It stands where the positions stand if they are adjacent, else in front.
    """
    parts = index if index.__class__ is tuple else (index,)
    if is_any(*parts):
        return None
    own, out = shape_of(x), list[int | None]()
    rest = len(own) - sum(map(_axes_used, parts))
    if rest < 0:
        raise PositionError(f"`{subject}`", f"an index for {len(own)} axes", f"{index!r}")
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    positions: dict[int, tuple[int | None, ...]] = {}  # place in the index -> shape
    front = 0  # how many axes of the result come before the positions
    for place, part in enumerate(parts):
        used = rest if part is Ellipsis else _axes_used(part)
        here, own = own[:used], own[used:]
        if part is None:
            out.append(1)
        elif part is Ellipsis:
            out += here
        elif isinstance(part, slice):
            out.append(_cut(here[0], part))
        else:
            front = front if positions else len(out)
            positions[place] = _positions(part, here, subject)
    if not positions:
        return tuple(out)
    if max(positions) - min(positions) >= len(positions):
        front = 0
    return (*out[:front], *broadcast(list(positions.values()), subject), *out[front:])


def _axes_used(part: Any) -> int:
    """The number of axes that a part of an index reads."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return hasattr(part, "dtype") and "bool" in str(part.dtype)


def _cut(length: int | None, part: slice) -> int | None:
    """The number of entries in a slice."""
    bounds = (part.start, part.stop, part.step)
    if all(b is None for b in bounds):
        return length
    if length is None or any(b is not None and not isinstance(b, int) for b in bounds):
        return None
    return len(range(*part.indices(length)))


def _positions(part: Any, lengths: Any, subject: str) -> tuple[int | None, ...]:
    """The shape of positions on axes of some lengths; a mask has as many as entries are True."""
    if isinstance(part, bool):
        return (int(part),)
    if _is_mask(part):
        if not may_be(lengths, tuple(part.shape)):
            raise PositionError(f"`{subject}`", f"a mask of shape {list(lengths)}",
                                f"one of shape {list(part.shape)}")
        mask = part.operation.value if part.__class__ is Symbol else part
        return (None if mask is None else int(numpy.count_nonzero(numpy.asarray(mask))),)
    (length,) = lengths
    if isinstance(part, int) and length is not None and not -length <= part < length:
        raise PositionError(f"`{subject}`", f"an index in [-{length}, {length})", str(part))
    return tuple(getattr(part, "shape", ()))


@rule("set_at", "add_at", rankless=True, same_dtype=True)
def set_at(subject: str, x: Symbol, value: Any, /, *, index: Any) -> Any:
    """The shape of the first argument, if the value broadcasts to the indexed part."""
    if is_any(x, value) or (region := getitem(subject, x, index=index)) is None:
        return x.shape
    own = shape_of(value)
    while len(own) > len(region) and own[0] in (1, None):
        own = own[1:]
    if len(own) > len(region) or not may_be(broadcast([own, region], subject), region):
        raise UndecidedError
    return x.shape


@rule("take", same_dtype=True)
def take(subject: str, x: Symbol, indices: Any, /, *, axis: Any = None) -> Any:
    """The shape of the indices in place of an axis."""
    if not hasattr(indices, "shape"):
        raise UndecidedError
    own = shape_of(x)
    (axis,) = axes_of(axis or 0, len(own), subject)
    return (*own[:axis], *indices.shape, *own[axis + 1 :])


@rule("take_view", same_dtype=True)
def take_view(subject: str, x: Symbol, /, *, steps: Any) -> Any:
    """The shape after the steps, one after the other."""
    for step, attrs in steps:
        found = shapes(step, (x,), attrs)
        if found is None:
            raise UndecidedError
        x = Symbol(x.operation, x.index, x.kind, found[0], x.dtype)
    return None if is_any(x) else tuple(x.shape)


# Windows ------------------------------------------------------------------------------------


def _counts(windows: Any, x: Symbol) -> tuple[int | None, ...]:
    """The number of windows on each axis after examples and channels."""
    sizes = tuple(x.shape)[2:]
    counts = windows.outs(tuple([1 if n is None else n for n in sizes]))
    return tuple([None if n is None else m for n, m in zip(sizes, counts, strict=True)])


def _sizes(sizes: Any) -> tuple[int | None, ...]:
    return tuple([n if isinstance(n, int) else None for n in sizes])


@rule("convolution", like=("multiply", 2))
def convolution(subject: str, x: Symbol, w: Symbol, /, *, windows: Any, groups: int) -> Any:
    """Examples, the channels of the weights, and windows."""
    return (x.shape[0], w.shape[0], *_counts(windows, x))


@rule("convolution_input_adjoint", like=("multiply", 2))
def convolution_input_adjoint(
    subject: str, y: Symbol, w: Symbol, /, *, windows: Any, sizes: Any, groups: int
) -> Any:
    """Examples, the channels that the weights read, and the requested sizes."""
    channels = None if w.shape[1] is None else w.shape[1] * groups
    return (y.shape[0], channels, *_sizes(sizes))


@rule("convolution_weight_adjoint", like=("multiply", 2))
def convolution_weight_adjoint(
    subject: str, y: Symbol, x: Symbol, /, *, windows: Any, groups: int
) -> Any:
    """The channels of both, and the lengths of a window."""
    channels = None if x.shape[1] is None else x.shape[1] // groups
    return (y.shape[1], channels, *windows.lengths)


@rule("max_pool", "sum_pool", same_dtype=True)
def pool(subject: str, x: Symbol, /, *, windows: Any) -> Any:
    """Examples, channels, and windows."""
    return (*tuple(x.shape)[:2], *_counts(windows, x))


@rule("sum_pool_adjoint", same_dtype=True)
def sum_pool_adjoint(subject: str, y: Symbol, /, *, windows: Any, sizes: Any) -> Any:
    """Examples, channels, and the requested sizes."""
    return (*tuple(y.shape)[:2], *_sizes(sizes))


@rule("max_pool_gather", rankless=True, same_dtype=True)
def max_pool_gather(subject: str, y: Symbol, x: Symbol, largest: Symbol, /, **attrs: Any) -> Any:
    """The shape of the positions of the maxima."""
    return largest.shape
