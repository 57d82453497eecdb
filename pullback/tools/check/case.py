"""`Case`: a function at one point, with its true derivative along a random direction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy

from .differences import EPS, Slope, slope
from .steady import steady
from .subject import Point, Subject, like, numpy_of, random_like


class Case:
    """The outputs, gradients and finite differences of a subject at a point of raw arrays.

    direction, weights   random; weights (cotangents) are zero where differences are unreliable
    """

    def __init__(self, subject: Subject, point: Point, salt: int = 0) -> None:
        self.subject, self.point = subject, point
        self.rng = subject.rng(salt)
        self.entries = [wide(numpy_of(x)) for x in point]
        scaled = [random_like(x, self.rng) for x in self.entries]
        self.direction = [
            numpy.asarray(d * numpy.maximum(1.0, numpy.abs(x)))
            for d, x in zip(scaled, self.entries, strict=True)
        ]
        self.eps = max((EPS.get(real_name(x), 2.3e-16) for x in point), default=2.3e-16)

    @cached_property
    def pulling(self) -> Any:
        """The raw outputs, and the pullback."""
        return self.subject.pulling(self.point)

    @cached_property
    def outs(self) -> list[Any]:
        """The differentiable outputs, as NumPy arrays."""
        return [wide(v) for v in map(numpy_of, self.pulling[0]) if v.dtype.kind not in "biu"]

    @cached_property
    def true(self) -> Slope:
        """The derivative along the direction: finite differences of f or its surrogate."""
        f = self.subject.surrogate or self.subject.f
        return slope(self.reference(f), self.entries, self.plain_direction, self.eps)

    @property
    def plain_direction(self) -> list[Any]:
        """The direction before scaling by the entries."""
        return [
            d / numpy.maximum(1.0, numpy.abs(x))
            for d, x in zip(self.direction, self.entries, strict=True)
        ]

    def reference(self, f: Any) -> Any:
        """The inexact outputs of `f` as a function of NumPy arrays."""

        def values(entries: Sequence[Any]) -> list[Any]:
            raws = [like(x, e) for x, e in zip(self.point, entries, strict=True)]
            with steady(self.subject.seed):
                outs = self.subject.run(f, self.subject.tensors(raws))
            return [wide(v) for v in map(numpy_of, outs) if v.dtype.kind not in "biu"]

        return values

    @cached_property
    def weights(self) -> list[Any]:
        """A random NumPy cotangent for each inexact output; zero where differences fail."""
        return [
            numpy.where(t, random_like(v, self.rng), 0)
            for v, t in zip(self.true.values, self.true.trusted, strict=True)
        ]

    def spread(self, weights: Sequence[Any]) -> list[Any]:
        """Weights as raw cotangents, with None for integer outputs."""
        given = iter(weights)
        return [
            None if numpy_of(o).dtype.kind in "biu" else like(o, next(given))
            for o in self.pulling[0]
        ]

    def pulled(self, weights: Sequence[Any]) -> list[Any]:
        """The gradients for the given weights, as NumPy arrays."""
        return [wide(numpy_of(g)) for g in self.pulling[1](self.spread(weights))]

    @cached_property
    def gradient(self) -> list[Any]:
        """The gradients for `weights`."""
        return self.pulled(self.weights)

    def tolerance(self, *sizes: float) -> float:
        """The allowed difference for sums of these sizes: from rtol and atol, or the precision."""
        s = self.subject
        rtol = s.rtol if s.rtol is not None else max(1e-8, 50 * self.eps)
        return (s.atol if s.atol is not None else 0.0) + rtol * (sum(sizes) + 1e-30)

    @property
    def finite(self) -> bool:
        """Whether all outputs are finite here."""
        return all(bool(numpy.isfinite(v).all()) for v in self.outs)


def wide(x: Any) -> Any:
    """A NumPy array in double precision; integers and booleans unchanged."""
    if x.dtype.kind in "biu":
        return x
    return x.astype(numpy.complex128 if x.dtype.kind == "c" else numpy.float64)


def real_name(x: Any) -> str:
    """The name of a dtype's real part: "float64" for complex128."""
    name = str(x.dtype).rpartition(".")[2]
    return {"complex128": "float64", "complex64": "float32"}.get(name, name)


def inner(one: Sequence[Any], other: Sequence[Any]) -> tuple[float, float]:
    """Σ Re(conj(a) b) over pairs of arrays, and the sum of the terms' absolute values."""
    terms = [numpy.real(numpy.conj(a) * b) for a, b in zip(one, other, strict=True)]
    return float(sum(t.sum() for t in terms)), float(sum(numpy.abs(t).sum() for t in terms))


def cases(subject: Subject, points: Sequence[Point]) -> list[Case]:
    """A case at each point where the function is finite and smooth, or else at a point near it.
    """
    found = []
    for k, point in enumerate(points):
        for salt in range(3):
            here = point if not salt else subject.near(point, subject.rng(97 * k + salt))
            case = Case(subject, here, 31 * k + salt)
            if case.finite and case.true.found:
                found.append(case)
                break
    return found
