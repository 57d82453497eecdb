"""NumPy: convolutions as matrix products, in blocks, with scratch memory that each thread reuses.

A convolution and its two adjoints are written with one reading of the input, a lattice
(`lattices`). The adjoint in the input is one such reading of the cotangent for each residue of the
input's index modulo the stride.

A block of the input is copied to columns, one row for each tap and channel, and multiplied by the
weights. If the columns of all taps would be large, those of the first axis are not copied: the
columns contain whole lines, and the matrix of a tap of the first axis is a view that begins some
lines later. This needs one product for each of these taps, and a third of the copies for a window
of 3 × 3. It is the idea of "MEC: memory-efficient convolution" (Cho and Brand, ICML 2017), with
channels before lines, so that large images need no transposition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
from numpy import matmul

from .borrowed import borrowing
from .lattices import Axis, Padded, axes_of, columns_of, copy_rows, pad, rows_of, taps_by_phase
from .nn import _taps
from .scratch import Scratch

_Sizes = tuple[int, ...]

_BLOCK = 1 << 19
"""The number of entries of a block's columns, so that they stay in the cache."""

_LARGE = 1 << 19
"""From this many bytes on, the memory of a result is pooled."""

_NARROW = 64
"""The number of columns below which a product contains several examples."""


class _Plan(NamedTuple):
    """How a convolution is divided into products."""

    lines: bool  # whether the taps of axis 0 are views
    together: int  # examples in one matrix
    blocks: int  # matrices of a block
    rows: int  # outputs on axis 0


