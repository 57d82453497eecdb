"""`vmap` inside a traced function: the derivatives and values of the untraced one, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import graphs
from pullback.errors import SymbolError

product = pb.function(lambda r: pb.sin(r) * r)
signed = pb.function(
    lambda r, scale=2.0: scale * r * r, input_signature=[graphs.TensorSpec((), "float64")])
weight = pb.Variable(2.0, dtype="float64")

RIGHT: dict[str, Callable[[Any], Any]] = {
    "a traced function": lambda x: pb.vmap(product)(x),
    "by keyword": lambda x: pb.vmap(lambda r: product(r=r))(x),
    "with a signature": lambda x: pb.vmap(signed)(x),
    "of a variable": lambda x: pb.vmap(pb.function(lambda r: r * r * weight))(x),
    "in two vmaps": lambda x: pb.vmap(lambda r: pb.vmap(product)(x * r))(x),
    "its gradient": lambda x: pb.vmap(pb.grad(product))(x),
    "in a checkpoint": lambda x: pb.vmap(pb.checkpoint(product))(x),
    "in a traced function": lambda x: pb.vmap(pb.function(lambda r: product(r) * r))(x),
    "a choice for each example": lambda x: pb.vmap(
        lambda r: graphs.cond(r > 0, lambda: r * 2, lambda: r))(x),
}

REFUSED: dict[str, Callable[[Any], Any]] = {
    "closed over": lambda x: pb.vmap(lambda r: pb.function(lambda: r * 2.0)())(x),
    "a choice for all": lambda x: pb.vmap(
        lambda r: graphs.cond(pb.sum(x) > 0, lambda: r * 2, lambda: r))(x),
    "a loop": lambda x: pb.vmap(lambda r: graphs.while_loop(
        lambda i, r: i < 3, lambda i, r: (i + 1, r * r), (0, r))[1])(x),
    "map_fn": lambda x: pb.vmap(lambda r: graphs.map_fn(lambda q: q * r, x))(x),
    "Python": lambda x: pb.vmap(lambda r: graphs.py_function(lambda v: v * 2, [r], r.dtype))(x),
}


@pytest.mark.parametrize("mapped", RIGHT.values(), ids=RIGHT)
def test_it_gives_what_the_untraced_function_gives(
    mapped: Callable[[Any], Any], rng: np.random.Generator
) -> None:
    x, traced = rng.normal(size=3), pb.function(mapped)
    weights = rng.normal(size=mapped(pb.tensor(x)).shape)
    np.testing.assert_allclose(
        traced(pb.tensor(x)).numpy(), mapped(pb.tensor(x)).numpy(), rtol=1e-12)
    right = pb.grad(lambda x: pb.sum(mapped(x) * weights))(x).numpy()
    found = pb.grad(lambda x: pb.sum(traced(x) * weights))(x).numpy()
    np.testing.assert_allclose(found, right, rtol=1e-12)
    leaf = pb.tensor(x, requires_grad=True)
    pb.sum(traced(leaf) * weights).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), right, rtol=1e-12)


@pytest.mark.parametrize("mapped", REFUSED.values(), ids=REFUSED)
def test_other_operations_on_batched_values_are_refused(mapped: Callable[[Any], Any]) -> None:
    with pytest.raises(SymbolError, match="vmap outside the traced function"):
        pb.function(mapped)(pb.tensor([0.5, 0.3]))


@pytest.mark.parametrize("wrap", [lambda f: f, pb.function], ids=["inner", "inner traced"])
def test_random_numbers_are_drawn_in_each_call_and_for_each_example(wrap: Any) -> None:
    inner = wrap(lambda r: r * pb.random.normal((2,)))
    drawn = pb.function(lambda x: pb.vmap(inner)(x))
    assert len({*drawn(pb.ones(3)).numpy().ravel(), *drawn(pb.ones(3)).numpy().ravel()}) == 12
    x = pb.ones(3).requires_grad_()
    y = drawn(x)
    pb.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.numpy().sum(1))
    around = pb.vmap(drawn)(pb.ones((4, 3))).numpy()
    assert len(set(around.ravel())) == 24
    one = pb.function(lambda x: pb.vmap(inner, randomness="same")(x))
    assert len(set(one(pb.ones(3)).numpy().ravel())) == 2
    with pytest.raises(pb.errors.BatchedValueError, match="randomness"):
        pb.function(lambda x: pb.vmap(inner, randomness="error")(x))(pb.ones(3))
