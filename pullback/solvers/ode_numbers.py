"""Integration of a system of tensors by SciPy, with all parts and examples as one real vector."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from ..arrays import numpy_dtype
from ..core.cotangent import is_complex
from ..core.node import Node
from ..core.tensor import Tensor, wrap
from ..errors import ArgumentError, ConvergenceError, ShapeError
from ..ops import astype
from ..transforms.trace import as_output
from .vectors import Tags, as_of, hidden, mapped_over, plain, tags_of

DENSE = 2**25
"""How many bytes of interpolants a solution keeps for its gradient at most."""

Rates = Callable[[Sequence[Any], Any], list[Any]]


class System:
    """dy/dt for a list of tensors: a checked function, with its integration options.

    known      nodes that it may depend on, besides those found in the first run
    traceable  it may be traced: it gets at tensors from outside by themselves, not by their nodes
    """

    def __init__(
        self, rates: Rates, subject: str, how: dict[str, Any], known: Sequence[Node],
        traceable: bool = False,
    ) -> None:
        self.rates, self.subject, self.how, self.known = rates, subject, how, known
        self.traceable = traceable

    def __call__(self, ys: Sequence[Any], t: Any) -> list[Any]:
        """dy/dt, each part with the shape and dtype of its y."""
        found = self.rates(ys, t)
        if len(found) != len(ys):
            raise ArgumentError(
                f"result of {self.subject}", f"dy/dt, a pytree of {len(ys)} leaves like y",
                f"{len(found)}",
            )
        rates = []
        for y, rate in zip(ys, found, strict=True):
            rate = as_output(rate, self.subject)
            if rate.shape != y.shape:
                raise ShapeError(
                    f"result of {self.subject}", f"dy/dt of shape {y.shape}, as y", f"{rate.shape}"
                )
            rates.append(rate if rate.dtype == y.dtype else astype(rate, y.dtype))
        return rates

    def at(self, t: Any) -> Callable[..., list[Any]]:
        """dy/dt as a function of y alone."""
        return lambda *ys: self(ys, t)

    def like(self, rates: Rates) -> System:
        """Another system with the same integration options."""
        return System(rates, self.subject, self.how, self.known)


class Layout:
    """Tensors as one real vector: a complex part contributes pairs of numbers."""

    def __init__(self, ys: Sequence[Any]) -> None:
        self.ys = [wrap(y._out, y._data) for y in ys]
        self.tags: list[Tags] = [tags_of(y) for y in ys]
        self.kinds = ["complex128" if is_complex(y) else "float64" for y in ys]
        self.dtypes = [numpy_dtype(y.dtype) for y in ys]
        self.shapes = [(*tags.values(), *y.shape) for tags, y in zip(self.tags, ys, strict=True)]
        self.places, start = [], 0
        for shape, kind in zip(self.shapes, self.kinds, strict=True):
            end = start + prod(shape) * (2 if kind == "complex128" else 1)
            self.places.append(slice(start, end))
            start = end

    def vector(self, parts: Sequence[Any]) -> Any:
        """The vector of tensors with these shapes."""
        return numpy.concatenate([
            numpy.ascontiguousarray(plain(part, tags), kind).reshape(-1).view("float64")
            for part, tags, kind in zip(parts, self.tags, self.kinds, strict=True)
        ])

    def arrays(self, vector: Any) -> list[Any]:
        """NumPy's arrays in a vector, with hidden axes in front; or in each row of a matrix."""
        several = vector.shape[:-1]
        return [
            numpy.ascontiguousarray(vector[..., place]).view(kind).reshape((*several, *shape))
            .astype(dtype)
            for place, kind, shape, dtype in zip(
                self.places, self.kinds, self.shapes, self.dtypes, strict=True
            )
        ]

    def parts(self, vector: Any) -> list[Any]:
        """The tensors in a vector; or with one row per time, from a matrix."""
        found = []
        for array, y, tags in zip(self.arrays(vector), self.ys, self.tags, strict=True):
            if vector.ndim > 1:  # the time axis follows the hidden axes
                array = numpy.moveaxis(array, 0, len(tags))
            found.append(wrap(y._out, hidden(as_of(array, y), tags)))
        return found


class Dense:
    """A solution between its output times: the interpolants of the integrator's steps.

    layout  of its vectors
    step    the size of the step that the integrator would try next, None if it does not say
    """

    def __init__(self, layout: Layout, sign: float) -> None:
        self.layout, self.sign = layout, sign
        self.step: float | None = None
        self._ends: list[float] = []
        self._pieces: list[Callable[[float], Any]] = []
        self._bytes = 0

    def add(self, end: float, piece: Any) -> bool:
        """Append the interpolant of one step; False if they are too large to be kept."""
        self._ends.append(self.sign * end)
        self._pieces.append(piece)
        self._bytes += sum_of_bytes(piece)
        return self._bytes <= DENSE

    def __call__(self, t: float) -> Any:
        """The vector at a time."""
        at = bisect_left(self._ends, self.sign * t)
        return self._pieces[min(at, len(self._pieces) - 1)](t)


def sum_of_bytes(piece: Any) -> int:
    """The size of the arrays that an interpolant holds."""
    return sum([getattr(v, "nbytes", 0) for v in vars(piece).values()])


