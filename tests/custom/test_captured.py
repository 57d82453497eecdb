"""Tracked tensors that a custom_gradient closes over: their gradient is that of its forward."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

X = np.array([1.0, -2.0, 0.5])
W = np.array([3.0, 0.7, -1.2])


def by_backward(f: Callable[[Any], Any], w: np.ndarray) -> Any:
    leaf = pb.tensor(w, requires_grad=True)
    f(leaf).backward()
    return leaf.grad


def by_tape(f: Callable[[Any], Any], w: np.ndarray) -> Any:
    watched = pb.tensor(w)
    with pb.GradientTape() as tape:
        tape.watch(watched)
        y = f(watched)
    return tape.gradient(y, watched)


WAYS: dict[str, Callable[[Callable[[Any], Any], np.ndarray], Any]] = {
    "backward": by_backward,
    "tape": by_tape,
    "grad": lambda f, w: pb.grad(f)(w),
    "vjp": lambda f, w: pb.vjp(f, w)[1](1.0)[0],
    "jvp": lambda f, w: pb.stack([pb.jvp(f, (w,), (u,))[1] for u in np.eye(w.size)]),
    "linearize": lambda f, w: pb.stack([pb.linearize(f, w)[1](u) for u in np.eye(w.size)]),
    "jacfwd": lambda f, w: pb.jacfwd(f)(w),
    "traced": lambda f, w: pb.function(pb.grad(f))(w),
    "grad of traced": lambda f, w: pb.grad(pb.function(f))(w),
    "vmap": lambda f, w: pb.vmap(pb.grad(f))(w[None])[0],
    "checkpoint": lambda f, w: pb.grad(pb.checkpoint(f))(w),
}


def doubled(x: Any, inner: Any) -> Any:
    """The value of `inner`, with twice the gradient in x: what is a rule's, and what is not."""
    rule = pb.custom_gradient(lambda a: (inner(a), lambda g: pb.vjp(inner, a)[1](2 * g)[0]))
    return rule(x)


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # the program, and one with the same derivatives without a custom gradient
    "a constant in": (lambda w: doubled(pb.tensor(X), lambda a: a * pb.sin(w)),
                      lambda w: X * pb.sin(w)),
    "computed before": (lambda w: (lambda h: doubled(pb.tensor(X), lambda a: a * h))(pb.exp(w)),
                        lambda w: X * pb.exp(w)),
    "the argument too": (lambda w: (lambda x, h: doubled(x, lambda a: a * a * h))(w * 2, pb.exp(w)),
                         lambda w: (lambda x, h: 2 * x * x * pb.stop_gradient(h)
                                    + pb.stop_gradient(x * x) * h)(w * 2, pb.exp(w))),
    "as it is": (lambda w: pb.custom_gradient(lambda a: (w, lambda g: g * 5))(pb.tensor(X)),
                 lambda w: w * 1.0),
    "no argument": (lambda w: pb.custom_gradient(lambda: (w * w, lambda g: ()))(),
                    lambda w: w * w),
    "two outputs": (
        lambda w: sum(pb.custom_gradient(
            lambda a: ((a * w, pb.sin(w)), lambda g, h: g * 0))(pb.tensor(X))),
        lambda w: X * w + pb.sin(w),
    ),
    "inside another": (
        lambda w: doubled(pb.tensor(X), lambda a: doubled(a, lambda b: b * pb.sin(w))),
        lambda w: X * pb.sin(w),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_its_gradient_is_not_lost(name: str, way: str) -> None:
    program, plain = PROGRAMS[name]
    weights = np.random.default_rng(3).normal(size=X.shape)
    got = WAYS[way](lambda w: pb.sum(program(w) * weights), W)
    wanted = pb.grad(lambda w: pb.sum(plain(w) * weights))(W)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)


def test_second_order() -> None:
    program, plain = PROGRAMS["a constant in"]
    for second in (pb.hessian, lambda f: pb.jacfwd(pb.grad(f))):
        got = second(lambda w: pb.sum(program(w) ** 2))(W)
        wanted = second(lambda w: pb.sum(plain(w) ** 2))(W)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12)


def test_what_is_stopped_or_not_tracked_has_none() -> None:
    w = pb.tensor(W, requires_grad=True)
    x = pb.tensor(X, requires_grad=True)
    for scale in (pb.stop_gradient(w), w.detach(), pb.tensor(W)):
        y = pb.custom_gradient(lambda a, s=scale: (a * s, lambda g: g * s))(x)
        assert len(y.node.parents) == 1
    with pb.no_grad():
        assert pb.custom_gradient(lambda a: (a * w, lambda g: g))(x).node is None


def test_a_variable_and_a_captured_tensor() -> None:
    """The rule has the gradients of variables; a tensor computed from others is captured."""
    v, u = pb.Variable(3.0), pb.Variable(5.0)

    def rule(g: Any, variables: Any = None) -> Any:
        return g * 0, [g * 100 for _ in variables]

    with pb.GradientTape() as tape:
        h = u * 2.0
        y = pb.custom_gradient(lambda a: (a * v * h, rule))(pb.tensor(2.0))
    assert [float(g) for g in tape.gradient(y, [v, u])] == [100.0, 2.0 * 3.0 * 2.0]


def test_a_forward_that_captures_nothing_is_freed() -> None:
    kept: list[Any] = []

    def forward(a: Any) -> Any:
        b = pb.exp(a)
        kept.append(weakref.ref(b.node))
        return pb.log(b), lambda g: g

    x = pb.tensor(X, requires_grad=True)
    gc.disable()
    try:
        y = pb.custom_gradient(forward)(x)
        assert kept[0]() is None
        assert y.node is not None
    finally:
        gc.enable()


def test_the_number_of_gradients_is_that_of_the_arguments() -> None:
    w = pb.tensor(2.0, requires_grad=True)
    y = pb.custom_gradient(lambda a: (a * w, lambda g: (g, g)))(pb.tensor(3.0))
    with pytest.raises(pb.errors.RuleError, match="1 gradients, one for each argument"):
        y.backward()


def test_a_second_backward_says_that_the_first_one_freed_it() -> None:
    w = pb.tensor(2.0, requires_grad=True)
    y = pb.custom_gradient(lambda a: (a * w, lambda g: g))(pb.tensor(3.0))
    y.backward()
    with pytest.raises(pb.errors.GraphFreedError):
        y.backward()


def test_what_was_computed_from_an_argument_is_captured_where_the_argument_is_used_too() -> None:
    def program(w: Any) -> Any:
        y = w * 3.0
        return pb.custom_gradient(lambda a: (a * y, lambda g: g * y))(w)

    for way in WAYS.values():
        found = way(lambda w: pb.sum(program(w) * pb.tensor(X)), W)
        np.testing.assert_allclose(np.asarray(found.numpy()), 6.0 * W * X)


def test_a_rule_of_an_argument_that_is_not_used_is_that_of_what_was_computed_from_it() -> None:
    """As in TensorFlow's guide: the gradient was computed before, and its own rule is given."""

    def cube(x: Any) -> Any:
        slope = 3.0 * x * x

        def first(g: Any) -> Any:
            inner = pb.custom_gradient(lambda unused: (slope, lambda h: h * 6.0 * x))
            return g * inner(x)

        return x * x * x, first

    f = pb.custom_gradient(cube)
    np.testing.assert_allclose(pb.hessian(lambda x: pb.sum(f(x)))(W).numpy(), np.diag(6.0 * W))
