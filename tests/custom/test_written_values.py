"""No hand-written rule reads a value that was written since its call: that is an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import InplaceError


class Holder:
    """An object of a user's that a rule reads."""

    unrelated: Any

    def __init__(self, value: Any) -> None:
        self.value, self.unrelated = value, OTHER

    def __call__(self, g: Any) -> Any:
        return self.of(g)

    def of(self, g: Any) -> Any:
        return 2 * g * self.value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


OTHER = pb.ones(2)


def gradient(make: Callable[[Any], Any]) -> Any:
    """x² by `custom_gradient`, with the gradient function that `make(x)` returns."""
    return pb.custom_gradient(lambda x: (x * x, make(x)))


def by_default(x: Any) -> Any:
    def grad(g: Any, x: Any = x) -> Any:
        return 2 * g * x

    return grad


def by_object(x: Any) -> Any:
    held = Holder(x)
    return lambda g: 2 * g * held.value


def vjp(residuals: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    f = pb.custom_vjp(pb.square)
    f.defvjp(lambda x: (x * x, residuals(x)), lambda r, g: (2 * g * read(r),))
    return f


def vjp_of_an_object() -> Any:
    f = pb.custom_vjp(pb.square)
    f.defvjp(lambda x: (x * x, Holder(x)), lambda r, g: (2 * g * r.value,))
    return f


def function(keep: Callable[[Any, Any], None], read: Callable[[Any], Any]) -> Any:
    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            keep(ctx, x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * read(ctx)

    return Square.apply


def set_(name: str, value: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    return lambda ctx, x: setattr(ctx, name, value(x))


RULES: dict[str, Any] = {
    "closure": gradient(lambda x: lambda g: 2 * g * x),
    "default": gradient(by_default),
    "partial": gradient(lambda x: functools.partial(lambda x, g: 2 * g * x, x)),
    "container": gradient(lambda x: (lambda c: lambda g: 2 * g * c[0]["x"])([{"x": x}])),
    "inner function": gradient(lambda x: (lambda f: lambda g: 2 * g * f())(lambda: x)),
    "callable": gradient(Holder),
    "method": gradient(lambda x: Holder(x).of),
    "attribute": gradient(by_object),
    "slot": gradient(lambda x: (lambda h: lambda g: 2 * g * h.value)(Slotted(x))),
    "array": gradient(lambda x: (lambda a: lambda g: 2 * g * a)(x.data)),
    "residual": vjp(lambda x: x, lambda r: r),
    "nested residual": vjp(lambda x: {"x": [x]}, lambda r: r["x"][0]),
    "residual of an object": vjp_of_an_object(),
    "ctx.save_for_backward": function(
        lambda ctx, x: ctx.save_for_backward(x), lambda ctx: ctx.saved_tensors[0]),
    "ctx.x": function(set_("x", lambda x: x), lambda ctx: ctx.x),
    "ctx.list": function(set_("list", lambda x: [x]), lambda ctx: ctx.list[0]),
    "ctx.array": function(set_("array", lambda x: x.data), lambda ctx: ctx.array),
}

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def leaf(rng: np.random.Generator) -> Any:
    return pb.tensor(rng.normal(size=2), requires_grad=True)


@every_rule
@pytest.mark.parametrize("through", ["itself", "a view"])
def test_an_input_written_afterwards(
    rule: Any, through: str, rng: np.random.Generator
) -> None:
    y = leaf(rng) * 1.0
    z = rule(y)
    written = y if through == "itself" else y[:1]
    written += 1.0
    with pytest.raises(InplaceError):
        pb.sum(z).backward()


@every_rule
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_step_of_an_optimizer_before_the_backward_pass(
    rule: Any, create_graph: bool, rng: np.random.Generator
) -> None:
    p = leaf(rng)
    z = rule(p)
    with pb.no_grad():
        p -= 0.5
    with pytest.raises(InplaceError):
        pb.autograd.grad(pb.sum(z), p, create_graph=create_graph)


@every_rule
def test_a_variable_assigned_afterwards(rule: Any, rng: np.random.Generator) -> None:
    start = rng.normal(size=2)
    v = pb.Variable(start)
    with pb.GradientTape() as tape:
        z = rule(v)
    v.assign_sub([1.0, 1.0])
    try:
        found = tape.gradient(z, v)
    except InplaceError:
        return
    np.testing.assert_allclose(found.numpy(), 2 * start)


@every_rule
def test_writes_to_other_tensors_are_no_error(rule: Any, rng: np.random.Generator) -> None:
    x = leaf(rng)
    z = rule(x * 1.0)
    OTHER.__iadd__(1.0)
    pb.sum(z).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


@pytest.mark.parametrize("rule", [
    pb.custom_gradient(lambda x: (lambda y: (y, lambda g: g * y))(pb.exp(x))),
    pb.custom_gradient(lambda x: (lambda y: (y, Holder(0.5 * y)))(pb.exp(x))),
    function(lambda ctx, x: ctx.save_for_backward(x), lambda ctx: ctx.saved_tensors[0]),
], ids=["the output itself", "made from it", "the input"])
def test_an_output_written_afterwards(rule: Any, rng: np.random.Generator) -> None:
    x = leaf(rng)
    y, right = rule(x), rule(x)
    (expected,) = pb.autograd.grad(pb.sum(right * 3.0), x)
    y *= 3.0
    try:
        pb.sum(y).backward()
    except InplaceError:
        return
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy())


def test_a_function_that_writes_its_input_may_keep_it(rng: np.random.Generator) -> None:
    class Double(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x *= 2.0
            ctx.x = x
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * (ctx.x / ctx.saved_tensors[0])

    x, weights = leaf(rng), rng.normal(size=2)
    pb.sum(Double.apply(x * 1.0) * weights).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * weights)