def _plan(n: int, channels: int, outputs: int, axes: tuple[Axis, ...], least: int) -> _Plan:
    """The division for so many examples, and channels and outputs of a group."""
    first, inner = axes[0], math.prod(a.taps for a in axes[1:])
    rest = math.prod(a.outs for a in axes[1:])
    lines = first.taps > 1 and inner * channels * 3 >= outputs * 2
    more = abs(first.apart) * (first.taps - 1) // first.step if lines else 0
    per_line = inner * channels * rest * (1 if lines else first.taps)
    columns = first.outs * rest
    together = 1 if columns >= least else min(n, -(-least // columns))
    size = per_line * (first.outs + more) * together
    rows = first.outs
    if size > _BLOCK and together == 1:
        rows = min(rows, max(_BLOCK // per_line - more, 2 * more, 1))
    return _Plan(lines, together, max(1, _BLOCK // size), rows)


def _blocks(n: int, plan: _Plan) -> Iterator[tuple[slice, int]]:
    """(the examples of a block, examples in one matrix)."""
    step, start = plan.together * plan.blocks, 0
    while n - start >= plan.together:
        many = min(step, (n - start) // plan.together * plan.together)
        yield slice(start, start + many), plan.together
        start += many
    if start < n:
        yield slice(start, n), n - start


def _parts(
    n: int, axes: tuple[Axis, ...], plan: _Plan
) -> Iterator[tuple[slice, int, slice, tuple[Axis, ...]]]:
    """(examples, examples in one matrix, outputs on axis 0, axes) of each block."""
    outs = axes[0].outs
    for examples, together in _blocks(n, plan):
        for start in range(0, outs, plan.rows):
            rows = min(plan.rows, outs - start)
            part = (axes[0].of(start, rows), *axes[1:])
            yield examples, together, slice(start, start + rows), part


def _matrices(
    x: Any, axes: tuple[Axis, ...], groups: int, together: int, lines: bool, scratch: Scratch
) -> Iterator[tuple[Any, Any]]:
    """(taps of axis 0, matrices): matrices of shape (blocks, groups, channels · taps, columns)."""
    padded = pad(x, axes, scratch)
    shape = (len(x) // together, groups, -1, together * math.prod(a.outs for a in axes))
    if not lines:
        yield slice(None), columns_of(padded, groups, together, scratch).reshape(shape)
        return
    first, *others = padded.axes
    before = (slice(None),) * (4 + len(others))
    for t, every, count, _ in taps_by_phase(first):
        unit = first.apart * every // first.step
        low = first.first + first.apart * (t if unit >= 0 else t + every * (count - 1))
        more = abs(unit) * (count - 1)
        whole = Axis(low, 0, 1, first.step, first.outs + more)
        columns = columns_of(Padded(padded.array, (whole, *others)), groups, together, scratch)
        for i in range(count):
            start = unit * i if unit >= 0 else more + unit * i
            yield t + every * i, columns[(*before, slice(start, start + first.outs))].reshape(shape)


def _correlate(x: Any, w: Any, axes: tuple[Axis, ...], out: Any) -> None:
    """Writes Σ w · x to out, for w of shape (groups, outputs of a group, channels of it, …)."""
    if len(axes) == 1:
        axes = (Axis(0, 0, 1, 1, 1), *axes)
        x, w, out = (numpy.expand_dims(a, -2) for a in (x, w, out))
    groups, outputs, channels = w.shape[:3]
    flat = outputs * channels <= 4 and all(a.step == 1 for a in axes)
    for some in _groups_at_once(groups, channels * math.prod(a.taps * a.outs for a in axes)):
        few = x[:, some.start * channels : some.stop * channels]
        part = out[:, some.start * outputs : some.stop * outputs]
        (_correlate_flat if flat else _correlate_groups)(few, w[some], axes, part)


def _groups_at_once(groups: int, size: int) -> Iterator[slice]:
    """Ranges of groups whose columns, of `size` entries each, fit into a block."""
    step = max(1, _BLOCK // size)
    return (slice(i, min(i + step, groups)) for i in range(0, groups, step))


def _correlate_flat(x: Any, w: Any, axes: tuple[Axis, ...], out: Any) -> None:
    """`_correlate` for few channels in a group and steps of 1.

    The outputs of an example and channel are one long row, in which the entries between two lines
    of the output are computed, too, and not used.
    """
    groups, outputs, channels = w.shape[:3]
    weights = numpy.moveaxis(w, 2, -1).reshape(groups, outputs, -1)
    lengths = tuple([a.outs for a in axes])
    many = max(1, _BLOCK // (x.shape[1] * math.prod(a.taps * (a.outs + 2) for a in axes)))
    for start in range(0, len(x), many):
        with Scratch() as scratch:
            padded = pad(x[start : start + many], axes, scratch)
            array = padded.array.reshape(*padded.array.shape[:-2], -1)
            size, strides = array.itemsize, array.strides
            inner = [s // size for s in strides[2:]]
            length = 1 + sum((n - 1) * s for n, s in zip(lengths, inner, strict=True))
            columns = scratch.take(
                (len(array), groups, *(a.taps for a in axes), channels, length), array.dtype
            )
            row = rows_of[length * size]
            target = columns.view(row)[..., 0]
            begin = sum(a.first * s for a, s in zip(padded.axes, strides[2:], strict=True))
            target[...] = numpy.ndarray(
                target.shape, row, array, begin,
                (strides[0], strides[1] * channels,
                 *(a.apart * s for a, s in zip(padded.axes, strides[2:], strict=True)), strides[1]),
            )
            whole = (lengths[0], *array.shape[3:])
            total = scratch.take((len(array), groups, outputs, math.prod(whole)), array.dtype)
            matrix = columns.reshape(len(array), groups, -1, length)
            matmul(weights, matrix, out=total[..., :length])
            total = total.reshape(len(array), groups * outputs, *whole)
            copy_rows(out[start : start + many], total[(..., *map(slice, lengths))])


def _correlate_groups(x: Any, w: Any, axes: tuple[Axis, ...], out: Any) -> None:
    groups, outputs, channels = w.shape[:3]
    plan = _plan(len(x), channels * groups, outputs * groups, axes, _NARROW)
    weights = numpy.moveaxis(w, 2, -1)
    every = range(axes[0].taps) if plan.lines else [slice(None)]
    table = [weights[:, :, t].reshape(groups, outputs, -1) for t in every]
    whole = out.flags.c_contiguous
    for examples, together, rows, part in _parts(len(x), axes, plan):
        target = out[examples, :, rows]
        lengths = target.shape[2:]
        shape = (len(target) // together, groups, outputs, together * math.prod(lengths))
        with Scratch() as scratch:
            direct = whole and together == 1
            total = target.reshape(shape) if direct else scratch.take(shape, out.dtype)
            found = _matrices(x[examples], part, groups, together, plan.lines, scratch)
            pairs = [(table[tap if plan.lines else 0], matrix) for tap, matrix in found]
            _sum_of_products(pairs, total, scratch)
            if not direct:
                made = total.reshape(shape[0], -1, lengths[0], together, *lengths[1:])
                parted = target.reshape(shape[0], together, *target.shape[1:])
                copy_rows(parted, numpy.moveaxis(made, 3, 1))


_PIECE = 1 << 17
"""The number of entries of a sum of products that are computed at a time."""


def _sum_of_products(pairs: list[tuple[Any, Any]], total: Any, scratch: Scratch) -> None:
    """total[...] = Σ matmul(one, two), in pieces that stay in the cache."""
    (one, two), *others = pairs
    if not others:
        matmul(one, two, out=total)
        return
    m, *sizes, n = total.shape
    each = math.prod(sizes)
    columns = min(n, max(128, -(-_PIECE // each)))
    step = max(1, _PIECE // (each * n))
    memory = scratch.take((min(m, step), *sizes, columns), total.dtype)
    for i in range(0, m, step):
        for j in range(0, n, columns):
            at = (slice(i, i + step), ..., slice(j, j + columns))
            part = total[at]
            matmul(one, two[at], out=part)
            more = memory[: len(part), ..., : part.shape[-1]]
            for weight, matrix in others:
                part += matmul(weight, matrix[at], out=more)


def convolution(x: Any, w: Any, windows: Any, groups: int) -> Any:
    """Each entry of the output is the product of w and a window of x."""
    if w.shape[2:] != tuple(windows.lengths):
        raise ValueError(f"weights of windows {tuple(windows.lengths)}, not {w.shape[2:]}")
    outs = windows.outs(x.shape[2:])
    x, w, dtype = _matched(x, w)
    if not (x.size and w.size and math.prod(outs)):
        return numpy.zeros((len(x), len(w), *outs), dtype)
    out = _empty((len(x), len(w), *outs), dtype)
    _correlate(x, _grouped(w, groups), axes_of(outs, windows), out)
    return out


def _matched(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Two plain arrays of their common dtype, and the dtype."""
    dtype = numpy.result_type(x, y)
    return numpy.asarray(x, dtype), numpy.asarray(y, dtype), dtype


def _empty(shape: _Sizes, dtype: Any) -> Any:
    """Memory for a result: a block of the pool if it is large."""
    if math.prod(shape) * dtype.itemsize < _LARGE:
        return numpy.empty(shape, dtype)
    from .large import POOL  # needs threads, so it is imported on first use

    return POOL.empty(shape, dtype)


def _grouped(w: Any, groups: int) -> Any:
    """(groups, outputs of a group, channels of a group, …)."""
    return w.reshape(groups, len(w) // groups, *w.shape[1:])


def convolution_weight_adjoint(g: Any, x: Any, windows: Any, groups: int) -> Any:
    """Σ over examples and places of g times the window of x."""
    g, x, dtype = _matched(g, x)
    outputs, channels = g.shape[1] // groups, x.shape[1] // groups
    shape = (g.shape[1], channels, *windows.lengths)
    if not (g.size and x.size and math.prod(shape)):
        return numpy.zeros(shape, dtype)
    axes = axes_of(g.shape[2:], windows)
    if len(axes) == 1:
        axes = (Axis(0, 0, 1, 1, 1), *axes)
        g, x = numpy.expand_dims(g, -2), numpy.expand_dims(x, -2)
    total = numpy.zeros((groups, outputs, *(a.taps for a in axes), channels), dtype)
    for some in _groups_at_once(groups, channels * math.prod(a.taps * a.outs for a in axes)):
        few = g[:, some.start * outputs : some.stop * outputs]
        _add_products(few, x[:, some.start * channels : some.stop * channels], axes, total[some])
    return numpy.ascontiguousarray(numpy.moveaxis(total, -1, 2)).reshape(shape)


def _add_products(g: Any, x: Any, axes: tuple[Axis, ...], total: Any) -> None:
    """Adds Σ g · x to the weights `total`: (groups, outputs of a group, *taps, channels)."""
    groups, outputs, *_, channels = total.shape
    plan = _plan(len(x), channels * groups, outputs * groups, axes, 4 * _NARROW)
    for examples, together, rows, part in _parts(len(x), axes, plan):
        with Scratch() as scratch:
            left = _left_columns(g[examples, :, rows], groups, together, scratch)
            for tap, matrix in _matrices(x[examples], part, groups, together, plan.lines, scratch):
                target = total[:, :, tap]
                one = matmul(left, matrix.swapaxes(-1, -2))
                one = one[0] if len(one) == 1 else one.sum(axis=0)
                target += one.reshape(target.shape)


def _left_columns(g: Any, groups: int, together: int, scratch: Scratch) -> Any:
    """(blocks, groups, outputs of a group, columns)."""
    n, outputs, *outs = g.shape
    shape = (n // together, groups, outputs // groups, together * math.prod(outs))
    if together == 1:
        return g.reshape(shape)
    made = scratch.take((n // together, outputs, outs[0], together, *outs[1:]), g.dtype)
    parted = g.reshape(n // together, together, outputs, *outs)
    copy_rows(made, numpy.moveaxis(parted, 1, 3))
    return made.reshape(shape)


def convolution_input_adjoint(g: Any, w: Any, windows: Any, sizes: _Sizes, groups: int) -> Any:
    """Adds each entry of g times w at its window."""
    g, w, dtype = _matched(g, w)
    shape = (len(g), groups * w.shape[1], *sizes)
    if not (g.size and w.size and math.prod(shape)):
        return numpy.zeros(shape, dtype)
    if w.shape[1] < 4 <= len(w) // groups:
        return _scattered(g, w, windows, sizes, groups)
    total = _empty(shape, dtype)
    lattices = [
        [_residue(r, size, *how) for r in range(min(how[1], size))]
        for size, *how in zip(sizes, *windows, strict=True)
    ]
    weights = _grouped(w, groups).swapaxes(1, 2)
    for residues in itertools.product(*lattices):
        at = (..., *(r.places for r in residues))
        axes = tuple([r.axis for r in residues])
        if all(a.taps for a in axes):
            _correlate(g, weights[(..., *(r.taps for r in residues))], axes, total[at])
        else:
            total[at] = 0
    return total


def _scattered(g: Any, w: Any, windows: Any, sizes: _Sizes, groups: int) -> Any:
    """The products of all taps, added at their places: fewer copies where the result has few
    channels.
    """
    outs, channels = g.shape[2:], w.shape[1]
    total = _empty((len(g), groups * channels, *sizes), g.dtype)
    total.fill(0)
    taps = list(_taps(sizes, outs, windows))
    weights = _grouped(w, groups).reshape(groups, len(w) // groups, -1).swapaxes(1, 2)
    many = max(1, _BLOCK // (weights.shape[1] * groups * math.prod(outs)))
    for start in range(0, len(g), many):
        target = total[start : start + many]
        with Scratch() as scratch:
            left = g[start : start + many].reshape(len(target), groups, -1, math.prod(outs))
            products = scratch.take((*left.shape[:2], weights.shape[1], left.shape[-1]), g.dtype)
            matmul(weights, left, out=products)
            products = products.reshape(len(target), groups * channels, *windows.lengths, *outs)
            for position, at_x, at_out in taps:
                target[at_x] += products[(slice(None), slice(None), *position)][at_out]
    return total


class _Residue(NamedTuple):
    """The input's entries with one residue modulo the stride, on one axis."""

    places: slice
    taps: slice  # that meet these entries
    axis: Axis  # how they read the cotangent


def _residue(
    r: int, size: int, length: int, stride: int, ends: tuple[int, int], apart: int
) -> _Residue:
    """Entry r + stride · j meets output j + (r + before - apart · tap) / stride."""
    places, outs = slice(r, None, stride), -(-(size - r) // stride)
    every = stride // math.gcd(stride, apart)
    taps = range(length)[_first_tap(r + ends[0], stride, apart, length) :: every]
    if not taps:
        return _Residue(places, slice(0, 0), Axis(0, 0, 0, 1, outs))
    axis = Axis((r + ends[0] - taps[0] * apart) // stride, -(every * apart // stride),
                 len(taps), 1, outs)
    return _Residue(places, slice(taps[0], None, every), axis)


def _first_tap(shift: int, stride: int, apart: int, length: int) -> int:
    """The first tap with (shift - apart · tap) divisible by the stride; `length` for none."""
    taps = range(min(stride, length))
    return next((k for k in taps if (shift - k * apart) % stride == 0), length)


KERNELS: dict[str, Callable[..., Any]] = {
    f.__name__: borrowing(f)
    for f in (convolution, convolution_input_adjoint, convolution_weight_adjoint)
}
