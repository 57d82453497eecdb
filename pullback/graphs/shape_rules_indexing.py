"""Shapes of what is read from arrays: indices, positions, windows."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays.symbol import AnyShape, Symbol
from ..errors import PositionError
from .shape_rules import LIKE, RULES, TRY, axes_of, is_any, rule, shape_of
from .spaces import broadcast


@rule("getitem", "take_last", same=True)
def getitem(x: Symbol, /, *, index: Any) -> Any:
    """What an index leaves: of each part of it its own, and of the axes it does not name."""
    if is_any(x):
        return None
    parts = index if index.__class__ is tuple else (index,)
    if any(is_any(p) for p in parts):
        return None
    own = tuple(x.shape)
    used = sum(map(_uses, parts))
    if used > len(own):
        raise PositionError(
            "`getitem`", f"an index for {len(own)} axes", f"one for {used}: {index!r}"
        )
    rest = len(own) - used
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    return _Reader(own, rest).read(parts)


@rule("set_at", "add_at", same=True)
def set_at(x: Symbol, value: Any, /, *, index: Any) -> Any:
    """The first argument's, if the value fits what the index leaves of it."""
    if is_any(x, value):
        return x.shape
    region, own = getitem(x, index=index), shape_of(value)
    while region is not None and len(own) > len(region) and own[0] == 1:
        own = own[1:]  # axes of length 1 that the region has not
    if region is not None:
        if len(own) > len(region):
            return x.shape if None in own else TRY
        both = broadcast([own, region], "set_at")
        if any(n != m and None not in (n, m) for n, m in zip(both, region, strict=True)):
            return TRY
    return x.shape


def _uses(part: Any) -> int:
    """How many axes a part of an index names."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return hasattr(part, "dtype") and "bool" in str(part.dtype)


class _Reader:
    """Goes along the axes of a shape with the parts of an index."""

    def __init__(self, own: tuple[int | None, ...], rest: int) -> None:
        self.own, self.rest = own, rest
        self.at = 0
        self.out: list[int | None] = []
        self.arrays: list[tuple[int | None, ...]] = []  # the shapes of the positions
        self.places: list[int] = []  # where in the index they stand
        self.front = 0  # where in the result they come

    def read(self, parts: Any) -> tuple[int | None, ...]:
        """The shape."""
        for number, part in enumerate(parts):
            if part is None:
                self.out.append(1)
            elif part is Ellipsis:
                self.out += self.own[self.at : self.at + self.rest]
                self.at += self.rest
            elif isinstance(part, slice):
                self.out.append(_cut(self.own[self.at], part))
                self.at += 1
            else:
                self._position(part, number)
        if not any(self.arrays) and not any(map(_has_axes, parts)):
            return tuple(self.out)
        lengths = broadcast(self.arrays, "getitem")
        apart = any(b - a > 1 for a, b in zip(self.places, self.places[1:], strict=False))
        place = 0 if apart else self.front
        return (*self.out[:place], *lengths, *self.out[place:])

    def _position(self, part: Any, number: int) -> None:
        if not self.places:
            self.front = len(self.out)
        self.places.append(number)
        if isinstance(part, bool):
            self.arrays.append((int(part),))
        elif _is_mask(part):
            self._check_mask(part)
            self.arrays.append((_count(part),))
            self.at += len(part.shape)
        else:
            if isinstance(part, int):
                _check(part, self.own[self.at], self.at)
            self.arrays.append(tuple(getattr(part, "shape", ())))
            self.at += 1

    def _check_mask(self, part: Any) -> None:
        own = self.own[self.at : self.at + len(part.shape)]
        pairs = zip(own, part.shape, strict=True)
        if any(n != m and None not in (n, m) for n, m in pairs):
            raise PositionError(
                "`getitem`", f"an index that fits shape {list(self.own)}",
                f"a mask of shape {list(part.shape)}",
            )


def _has_axes(part: Any) -> bool:
    """Whether a part makes an axis of its own, be it one of a single entry."""
    return isinstance(part, bool) or _is_mask(part)


def _count(mask: Any) -> int | None:
    """How many entries a mask takes."""
    value = mask.operation.value if mask.__class__ is Symbol else mask
    return None if value is None else int(numpy.count_nonzero(numpy.asarray(value)))


def _check(position: int, length: int | None, axis: int) -> None:
    if length is not None and not -length <= position < length:
        raise PositionError(
            "`getitem`", f"a position below {length} on axis {axis}", str(position)
        )


def _cut(length: int | None, part: slice) -> int | None:
    """How many entries a slice takes."""
    bounds = (part.start, part.stop, part.step)
    if length is None or any(b is not None and not isinstance(b, int) for b in bounds):
        return None
    return len(range(*part.indices(length)))


@rule("take", same=True)
def take(x: Symbol, indices: Any, /, *, axis: Any = None) -> Any:
    """The positions' shape in the place of an axis."""
    if is_any(x, indices) or not hasattr(indices, "shape"):
        return None if is_any(x, indices) else TRY
    own = tuple(x.shape)
    (axis,) = axes_of(0 if axis is None else axis, len(own), "take")
    return (*own[:axis], *indices.shape, *own[axis + 1 :])


