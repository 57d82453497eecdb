"""A function in a graph against itself outside of it: its value, and cotangents of several orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.graphs import Graph, Session, gradients, placeholder

Function = Callable[..., Any]


class Built:
    """Placeholders, a function of them, and pulls of pulls of random cotangents."""

    def __init__(self, f: Function, shapes: Sequence[Any], order: int, known: bool) -> None:
        self.f, self.shapes, self.order = f, shapes, order
        self.graph = Graph()
        self.fed: list[list[Any]] = []  # for each order: what it is a function of beyond the last
        with self.graph.as_default():
            xs = [placeholder(np.float64, s if known else [None] * len(s)) for s in shapes]
            self.fed.append(xs)
            self.out = f(*xs)
            self.fetches = [self.out]
            ys, sources = [self.out], list(xs)
            for _ in range(order):
                cs = [placeholder(np.float64, None) for _ in ys]
                self.fed.append(cs)
                ys = gradients(ys, sources, cs, unconnected_gradients="zero")
                self.fetches += ys
                sources += cs
        self.session = Session(self.graph)

    def check(self, rng: np.random.Generator) -> None:
        """Run it on random numbers, and compare."""
        values = [[rng.normal(size=s) for s in self.shapes]]
        function, flat = self.f, list(values[0])
        wanted = [function(*map(pb.tensor, flat))]
        last = wanted
        for _ in range(self.order):
            cs = [rng.normal(size=np.shape(np.asarray(y))) for y in last]
            function, flat = _pull_of(function, len(flat), len(last)), [*flat, *cs]
            values.append(cs)
            last = function(*map(pb.tensor, flat))
            wanted += last
        feed = {p: v for ps, vs in zip(self.fed, values, strict=True)
                for p, v in zip(ps, vs, strict=True)}
        found = self.session.run(self.fetches, feed)
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            np.testing.assert_allclose(a, np.asarray(b), rtol=1e-9, atol=1e-11, err_msg=str(i))


def _pull_of(f: Function, count: int, outs: int) -> Function:
    """The pullback of a function, as a function of its arguments and cotangents."""

    def pull(*values: Any) -> list[Any]:
        _, back = pb.vjp(lambda *xs: _listed(f(*xs)), *values[:count])
        return list(back(list(values[count : count + outs])))

    return pull


def _listed(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (list, tuple)) else [answer]


def check(
    f: Function, *shapes: Any, order: int = 2, runs: int = 3, seed: int = 0
) -> Any:
    """With known lengths and with unknown ones: step by step, compiled, and compiled again."""
    rng = np.random.default_rng(seed)
    for known in (True, False):
        built = Built(f, shapes, order, known)
        for _ in range(runs):
            built.check(rng)
    return built


def check_forward_over_reverse(f: Function, *shapes: Any, seed: int = 0) -> None:
    """The tangent of a gradient, computed as the graph of the gradient is built."""
    values = [np.random.default_rng(seed).normal(size=s) for s in (*shapes, shapes[0])]

    def along(x: Any, *rest: Any) -> Any:
        slope = pb.grad(lambda x: pb.sum(pb.sin(f(x, *rest[:-1]))))
        return pb.jvp(slope, (x,), (rest[-1],))[1]

    with Graph().as_default() as graph:
        fed = [placeholder(np.float64, v.shape) for v in values]
        out = along(*fed)
    found = Session(graph).run(out, dict(zip(fed, values, strict=True)))
    np.testing.assert_allclose(found, along(*map(pb.tensor, values)).numpy(), rtol=1e-9)
