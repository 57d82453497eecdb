"""Several elementwise steps on large arrays, block by block, in cache.

The same kernels run in the same order on slices, so each entry gets the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .second_thread import begin

_BLOCK = 1 << 18
"""Bytes of one array in a block: a few such arrays fit into a core's cache."""

Step = Callable[[list[Any], tuple[int, ...]], Sequence[Any]]


def in_blocks(
    arrays: Sequence[Any], shape: tuple[int, ...], make: Callable[[], Step], empty: Any
) -> list[Any] | None:
    """Results of an elementwise computation, or None where it is to be done as a whole.

    arrays  what it reads: ndarrays that broadcast to `shape`, and numbers
    make    () -> the computation, once for each thread: it takes the parts of the arrays and the
            shape of a block, and returns a part of each result, or None for a result that there
            never is
    empty   (shape, dtype) -> memory for a result
    A part that is returned as it came stands for the whole array. Whatever goes wrong (also a
    floating-point error that the user's `numpy.errstate` does not ignore) gives None: the caller
    computes as a whole, so that errors and warnings are those of that.
    """
    cut = _cut(arrays, shape)
    if cut is None:
        return None
    settings: Any = {
        k: "ignore" if v == "ignore" else "raise" for k, v in numpy.geterr().items()
    }
    try:
        with numpy.errstate(**settings):
            return _computed(cut, make, empty)
    except Exception:
        return None


def straight_line(
    calls: Sequence[tuple[Any, Sequence[int], Any]], wanted: Sequence[int],
    kernel_for: Callable[..., Any],
) -> Step:
    """A computation for `in_blocks`, for one thread: calls one after the other.

    calls       an operation each, the places of its arguments, its attributes; the values' places
                are those of the parts and, behind them, of the results
    wanted      the places of the values that are returned
    kernel_for  (operation, values, attributes) -> the function that computes it
    From the second block on, the results of ufuncs are written over values that are used no more.
    """
    prepared: list[tuple[Any, Sequence[int], Any, Any]] = []

    def step(parts: list[Any], shape: tuple[int, ...]) -> list[Any]:
        values = list(parts)
        if not prepared:
            kernels = []
            for op, places, attrs in calls:
                given = [values[i] for i in places]
                kernels.append(kernel_for(op, given, attrs))
                values.append(kernels[-1](*given, **attrs))
            prepared.extend(_prepared(calls, kernels, values, wanted, shape))
            return [values[i] for i in wanted]
        count = shape[0]
        for kernel, places, attrs, room in prepared:
            given = [values[i] for i in places]
            if room is None:
                values.append(kernel(*given, **attrs))
            else:
                values.append(kernel(*given, out=room[:count]))
        return [values[i] for i in wanted]

    return step


def _prepared(
    calls: Sequence[Any], kernels: Sequence[Any], values: list[Any], wanted: Sequence[int],
    shape: tuple[int, ...],
) -> list[tuple[Any, Sequence[int], Any, Any]]:
    """The calls with memory for their results: None for a kernel that allocates its own."""
    first = len(values) - len(calls)
    last = {i: number for number, (_, places, _) in enumerate(calls) for i in places}
    last.update(dict.fromkeys(wanted, len(calls)))
    rooms: dict[int, Any] = {}
    free: list[Any] = []
    found = []
    for number, ((_, places, attrs), kernel) in enumerate(zip(calls, kernels, strict=True)):
        made, room = values[first + number], None
        if isinstance(kernel, numpy.ufunc) and kernel.nout == 1 and not attrs and (
            isinstance(made, numpy.ndarray) and made.shape == shape
        ):
            at = next((i for i, r in enumerate(free) if r.dtype == made.dtype), None)
            room = numpy.empty(shape, made.dtype) if at is None else free.pop(at)
            rooms[first + number] = room
        elif not isinstance(kernel, numpy.ufunc):  # it may return an argument, or a view of one
            for i in places:
                rooms.pop(i, None)
        free += [rooms.pop(i) for i in set(places) if last[i] == number and i in rooms]
        found.append((kernel, places, attrs, room))
    return found


