"""Derivatives by finite differences, with error bounds and with the entries that are reliable.

Central differences at three steps, extrapolated twice (Richardson): the error is of the order of
the sixth power of the step. Where two steps disagree, or the left and right slopes do, the function
is not smooth, and the entry is marked as not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

Arrays = list[Any]
EPS = {"float64": 2.3e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.9e-3}
"""The spacing of numbers near 1, by dtype."""
_STEPS = ((1e-12, (2e-3, 1e-4, 4e-2)), (1e-5, (5e-2, 5e-3, 0.3)), (1.0, (0.3, 0.06)))
"""For each spacing of numbers (an upper bound): the steps to try, in order."""


class Slope(NamedTuple):
    """The derivative of several arrays along a direction.

    values    one array per output
    errors    bounds on the error of each entry
    trusted   True where the function is smooth
    """

    values: Arrays
    errors: Arrays
    trusted: Arrays

    @property
    def values_trusted(self) -> Arrays:
        """The values, zero in entries that are not trusted."""
        return [numpy.where(t, v, 0) for v, t in zip(self.values, self.trusted, strict=True)]

    @property
    def found(self) -> bool:
        """Whether any entry is trusted."""
        return any(bool(t.any()) for t in self.trusted)

    @property
    def error(self) -> float:
        """The largest error of a trusted entry, relative to the largest trusted value.

        Infinite if all values are zero, so that nothing can be said relative to them.
        """
        off = max((float(e[t].max(initial=0)) for e, t in zip(
            self.errors, self.trusted, strict=True)), default=0.0)
        size = max((largest(v[t]) for v, t in zip(
            self.values, self.trusted, strict=True)), default=0.0)
        return (off / size if size else float("inf")) if off else 0.0


def slope(
    f: Callable[[Arrays], Arrays], point: Sequence[Any], direction: Sequence[Any], eps: float,
) -> Slope:
    """The derivative of f along a direction at a point, in NumPy arrays of double precision.

    Scales the direction by the size of each entry above 1: here, 12 · 2.

    eps   relative spacing of the numbers that f computes with; determines the steps

    >>> import numpy as np
    >>> found = slope(lambda xs: [xs[0] ** 3], [np.array([2.0])], [np.array([1.0])], 2.3e-16)
    >>> bool(abs(found.values[0] - 24.0) < 1e-9), bool(found.trusted[0])
    (True, True)
    """
    direction = [
        numpy.asarray(d * numpy.maximum(1.0, numpy.abs(x)))
        for x, d in zip(point, direction, strict=True)
    ]
    return along(f, point, direction, eps)


def along(
    f: Callable[[Arrays], Arrays], point: Sequence[Any], direction: Sequence[Any], eps: float,
) -> Slope:
    """Same as `slope`, without scaling the direction."""
    middle = f(list(point))
    best: Slope | None = None
    for step in next(steps for limit, steps in _STEPS if eps < limit):
        found = _at(f, point, direction, middle, step, eps)
        best = found if best is None else _better(best, found)
        if _will_do(best, eps):
            break
    assert best is not None
    return best


def largest(array: Any) -> float:
    """The largest absolute value in an array; 0 if it is empty."""
    return float(numpy.abs(array).max(initial=0)) if array.size else 0.0


def _will_do(found: Slope, eps: float) -> bool:
    return all(bool(t.all()) for t in found.trusted) and found.error < max(1e-9, 1e4 * eps)


def _at(
    f: Callable[[Arrays], Arrays], point: Sequence[Any], direction: Sequence[Any],
    middle: Arrays, step: float, eps: float,
) -> Slope:
    central, jumps, sizes = [], [], [numpy.abs(m) for m in middle]
    for h in (step, step / 2, step / 4):
        high, low = (
            f([x + s * h * d for x, d in zip(point, direction, strict=True)]) for s in (1, -1)
        )
        central.append([(p - m) / (2 * h) for p, m in zip(high, low, strict=True)])
        jumps.append([
            (p + m - 2 * c) / h for p, m, c in zip(high, low, middle, strict=True)
        ])
        sizes = [
            numpy.maximum(s, numpy.maximum(abs(p), abs(m)))
            for s, p, m in zip(sizes, high, low, strict=True)
        ]
    columns: Any = zip(*central, jumps[1], jumps[2], sizes, strict=True)
    made = [_extrapolated(a, b, c, j, k, n, step, eps) for a, b, c, j, k, n in columns]
    return Slope(*(list(column) for column in zip(*made, strict=True))) if made else Slope(
        [], [], [])


def _extrapolated(
    coarse: Any, middle: Any, fine: Any, jump: Any, finer: Any, size: Any, step: float, eps: float
) -> tuple[Any, Any, Any]:
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    value = (16 * second - first) / 15
    noise = 8 * eps * size / step
    constant = (coarse == 0) & (middle == 0) & (fine == 0) & (jump == 0) & (finer == 0)
    noise = numpy.where(constant, eps * size / step, noise)  # less than a last digit apart
    error = numpy.abs(value - second) * 2 + noise
    scale = largest(value[numpy.isfinite(value)])
    kink = numpy.abs(2 * finer - jump)  # if smooth: of the order of the third power of the step
    bound = 1e-5 * scale + 1e-4 * numpy.abs(value) + 20 * noise
    spread = numpy.abs(first - second) <= 1e-2 * (scale + numpy.abs(value)) + 20 * noise
    trusted = (error <= 1e-3 * scale + 20 * noise) & (kink <= bound) & spread
    return value, error, numpy.asarray(trusted & numpy.isfinite(value))


def _better(one: Slope, other: Slope) -> Slope:
    """For each entry, the trusted estimate with the smaller error."""
    values, errors, trusted = [], [], []
    for v, e, t, w, d, u in zip(*one, *other, strict=True):
        take = u & (~t | (d < e))
        values.append(numpy.where(take, w, v))
        errors.append(numpy.where(take, d, e))
        trusted.append(t | u)
    return Slope(values, errors, trusted)