class Numbers:
    """One integration: of a system, from tensors at the first of some times on.

    layout  of the state: every part has the hidden (vmap) axes of its rate
    dense   the solution between the times, if it was asked for and is small enough
    """

    def __init__(self, system: System, ys: list[Any], t: Any) -> None:
        self.system, self.times = system, plain(t, {}).astype(numpy.float64)
        self.clock = t
        self.dense: Dense | None = None
        ys = [wrap(y._out, y._data) for y in ys]
        while True:
            rates = system(ys, self.time(self.times[0]))
            wider = [mapped_over(y, tags_of(r)) for y, r in zip(ys, rates, strict=True)]
            if [tags_of(y) for y in wider] == [tags_of(y) for y in ys]:
                break
            ys = wider
        self.layout = Layout(ys)

    def time(self, t: float) -> Any:
        """A time as a tensor like those given."""
        return Tensor(as_of(numpy.asarray(t), self.clock))

    def slope(self, t: float, vector: Any) -> Any:
        """dy/dt as a vector."""
        return self.layout.vector(self.system(self.layout.parts(vector), self.time(t)))

    def solution(self, *, dense: bool = False) -> list[Any]:
        """The parts at all times, with the time axis first."""
        times, first = self.times, self.layout.vector(self.layout.ys)
        if len(times) == 1 or not first.size:
            return self.layout.parts(numpy.broadcast_to(first, (len(times), first.size)))
        steps = numpy.diff(times)
        if not (numpy.all(steps > 0) or numpy.all(steps < 0)):
            raise ArgumentError(
                f"argument `t` of {self.system.subject}", "increasing or decreasing times",
                numpy.array2string(times, threshold=8),
            )
        if not numpy.all(numpy.isfinite(self.slope(times[0], first))):
            raise ConvergenceError(
                self.system.subject, "a finite dy/dt at the first time", "infinities or NaNs",
            )
        return self.layout.parts(self._at_times(first, dense))

    def _at_times(self, first: Any, dense: bool) -> Any:
        """The vectors at all times, as rows; as `scipy.integrate.solve_ivp` finds them."""
        times = self.times
        with Integrator(self, self.slope, times[0], first, times[-1]) as solver:
            sign, done, found = solver.sign, 0, []
            kept = Dense(self.layout, sign) if dense else None
            while solver.runs():
                if (message := solver.step()) is not None:
                    self.fail(times[max(done - 1, 0)], message)
                reached = int(numpy.searchsorted(sign * times, sign * solver.t, side="right"))
                if reached > done or kept is not None:
                    piece = solver.piece()
                    if reached > done:
                        found.append(piece(times[done:reached]))
                        done = reached
                    if kept is not None and not kept.add(solver.t, piece):
                        kept = None
            if kept is not None:
                kept.step = solver.next_step()
        self.dense = kept
        return numpy.hstack(found).T

    def fail(self, reached: float, message: str) -> None:
        """Raise the error of an integration that ended at a time."""
        raise ConvergenceError(
            self.system.subject, f"a solution up to t = {self.times[-1]:g}",
            f"one up to t = {reached:g}: {message}",
            "for a stiff equation pass method='Radau'; check for a singularity",
        )


class Integrator:
    """A solver of SciPy's between two times, which drops what it holds at the end of a block.

    first_step  the size of the first step to try; None lets SciPy choose it
    """

    def __init__(
        self, numbers: Numbers, slope: Callable[[float, Any], Any], begin: float, first: Any,
        end: float, first_step: float | None = None,
    ) -> None:
        import scipy.integrate

        how = dict(numbers.system.how)
        method = how.pop("method")
        finest = max(10 * float(numpy.finfo(d).eps) for d in numbers.layout.dtypes)
        how["rtol"], how["atol"] = max(how["rtol"], finest), max(how["atol"], finest)
        if first_step is not None and first_step > 0:
            how["first_step"] = min(first_step, abs(end - begin))
        solver = getattr(scipy.integrate, method) if isinstance(method, str) else method
        self._slope = [slope]  # SciPy's solvers are reference cycles
        self._solver = solver(lambda *at: self._slope[0](*at), begin, first, end, **how)
        self.sign = 1.0 if end > begin else -1.0

    def __enter__(self) -> Integrator:
        return self

    def __exit__(self, *error: object) -> None:
        self._slope.clear()

    def runs(self) -> bool:
        """Whether the end is not reached yet."""
        return bool(self._solver.status == "running")

    def step(self) -> str | None:
        """Take a step; the message of a failure."""
        message: str | None = self._solver.step()
        return (message or "the step failed") if self._solver.status == "failed" else None

    @property
    def t(self) -> float:
        """The time that was reached."""
        return float(self._solver.t)

    @property
    def y(self) -> Any:
        """The vector at that time."""
        return self._solver.y

    def piece(self) -> Any:
        """The interpolant of the last step."""
        return self._solver.dense_output()

    def next_step(self) -> float | None:
        """The size of the step that it would try next; None if it does not say."""
        size = getattr(self._solver, "h_abs", None)
        return None if size is None else float(size)


__all__ = ["Dense", "Integrator", "Layout", "Numbers", "System"]