class _Cut:
    """Arrays that can be cut into parts: flat where all are contiguous, else along axis 0."""

    def __init__(
        self, arrays: list[Any], sliced: list[bool], shape: tuple[int, ...], rows: bool, size: int
    ) -> None:
        self.arrays, self.sliced, self.shape, self.rows = arrays, sliced, shape, rows
        self.length = shape[0] if rows else numpy.prod(shape, dtype=int).item()
        row = numpy.prod(shape[1:], dtype=int).item() if rows else 1
        self.step = max(1, _BLOCK // size // row)

    def parts(self, start: int, stop: int) -> list[Any]:
        """The parts of the arrays in a block; what has no axis to cut, whole."""
        return [
            a[start:stop] if cut else a for a, cut in zip(self.arrays, self.sliced, strict=True)
        ]

    def block(self, start: int, stop: int) -> tuple[int, ...]:
        """The shape of a block."""
        return (stop - start, *self.shape[1:]) if self.rows else (stop - start,)


def _cut(arrays: Sequence[Any], shape: tuple[int, ...]) -> _Cut | None:
    plain = []
    for a in arrays:
        if isinstance(a, numpy.ndarray):
            if a.ndim > len(shape):
                return None
            a = a.view(numpy.ndarray)
        elif not isinstance(a, (int, float, complex, numpy.generic)):
            return None
        plain.append(a)
    full = [isinstance(a, numpy.ndarray) and a.shape == shape for a in plain]
    if not any(full):
        return None
    size = max(a.itemsize for a, is_full in zip(plain, full, strict=True) if is_full)
    flat = [_flat(a) if is_full else a for a, is_full in zip(plain, full, strict=True)]
    if all(a is not None and not getattr(a, "ndim", 0) for a, f in zip(flat, full, strict=True)
           if not f) and all(a is not None for a in flat):
        return _Cut(flat, full, shape, False, size)
    if shape[0] < 4 or numpy.prod(shape[1:], dtype=int) * size > 2 * _BLOCK:
        return None
    sliced = [
        getattr(a, "ndim", 0) == len(shape) and a.shape[0] == shape[0] for a in plain
    ]
    return _Cut(plain, sliced, shape, True, size)


def _flat(array: Any) -> Any:
    """A view with one axis of a contiguous array, or of one number in all places; else None."""
    if not any(array.strides):
        return numpy.broadcast_to(array[(0,) * array.ndim], (array.size,))
    return array.reshape(-1) if array.flags.c_contiguous else None


def _computed(cut: _Cut, make: Callable[[], Step], empty: Any) -> list[Any] | None:
    step, stop = make(), min(cut.step, cut.length)
    parts, block = cut.parts(0, stop), cut.block(0, stop)
    results: list[Any] = []
    targets: list[Any] = []
    for r in step(parts, block):
        same = next((i for i, p in enumerate(parts) if p is r and cut.sliced[i]), None)
        target = None
        if r is None or same is not None:
            results.append(None if same is None else same)
        elif not isinstance(r, numpy.ndarray) or r.shape != block:
            return None
        else:
            made = empty(cut.shape, r.dtype)
            results.append(made)
            target = made if cut.rows else made.reshape(-1)
            target[:stop] = r
        targets.append(target)

    def run(step: Step, first: int, last: int) -> None:
        for start in range(first, last, cut.step):
            stop = min(start + cut.step, last)
            found = step(cut.parts(start, stop), cut.block(start, stop))
            for target, r in zip(targets, found, strict=True):
                if target is not None:
                    target[start:stop] = r

    middle = stop + (cut.length - stop) // 2
    finish = begin(lambda: run(make(), middle, cut.length))
    try:
        run(step, stop, middle)
    finally:
        finish()
    return results
