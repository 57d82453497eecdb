"""Weights that a vmap closes over: their gradient is contracted over the examples at once.

It is that of the same program written for all examples, in no more memory: never a gradient for
each example that is summed afterwards. Inside a vmap that runs, it is still one for each.
"""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

EXAMPLES = 5


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def of(subscripts: str, place: int) -> Callable[..., Any]:
    """An einsum with w as one of its operands, x as the others."""

    def call(w: Any, x: Any) -> Any:
        operands = [x] * (subscripts.count(",") + 1)
        operands[place] = w
        return pb.einsum(subscripts, *operands)

    return call


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "vector @ matrix": (lambda w, x: x @ w, (3, 4), (3,)),
    "vector @ vector": (lambda w, x: x @ w, (3,), (3,)),
    "vector @ stack": (lambda w, x: x @ w, (2, 3, 4), (3,)),
    "rows @ matrix": (lambda w, x: x @ w, (3, 4), (2, 3)),
    "rows @ vector": (lambda w, x: x @ w, (3,), (2, 3)),
    "rows @ stack": (lambda w, x: x @ w, (2, 3, 4), (6, 3)),
    "stack @ matrix": (lambda w, x: x @ w, (3, 4), (6, 2, 3)),
    "stack @ vector": (lambda w, x: x @ w, (3,), (6, 2, 3)),
    "matrix @ vector": (lambda w, x: w @ x, (4, 3), (3,)),
    "matrix @ columns": (lambda w, x: w @ x, (4, 3), (3, 2)),
    "matrix @ stack": (lambda w, x: w @ x, (4, 3), (6, 3, 2)),
    "vector @ columns": (lambda w, x: w @ x, (3,), (3, 2)),
    "stack @ columns": (lambda w, x: w @ x, (6, 4, 3), (3, 2)),
    "tensordot": (lambda w, x: pb.tensordot(x, w, axes=1), (3, 2, 4), (2, 3)),
    "einsum of two": (of("ij,jk->ik", 1), (3, 4), (2, 3)),
    "einsum of three": (of("ia,ab,jb->ij", 1), (3, 3), (2, 3)),
    "einsum, a diagonal": (of("iij,j->i", 0), (2, 2, 3), (3,)),
    "einsum, a sum": (of("ij,k->k", 0), (2, 3), (3,)),
    "einsum, an axis stretched": (of("ij,ij->i", 0), (1, 3), (2, 3)),
    "convolution": (lambda w, x: pb.conv1d(x, w, stride=2, groups=2), (6, 2, 3), (2, 4, 8)),
    "transposed convolution": (
        lambda w, x: pb.conv_transpose2d(x, w, stride=2), (4, 3, 2, 2), (2, 4, 3, 3)
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], np.ndarray, np.ndarray]:
    """A function, weights, and inputs for three times as many examples as go into a vmap."""
    f, weights, inputs = CASES[request.param]
    return f, random(*weights), random(3, EXAMPLES, *inputs, seed=1)


def squares(f: Callable[..., Any]) -> Callable[..., Any]:
    """A number that depends on every entry in a way of its own."""
    return lambda w, x: pb.sum(pb.sin(f(w, x)) ** 2)


def looped(loss: Callable[..., Any], w: np.ndarray, xs: np.ndarray) -> np.ndarray:
    """The gradient of the sum of a loss over examples, one after the other."""
    return np.sum([pb.grad(loss)(w, x).data for x in xs], axis=0)


def mapped(loss: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of a loss over examples, by vmap."""
    return lambda w, xs: pb.sum(pb.vmap(lambda x: loss(w, x))(xs))


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got.data, wanted, rtol=1e-10, atol=1e-10)


def test_gradient_of_the_sum(case: Any) -> None:
    f, w, xs = case
    loss = squares(f)
    close(pb.grad(mapped(loss))(w, xs[0]), looped(loss, w, xs[0]))


def test_gradient_of_nested_sums(case: Any) -> None:
    f, w, xs = case
    loss = squares(f)
    close(
        pb.grad(mapped(mapped(loss)))(w, xs), sum(looped(loss, w, part) for part in xs)
    )


def test_gradient_of_a_sum_inside_vmap(case: Any) -> None:
    """The inner vmap has ended where the pull runs, the outer one has not."""
    f, w, xs = case
    loss = squares(f)
    got = pb.vmap(lambda part: pb.grad(mapped(loss))(w, part))(xs)
    close(got, [looped(loss, w, part) for part in xs])


def test_weights_of_an_outer_vmap(case: Any) -> None:
    f, w, xs = case
    loss = squares(f)
    ws = np.stack([w, 2 * w, -w])
    got = pb.vmap(lambda w: pb.grad(mapped(loss))(w, xs[0]))(ws)
    close(got, [looped(loss, each, xs[0]) for each in ws])


def test_gradients_inside_are_one_for_each_example(case: Any) -> None:
    f, w, xs = case
    loss = squares(f)
    got = pb.vmap(lambda x: pb.grad(lambda w: loss(w, x))(w))(xs[0])
    close(got, [pb.grad(loss)(w, x).data for x in xs[0]])


def test_second_order(case: Any) -> None:
    f, w, xs = case
    loss, v = squares(f), random(*w.shape, seed=2)

    def along(total: Callable[..., Any], x: Any) -> Any:
        return pb.grad(lambda w: pb.sum(pb.grad(total)(w, x) * v))(w)

    wanted = sum(along(loss, x).data for x in xs[0])
    close(along(mapped(loss), xs[0]), wanted)


LARGE: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "vector @ matrix": (lambda w, x: x @ w, (150, 150), (150,)),
    "rows @ matrix": (lambda w, x: x @ w, (150, 150), (2, 150)),
    "matrix @ vector": (lambda w, x: w @ x, (150, 150), (150,)),
    "matrix @ columns": (lambda w, x: w @ x, (150, 150), (150, 2)),
    "einsum": (of("j,jk->k", 1), (150, 150), (150,)),
    "convolution": (lambda w, x: pb.conv1d(x, w), (150, 75, 2), (1, 75, 2)),
    "transposed convolution": (
        lambda w, x: pb.conv_transpose2d(x, w), (75, 150, 2, 1), (1, 75, 1, 1)
    ),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", LARGE)
def test_memory(name: str, order: int) -> None:
    """Less than a quarter of what gradients for each of 100 examples take."""
    f, weights, inputs = LARGE[name]
    w, xs = random(*weights), random(100, *inputs)
    total = mapped(squares(f))
    once = pb.grad(total)

    def run() -> Any:
        if order == 1:
            return once(w, xs)
        return pb.grad(lambda w: pb.sum(once(w, xs) ** 2))(w)

    run()
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25 * w.nbytes, f"{peak / w.nbytes:.1f} times the weights"
