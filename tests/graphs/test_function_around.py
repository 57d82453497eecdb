"""`function` and what is done around it: gradients overridden afterwards, steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.inplace import overwrite
from pullback.errors import ArgumentError, PullbackError
from pullback.graphs import TensorSpec, function
from tests.graphs.test_function import close, normal

# Gradients overridden --------------------------------------------------------------------------


def test_overrides_reach_a_function_that_was_traced_before() -> None:
    def signs(x: Any) -> Any:
        return pb.sum(pb.sign(x) * pb.round(x) * x)

    seen: list[Any] = []

    def through(op: Any, g: Any) -> Any:
        seen.append((op.type, op.inputs[0].shape))
        return g * 2.0

    f, x = function(signs), normal(4) * 3
    plain = pb.grad(f)(x)  # traced, and its own backward made
    for rules in ({"sign": through}, {"round": through, "sign": lambda op, g: g}):
        x.requires_grad_()
        x.grad = None
        with pb.override_gradient(rules):
            y = f(x)
        y.backward()
        in_scope, x.grad = x.grad, None
        f(x).backward(overrides=rules)
        afterwards, x.grad = x.grad, None
        with pb.override_gradient(rules):
            y = signs(x)
        y.backward()
        assert close(in_scope, x.grad)
        assert close(afterwards, x.grad)
        assert not close(in_scope, plain)
        x.grad = None
    assert ("sign", (4,)) in seen
    assert close(pb.grad(f)(x.detach()), plain)  # and it is as before


def test_overrides_nest_and_reach_through_functions_inside() -> None:
    inner = function(lambda x: pb.sign(x) * x)
    outer = function(lambda x: pb.sum(inner(x) * 3.0))
    x = pb.tensor([-2.0, 0.5], requires_grad=True)
    outer(x).backward(overrides={"sign": lambda op, g: g})
    assert close(x.grad, 3.0 * (pb.sign(x) + x))
    x.grad = None
    with (
        pb.override_gradient({"sign": lambda op, g: g}),
        pb.override_gradient({"multiply": lambda op, g: (g * op.inputs[1], g * 0.0)}),
    ):
        y = outer(x)
    y.backward()
    assert close(x.grad, 3.0 * x)


def test_an_override_of_what_is_not_inside_is_an_error() -> None:
    f = function(lambda x: pb.sum(pb.exp(x)))
    x = pb.tensor([1.0], requires_grad=True)
    with pytest.raises(pb.errors.UnknownNameError, match="`sign`"):
        f(x).backward(overrides={"sign": lambda op, g: g})


# Training --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda p: pb.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: pb.optim.Adam(p, lr=0.1),
        lambda p: pb.optim.RMSprop(p, lr=0.1),
    ],
    ids=["momentum", "Adam", "RMSprop"],
)
def test_an_optimizer_takes_a_step_with_every_run(make: Callable[..., Any]) -> None:
    def training(wrap: Callable[..., Any]) -> tuple[Any, list[float]]:
        v = pb.Variable([1.0, 2.0, 3.0])
        optimizer = make([v])

        def step(x: Any) -> Any:
            with pb.GradientTape() as tape:
                loss = pb.sum((v - x) ** 2)
            optimizer.step(tape.gradient(loss, [v]))
            return loss + pb.sum(v)

        stepped = wrap(step)
        return v, [stepped(pb.tensor([0.0, 1.0, 5.0])).item() for _ in range(6)]

    traced_, eager = training(function), training(lambda f: f)
    assert close(traced_[0], eager[0])
    np.testing.assert_allclose(traced_[1], eager[1], rtol=1e-12)


def test_an_assignment_inside_a_function_inside_is_seen_outside_of_it() -> None:
    v = pb.Variable(1.0)
    inner = function(lambda x: v.assign_add(x))

    @function
    def outer(x: Any) -> Any:
        before = v * 10.0
        inner(x)
        return before + v

    assert outer(pb.tensor(2.0)).item() == 13.0
    assert outer(pb.tensor(2.0)).item() == 35.0


def test_backward_inside_says_what_to_use() -> None:
    w = pb.tensor([1.0, 2.0], requires_grad=True)

    def inside(x: Any) -> Any:
        pb.sum(w * x).backward()
        return x

    with pytest.raises(pb.errors.SymbolError, match=r"autograd\.grad"):
        function(inside)(pb.ones(2))
    assert w.grad is None
    found = function(lambda x: pb.autograd.grad(pb.sum(w * x * x), x)[0])
    x = pb.tensor([3.0, 4.0])
    assert close(pb.jacrev(found)(x), pb.tensor([[2.0, 0.0], [0.0, 4.0]]))


def test_batch_norm_tracks_with_every_run() -> None:
    def trained(wrap: Callable[..., Any]) -> tuple[list[Any], Any]:
        norm = pb.nn.BatchNorm(3, dtype="float64")
        call, outs = wrap(lambda x: pb.sum(norm(x) ** 3)), []
        for k in range(3):
            x = pb.tensor(np.random.default_rng(k).normal(size=(4 + k, 3)))
            outs += [call(x), pb.grad(call)(x)]
        norm.eval()
        return outs, wrap(lambda x: norm(x) * 2.0)(x)

    spec = [pb.TensorSpec([None, 3])]
    for wrap in (function, function(input_signature=spec)):
        ours, theirs = trained(wrap), trained(lambda f: f)
        assert all(map(close, ours[0], theirs[0]))
        assert close(ours[1], theirs[1])


def test_a_length_that_is_not_known_is_assigned_and_looked_at_when_it_runs() -> None:
    v = pb.Variable([1.0, 2.0])
    put = function(lambda x: v.assign(x * 2.0), input_signature=[pb.TensorSpec([None])])
    assert put(pb.tensor([3.0, 4.0])).tolist() == [6.0, 8.0]
    with pytest.raises(pb.errors.ShapeError, match="assignment to variable"):
        put(pb.ones(3))
    assert v.tolist() == [6.0, 8.0]


def test_a_write_into_a_tensor_of_lengths_not_known_yet() -> None:
    """What fits is known when the graph runs; what cannot fit, when it is built."""
    def doubled(x: Any, more: Any) -> Any:
        y = pb.reshape(pb.reshape(x, (-1,)), pb.shape(x)) * 2.0
        y += more
        return y

    rows = TensorSpec([None, 3], "float64")
    f = pb.function(doubled, input_signature=[rows, TensorSpec([None, 3], "float64")])
    x, more = np.arange(6.0).reshape(2, 3), np.ones((1, 3))
    np.testing.assert_array_equal(f(x, more).numpy(), doubled(pb.tensor(x), more).numpy())
    slope = pb.grad(lambda m: pb.sum(f(x, m) ** 2))(more)
    np.testing.assert_allclose(slope.numpy(), 2 * f(x, more).numpy().sum(0)[None])
    with pytest.raises(PullbackError):
        f(x[:1], np.ones((4, 3)))  # the target would have to grow

    def replaced(x: Any, more: Any) -> Any:
        y = x * 1.0
        return overwrite(y, pb.reshape(more, pb.shape(more)), "copy")  # of less known lengths

    g = pb.function(replaced, input_signature=[rows, TensorSpec([None, None], "float64")])
    np.testing.assert_array_equal(g(x, more).numpy(), np.ones((2, 3)))
    deep = pb.function(doubled, input_signature=[rows, TensorSpec([2, None, 3], "float64")])
    with pytest.raises(ArgumentError, match="in-place `iadd`"):
        deep(x, np.stack([x, x]))
