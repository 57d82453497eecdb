"""A rule that was tried once is not tried again where its operations show that it is linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NotDifferentiableError
from tests.custom.test_not_linear import LINEAR, NOT_LINEAR

X, V = np.array([0.3, -1.2, 0.7]), np.array([1.0, -2.0, 0.5])

Rule = Callable[[Any, Any], Any]
MORE_LINEAR: dict[str, Rule] = {
    "matrix": lambda g, x: pb.asarray(np.arange(9.0).reshape(3, 3)) @ g,
    "running": lambda g, x: pb.cumulative_sum(g) + pb.sum(g),
    "stacked": lambda g, x: pb.sum(pb.stack([g, g / (1 + x * x)]), axis=0),
    "fourier": lambda g, x: pb.real(pb.fft.ifft(pb.fft.fft(g) * 2.0)),
    "put": lambda g, x: pb.concat([g[1:], g[:1] * x[:1]]),
}
MORE_NOT_LINEAR: dict[str, Rule] = {
    "comparison": lambda g, x: g * (g > 0.5),
    "a Python if": lambda g, x: g * 2 if pb.sum(g) > 0 else g,
    "any": lambda g, x: g * (2.0 if pb.any(g) else 1.0),
    "detached": lambda g, x: g * pb.stop_gradient(g),
    "integer": lambda g, x: g * pb.astype(pb.astype(g, pb.int64), pb.float64),
    "sorted": lambda g, x: pb.sort(g),
    "order": lambda g, x: g[pb.argsort(g)],
    "rounded": lambda g, x: g + pb.round(g),
    "power": lambda g, x: g**3,
}
STYLES = ["custom_gradient", "Function", "custom_jvp"]


def calls(style: str, rule: Rule) -> list[Callable[[], Any]]:
    """The product of V with the rule's matrix, or its transpose, asked for in several ways."""
    if style == "custom_jvp":
        f = pb.custom_jvp(pb.sin)
        f.defjvp(lambda xs, ts: (pb.sin(xs[0]), rule(ts[0], xs[0])))
        return [
            lambda: pb.vjp(f, X)[1](V)[0], lambda: pb.grad(lambda x: pb.sum(f(x) * V))(X),
            lambda: pb.function(lambda x: pb.vjp(f, x)[1](V)[0])(pb.tensor(X)),
            lambda: pb.vmap(lambda x: pb.vjp(f, x)[1](V)[0])(np.stack([X, X]))[1],
        ]
    if style == "custom_gradient":
        g = pb.custom_gradient(lambda x: (pb.sin(x), lambda g: rule(g, x)))
    else:

        class Named(pb.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return pb.sin(x)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return rule(g, *ctx.saved_tensors)

        g = Named.apply
    return [
        lambda: pb.jvp(g, (X,), (V,))[1], lambda: pb.linearize(g, X)[1](V),
        lambda: pb.function(lambda x: pb.jvp(g, (x,), (V,))[1])(pb.tensor(X)),
        lambda: pb.vmap(lambda x: pb.jvp(g, (x,), (V,))[1])(np.stack([X, X]))[1],
    ]


@pytest.mark.parametrize("style", STYLES)
def test_linear_rules_pass_at_every_call(style: str) -> None:
    for name, rule in {**LINEAR, **MORE_LINEAR}.items():
        if name == "random":
            continue  # its matrix is another one at each call
        matrix = np.stack([rule(pb.tensor(e), pb.tensor(X)).numpy() for e in np.eye(3)], axis=1)
        for call in calls(style, rule) * 2:
            np.testing.assert_allclose(call().numpy(), matrix.T @ V, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("style", STYLES)
def test_others_are_refused_at_every_call(style: str) -> None:
    for rule in {**NOT_LINEAR, **MORE_NOT_LINEAR}.values():
        for call in calls(style, rule) * 2:
            with pytest.raises(NotDifferentiableError, match="linear"):
                call()


@pytest.mark.parametrize("style", STYLES)
def test_a_rule_that_is_linear_only_sometimes_is_refused_when_it_is_not(style: str) -> None:
    clips = [False]
    first, *_ = calls(style, lambda g, x: pb.clip(g, -0.1, 0.1) if clips[0] else 2.0 * g)
    for now in (False, False, True, False, True):
        clips[0] = now
        if now:
            with pytest.raises(NotDifferentiableError, match="linear"):
                first()
        else:
            np.testing.assert_allclose(first().numpy(), 2.0 * V)


@pytest.mark.parametrize("style", STYLES)
def test_the_first_call_runs_the_rule_three_times_and_the_next_ones_once(style: str) -> None:
    runs = [0]

    def rule(g: Any, x: Any) -> Any:
        runs[0] += 1
        return g * pb.cos(x)

    first, *_ = calls(style, rule)
    counts = []
    for _ in range(3):
        runs[0] = 0
        first()
        counts.append(runs[0])
    assert counts == [3, 1, 1]
