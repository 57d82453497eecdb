"""Derivatives that traced code asks for, of something that was computed before it was traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.graphs import function


def derivatives_made_outside() -> dict[str, Callable[[Any], Any]]:
    x, leaf_ = pb.tensor([3.0, 0.5]), pb.tensor([3.0, 0.5], requires_grad=True)
    y = leaf_ * leaf_
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * x
    with pb.ForwardAccumulator(x, pb.ones(2)) as accumulator:
        pushed = x * x
    _, pull = pb.vjp(lambda x: x * x, x)
    _, push = pb.linearize(lambda x: x * x, x)
    transposed = pb.linear_transpose(lambda x: 2.0 * x, x)
    return {
        "vjp": lambda g: pull(g)[0], "linearize": push, "linear_transpose": transposed,
        "tape": lambda g: tape.gradient(z, x, output_gradients=g),
        "jacobian": lambda g: tape.jacobian(z, x) @ g,
        "autograd": lambda g: pb.autograd.grad(y, leaf_, g)[0],
        "backward": lambda g: y.backward(g),
        "accumulator": lambda g: accumulator.jvp(pushed) * g,
    }


@pytest.mark.parametrize("name", sorted(derivatives_made_outside()))
def test_a_derivative_of_what_was_computed_outside_is_an_error_in_traced_code(name: str) -> None:
    """Its history is not in the graph: it was zero, or None."""
    f = derivatives_made_outside()[name]
    with pytest.raises(pb.errors.GraphError, match="computed outside"):
        function(f)(pb.tensor([2.0, 1.0]))


@pytest.mark.parametrize("inner", [
    function, pb.vmap, pb.checkpoint,
    lambda f: lambda g: pb.graphs.cond(pb.sum(g) > 0, lambda: f(g), lambda: g),
    lambda f: lambda g: pb.graphs.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, f(a)),
                                             (0, g))[1],
])
def test_a_derivative_is_asked_for_in_a_part_of_the_traced_function_that_made_it(
    inner: Any,
) -> None:
    def f(x: Any) -> Any:
        return pb.sin(x) * x if inner is not pb.vmap else pb.sum(x * x)

    def program(x: Any, g: Any) -> Any:
        _, pull = pb.vjp(f, x)
        return inner(lambda g: pull(g)[0])(g)

    x, g = pb.tensor([3.0, 0.5]), pb.tensor([2.0, 1.0])
    _, pull = pb.vjp(f, x)
    expected = (pb.vmap(pull) if inner is pb.vmap else pull)(g)[0]
    np.testing.assert_allclose(function(program)(x, g).numpy(), expected.numpy())
