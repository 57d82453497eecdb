"""NumPy: which entries of an array the windows of a convolution read, and their copy to columns.

Output o and tap t of an axis meet at the entry `first + step · o + apart · t`; entries outside of
the array are zero. All axes together are a lattice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from .nn import _axis_overlap
from .scratch import Scratch

_Sizes = tuple[int, ...]
_Index = tuple[Any, ...]


class Axis(NamedTuple):
    """Output o and tap t read the entry first + step · o + apart · t; 0 outside of the input."""

    first: int
    apart: int
    taps: int
    step: int
    outs: int

    @property
    def low(self) -> int:
        """The first entry that is read."""
        return self.first + min(0, self.apart * (self.taps - 1))

    @property
    def span(self) -> int:
        """The number of entries from the first to the last one that is read."""
        return abs(self.apart) * (self.taps - 1) + self.step * (self.outs - 1) + 1

    def at(self, first: int) -> Axis:
        """The same reading from another entry on."""
        return Axis(first, *self[1:])

    def of(self, start: int, outs: int) -> Axis:
        """The part with `outs` outputs from `start` on."""
        return Axis(self.first + self.step * start, *self[1:4], outs)


def axes_of(outs: _Sizes, windows: Any) -> tuple[Axis, ...]:
    """How windows, of which there are `outs` on each axis, read an array."""
    return tuple([
        Axis(-before, apart, length, stride, out)
        for out, length, stride, (before, _), apart in zip(outs, *windows, strict=True)
    ])


# Copying rows -----------------------------------------------------------------------------------


class _Rows(dict[int, Any]):
    """Number of bytes -> a dtype of that size; NumPy copies short rows faster as single items."""

    def __missing__(self, size: int) -> Any:
        if len(self) > 1000:
            self.clear()
        self[size] = dtype = numpy.dtype((numpy.void, size))
        return dtype


rows_of = _Rows()


def copy_rows(target: Any, source: Any) -> None:
    """target[...] = source, for arrays of one shape and dtype."""
    size = target.itemsize
    row = target.shape[-1] * size
    if row > size == source.strides[-1] == target.strides[-1] and row < 2048:
        row_dtype = rows_of[row]
        target, source = target.view(row_dtype), source.view(row_dtype)
    target[...] = source


# Columns ----------------------------------------------------------------------------------------


class Padded(NamedTuple):
    """The entries that a lattice reads, zeros included: (examples, channels, *lengths, phases, n).

    Entries of the last axis are ordered by their residue modulo the step (the phase), so that the
    entries that one tap reads are contiguous.
    """

    array: Any
    axes: tuple[Axis, ...]  # how the lattice reads `array`


class _Reading(NamedTuple):
    """How the entries that a lattice reads are copied from the input."""

    inside: bool  # the input has them all in order
    lengths: _Sizes
    copies: tuple[tuple[_Index, _Index], ...]  # index of the copy, index of the input
    complete: bool  # whether there are no zeros
    axes: tuple[Axis, ...]


@lru_cache(maxsize=512)
def _reading(sizes: _Sizes, axes: tuple[Axis, ...]) -> _Reading:
    *others, last = axes
    inside = last.step == 1 and all(
        axis.low >= 0 and axis.low + axis.span <= size
        for axis, size in zip(axes, sizes, strict=True)
    )
    if inside:
        return _Reading(True, (*sizes[:-1], 1, sizes[-1]), (), True, axes)
    pairs, lengths, within = [], [], []
    for axis, size in zip(others, sizes, strict=False):
        thin = axis.taps == 1 and axis.step > 1  # entries between are not read
        length, step = (axis.outs, axis.step) if thin else (axis.span, 1)
        pairs.append(_axis_overlap(size, length, axis.low, step, 0))
        lengths.append(length)
        within.append(Axis(0, 0, 1, 1, axis.outs) if thin else axis.at(axis.first - axis.low))
    n = -(-last.span // last.step)
    within.append(last.at(last.first - last.low))
    copies, complete = [], True
    for phase in sorted({at for *_, at in taps_by_phase(within[-1])}):
        ends = _axis_overlap(sizes[-1], n, last.low + phase, last.step, 0)
        both = [*pairs, ends]
        copies.append((
            (slice(None), slice(None), *(p[1] for p in pairs), phase, ends[1]),
            (slice(None), slice(None), *(p[0] for p in both)),
        ))
        parts = zip(both, (*lengths, n), strict=True)
        complete &= all(at.stop - at.start == length for (_, at), length in parts)
    shape = (*lengths, last.step, n)
    return _Reading(False, shape, tuple(copies), complete, tuple(within))


def pad(x: Any, axes: tuple[Axis, ...], scratch: Scratch) -> Padded:
    """The entries of x that are read; x itself if it has them all in order."""
    reading = _reading(x.shape[2:], axes)
    if reading.inside:
        if not x.flags.c_contiguous:
            x = scratch.copy(x)
        return Padded(x.reshape(*x.shape[:2], *reading.lengths), axes)
    made = scratch.take((*x.shape[:2], *reading.lengths), x.dtype)
    if not reading.complete:
        made.fill(0)
    for at, at_x in reading.copies:
        copy_rows(made[at], x[at_x])
    return Padded(made, reading.axes)


def taps_by_phase(axis: Axis) -> Iterator[tuple[int, int, int, int]]:
    """The taps by phase: (first tap, distance of taps, number, phase)."""
    every = axis.step // math.gcd(axis.step, axis.apart) if axis.apart else 1
    for t in range(min(every, axis.taps)):
        yield t, every, len(range(t, axis.taps, every)), (axis.first + axis.apart * t) % axis.step


def columns_of(padded: Padded, groups: int, together: int, scratch: Scratch) -> Any:
    """(blocks, groups, *taps, channels of a group, outputs of axis 0, together, *other outputs).

    `together` examples are in one matrix.
    """
    array, axes = padded
    n, channels = array.shape[:2]
    size, last = array.itemsize, axes[-1]
    outs = tuple([a.outs for a in axes])
    shape = (n // together, groups, *(a.taps for a in axes), channels // groups,
             outs[0], together, *outs[1:])
    only = all(a.taps == 1 for a in axes) and together == 1
    if only and all(a.step == 1 for a in axes):
        at = [slice(a.first, a.first + a.outs) for a in axes]
        found = array[(slice(None), slice(None), *at[:-1], 0, at[-1])]
        if found.flags.c_contiguous or len(axes) == 1:
            return found.reshape(shape)
    made = scratch.take(shape, array.dtype)
    strides = array.strides
    outer = strides[2 : 1 + len(axes)]  # of all axes but the last
    row = rows_of[last.outs * size]
    target = made.view(row)[..., 0]
    begin = sum(a.first * s for a, s in zip(axes[:-1], outer, strict=True))
    taps = [a.apart * s for a, s in zip(axes[:-1], outer, strict=True)]
    places = [a.step * s for a, s in zip(axes[:-1], outer, strict=True)]
    lead = (strides[0] * together, strides[1] * (channels // groups))
    for t, every, _, phase in taps_by_phase(last):
        start = (last.first + last.apart * t - phase) // last.step
        part = target[(*(slice(None),) * (2 + len(taps)), slice(t, None, every))]
        source: Any = numpy.ndarray(
            part.shape, row, array, begin + phase * strides[-2] + start * size,
            (*lead, *taps, last.apart * every // last.step * size, strides[1], *places[:1],
             strides[0], *places[1:]),
        )
        part[...] = source
    return made
