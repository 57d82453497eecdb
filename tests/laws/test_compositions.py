"""Random transformations of random small programs, against nested differences of NumPy.

A program takes an array of N numbers. A transformation makes another program of one, in two ways:
with the library, and with differences of sixth order. They nest, up to three orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as pb
from tests.laws.checks import plain
from tests.laws.test_hypothesis import seeds
from tests.tier import examples

Program = Callable[[Any], Any]

N = 3
"""Entries of an argument. Results that are larger are contracted to as many."""
ORDER = 3
STEP = 0.01
SIXTH = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Weights of differences over ±k steps: their error is near h⁶/140 · f⁽⁷⁾."""


class Pair(NamedTuple):
    """A program as the library runs it, and as NumPy does."""

    ours: Program
    theirs: Callable[[np.ndarray], np.ndarray]


def numbers(*shape: int, seed: int) -> np.ndarray:
    """Constants of a program, between -1 and 1."""
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape)


# Programs --------------------------------------------------------------------------------------


def logsumexp(x: np.ndarray) -> Any:
    return np.log(np.sum(np.exp(x)))


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.sum(np.exp(x))


M = numbers(N, N, seed=1)
V = numbers(N, seed=2)

STEPS: dict[str, Pair] = {
    "sin": Pair(pb.sin, np.sin),
    "tanh": Pair(pb.tanh, np.tanh),
    "exp of a quarter": Pair(lambda x: pb.exp(x / 4), lambda x: np.exp(x / 4)),
    "square": Pair(lambda x: x * x / 2, lambda x: x * x / 2),
    "smooth quotient": Pair(lambda x: x / (1 + x * x), lambda x: x / (1 + x * x)),
    "times its sum": Pair(lambda x: x * pb.sum(x) / 4, lambda x: x * np.sum(x) / 4),
    "minus its mean": Pair(lambda x: x - pb.mean(x), lambda x: x - np.mean(x)),
    "softmax": Pair(lambda x: pb.softmax(x), softmax),
    "logsumexp": Pair(lambda x: x - pb.logsumexp(x), lambda x: x - logsumexp(x)),
    "cumulative sum": Pair(lambda x: pb.cumulative_sum(x) / 2, lambda x: np.cumsum(x) / 2),
    "matrix": Pair(lambda x: pb.tensor(M) @ x, lambda x: M @ x),
    "product with a constant": Pair(lambda x: x * pb.tensor(V), lambda x: x * V),
    "reversed": Pair(lambda x: x[::-1], lambda x: x[::-1]),
    "picked": Pair(lambda x: x[np.array([2, 0, 0])], lambda x: x[np.array([2, 0, 0])]),
    "one entry": Pair(lambda x: x * x[1], lambda x: x * x[1]),
    "outer": Pair(
        lambda x: pb.sum(pb.expand_dims(x, axis=1) * x, axis=0) / 2,
        lambda x: np.sum(x[:, None] * x, axis=0) / 2,
    ),
}


def program(names: Sequence[str]) -> Pair:
    """One step after the other."""

    def ours(x: Any) -> Any:
        for name in names:
            x = STEPS[name].ours(x)
        return x

    def theirs(x: np.ndarray) -> np.ndarray:
        for name in names:
            x = STEPS[name].theirs(x)
        return x

    return Pair(ours, theirs)


# Differences -----------------------------------------------------------------------------------


