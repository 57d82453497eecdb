"""Kinks, ties, zeros and infinities across the families, where the answer was chosen on purpose.

Each row: a function, its argument(s), the cotangent and the gradient wanted. Only the forward may
warn, of a value that is infinite; warnings are errors in the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pullback as pb

INF = np.inf


class Edge(NamedTuple):
    call: Callable[..., Any]
    arrays: tuple[list[Any], ...]
    cotangent: Any
    wanted: tuple[list[Any], ...]


def safe(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f where x > 0, and 0 elsewhere."""
    return lambda x: pb.where(x > 0, f(x), 0.0)


def first(function: Callable[..., Any], **attrs: Any) -> Callable[[Any], Any]:
    """A reduction along the first axis."""
    return lambda x: function(x, axis=0, **attrs)


G3 = [2.0, -3.0, 5.0]

EDGES: dict[str, Edge] = {
    # Kinks: 0, or the middle of both sides.
    "abs at 0": Edge(pb.abs, ([0.0, -0.0, -7.0],), G3, ([0, 0, -5],)),
    "hypot at 0": Edge(pb.hypot, ([0.0, 3.0], [0.0, 4.0]), [2.0, 5.0], ([0, 3], [0, 4])),
    "atan2 at 0": Edge(pb.atan2, ([0.0], [0.0]), [2.0], ([0], [0])),
    "vector_norm at 0": Edge(pb.vector_norm, ([0.0, 0.0],), 2.0, ([0, 0],)),
    "vector_norm of some": Edge(
        first(pb.vector_norm), ([[0.0, 3.0], [0.0, -4.0]],), [2.0, 5.0],
        ([[0, 3], [0, -4]],),
    ),
    "vector_norm 1 at 0": Edge(
        lambda x: pb.vector_norm(x, ord=1), ([0.0, -2.0],), 3.0, ([0, -3],)
    ),
    "vector_norm inf, tied": Edge(
        lambda x: pb.vector_norm(x, ord=INF), ([2.0, -2.0, 1.0],), 3.0, ([1.5, -1.5, 0],)
    ),
    "vector_norm 3 with a 0": Edge(
        lambda x: pb.vector_norm(x, ord=3), ([0.0, 2.0],), 3.0, ([0, 3],)
    ),
    "std of equals": Edge(first(pb.std), ([4.0, 4.0, 4.0],), 2.0, ([0, 0, 0],)),
    "var of equals": Edge(first(pb.var), ([4.0, 4.0, 4.0],), 2.0, ([0, 0, 0],)),
    "std of one": Edge(first(pb.std), ([4.0],), 2.0, ([0],)),
    "relu at 0": Edge(pb.relu, ([0.0, -1.0, 1.0],), G3, ([0, 0, 5],)),
    "clip at its bounds": Edge(
        lambda x: pb.clip(x, -1.0, 1.0), ([-1.0, 1.0, 2.0],), G3, ([2, -3, 0],)
    ),
    # Powers.
    "x ** 0": Edge(lambda x: x**0, ([0.0, 2.0, -1.0],), G3, ([0, 0, 0],)),
    "x ** 1 at 0": Edge(lambda x: x**1.0, ([0.0],), [2.0], ([2],)),
    "x ** 2 at 0": Edge(lambda x: x**2, ([0.0],), [2.0], ([0],)),
    "0 ** y": Edge(lambda y: 0.0**y, ([0.0, 1.0, 2.5],), G3, ([0, 0, 0],)),
    "pow": Edge(
        pb.pow, ([0.0, 0.0, 2.0], [0.0, 2.0, 0.0]), G3, ([0, 0, 0], [0, 0, 5 * np.log(2.0)])
    ),
    # Ties share equally.
    "maximum, tied": Edge(
        pb.maximum, ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), G3, ([1, 0, 5], [1, -3, 0])
    ),
    "minimum, tied": Edge(
        pb.minimum, ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), G3, ([1, -3, 0], [1, 0, 5])
    ),
    "max, tied": Edge(pb.max, ([2.0, 1.0, 2.0, 2.0],), 6.0, ([2, 0, 2, 2],)),
    "min, tied": Edge(
        first(pb.min), ([[1.0, 0.0], [1.0, 5.0]],), [4.0, 7.0], ([[2, 7], [2, 0]],)
    ),
    "max, tied at infinity": Edge(pb.max, ([-INF, -INF],), 6.0, ([3, 3],)),
    "sort, tied": Edge(pb.sort, ([2.0, 1.0, 2.0],), G3, ([-3, 2, 5],)),
    # Zeros in products.
    "prod with a 0": Edge(pb.prod, ([0.0, 2.0, 3.0],), 5.0, ([30, 0, 0],)),
    "prod with two 0s": Edge(pb.prod, ([0.0, 2.0, 0.0],), 5.0, ([0, 0, 0],)),
    "prod, along": Edge(
        first(pb.prod), ([[0.0, 2.0], [3.0, 0.0]],), [5.0, 7.0], ([[15, 0], [0, 14]],)
    ),
    "cumulative_prod with a 0": Edge(
        pb.cumulative_prod, ([2.0, 0.0, 3.0],), G3, ([2, -6 + 30, 0],)
    ),
    "multiply by 0": Edge(pb.multiply, ([0.0], [3.0]), [2.0], ([6], [0])),
    # What a `where` left out contributes nothing.
    "where, sqrt": Edge(safe(pb.sqrt), ([0.0, 4.0],), [2.0, 8.0], ([0, 2],)),
    "where, log": Edge(safe(pb.log), ([0.0, 4.0],), [2.0, 8.0], ([0, 2],)),
    "where, 1 / x": Edge(safe(lambda x: 1.0 / x), ([0.0, 2.0],), [2.0, 8.0], ([0, -2],)),
    "where, x ** -2": Edge(safe(lambda x: x**-2.0), ([0.0, 2.0],), [2.0, 8.0], ([0, -2],)),
    "where, acosh": Edge(
        lambda x: pb.where(x > 1, pb.acosh(x), 0.0), ([1.0, np.sqrt(2.0)],), G3[:2], ([0, -3],)
    ),
    "where, log1p": Edge(
        lambda x: pb.where(x > -1, pb.log1p(x), 0.0), ([-1.0, 1.0],), [2.0, 8.0], ([0, 4],)
    ),
    "a sqrt cut out": Edge(lambda x: pb.sqrt(x)[1:], ([0.0, 4.0],), [8.0], ([0, 2],)),
    "log, unasked": Edge(pb.log, ([0.0, 2.0],), [0.0, 8.0], ([0, 4],)),
    "sqrt, unasked": Edge(pb.sqrt, ([0.0, 4.0],), [0.0, 8.0], ([0, 2],)),
    "sqrt at 0": Edge(pb.sqrt, ([0.0, 4.0],), [2.0, 8.0], ([INF, 2],)),
    # Infinities with no weight.
    "softmax with -inf": Edge(pb.softmax, ([-INF, 0.0, 0.0],), G3, ([0, -2, 2],)),
    "log_softmax with -inf": Edge(
        pb.log_softmax, ([-INF, 0.0, 0.0],), [0.0, 1.0, 3.0], ([0, -1, 1],)
    ),
    "logsumexp with -inf": Edge(pb.logsumexp, ([-INF, 1.0, 1.0],), 4.0, ([0, 2, 2],)),
    "logaddexp with -inf": Edge(
        pb.logaddexp, ([-INF, 1.0, -INF], [1.0, 1.0, -INF]), [2.0, 2.0, 2.0],
        ([0, 1, 1], [2, 1, 1]),
    ),
    "sigmoid far out": Edge(pb.sigmoid, ([-1e4, 0.0, 1e4],), [8.0, 8.0, 8.0], ([0, 2, 0],)),
    "softplus far out": Edge(pb.softplus, ([-1e4, 0.0, 1e4],), [8.0, 8.0, 8.0], ([0, 4, 8],)),
    "tanh far out": Edge(pb.tanh, ([-1e4, 0.0, 1e4],), [8.0, 8.0, 8.0], ([0, 8, 0],)),
    # Nothing at all.
    "sum of nothing": Edge(pb.sum, ([],), 2.0, ([],)),
    "prod of nothing": Edge(pb.prod, ([],), 2.0, ([],)),
    "max along an axis beside nothing": Edge(
        lambda x: pb.max(pb.reshape(x, (0, 3)), axis=1), ([],), [], ([],)
    ),
}


