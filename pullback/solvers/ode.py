"""Ordinary differential equations: SciPy's integrator, with the adjoint equation as its gradient.

The solution at the output times is one recorded operation. Its VJP integrates the adjoint equation
backwards and its JVP the tangent equation forwards, both with `integrate` on tensors, so they are
recorded when a higher derivative needs it.

Source: Pontryagin et al., The Mathematical Theory of Optimal Processes (1962); for learning, Chen
et al., Neural Ordinary Differential Equations (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..arrays import numpy_dtype
from ..captures import Results
from ..core import state as _state
from ..core.cotangent import accumulate, is_complex, wrapped
from ..core.custom_op import CustomOp, custom_node
from ..core.multi_output import end_of
from ..core.node import Node
from ..core.record import attach
from ..core.tensor import Tensor, raw, wrap
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceError,
    ShapeError,
    suggestion,
)
from ..ops import astype, stack, sum
from ..transforms.trace import as_output
from ..transposition import zeros_for
from ..trees import flatten, leaves
from .implicit import Here, check_as_before, zeros_like
from .vectors import Tags, as_of, floating, hidden, mapped_over, plain, tags_of, unrecorded


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1e-8,
    atol: float = 1e-8, method: Any = "DOP853",
) -> Any:
    """The solution of dy/dt = func(y, t, *args), y(t[0]) = y0, at the times t.

    y0       an array or a pytree; the solution has the same structure, with a leading time axis
    t        a vector of increasing or decreasing times
    func     returns dy/dt as a pytree like y0; it may close over tracked tensors
    method   a method of `scipy.integrate.solve_ivp`; its step size control uses rtol and atol,
             which are at least 10 eps of the dtype

    Differentiable in y0, t, args and the tensors that func closes over, to any order: the VJP
    integrates the adjoint equation backwards from each time to the one before, the JVP integrates
    the tangent equation. So memory does not grow with the number of steps, and derivatives are
    accurate to the tolerance, not to rounding. Under `vmap` all examples form one system, whose
    steps are as small as the hardest example needs; the times may be mapped, too.

    Raises `ConvergenceError` if SciPy's integrator fails, `ShapeError` if func returns another
    shape than y, `ArgumentError` for times that are not monotonic.

    Arguments as for `jax.experimental.ode.odeint`.

    >>> import pullback as pb
    >>> decay = lambda y, t, rate: -rate * y
    >>> pb.odeint(decay, 1.0, [0.0, 1.0], 2.0)
    Tensor([1.        , 0.13533528])
    >>> pb.grad(lambda rate: pb.odeint(decay, 1.0, [0.0, 1.0], rate)[1])(2.0)
    Tensor(-0.13533528)
    """
    subject = f"odeint of `{getattr(func, '__name__', 'a function')}`"
    if isinstance(method, str) and method not in _METHODS:
        raise ArgumentError(
            f"argument `method` of {subject}", f"one of {', '.join(_METHODS)}", repr(method),
            suggestion(method, _METHODS),
        )
    flat, rebuild = flatten(y0)
    ys = [floating(y, f"argument `y0` of {subject}") for y in flat]
    times = floating(t, f"argument `t` of {subject}")
    if is_complex(times):
        raise ArgumentTypeError(f"argument `t` of {subject}", "real times", f"dtype {times.dtype}")
    if times.ndim != 1 or not times.shape[0]:
        raise ShapeError(
            f"argument `t` of {subject}",
            "a 1-D array of at least one time",
            f"shape {times.shape}",
            "the first time is the time of y0: [0.0, 1.0]",
        )

    def rates(parts: Sequence[Any], now: Any) -> list[Any]:
        return leaves(func(rebuild(list(parts)), now, *args))

    known = [x._node for x in leaves(args) if isinstance(x, Tensor) and x._node is not None]
    system = System(rates, subject, {"rtol": rtol, "atol": atol, "method": method}, known)
    if not tags_of(times):
        return rebuild(integrate(system, ys, times))
    return rebuild(_by_intervals(system, ys, times))


_METHODS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")


class System:
    """dy/dt for a list of tensors: a checked function, with its integration options.

    known   nodes that it may depend on, besides those found in the first run
    """

    def __init__(
        self, rates: Callable[[Sequence[Any], Any], list[Any]], subject: str, how: dict[str, Any],
        known: Sequence[Node],
    ) -> None:
        self.rates, self.subject, self.how, self.known = rates, subject, how, known

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

    def like(self, rates: Callable[[Sequence[Any], Any], list[Any]]) -> System:
        """Another system with the same integration options."""
        return System(rates, self.subject, self.how, self.known)


def _by_intervals(system: System, ys: list[Any], times: Any) -> list[Any]:
    """The solution where each example has its own times, by a clock that all examples share.

    In each interval s runs from 0 to 1, and t = begin + s (end - begin).
    """
    found = [ys]
    clock = Tensor(numpy.array([0.0, 1.0]))
    for i in range(1, times.shape[0]):
        begin, length = times[i - 1], times[i] - times[i - 1]

        def rates(parts: Sequence[Any], s: Any, begin: Any = begin, length: Any = length) -> Any:
            return [length * r for r in system(parts, begin + s * length)]

        found.append([y[1] for y in integrate(system.like(rates), found[-1], clock)])
    return [stack(column) for column in zip(*found, strict=True)]


# Numbers ------------------------------------------------------------------------------------


def integrate(system: System, ys: list[Any], t: Any) -> list[Any]:
    """The solution at the times, recorded if an input is tracked."""
    before = unrecorded()
    try:
        outs = _Numbers(system, ys, t).solution()
    finally:
        _state.restore(before)
    return _Solution(system).recorded(ys, t, outs)


class _Numbers:
    """One integration by SciPy, with all parts and examples as one real vector."""

    def __init__(self, system: System, ys: list[Any], t: Any) -> None:
        self.system, self.times = system, plain(t, {}).astype(numpy.float64)
        self.clock = t
        ys = [wrap(y._out, y._data) for y in ys]
        while True:  # until every part has the hidden (vmap) axes of its rate
            rates = system(ys, self._time(self.times[0]))
            wider = [mapped_over(y, tags_of(r)) for y, r in zip(ys, rates, strict=True)]
            if [tags_of(y) for y in wider] == [tags_of(y) for y in ys]:
                break
            ys = wider
        self.ys = ys
        self.tags: list[Tags] = [tags_of(y) for y in ys]
        self.shapes = [(*tags.values(), *y.shape) for tags, y in zip(self.tags, ys, strict=True)]

    def _time(self, t: float) -> Any:
        return Tensor(as_of(numpy.asarray(t), self.clock))

    def _vector(self, parts: Sequence[Any]) -> Any:
        pieces = []
        for part, tags in zip(parts, self.tags, strict=True):
            array = plain(part, tags)
            array = array.astype("complex128" if array.dtype.kind == "c" else "float64")
            pieces.append(numpy.ascontiguousarray(array).reshape(-1).view("float64"))
        return numpy.concatenate(pieces)

    def _parts(self, vector: Any) -> list[Any]:
        """The tensors in a vector; or one per time, from the columns of a matrix."""
        found, start = [], 0
        for y, tags, shape in zip(self.ys, self.tags, self.shapes, strict=True):
            kind = "complex128" if is_complex(y) else "float64"
            size = int(numpy.prod(shape)) * (2 if kind == "complex128" else 1)
            piece = numpy.ascontiguousarray(vector[..., start : start + size]).view(kind)
            start += size
            several = piece.shape[:-1]
            array = piece.reshape((*several, *shape)).astype(numpy_dtype(y.dtype))
            if several:  # the time axis follows the hidden axes
                array = numpy.moveaxis(array, 0, len(tags))
            found.append(wrap(y._out, hidden(as_of(array, y), tags)))
        return found

    def _slope(self, t: float, vector: Any) -> Any:
        return self._vector(self.system(self._parts(vector), self._time(t)))

    def solution(self) -> list[Any]:
        """The parts at all times, with the time axis first."""
        times, first = self.times, self._vector(self.ys)
        if len(times) == 1 or not first.size:
            return self._parts(numpy.broadcast_to(first, (len(times), first.size)))
        steps = numpy.diff(times)
        if not (numpy.all(steps > 0) or numpy.all(steps < 0)):
            raise ArgumentError(
                f"argument `t` of {self.system.subject}", "increasing or decreasing times",
                numpy.array2string(times, threshold=8),
            )
        return self._parts(self._integrated(first).T)

    def _integrated(self, first: Any) -> Any:
        from scipy.integrate import solve_ivp

        if not numpy.all(numpy.isfinite(self._slope(self.times[0], first))):
            raise ConvergenceError(
                self.system.subject, "a finite dy/dt at the first time", "infinities or NaNs",
            )
        finest = max(10 * float(numpy.finfo(numpy_dtype(y.dtype)).eps) for y in self.ys)
        how = {**self.system.how}
        how["rtol"], how["atol"] = max(how["rtol"], finest), max(how["atol"], finest)
        span = (self.times[0], self.times[-1])
        slope = [self._slope]  # SciPy's solvers are reference cycles: drop what they hold
        found = solve_ivp(lambda *at: slope[0](*at), span, first, t_eval=self.times, **how)
        slope.clear()
        if not found.success:
            raise ConvergenceError(
                self.system.subject, f"a solution up to t = {span[1]:g}",
                f"one up to t = {found.t[-1] if len(found.t) else span[0]:g}: {found.message}",
                "for a stiff equation pass method='Radau'; check for a singularity",
            )
        return found.y


# Derivatives --------------------------------------------------------------------------------


class _Solution(CustomOp):
    """The operation of one integration; `saved` holds the solution's parts and the times.

    Its parents are the nodes of y0, of the times, and of the system's closed-over tensors.
    """

    name = "odeint"

    def __init__(self, system: System) -> None:
        self.system = system
        self.overrides = _state.state().overrides
        self.closed: list[Node] = []

    def recorded(self, ys: list[Any], t: Any, outs: list[Any]) -> list[Any]:
        """The solution, linked to a node of this operation."""
        if not _state.state().mode:
            return outs
        starts = [wrap(o._out, o._data)[0] for o in outs]
        here = self._at_start(starts, _detached(t)[0])
        self.closed = list(dict.fromkeys([*here.outside, *self.system.known]))
        self.results = Results(here.outs, starts)
        parents = [*(y._node for y in ys), t._node, *self.closed]
        saved = ([o._data for o in outs], t._data)
        if all(p is None for p in parents):
            return outs
        return attach(custom_node(self, tuple(parents), saved, outs[0]._out), outs)

    def _at_start(self, starts: list[Any], t: Any, of: Any = None) -> Here:
        """The system at the first time."""
        before = _state.change(accumulators=(), closed=None, lines=False, overrides=self.overrides)
        try:
            return Here("odeint", self.system.at(t), starts, of)
        finally:
            _state.restore(before)

    def _values(self, node: Any, record: bool) -> tuple[list[Any], Any]:
        """The solution and the times, linked to their nodes if they are to be recorded."""
        check_as_before(node, ())
        arrays, times = node.saved
        starts = [wrap(node.cls, a)[0] for a in arrays]
        self.results.check(self._at_start(starts, wrap(node.cls, times)[0], node).outs, node)
        if not record:
            return [wrap(node.cls, a) for a in arrays], wrap(node.cls, times)
        ys = [
            wrap(node.cls, a, end_of(node, i, a))
            for i, a in enumerate(arrays)
        ]
        return ys, wrap(node.cls, times, node.parents[len(arrays)])

    def _here(self, node: Any, ys: Sequence[Any], t: Any) -> Here:
        before = _state.change(overrides=self.overrides)
        try:
            here = Here("odeint", self.system.at(t), ys, node)
        finally:
            _state.restore(before)
        check_as_before(node, [n for n in here.outside if n is not t._node])
        return here

    def step(
        self, node: Any, g: Any, cotangents: dict[Node, Any], needed: set[Node] | None,
        record: bool, cls: type,
    ) -> None:
        """One step of a VJP: the adjoint equation, from each time back to the one before."""
        ys, t = self._values(node, record)
        gs = [zeros_like(y) if v is None else wrapped(node.cls, v)
              for y, v in zip(ys, g, strict=True)]
        wanted = [p for p in node.parents if p is not None and (needed is None or p in needed)]
        closed = [p for p in dict.fromkeys(self.closed) if p in wanted]
        count, last = len(ys), t.shape[0] - 1
        adjoint = self.system.like(self._adjoint(node, count, closed))
        a = [v[last] for v in gs]
        bars = [wrap(node.cls, zeros_for((p.shape, p.dtype), node.saved[1])) for p in closed]
        clock = t._node is not None or node.parents[count] in wanted
        of_times: list[Any] = []
        for i in range(last, 0, -1):
            if clock:
                of_times.append(self._time_cotangent(node, ys, t, i, [v[i] for v in gs]))
            now = [y[i] for y in ys]
            found = integrate(adjoint, [*now, *a, *bars], t[i - 1 : i + 1][::-1])
            arrived = [v[1] for v in found[count:]]
            a, bars = arrived[:count], arrived[count:]
            if i > 1:
                a = [v + w[i - 1] for v, w in zip(a, gs, strict=True)]
        if clock:
            first = -self._time_cotangent(node, ys, t, 0, a) if last else zeros_like(t[0])
            bars = [stack([first, *of_times[::-1]]), *bars]
            closed = [node.parents[count], *closed]
        if last:
            a = [v + w[0] for v, w in zip(a, gs, strict=True)]
        for parent, r in zip((*node.parents[:count], *closed), (*a, *bars), strict=True):
            if parent is not None and (needed is None or parent in needed):
                accumulate(cotangents, parent, r if record else raw(r))

    def _time_cotangent(self, node: Any, ys: list[Any], t: Any, i: int, gs: Sequence[Any]) -> Any:
        """Σ g · dy/dt at one time: the cotangent of that time."""
        here = self._here(node, [y[i] for y in ys], t[i])
        return sum(stack([sum(g * rate) for g, rate in zip(gs, here.outs, strict=True)]))

    def _adjoint(self, node: Any, count: int, closed: list[Any]) -> Callable[..., list[Any]]:
        """dy/dt, da/dt = -(∂f/∂y)ᵀ a, and -(∂f/∂θ)ᵀ a for each closed-over θ."""

        def rates(state: Sequence[Any], t: Any) -> list[Any]:
            here = self._here(node, state[:count], t)
            found = here.pulled(state[count : 2 * count], [*here.nodes, *closed])
            return [*here.outs, *_negated(found, state[count:])]

        return rates

    def push(self, node: Any, tangents: Sequence[Any], record: bool, cls: type) -> list[Any]:
        """The JVP: dv/dt = (∂f/∂y) v + (∂f/∂θ) θ̇, integrated along with y."""
        ys, t = self._values(node, record)
        count = len(ys)
        starts = [y[0] for y in ys]
        v = [zeros_like(y) if d is None else wrapped(node.cls, d)
             for y, d in zip(starts, tangents, strict=False)]
        known = {p: d for p, d in zip(self.closed, tangents[count + 1 :], strict=True)
                 if d is not None}
        later = tangents[count]
        if later is not None:
            later = wrapped(node.cls, later)
            slopes = [
                self._here(node, [y[i] for y in ys], t[i]).outs for i in range(t.shape[0])
            ]
            v = [d - rate * later[0] for d, rate in zip(v, slopes[0], strict=True)]

        def rates(state: Sequence[Any], now: Any) -> list[Any]:
            here = self._here(node, state[:count], now)
            given: Any = dict(zip(here.nodes, state[count:], strict=True))
            found = here.pushed({**known, **given})
            return [*here.outs, *[zeros_like(d) if r is None else r
                                  for r, d in zip(found, state[count:], strict=True)]]

        found = integrate(self.system.like(rates), [*starts, *v], t)[count:]
        if later is not None:
            found = [
                d + stack([rate[k] * later[i] for i, rate in enumerate(slopes)])
                for k, d in enumerate(found)
            ]
        return [d if record else raw(d) for d in found]


def _negated(found: list[Any], like: Sequence[Any]) -> list[Any]:
    return [zeros_like(s) if r is None else -r for r, s in zip(found, like, strict=True)]


def _detached(x: Any) -> Any:
    return wrap(x._out, x._data)
