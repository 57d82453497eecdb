"""Ordinary differential equations: SciPy's integrator, with the adjoint equation as its gradient.

The solution at the output times is one recorded operation. Its VJP integrates the adjoint equation
backwards, along the solution that the forward integration keeps (`ode_adjoint.py`); its JVP
integrates the tangent equation forwards. Where a higher derivative needs them, both are done by
`integrate` on tensors, which is recorded.

Source: Pontryagin et al., The Mathematical Theory of Optimal Processes (1962); for learning, Chen
et al., Neural Ordinary Differential Equations (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..captures import Results
from ..core import state as _state
from ..core.cotangent import accumulate, is_complex, wrapped
from ..core.custom_op import CustomOp, custom_node
from ..core.multi_output import end_of
from ..core.node import Node
from ..core.record import attach
from ..core.tensor import Tensor, raw, wrap
from ..errors import ArgumentError, ArgumentTypeError, ShapeError, suggestion
from ..ops import stack, sum
from ..transposition import zeros_for
from ..trees import flatten, leaves
from .implicit import Here, check_as_before, zeros_like
from .ode_adjoint import Adjoint, traced
from .ode_numbers import Numbers, System
from .vectors import floating, tags_of, unrecorded


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
    the tangent equation; so derivatives are accurate to the tolerance, not to rounding. For the VJP
    the interpolants of the steps are kept, up to 32 MiB; a larger solution is integrated again,
    backwards. func is traced once for the VJP, and its code runs at each point where it cannot be,
    as where it decides by its values. Under `vmap` all examples form one system, whose
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
    system = System(rates, subject, {"rtol": rtol, "atol": atol, "method": method}, known,
                    traceable=True)
    if not tags_of(times):
        return rebuild(integrate(system, ys, times))
    return rebuild(_by_intervals(system, ys, times))


_METHODS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")


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
        numbers = Numbers(system, ys, t)
    finally:
        _state.restore(before)
    solution = _Solution(system)
    parents = solution.parents(numbers, ys, t)
    follows = _state.state().follows
    pulled = any(p is not None and follows(p) for p in parents)
    before = unrecorded()
    try:
        outs = numbers.solution(dense=pulled)
    finally:
        _state.restore(before)
    if all(p is None for p in parents):
        return outs
    saved = ([o._data for o in outs], t._data, numbers.dense)
    return attach(custom_node(solution, tuple(parents), saved, outs[0]._out), outs)


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
        self.used: list[Node] = []  # those of them that the system uses at the first time

    def parents(self, numbers: Numbers, ys: list[Any], t: Any) -> list[Any]:
        """The nodes that the solution depends on; none where nothing is recorded."""
        if not _state.state().mode:
            return []
        here = self._at_start(numbers.layout.ys, _detached(t)[0])
        self.results = Results(here.outs, numbers.layout.ys)
        self.used = here.outside
        self.closed = list(dict.fromkeys([*self.used, *self.system.known]))
        return [*(y._node for y in ys), t._node, *self.closed]

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
        arrays, times, _ = node.saved
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
        a = [v[last] for v in gs]
        bars = [wrap(node.cls, zeros_for((p.shape, p.dtype), node.saved[1])) for p in closed]
        clock = t._node is not None or node.parents[count] in wanted
        back = self._back(node, ys, t, closed, record)
        of_times: list[Any] = []
        for i in range(last, 0, -1):
            if clock:
                of_times.append(self._time_cotangent(node, ys, t, i, [v[i] for v in gs]))
            found = back([*a, *bars], i)
            a, bars = found[:count], found[count:]
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

    def _back(
        self, node: Any, ys: list[Any], t: Any, closed: list[Any], record: bool
    ) -> Callable[[list[Any], int], list[Any]]:
        """The adjoint and what the closed-over tensors receive, from time i to the one before."""
        count, dense = len(ys), node.saved[2]
        if not record and dense is not None:
            check_as_before(node, self.closed)
            start = [y[0] for y in ys]
            program = None
            if self.system.traceable and not (self.overrides or any(map(tags_of, ys))):
                program = traced(self.system, start, t[0], closed, self.used)
            along = Adjoint(
                self.system, dense, lambda now, at: self._here(node, now, at), closed, program, t
            )
            return along.back
        adjoint = self.system.like(self._adjoint(node, count, closed))

        def back(state: list[Any], i: int) -> list[Any]:
            found = integrate(adjoint, [*[y[i] for y in ys], *state], t[i - 1 : i + 1][::-1])
            return [v[1] for v in found[count:]]

        return back

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
