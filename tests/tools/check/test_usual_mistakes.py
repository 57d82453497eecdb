"""Wrong rules that people write are found, and right ones of unusual form raise no alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.tier import share
from tests.tools.check.entries import normal

X, Y, SQUARE, V = normal(3, 4), normal(3, 4, seed=1), normal(3, 3, seed=2), normal(5, seed=3)
Z = normal(2, 3, dtype="complex128")
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def rule(value: Callable[..., Any], pullback: Callable[..., Any]) -> Any:
    """A custom gradient: `pullback` takes the cotangent, and the arguments."""
    return pb.custom_gradient(lambda *xs: (value(*xs), lambda g: pullback(g, *xs)))


def cached() -> Any:
    masks: dict[Any, Any] = {}

    def masked(g: Any, x: Any) -> Any:
        return g * masks.setdefault(x.shape, x.detach() > 0)

    return rule(pb.relu, masked)


def doubled(g: Any, x: Any) -> Any:
    g *= 2 * x
    return g


class HalvesWhatItSaved(pb.Function):
    """x where it is positive; its backward writes to the array that forward saved."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = (x.numpy() > 0) * 1.0
        return x * ctx.mask

    @staticmethod
    @pb.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        ctx.mask *= 0.5
        return g * ctx.mask * 2


def narrow(g: Any, x: Any) -> Any:
    return pb.astype(pb.astype(g * pb.cos(x), pb.float32), pb.float64)


def jvp_of_one() -> Any:
    f = pb.custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda xs, ts: (xs[0] * xs[1], ts[0] * xs[1]))
    return f


WRONG: dict[str, Case] = {
    "the sign of one branch": (rule(
        lambda x: pb.where(x > 0, x, 0.1 * x), lambda g, x: g * pb.where(x > 0, 1.0, -0.1)), (X,)),
    "the factor of keepdims": (rule(
        lambda x: pb.mean(x, axis=1, keepdims=True), lambda g, x: g * pb.ones_like(x)), (X,)),
    "a negative axis": (rule(
        lambda x: pb.cumulative_sum(x, axis=-1),
        lambda g, x: pb.flip(pb.cumulative_sum(pb.flip(g, axis=-2), axis=-2), axis=-2)),
        (normal(2, 3, 3),)),
    "no conjugate": (rule(lambda z: z * z, lambda g, z: g * 2 * z), (Z,)),
    "swapped arguments": (rule(
        lambda x, y: pb.sin(x) * y, lambda g, x, y: (g * pb.sin(x), g * pb.cos(x) * y)), (X, Y)),
    "swapped comparisons": (rule(
        pb.maximum, lambda g, x, y: (g * (x < y), g * (x >= y))), (X, Y)),
    "a stale closure": (cached(), (X,)),
    "no cotangent": (rule(lambda x: pb.sum(x * x), lambda g, x: 2 * x), (X,)),
    "a mean as a sum": (rule(lambda x: pb.mean(x * x), lambda g, x: g * 2 * x), (X,)),
    "a broadcast axis": (rule(
        lambda x, b: x + b, lambda g, x, b: (g, pb.sum(g, axis=1))), (SQUARE, normal(3))),
    "a broadcast mean": (rule(
        lambda x, b: x * b, lambda g, x, b: (g * b, pb.mean(g * x, axis=0))), (X, normal(4))),
    "a cotangent written to": (rule(lambda x: x * x, doubled), (X,)),
    "a saved array written to": (HalvesWhatItSaved.apply, (X,)),
    "float32": (rule(pb.sin, narrow), (X,)),
    "a product not transposed": (rule(
        pb.matmul, lambda g, a, b: (g @ b, a.mT @ g)), (SQUARE, normal(3, 3, seed=5))),
    "a softmax's diagonal": (rule(
        lambda x: pb.softmax(x, axis=-1),
        lambda g, x: g * pb.softmax(x, axis=-1) * (1 - pb.softmax(x, axis=-1))), (V,)),
    "more than eight entries": (rule(
        lambda x: x * x, lambda g, x: g * (2.0 if x.size < 8 else 1.0) * x), (V,)),
    "the second tangent": (jvp_of_one(), (X, Y)),
}


def scaled_copy(g: Any, x: Any) -> Any:
    own = g * 1.0
    own *= 2 * x
    return own


def solved(a: Any, b: Any) -> Any:
    y = pb.linalg.solve(a, b[..., None])

    def back(g: Any) -> Any:
        w = pb.linalg.solve(a.mT, g[..., None])
        return -w * y.mT, w[..., 0]

    return y[..., 0], back


def hypotenuse() -> Any:
    f = pb.custom_vjp(pb.hypot)
    f.defvjp(lambda x, y: (pb.hypot(x, y), (x, y, pb.hypot(x, y))),
             lambda saved, g: (g * saved[0] / saved[2], g * saved[1] / saved[2]))
    return f


def norms(x: Any) -> Any:
    n = pb.sqrt(pb.sum(x * x, axis=-1, keepdims=True))
    return n, lambda g: pb.where(n == 0, 0.0, g * x / pb.where(n == 0, 1.0, n))


RIGHT: dict[str, Case] = {
    "a vjp in a rule": (rule(
        lambda x: pb.sin(x) * x, lambda g, x: pb.vjp(lambda t: pb.sin(t) * t, x)[1](g)[0]), (X,)),
    "a tuple of one": (rule(lambda x: x * x, lambda g, x: (g * 2 * x,)), (X,)),
    "einsum": (rule(
        lambda a, v: pb.einsum("ij,j->i", a, v),
        lambda g, a, v: (pb.einsum("i,j->ij", g, v), pb.einsum("i,ij->j", g, a))),
        (SQUARE, normal(3))),
    "a conjugate": (rule(lambda z: z * z, lambda g, z: g * 2 * pb.conj(z)), (Z,)),
    "a copy written to": (rule(lambda x: x * x, scaled_copy), (X,)),
    "two systems": (pb.custom_gradient(solved), (SQUARE + 4 * np.eye(3), normal(3))),
    "residuals": (hypotenuse(), (X, Y)),
    "several outputs": (pb.custom_gradient(lambda x: (
        (pb.sin(x), pb.cos(x)), lambda g, h: g * pb.cos(x) - h * pb.sin(x))), (X,)),
    "zeros for steps": (rule(pb.round, lambda g, x: pb.zeros_like(g)), (X,)),
    "None for an argument": (rule(lambda x, y: x * 2.0, lambda g, x, y: (g * 2, None)), (X, Y)),
    "norms that may be 0": (pb.custom_gradient(norms), (X,)),
    "a backwards sum": (rule(
        lambda x: pb.cumulative_sum(x, axis=-1),
        lambda g, x: pb.flip(pb.cumulative_sum(pb.flip(g, axis=-1), axis=-1), axis=-1)), (V,)),
}


@pytest.mark.parametrize("name", share(list(WRONG), 3))
def test_a_usual_mistake_is_found(name: str) -> None:
    f, examples = WRONG[name]
    assert not pb.check(f, *examples).ok


@pytest.mark.parametrize("name", share(list(RIGHT), 3))
def test_a_right_rule_raises_no_alarm(name: str) -> None:
    f, examples = RIGHT[name]
    report = pb.check(f, *examples)
    assert report.ok, str(report)
