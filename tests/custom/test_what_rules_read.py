"""Rules that read more than they are handed, or call themselves; numbers and defaults in them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import pullback as pb


def by_custom_gradient(y: Any) -> Any:
    @pb.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda g: g * pb.exp(y)

    return f


def by_custom_vjp(y: Any) -> Any:
    @pb.custom_vjp
    def f(x: Any) -> Any:
        return x * x

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * pb.exp(y),))
    return f


def by_custom_jvp(y: Any) -> Any:
    @pb.custom_jvp
    def f(x: Any) -> Any:
        return x * x

    f.defjvp(lambda primals, tangents: (f(*primals), pb.exp(y) * tangents[0]))
    return f


def by_function(y: Any) -> Any:
    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * pb.exp(y)

    return Square.apply


def by_override(y: Any) -> Any:
    def f(x: Any) -> Any:
        with pb.override_gradient({"multiply": lambda op, g: (g * pb.exp(y), None)}):
            return x * x

    return f


def by_hook(y: Any) -> Any:
    def f(x: Any) -> Any:
        out = x * x
        out.register_hook(lambda g: g * pb.exp(y) / (2 * 1.5))
        return out

    return f


WAYS = [by_custom_gradient, by_custom_vjp, by_custom_jvp, by_function, by_override, by_hook]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_rule_reads_has_a_derivative_in_the_transformation_around(way: Any) -> None:
    """The inner derivative does not depend on y by any path but the rule: it is exp(y)."""
    def inner(y: Any) -> Any:
        return pb.grad(way(y))(1.5)

    def by_vjp(y: Any) -> Any:
        return pb.vjp(way(y), 1.5)[1](2.0)[0]

    y, e = 0.7, math.exp(0.7)
    assert math.isclose(inner(y).item(), e)
    assert math.isclose(pb.grad(inner)(y).item(), e)
    assert math.isclose(pb.grad(pb.grad(inner))(y).item(), e)
    assert math.isclose(pb.grad(by_vjp)(y).item(), 2 * e)
    assert math.isclose(pb.jvp(pb.grad(inner), (y,), (3.0,))[1].item(), 3 * e)
    assert math.isclose(pb.grad(lambda y: pb.jacrev(way(y))(1.5))(y).item(), e)
    np.testing.assert_allclose(pb.vmap(pb.grad(inner))(np.array([y, 0.0])).numpy(), [e, 1.0])
    source = pb.tensor(y)
    with pb.GradientTape() as tape:
        tape.watch(source)
        answer = inner(source)
    assert math.isclose(tape.gradient(answer, source).item(), e)


def test_a_rule_may_call_its_own_function_on_a_tangent() -> None:
    """It says so that the function is linear in it: the function itself is transposed."""
    @pb.custom_jvp
    def divide(x: Any, y: Any) -> Any:
        return x / y

    @divide.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        out = divide(x, y)
        return out, divide(dx, y) - 10.0 * divide(out * dy, y)  # ten times the derivative in y

    gx, gy = pb.grad(divide, argnums=(0, 1))(3.0, 4.0)
    assert (gx.item(), gy.item()) == (0.25, -10 * 3 / 16)
    _, t = pb.jvp(divide, (3.0, 4.0), (1.0, 1.0))
    assert t.item() == 0.25 - 10 * 3 / 16
    second = pb.grad(pb.grad(lambda x: divide(x * x, 4.0)))(3.0)
    assert second.item() == 0.5
    each = pb.vmap(pb.grad(divide, argnums=1), in_axes=(0, None))(np.array([3.0, 6.0]), 4.0)
    assert each.tolist() == [-10 * 3 / 16, -10 * 6 / 16]


def test_its_own_function_on_what_is_no_tangent_keeps_its_rule() -> None:
    @pb.custom_jvp
    def f(x: Any) -> Any:
        return x * x

    f.defjvp(lambda primals, tangents: (f(*primals), f(primals[0] + 1.0) * tangents[0]))
    assert pb.grad(f)(2.0).item() == 9.0
    assert pb.grad(pb.grad(f))(2.0).item() == 16.0  # f′(3) by its rule: f(4)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_numbers_are_gradients_of_numbers(library: str) -> None:
    make = np.float32 if library == "numpy" else pytest.importorskip("torch").tensor
    f = pb.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, 0.5))
    gx, gy = pb.grad(f, argnums=(0, 1))(make(2.0), make(3.0))
    assert (gx.item(), gy.item()) == (3.0, 0.5)
    assert str(gy.dtype).endswith("float32")
    with pytest.raises(pb.errors.RuleError, match=r"shape \(2,\)"):
        pb.grad(lambda x: pb.sum(f(x, x)))(np.ones(2))


@pytest.mark.parametrize("kind", [pb.custom_vjp, pb.custom_jvp])
def test_keyword_only_parameters_keep_their_defaults(kind: Any) -> None:
    def weighted(x: Any, y: Any, a: float) -> Any:
        return x + y * a

    half = functools.partial(weighted, a=0.5)
    f = kind(half)
    if kind is pb.custom_vjp:
        f.defvjp(lambda x, y: (half(x, y), None), lambda _, g: (g, g * 30.0), optimize_remat=True)
    else:
        f.defjvp(lambda p, t: (half(*p), t[0] + 30.0 * t[1]))
    assert f(1.0, 4.0).item() == 3.0
    assert [g.item() for g in pb.grad(f, argnums=(0, 1))(1.0, 4.0)] == [1.0, 30.0]
    with pytest.raises(ValueError, match="keyword-only a"):
        f(1.0, 4.0, a=2.0)