def slope(f: Callable[[np.ndarray], Any], x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The derivative of f at x along t."""
    total: Any = 0.0
    for k, weight in SIXTH.items():
        total = total + weight * (f(x + k * STEP * t) - f(x - k * STEP * t))
    return np.asarray(total / STEP)


def jacobian(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """All slopes, along the last axis."""
    return np.stack([slope(f, x, unit) for unit in np.eye(N)], axis=-1)


# Transformations -------------------------------------------------------------------------------


def scalar(pair: Pair) -> Pair:
    """A weighed sum of the result."""
    ours, theirs = pair
    w = numbers(*np.shape(theirs(np.zeros(N))), seed=3)
    return Pair(lambda x: pb.sum(ours(x) * pb.tensor(w)), lambda x: np.sum(theirs(x) * w))


def contracted(pair: Pair) -> Pair:
    """The result as N numbers: so programs stay small, and every entry counts."""
    ours, theirs = pair
    shape = np.shape(theirs(np.zeros(N)))
    size = int(np.prod(shape))
    if shape == (N,):
        return pair
    w = numbers(N, size, seed=4)
    return Pair(
        lambda x: pb.tensor(w) @ pb.reshape(ours(x), (size,)),
        lambda x: w @ np.reshape(theirs(x), (size,)),
    )


def grad(pair: Pair) -> Pair:
    ours, theirs = scalar(pair)
    return Pair(pb.grad(ours), lambda x: jacobian(theirs, x))


def value_and_grad(pair: Pair) -> Pair:
    ours, theirs = scalar(pair)

    def both(x: Any) -> Any:
        value, gradient = pb.value_and_grad(ours)(x)
        return gradient + value

    return Pair(both, lambda x: jacobian(theirs, x) + theirs(x))


def jvp(pair: Pair) -> Pair:
    ours, theirs = pair

    def both(x: Any) -> Any:
        value, tangent = pb.jvp(ours, (x,), (pb.tensor(V),))
        return tangent + value

    return Pair(both, lambda x: slope(theirs, x, V) + theirs(x))


def jvp_of_itself(pair: Pair) -> Pair:
    """The tangent is the argument, too."""
    ours, theirs = pair
    return Pair(lambda x: pb.jvp(ours, (x,), (x,))[1], lambda x: jacobian(theirs, x) @ x)


def vjp(pair: Pair) -> Pair:
    ours, theirs = pair
    return Pair(
        lambda x: pb.vjp(ours, x)[1](x * pb.tensor(V))[0],
        lambda x: (x * V) @ jacobian(theirs, x),
    )


def jacfwd(pair: Pair) -> Pair:
    return Pair(pb.jacfwd(pair.ours), lambda x: jacobian(pair.theirs, x))


def jacrev(pair: Pair) -> Pair:
    return Pair(pb.jacrev(pair.ours), lambda x: jacobian(pair.theirs, x))


def linearize(pair: Pair) -> Pair:
    ours, theirs = pair

    def twice(x: Any) -> Any:
        _, push = pb.linearize(ours, x)
        return push(x * x) + push(pb.tensor(V))

    return Pair(twice, lambda x: jacobian(theirs, x) @ (x * x + V))


def hessian(pair: Pair) -> Pair:
    ours, theirs = scalar(pair)
    return Pair(
        pb.hessian(ours), lambda x: jacobian(lambda y: jacobian(theirs, y), x)
    )


def hvp(pair: Pair) -> Pair:
    ours, theirs = scalar(pair)
    return Pair(
        lambda x: pb.hvp(ours, (x,), (pb.tensor(V),)),
        lambda x: slope(lambda y: jacobian(theirs, y), x, V),
    )


def of_two(pair: Pair) -> Pair:
    """The gradients in two arguments, one of which is made from the other."""
    ours, theirs = scalar(pair)

    def gradients(x: Any) -> Any:
        a, b = pb.grad(lambda a, b: ours(a * b[::-1]), (0, 1))(x, x * pb.tensor(V))
        return a - 2 * b

    def by_differences(x: np.ndarray) -> np.ndarray:
        b = x * V
        return jacobian(lambda a: theirs(a * b[::-1]), x) - 2 * jacobian(
            lambda b: theirs(x * b[::-1]), b
        )

    return Pair(gradients, by_differences)


SCALES = numbers(2, N, seed=5)


def vmap(pair: Pair) -> Pair:
    """Of examples made from the argument."""
    ours, theirs = pair
    return Pair(
        lambda x: pb.vmap(ours, out_axes=-1)(pb.tensor(SCALES) * x),
        lambda x: np.stack([theirs(s * x) for s in SCALES], axis=-1),
    )


def vmap_closure(pair: Pair) -> Pair:
    """Of constants, closing over the argument."""
    ours, theirs = pair
    return Pair(
        lambda x: pb.vmap(lambda s: ours(s + x) * x)(pb.tensor(SCALES)),
        lambda x: np.stack([theirs(s + x) * x for s in SCALES]),
    )


def vmap_both(pair: Pair) -> Pair:
    """Of columns, beside the argument as it is."""
    ours, theirs = pair
    return Pair(
        lambda x: pb.vmap(lambda y, c: ours(y * c), (None, 1))(x, pb.tensor(SCALES.T.copy())),
        lambda x: np.stack([theirs(x * s) for s in SCALES]),
    )


def custom_gradient(pair: Pair) -> Pair:
    """With the true gradient, written by hand."""
    ours, theirs = pair

    @pb.custom_gradient
    def same(x: Any) -> Any:
        return ours(x), lambda g: pb.vjp(ours, x)[1](g)[0]

    return Pair(same, theirs)


def function(pair: Pair) -> Pair:
    """With a backward only."""
    ours, theirs = pair

    class Same(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return ours(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return pb.vjp(ours, x)[1](g)[0]

    return Pair(Same.apply, theirs)


ORDERS: dict[Callable[[Pair], Pair], int] = {
    grad: 1, value_and_grad: 1, jvp: 1, jvp_of_itself: 1, vjp: 1, jacfwd: 1, jacrev: 1,
    linearize: 1, of_two: 1, hessian: 2, hvp: 2, vmap: 0, vmap_closure: 0, vmap_both: 0,
    custom_gradient: 0, function: 0,
}
"""Transformation -> how many times it differentiates."""

compositions = st.lists(st.sampled_from(list(ORDERS)), min_size=1, max_size=4).filter(
    lambda made: 0 < sum(ORDERS[t] for t in made) <= ORDER
)
programs = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3)


def check(names: Sequence[str], made: Sequence[Callable[[Pair], Pair]], seed: int) -> None:
    pair = program(names)
    for k, transformation in enumerate(made):
        pair = transformation(contracted(pair) if k else pair)
    x = np.random.default_rng(seed).uniform(-0.9, 0.9, N)
    got, wanted = plain(pair.ours(pb.tensor(x))), pair.theirs(x)
    assert got.shape == wanted.shape
    scale = max(1.0, float(np.max(np.abs(wanted))))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-7 * scale)


@settings(derandomize=True, deadline=None, max_examples=examples(250), database=None)
@given(programs, compositions, seeds)
def test_nested_differences(
    names: Sequence[str], made: Sequence[Callable[[Pair], Pair]], seed: int
) -> None:
    check(names, made, seed)


def test_every_transformation_in_every_other() -> None:
    for outer in ORDERS:
        for inner in ORDERS:
            if ORDERS[outer] + ORDERS[inner] <= 2:
                check(["times its sum", "sin"], [inner, outer], 6)


def test_the_differences_themselves() -> None:
    """They are near enough, and far enough from a wrong answer, to three orders."""
    x = np.array([0.3, -0.8, 0.5])
    third = slope(lambda a: slope(lambda b: slope(np.sin, b, V), a, V), x, V)
    np.testing.assert_allclose(third, -np.cos(x) * V**3, rtol=0, atol=1e-8)


