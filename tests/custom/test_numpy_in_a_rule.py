"""A rule that takes tracked values to NumPy: right to first order, and an error beyond."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from pullback.errors import NotDifferentiableError

X, T = np.array([2.0, -1.0]), np.array([0.6, 1.7])


def by_custom_gradient(forward: Any, rule: Any) -> Any:
    return pb.custom_gradient(lambda x: (forward(x), lambda g: rule(g, x)))


def by_closure(forward: Any, rule: Any) -> Any:
    def call(x: Any) -> Any:
        kept = x.numpy() if forward is in_numpy else x
        return forward(x), lambda g: rule(g, kept)

    return pb.custom_gradient(call)


def by_function(forward: Any, rule: Any) -> Any:
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(g, *ctx.saved_tensors)

    return Cube.apply


def by_attribute(forward: Any, rule: Any) -> Any:
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.kept = x.numpy()
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(g, ctx.kept)

    return Cube.apply


def by_custom_vjp(forward: Any, rule: Any) -> Any:
    f = pb.custom_vjp(forward)
    f.defvjp(lambda x: (forward(x), x), lambda x, g: (rule(g, x),))
    return f


def by_residual(forward: Any, rule: Any) -> Any:
    f = pb.custom_vjp(forward)
    f.defvjp(lambda x: (forward(x), x.numpy()), lambda x, g: (rule(g, x),))
    return f


def by_override(forward: Any, rule: Any) -> Any:
    def f(x: Any) -> Any:
        with pb.override_gradient({"pow": lambda op, g: (rule(g, op.inputs[0]), None)}):
            return x ** pb.tensor(3.0)

    return f


def in_numpy(x: Any) -> Any:
    return pb.tensor(np.asarray(x) ** 3)


def in_tensors(x: Any) -> Any:
    return x**3


def slope(x: Any) -> Any:
    return 3.0 * np.asarray(x) ** 2


FORWARD = {"forward in NumPy": in_numpy, "forward in tensors": in_tensors}
RULES = {
    "both left": lambda g, x: pb.tensor(slope(x) * np.asarray(g)),
    "an array": lambda g, x: slope(x) * np.asarray(g),
    "x left": lambda g, x: g * slope(x),
    "by item": lambda g, x: pb.stack([
        g[i] * 3.0 * (x[i].item() ** 2 if isinstance(x, pb.Tensor) else x[i] ** 2)
        for i in range(2)
    ]),
}
STYLES = {
    "custom_gradient": by_custom_gradient, "closure": by_closure, "Function": by_function,
    "attribute": by_attribute, "custom_vjp": by_custom_vjp, "residual": by_residual,
    "override": by_override,
}


def by_create_graph(f: Callable[[Any], Any]) -> Any:
    x = pb.tensor(X, requires_grad=True)
    (g,) = pb.autograd.grad(f(x), x, create_graph=True)
    return pb.autograd.grad(pb.sum(g), x)


def by_tapes(f: Callable[[Any], Any]) -> Any:
    x = pb.tensor(X)
    with pb.GradientTape() as outer:
        outer.watch(x)
        with pb.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return outer.gradient(g, x)


SECOND: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "hessian": lambda f: pb.hessian(f)(X),
    "hvp": lambda f: pb.hvp(f, (X,), (T,)),
    "grad of grad": lambda f: pb.grad(lambda x: pb.sum(pb.grad(f)(x)))(X),
    "jvp of grad": lambda f: pb.jvp(pb.grad(f), (X,), (T,)),
    "linearize of grad": lambda f: pb.linearize(pb.grad(f), X)[1](T),
    "grad of jvp": lambda f: pb.grad(lambda x: pb.jvp(f, (x,), (T,))[1])(X),
    "create_graph": by_create_graph,
    "tapes": by_tapes,
}


@pytest.mark.parametrize("style", STYLES)
def test_first_order_is_right_and_second_order_an_error(style: str) -> None:
    before = state()
    for forward in FORWARD.values():
        for name, rule in RULES.items():
            f = STYLES[style](forward, rule)
            loss = lambda x, f=f: pb.sum(f(x) + x * x)  # noqa: E731
            got = pb.grad(loss)(X)
            np.testing.assert_allclose(got.numpy(), 3 * X**2 + 2 * X, err_msg=name)
            for way, run in SECOND.items():
                with pytest.raises(NotDifferentiableError) as caught:
                    run(loss)
                assert "leaves the library" in str(caught.value), (name, way)
                assert "test_numpy_in_a_rule.py" in str(caught.value), (name, way)
                assert state() == before


@pytest.mark.parametrize("style", STYLES)
def test_forward_mode_is_right_or_an_error(style: str) -> None:
    for rule in RULES.values():
        f = STYLES[style](in_tensors, rule)
        with suppress(NotDifferentiableError):
            got = pb.jvp(f, (X,), (T,))[1]
            np.testing.assert_allclose(got.numpy(), 3 * X**2 * T)


def test_what_is_detached_is_a_constant() -> None:
    f = pb.custom_gradient(lambda x: (x**3, lambda g: g * slope(x.detach())))
    second = pb.hessian(lambda x: pb.sum(f(x) + x * x))(X)
    np.testing.assert_allclose(second.numpy(), 2 * np.eye(2))


def test_a_derivative_that_needs_nothing_of_it_is_there() -> None:
    """The gradient is linear in its cotangent; what left is no part of that derivative."""
    f = pb.custom_gradient(lambda x: (x**3, lambda g: g * slope(x)))
    w = pb.tensor(T, requires_grad=True)
    x = pb.tensor(X, requires_grad=True)
    (g,) = pb.autograd.grad(pb.sum(f(x) * w), x, create_graph=True)
    np.testing.assert_allclose(pb.autograd.grad(pb.sum(g), w)[0].numpy(), 3 * X**2)
    tangent = pb.jvp(lambda w: pb.grad(lambda x: pb.sum(f(x) * w))(X), (T,), (np.ones(2),))[1]
    np.testing.assert_allclose(tangent.numpy(), 3 * X**2)


def test_a_forward_in_numpy_with_a_backward_in_tensors() -> None:
    f = pb.custom_gradient(lambda x: (in_numpy(x), lambda g: g * 3.0 * x**2))
    second = pb.hessian(lambda x: pb.sum(f(x)))(X)
    np.testing.assert_allclose(second.numpy(), np.diag(6 * X))
