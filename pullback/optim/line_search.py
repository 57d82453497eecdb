"""A step length that meets the strong Wolfe conditions (Nocedal and Wright, 2006, chapter 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

ENOUGH, FLAT = 1e-4, 0.9
"""How much of the promised descent is wanted, and how much of the slope may be left."""


class Point(NamedTuple):
    """A place on the line: how far, the value, the gradient, the slope along the line."""

    t: float
    value: float
    gradient: Any
    slope: float


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points with their slopes is least, within bounds.

    >>> cubic_minimum(Point(0.0, 1.0, None, -2.0), Point(2.0, 1.0, None, 2.0), 0.0, 2.0)
    1.0
    """
    if a.t > b.t:
        a, b = b, a
    middle = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = middle * middle - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    share = (b.slope + root - middle) / (b.slope - a.slope + 2 * root)
    return min(max(b.t - (b.t - a.t) * share, low), high)


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, t: float, size: float,
    tolerance: float = 1e-9, most: int = 25,
) -> tuple[Point, int]:
    """The point to go to, and how often the function was evaluated.

    evaluate   the point at a distance
    start      the point at distance 0
    t          the first distance to try
    size       the largest entry of the direction
    tolerance  pieces of the line that are shorter, in the largest entry, are left alone

    >>> square = lambda t: Point(t, (t - 3.0) ** 2, None, 2 * (t - 3.0))
    >>> point, evaluations = strong_wolfe(square, square(0.0), 1.0, 1.0)
    >>> abs(point.slope) <= 0.9 * 6
    True
    """
    ends, evaluations, tries, done = _bracket(evaluate, start, t, most)
    tight = False
    while not done and tries < most:
        low, high = sorted(ends, key=lambda p: p.t)
        if (high.t - low.t) * size < tolerance:
            break
        t, tight = _inside(ends, low.t, high.t, tight)
        point = evaluate(t)
        evaluations, tries = evaluations + 1, tries + 1
        best, other = _ordered(ends)
        if _too_high(point, start) or point.value >= best.value:
            ends = _replaced(ends, other, point)
            continue
        done = abs(point.slope) <= -FLAT * start.slope
        if not done and point.slope * (other.t - best.t) >= 0:
            other = best  # the minimum is on the side of the better end
        first = ends[0] is best
        ends = [point, other] if first else [other, point]
    return _ordered(ends)[0], evaluations


def _too_high(point: Point, start: Point) -> bool:
    return point.value > start.value + ENOUGH * point.t * start.slope


def _ordered(ends: list[Point]) -> tuple[Point, Point]:
    """The better of two ends, and the other."""
    first, last = ends[0], ends[-1]
    return (first, last) if first.value <= last.value else (last, first)


def _replaced(ends: list[Point], old: Point, new: Point) -> list[Point]:
    return [new if p is old else p for p in ends]


def _bracket(
    evaluate: Callable[[float], Point], start: Point, t: float, most: int
) -> tuple[list[Point], int, int, bool]:
    """Two points between which a good one is, or one that is good."""
    before, point = start, evaluate(t)
    evaluations, tries = 1, 0
    while tries < most:
        if _too_high(point, start) or (tries > 1 and point.value >= before.value):
            return [before, point], evaluations, tries, False
        if abs(point.slope) <= -FLAT * start.slope:
            return [point], evaluations, tries, True
        if point.slope >= 0:
            return [before, point], evaluations, tries, False
        t = cubic_minimum(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, evaluate(t)
        evaluations, tries = evaluations + 1, tries + 1
    return [start, point], evaluations, tries, False


def _inside(ends: list[Point], low: float, high: float, tight: bool) -> tuple[float, bool]:
    """The next distance to try, and whether it lies close to an end."""
    t = cubic_minimum(ends[0], ends[-1], low, high)
    margin = 0.1 * (high - low)
    if min(high - t, t - low) >= margin:
        return t, False
    if tight or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
