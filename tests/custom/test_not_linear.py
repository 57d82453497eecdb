"""A backward that is not linear in its cotangent has no forward mode; reverse mode stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from pullback.errors import NotDifferentiableError

Rule = Callable[[Any, Any], Any]

NOT_LINEAR: dict[str, Rule] = {
    "clip": lambda g, x: pb.clip(g, -1.0, 1.0),
    "clip far": lambda g, x: pb.clip(g, -1e5, 1e5),
    "clip by norm": lambda g, x: g / pb.maximum(1.0, pb.linalg.vector_norm(g)),
    "normalise": lambda g, x: g / (pb.linalg.vector_norm(g) + 1e-6),
    "sign": lambda g, x: pb.sign(g),
    "positive part": lambda g, x: pb.where(g > 0, g, 0.0),
    "leaky": lambda g, x: pb.where(g > 0, g, 0.1 * g),
    "size": lambda g, x: pb.abs(g),
    "dead zone": lambda g, x: pb.where(pb.abs(g) > 1e-3, g, 0.0),
    "square": lambda g, x: g * g * x,
    "ignored": lambda g, x: 2.0 * x,
    "shifted": lambda g, x: g + 1.0,
    "largest only": lambda g, x: pb.where(pb.abs(g) == pb.max(pb.abs(g)), g, 0.0 * g) + 0.5 * g * g,
}
LINEAR: dict[str, Rule] = {
    "scaled": lambda g, x: 3.0 * g,
    "negative": lambda g, x: -g,
    "zero": lambda g, x: 0.0 * g,
    "product": lambda g, x: g * x * x,
    "masked": lambda g, x: pb.where(x > 0, g, 0.0),
    "mixed": lambda g, x: pb.flip(g, axis=-1) * x,
    "small": lambda g, x: 1e-20 * g,
    "random": lambda g, x: g * (pb.random.uniform(g.shape) + 0.5),
}


def by_custom_gradient(rule: Rule) -> Any:
    return pb.custom_gradient(lambda x: (x * 1.0, lambda g: rule(g, x)))


def by_function(rule: Rule) -> Any:
    class Named(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return rule(g, *ctx.saved_tensors)

    return Named.apply


def by_custom_vjp(rule: Rule) -> Any:
    f = pb.custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (x * 1.0, x), lambda x, g: (rule(g, x),))
    return f


def by_override(rule: Rule) -> Any:
    def f(x: Any) -> Any:
        with pb.override_gradient({"tanh": lambda op, g: rule(g, op.inputs[0])}):
            return pb.tanh(x)

    return f


COUNT = count()


def by_operation(rule: Rule, *, elementwise: bool = False) -> Any:
    name = f"written_{next(COUNT)}"

    @pb.op(name=name, elementwise=elementwise, shape=None if elementwise else "x")
    def written(xp: Any, x: Any, /) -> Any:
        return x * 1.0

    def pullback_written(g: Any, x: Any) -> Any:
        return rule(g, x)

    pullback_written.__name__ = f"pullback_{name}"
    written.pullback("x")(pullback_written)
    return written


STYLES = {
    "custom_gradient": by_custom_gradient, "Function": by_function, "custom_vjp": by_custom_vjp,
    "override": by_override, "operation": by_operation,
    "elementwise": partial(by_operation, elementwise=True),
}
X, T = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.7, -1.1])
FORWARD: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: pb.jvp(f, (X,), (T,)),
    "linearize": lambda f: pb.linearize(f, X)[1](T),
    "jacfwd": lambda f: pb.jacfwd(f)(X),
    "hvp": lambda f: pb.hvp(lambda x: pb.sum(f(x) * x), (X,), (T,)),
    "vmap": lambda f: pb.vmap(lambda x, t: pb.jvp(f, (x,), (t,)))(X[None], T[None]),
    "float32": lambda f: pb.jvp(f, (X.astype(np.float32),), (T,)),
    "scalar": lambda f: pb.jvp(lambda s: pb.sum(f(s * X)), (1.0,), (1.0,)),
}


@pytest.mark.parametrize("style", STYLES)
def test_forward_mode_is_refused(style: str) -> None:
    before = state()
    for name, rule in NOT_LINEAR.items():
        f = STYLES[style](rule)
        for mode, run in FORWARD.items():
            if style in ("operation", "elementwise") and mode in ("jacfwd", "vmap"):
                continue  # without a batching rule, it runs in a loop, of which a warning tells
            with pytest.raises(NotDifferentiableError, match="linear in its cotangent") as caught:
                run(f)
            assert "grad of grad" in caught.value.fix, (name, mode)
            assert state() == before


@pytest.mark.parametrize("style", STYLES)
def test_a_traced_function_refuses_it_when_it_runs(style: str) -> None:
    for names, refused in ((NOT_LINEAR, True), (LINEAR, False)):
        for name, rule in names.items():
            f = STYLES[style](rule)
            inside = pb.function(lambda x, t, f=f: pb.jvp(f, (x,), (t,))[1])
            ways = {m: FORWARD[m] for m in ("jvp", "linearize", "hvp", "scalar")}
            runs = [partial(run, pb.function(lambda x, f=f: f(x))) for run in ways.values()]
            for run in (*runs, partial(inside, pb.tensor(X), pb.tensor(T))):
                if not refused:
                    run()
                    continue
                with pytest.raises(NotDifferentiableError, match="in its cotangent") as caught:
                    run()
                assert "grad of grad" in caught.value.fix, name


def test_a_traced_rule_that_draws_random_numbers_is_linear_in_its_cotangent() -> None:
    f = by_custom_gradient(LINEAR["random"])
    traced = pb.function(lambda x, t: pb.jvp(f, (x,), (t,))[1])
    found = [traced(pb.tensor(X), pb.tensor(T)).numpy() for _ in range(2)]
    assert np.all(found[0] / T >= 0.5)
    assert np.all(found[0] != found[1])


def by_custom_jvp(rule: Rule) -> Any:
    f = pb.custom_jvp(lambda x: x * 1.0)
    f.defjvp(lambda ps, ts: (ps[0] * 1.0, rule(ts[0], ps[0])))
    return f


def by_defjvps(rule: Rule) -> Any:
    f = pb.custom_jvp(lambda x: x * 1.0)
    f.defjvps(lambda t, ans, x: rule(t, x))
    return f


def by_jvp_of_function(rule: Rule) -> Any:
    class Pushed(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 1.0

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return rule(t, *ctx.saved_tensors)

    return Pushed.apply


def by_backward(f: Callable[[Any], Any]) -> None:
    pb.sum(f(pb.tensor(X, requires_grad=True)) * T).backward()


REVERSE: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: pb.grad(lambda x: pb.sum(f(x) * T))(X),
    "vjp": lambda f: pb.vjp(f, X)[1](T),
    "hessian": lambda f: pb.hessian(lambda x: pb.sum(f(x) * x))(X),
    "backward": by_backward,
    "vmap": lambda f: pb.vmap(lambda x: pb.vjp(f, x)[1](x))(X[None]),
    "traced": lambda f: pb.grad(pb.function(lambda x: pb.sum(f(x) * T)))(X),
    "in a trace": lambda f: pb.function(lambda x: pb.vjp(f, x)[1](x))(pb.tensor(X)),
}


@pytest.mark.parametrize("make", [by_custom_jvp, by_defjvps, by_jvp_of_function])
def test_reverse_mode_is_refused_of_a_rule_that_is_not_linear_in_its_tangent(make: Any) -> None:
    before = state()
    for name, rule in NOT_LINEAR.items():
        for mode, run in REVERSE.items():
            with pytest.raises(NotDifferentiableError, match="linear in its tangents") as caught:
                run(make(rule))
            assert "jvp" in caught.value.fix, (name, mode)
            assert state() == before
        pb.jvp(make(rule), (X,), (T,))
    for rule in LINEAR.values():
        for run in REVERSE.values():
            run(make(rule))


@pytest.mark.parametrize("style", STYLES)
def test_linear_rules_have_it(style: str) -> None:
    for name, rule in LINEAR.items():
        f = STYLES[style](rule)
        pb.random.seed(4)
        with pb.no_grad():
            wanted = [pb.vjp(f, X)[1](u)[0] for u in np.eye(3)] if name != "random" else None
        for dtype in (np.float64, np.float32):
            got = pb.jvp(f, (X.astype(dtype),), (T.astype(dtype),))[1]
            if wanted is not None:
                jt = np.array([w.numpy() for w in wanted]) @ T
                np.testing.assert_allclose(got.numpy(), jt, rtol=1e-5, atol=1e-30, err_msg=name)


def test_reverse_over_reverse_differentiates_the_gradient_that_was_written() -> None:
    clipped = by_custom_gradient(NOT_LINEAR["clip"])
    # the gradient is clip(12 x^3) * 3 x^2: where it clips, 3 x^2, with the derivative 6 x
    assert float(pb.grad(lambda x: clipped(x**3) ** 2)(2.0)) == 12.0
    assert float(pb.grad(pb.grad(lambda x: clipped(x**3) ** 2))(2.0)) == 12.0
    assert float(pb.hessian(lambda x: clipped(x**3) ** 2)(2.0)) == 12.0


def test_the_probing_draws_no_random_numbers_and_warns_of_nothing() -> None:
    f = by_custom_gradient(lambda g, x: g * pb.random.uniform() * pb.exp(pb.log(pb.abs(x))))
    pb.random.seed(7)
    pb.jvp(f, (X,), (T,))
    after = pb.random.uniform().item()
    pb.random.seed(7)
    pb.random.uniform()
    assert after == pb.random.uniform().item()
    narrow = by_custom_gradient(lambda g, x: g * 1e35 * x)
    got = pb.jvp(narrow, (X.astype(np.float32),), (T.astype(np.float32),))[1]
    np.testing.assert_allclose(got.numpy(), 1e35 * X * T, rtol=1e-6)


def test_complex_rules() -> None:
    z, t = np.array([1.0 + 2j, -0.5j]), np.array([0.2 - 1j, 0.7 + 0j])
    f = by_custom_gradient(lambda g, x: g * pb.conj(2 * x))
    np.testing.assert_allclose(pb.jvp(f, (z,), (t,))[1].numpy(), 2 * z * t)
    with pytest.raises(NotDifferentiableError):
        pb.jvp(by_custom_gradient(lambda g, x: g / pb.abs(g + 1e-9)), (z,), (t,))
