"""The adjoint equation along a dense solution: the backward pass of `odeint` on numbers.

The solution between the output times is known from the forward integration, so only the adjoint
and what the parameters receive are integrated. The right-hand side is traced once, and its pull
runs as a program; one that cannot be traced runs, recorded, at each point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from ..core import state as _state
from ..core.node import Node
from ..core.tensor import raw
from ..errors import ConvergenceError
from .implicit import Here, zeros_like
from .ode_numbers import Dense, Integrator, Numbers, System
from .vectors import plain


class Traced:
    """The pull of a right-hand side as one program: (y, t, a) -> (∂f/∂y)ᵀ a, (∂f/∂θ)ᵀ a.

    closed   the nodes of the θ that are wanted
    used     those of them that the right-hand side uses: the trace must find each
    """

    def __init__(
        self, system: System, ys: Sequence[Any], t: Any, closed: Sequence[Node],
        used: Sequence[Node],
    ) -> None:
        from ..graphs.function import Function

        function = Function(lambda *at: system(at[:-1], at[-1]))
        concrete = function.get_concrete_function(*ys, t)
        piece = concrete.piece
        if (
            len(concrete.inputs) != len(ys) + 1 or piece.cuts or piece.effects
            or any(c.written for c in concrete.graph.closure.found.values())
        ):
            raise ValueError("a right-hand side that writes, or whose trace is in parts")
        self._kept = [c._data for c in concrete.closed]
        holders = [c._node for c in concrete.closed]
        sources = [*[None] * (len(ys) + 1), *holders, *piece.closed]
        if not set(used) <= set(sources):
            raise ValueError("a tensor that the trace has not met")
        places = [*range(len(ys)), *[i for i, s in enumerate(sources) if s in closed]]
        self._targets = [i if i < len(ys) else len(ys) + closed.index(sources[i]) for i in places]
        self._program = piece.pullback(tuple(places))
        self._moves = [node is not None for _, node in piece.outputs]
        if not any(self._moves):
            raise ValueError("a right-hand side that depends on nothing")
        # A graph refers to itself; without these it keeps none of the user's tensors alive.
        for holder in (function.__dict__, concrete.__dict__, concrete.graph.closure.found):
            holder.clear()

    def __call__(self, ys: Sequence[Any], t: Any, a: Sequence[Any]) -> list[Any]:
        """The cotangents of the ys and of the θ; None for zero."""
        moved = [g for g, moves in zip(a, self._moves, strict=True) if moves]
        found = iter(self._program.program([*ys, t, *self._kept, *moved], {}))
        answers: list[Any] = [None] * (max(self._targets) + 1)
        for target, there in zip(self._targets, self._program.present, strict=True):
            if there:
                g = next(found)
                answers[target] = g if answers[target] is None else answers[target] + g
        return answers


def traced(*args: Any) -> Traced | None:
    """The program of a right-hand side; None where it cannot be one.

    As where Python code decides by its values. Then the code itself runs at each point, and what
    is wrong with it shows there.
    """
    now = _state.state()
    if now.observers or now.lines:
        return None
    try:
        return Traced(*args)
    except Exception:
        return None


def _rates(
    dense: Dense, here: Callable[[Sequence[Any], Any], Here], closed: Sequence[Node],
    state: Sequence[Any], t: Any,
) -> list[Any]:
    """The adjoint equation by a recorded call of the right-hand side."""
    ys = dense.layout.parts(dense(float(plain(t, {}))))
    at = here(ys, t)
    found = at.pulled(state[: len(ys)], [*at.nodes, *closed])
    return [zeros_like(s) if r is None else -r for r, s in zip(found, state, strict=True)]


class Adjoint:
    """da/dt = -(∂f/∂y)ᵀ a, and -(∂f/∂θ)ᵀ a for each θ, along a dense solution y(t).

    here     records dy/dt at a point
    closed   the nodes of the θ
    program  what computes the same, or None
    """

    def __init__(
        self, system: System, dense: Dense, here: Callable[[Sequence[Any], Any], Here],
        closed: Sequence[Node], program: Traced | None, times: Any,
    ) -> None:
        self.dense, self.program = dense, program
        self.system = system.like(partial(_rates, dense, here, closed))
        self._clock = times[::-1]
        self._step = dense.step
        self._numbers: Numbers | None = None

    def _started(self, state: list[Any]) -> Numbers:
        """The layout of the state: a, then what each θ has received."""
        made = self._numbers = Numbers(self.system, state, self._clock)
        return made

    def _by_program(self, numbers: Numbers, t: float, vector: Any) -> Any:
        assert self.program is not None
        layout, ys = numbers.layout, self.dense.layout
        state = list(map(raw, layout.parts(vector)))
        found = self.program(
            list(map(raw, ys.parts(self.dense(t)))), raw(numbers.time(t)), state[: len(ys.ys)]
        )
        found += [None] * (len(state) - len(found))
        return -layout.vector([
            numpy.zeros(shape) if r is None else r
            for r, shape in zip(found, layout.shapes, strict=True)
        ])

    def back(self, state: list[Any], i: int) -> list[Any]:
        """The state (a, then what each θ has received) at time i - 1 from that at time i."""
        numbers = self._numbers or self._started(state)
        slope = numbers.slope
        if self.program is not None and not any(numbers.layout.tags):
            slope = partial(self._by_program, numbers)
        begin, end = numbers.times[-1 - i], numbers.times[-i]
        first = numbers.layout.vector(state)
        with Integrator(numbers, slope, begin, first, end, self._step) as solver:
            while solver.runs():
                if (message := solver.step()) is not None:
                    numbers.fail(solver.t, message)
            self._step = solver.next_step()
            last = solver.y
        if not numpy.all(numpy.isfinite(last)):
            raise ConvergenceError(
                f"gradient of {self.system.subject}", "a finite adjoint", "infinities or NaNs",
            )
        return numbers.layout.parts(last)