@rule("searchsorted")
def searchsorted(x1: Any, x2: Any, /, **attrs: Any) -> Any:
    """As many as there are to find."""
    return x2.shape if x2.__class__ is Symbol else ()



@rule("take_view", same=True)
def take_view(x: Symbol, /, *, steps: Any) -> Any:
    """What the steps make of it, one after the other."""
    for step, attrs in steps:
        shape = RULES[step.name](x, **{k: v for k, v in attrs.items() if k != "copy"})
        if shape is TRY:
            return TRY
        x = Symbol(x.operation, x.index, x.kind, shape, x.dtype)
    return None if is_any(x) else tuple(x.shape)


# Windows ------------------------------------------------------------------------------------


def _many(windows: Any, sizes: Any) -> tuple[int | None, ...]:
    """How many windows lie on each axis."""
    known = windows.outs(tuple([1 if n is None else n for n in sizes]))
    return tuple([None if n is None else m for n, m in zip(sizes, known, strict=True)])


@rule("convolution")
def convolution(x: Symbol, w: Symbol, /, *, windows: Any, groups: int) -> Any:
    """Examples, the channels of the weights, and windows."""
    if is_any(x):
        return None
    channels = None if is_any(w) else w.shape[0]
    return (x.shape[0], channels, *_many(windows, tuple(x.shape)[2:]))


@rule("convolution_input_adjoint")
def convolution_input_adjoint(
    y: Symbol, w: Symbol, /, *, windows: Any, sizes: Any, groups: int
) -> Any:
    """Examples, the channels that the weights read, and the sizes asked for."""
    if is_any(y, w):
        return None
    channels = None if w.shape[1] is None else w.shape[1] * groups
    return (y.shape[0], channels, *map(_size, sizes))


def _size(n: Any) -> int | None:
    return n if isinstance(n, int) else None


@rule("convolution_weight_adjoint")
def convolution_weight_adjoint(
    y: Symbol, x: Symbol, /, *, windows: Any, groups: int
) -> Any:
    """The channels of both, and the windows' lengths."""
    if is_any(y, x):
        return None
    channels = None if x.shape[1] is None else x.shape[1] // groups
    return (y.shape[1], channels, *windows.lengths)


@rule("max_pool", "sum_pool", same=True)
def pool(x: Symbol, /, *, windows: Any) -> Any:
    """Examples, channels, and windows."""
    return None if is_any(x) else (*tuple(x.shape)[:2], *_many(windows, tuple(x.shape)[2:]))


@rule("sum_pool_adjoint", same=True)
def sum_pool_adjoint(y: Symbol, /, *, windows: Any, sizes: Any) -> Any:
    """Examples, channels, and the sizes asked for."""
    return None if is_any(y) else (*tuple(y.shape)[:2], *map(_size, sizes))


@rule("max_pool_scatter", same=True)
def max_pool_scatter(y: Symbol, x: Symbol, largest: Any, /, **attrs: Any) -> Any:
    """That of what was pooled."""
    return x.shape


@rule("max_pool_gather", same=True)
def max_pool_gather(y: Symbol, x: Symbol, largest: Symbol, /, **attrs: Any) -> Any:
    """That of what pooling gave."""
    return largest.shape if isinstance(largest.shape, AnyShape) else tuple(largest.shape)


for _name in ("convolution", "convolution_input_adjoint", "convolution_weight_adjoint"):
    LIKE[_name] = ("multiply", 2)