def slopes(edge: Edge, dtype: str, create: bool) -> tuple[list[Any], list[Any]]:
    leaves = [pb.Tensor(np.array(a, dtype), requires_grad=True) for a in edge.arrays]
    with np.errstate(all="ignore"):
        out = edge.call(*leaves)
    cotangent = pb.Tensor(np.array(edge.cotangent, dtype))
    return leaves, list(pb.autograd.grad(out, leaves, cotangent, create_graph=create))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EDGES)
def test_the_chosen_answer(name: str, dtype: str) -> None:
    edge = EDGES[name]
    tolerance = {"float64": 1e-13, "float32": 1e-6}[dtype]
    for create in (False, True):
        for got, want in zip(slopes(edge, dtype, create)[1], edge.wanted, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(
                got.data, np.array(want, dtype), rtol=tolerance, atol=tolerance
            )


KINKED = {"sqrt at 0", "hypot at 0", "atan2 at 0"}
"""Of these the second derivative is infinite."""


@pytest.mark.parametrize("name", sorted(set(EDGES) - KINKED))
def test_a_second_derivative_is_finite(name: str, rng: np.random.Generator) -> None:
    """Where the gradient depends on the arguments; elsewhere it is a constant."""
    leaves, once = slopes(EDGES[name], "float64", create=True)
    live = [g for g in once if g.requires_grad]
    weights = [pb.Tensor(rng.standard_normal(g.shape)) for g in live]
    found = pb.autograd.grad(live, leaves, weights, materialize_grads=True) if live else once
    for g in found:
        assert np.isfinite(g.data).all(), g


def test_second_derivatives_at_0() -> None:
    def second(f: Callable[[Any], Any], at: float) -> float:
        x = pb.Tensor(np.array(at), requires_grad=True)
        (g,) = pb.autograd.grad(f(x), x, create_graph=True)
        if not g.requires_grad:  # it does not depend on x at all
            return 0.0
        return float(pb.autograd.grad(g, x, materialize_grads=True)[0].data)

    for f, wanted in [
        (lambda x: x**0, 0.0), (lambda x: x**1, 0.0), (lambda x: x**2, 2.0),
        (lambda x: x**2.0, 2.0), (lambda x: x**3, 0.0), (lambda x: x * x, 2.0),
        (pb.square, 2.0), (pb.abs, 0.0),
        (pb.exp, 1.0), (pb.sin, 0.0), (pb.tanh, 0.0), (pb.sigmoid, 0.0), (pb.softplus, 0.25),
        (lambda x: pb.prod(pb.stack([x, x])), 2.0), (lambda x: pb.prod(pb.stack([x, x, x])), 0.0),
        (lambda x: pb.pow(x, pb.Tensor(np.array(2.0))), 2.0),
    ]:
        assert second(f, 0.0) == pytest.approx(wanted, abs=1e-15), f
