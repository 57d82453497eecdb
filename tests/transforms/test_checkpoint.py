"""checkpoint: the same values and derivatives, less memory, and the same random numbers."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb


def block(x: Any) -> Any:
    return pb.sin(pb.exp(0.3 * x)) * x


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-13, atol=1e-13)


LOSSES: dict[str, Callable[[Callable[..., Any]], Callable[[Any], Any]]] = {
    "once": lambda f: lambda x: pb.sum(f(x)),
    "chained": lambda f: lambda x: pb.sum(f(f(x)) * x),
    "used twice": lambda f: lambda x: pb.sum(f(x) * f(x)),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_all_derivatives_are_those_of_the_function(loss: Any) -> None:
    x, v = numbers(4), numbers(4, seed=1)
    plain, saving = loss(block), loss(pb.checkpoint(block))
    close(saving(pb.tensor(x)), plain(pb.tensor(x)))
    close(pb.grad(saving)(x), pb.grad(plain)(x))
    close(pb.jvp(saving, (x,), (v,))[1], pb.jvp(plain, (x,), (v,))[1])
    close(pb.hessian(saving)(x), pb.hessian(plain)(x))
    close(pb.jacfwd(pb.grad(saving))(x), pb.hessian(plain)(x))
    close(pb.jacfwd(pb.jacfwd(saving))(x), pb.hessian(plain)(x))
    close(pb.linearize(saving, x)[1](v), pb.jvp(plain, (x,), (v,))[1])
    xs = numbers(3, 4, seed=2)
    close(pb.vmap(pb.grad(saving))(xs), pb.vmap(pb.grad(plain))(xs))
    close(
        pb.grad(lambda xs: pb.sum(pb.vmap(saving)(xs)))(xs),
        pb.grad(lambda xs: pb.sum(pb.vmap(plain)(xs)))(xs),
    )


def test_what_is_closed_over_gets_its_gradient() -> None:
    x, w = numbers(3), numbers(3, seed=1)

    def loss(w: Any, wrap: Any) -> Any:
        layer = wrap(lambda h: pb.tanh(w * h))
        return pb.sum(layer(layer(pb.tensor(x))))

    close(
        pb.grad(lambda w: loss(w, pb.checkpoint))(w), pb.grad(lambda w: loss(w, lambda f: f))(w)
    )
    leaf = pb.tensor(w, requires_grad=True)
    loss(leaf, pb.checkpoint).backward()
    close(leaf.grad, pb.grad(lambda w: loss(w, lambda f: f))(w))
    variable = pb.Variable(w)
    with pb.GradientTape() as tape:
        y = loss(variable, pb.checkpoint)
    close(tape.gradient(y, variable), leaf.grad)


def test_a_computed_tensor_that_is_closed_over_gets_its_gradient() -> None:
    w = numbers(3)

    def loss(w: Any, wrap: Any) -> Any:
        scaled = pb.exp(w)
        return pb.sum(wrap(lambda x: pb.sin(scaled * x))(w))

    second = pb.hessian(lambda w: loss(w, pb.checkpoint))(w)
    close(second, pb.hessian(lambda w: loss(w, lambda f: f))(w))


def test_structures_keywords_and_several_outputs() -> None:
    @pb.checkpoint
    def f(parameters: Any, x: Any, *, scale: float = 1.0) -> Any:
        h = parameters["w"] * x
        return {"sum": pb.sum(h) * scale, "rest": (h, 3)}

    def loss(parameters: Any) -> Any:
        out = f(parameters, pb.ones(3), scale=2.0)
        assert out["rest"][1].item() == 3
        return out["sum"] + pb.sum(out["rest"][0] ** 2)

    w = numbers(3)
    close(pb.grad(loss)({"w": w})["w"], 2.0 + 2 * w)


def test_one_tensor_in_two_places() -> None:
    f = pb.checkpoint(lambda a, b: a * pb.sin(b))
    close(pb.grad(lambda x: f(x, x))(0.7), np.sin(0.7) + 0.7 * np.cos(0.7))


def test_nested() -> None:
    inner = pb.checkpoint(block)
    outer = pb.checkpoint(lambda x: block(inner(x)) + inner(x))

    def plain(x: Any) -> Any:
        return pb.sum(block(block(x)) + block(x))

    x = numbers(4)
    close(pb.grad(lambda x: pb.sum(outer(x)))(x), pb.grad(plain)(x))
    close(pb.hessian(lambda x: pb.sum(outer(x)))(x), pb.hessian(plain)(x))


def test_nested_with_a_captured_weight() -> None:
    def loss(w: Any, wrap: Any) -> Any:
        inner = wrap(lambda x: pb.tanh(w * x))
        outer = wrap(lambda x: inner(inner(x)) * x)
        return pb.sum(outer(pb.ones(3)))

    w = numbers(3)
    close(
        pb.grad(lambda w: loss(w, pb.checkpoint))(w), pb.grad(lambda w: loss(w, lambda f: f))(w)
    )


def test_random_numbers_are_drawn_again_as_they_were() -> None:
    masks = []

    @pb.checkpoint
    def noisy(x: Any) -> Any:
        mask = pb.random.normal((3,))
        masks.append(mask.numpy())
        return mask * x

    pb.random.seed(3)
    x = pb.ones(3, ).requires_grad_()
    y = noisy(x)
    state = pb.random.get_state()
    pb.sum(y).backward()
    assert pb.random.get_state() == state
    assert len(masks) == 2
    close(masks[0], masks[1])
    close(x.grad, masks[0])


def test_a_generator_of_ones_own_is_replayed_too() -> None:
    generator = pb.random.Generator(5)
    f = pb.checkpoint(lambda x: generator.uniform((4,)) * x)
    x = pb.ones(4).requires_grad_()
    y = f(x)
    pb.sum(y).backward()
    close(x.grad, y.detach())


def test_a_tape_and_a_transformation_inside() -> None:
    w = pb.tensor(2.0, requires_grad=True)

    @pb.checkpoint
    def slope(x: Any) -> Any:
        return pb.grad(lambda y: w * y * y * y)(x)

    y = slope(pb.tensor(3.0))
    y.backward()
    close(w.grad, 27.0)
    close(pb.grad(slope)(3.0), 36.0)


def test_a_custom_gradient_inside() -> None:
    f = pb.checkpoint(lambda x: pb.sum(pb.reverse_gradient(x) * x))
    x = numbers(3)
    close(pb.grad(f)(x), np.zeros(3))


def test_an_assignment_in_between_is_an_error() -> None:
    v = pb.Variable(2.0)
    with pb.GradientTape() as tape:
        y = pb.checkpoint(lambda x: v * x)(pb.tensor(3.0))
    v.assign(5.0)
    with pytest.raises(pb.errors.InplaceError, match="assigned or modified since"):
        tape.gradient(y, v)


def test_another_tensor_in_the_second_run_is_an_error() -> None:
    weights = [pb.tensor(2.0, requires_grad=True), pb.tensor(3.0, requires_grad=True)]
    f = pb.checkpoint(lambda x: weights.pop() * x)
    y = f(pb.tensor(1.0))
    with pytest.raises(pb.errors.CaptureError, match="a new captured tensor"):
        y.backward()


def test_nothing_is_recorded_for_nobody() -> None:
    runs = []

    @pb.checkpoint
    def f(x: Any) -> Any:
        runs.append(x)
        return x * 2

    assert f(pb.ones(2)).node is None
    with pb.no_grad():
        assert f(pb.ones(2).requires_grad_()).node is None
    assert len(runs) == 2


def test_the_graph_of_a_call_is_freed_at_once() -> None:
    x = pb.tensor(np.ones(60_000), requires_grad=True)  # smaller than the blocks of the pool
    f = pb.checkpoint(lambda x: pb.exp(pb.sin(pb.exp(pb.sin(x)))))
    f(x[:3])  # loads what it uses
    gc.disable()
    try:
        tracemalloc.start()
        y = f(x)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held < 1.1 * x.data.nbytes, held
    assert y.requires_grad


def step(x: Any) -> Any:
    return pb.sin(x) + x


def peak(loss: Callable[[Any], Any], x: Any) -> int:
    tracemalloc.start()
    try:
        pb.grad(loss)(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_chain_takes_memory_for_the_root_of_its_length() -> None:
    x = numbers(20_000)

    def chain(x: Any, n: int) -> Any:
        return pb.sum(pb.checkpoint_sequential([step] * n, x))

    def plain(x: Any, n: int) -> Any:
        for _ in range(n):
            x = step(x)
        return pb.sum(x)

    sizes = {}
    for n in (16, 144):
        sizes[n] = peak(lambda x, n=n: chain(x, n), x) / x.nbytes
        close(pb.grad(chain)(x[:5], n), pb.grad(plain)(x[:5], n))
    whole = peak(lambda x: plain(x, 144), x) / x.nbytes
    assert sizes[144] < 4 * sizes[16], sizes  # √(144 / 16) = 3
    assert sizes[144] < whole / 3, (sizes, whole)


def test_a_chain_of_no_steps_and_a_wrong_number_of_segments() -> None:
    assert pb.checkpoint_sequential([], pb.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(pb.errors.ArgumentError, match="segments"):
        pb.checkpoint_sequential([block], pb.ones(2), segments=0)


def test_the_name_and_text_of_the_function_stay() -> None:
    @pb.checkpoint
    def documented(x: Any) -> Any:
        """What it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "What it does."


def test_a_variable_that_nobody_watches_is_a_constant() -> None:
    v = pb.Variable(3.0)
    f = pb.checkpoint(lambda x: x * x * v)
    close(pb.grad(lambda x: pb.sum(f(x)))(numbers(2)), 6 * numbers(2))


def test_the_tangent_of_what_is_closed_over() -> None:
    v, x = pb.Variable(2.0), pb.tensor([1.0, 2.0])
    f = pb.checkpoint(lambda x: x * x * v)
    with pb.ForwardAccumulator(v, pb.tensor(1.0)) as accumulator:
        y, scaled = f(x), f(x * v)
        slope = pb.grad(lambda x: pb.sum(f(x)))(x)
    close(accumulator.jvp(y), [1.0, 4.0])
    close(accumulator.jvp(scaled), [12.0, 48.0])
    close(accumulator.jvp(slope), [2.0, 4.0])
    close(pb.jvp(lambda w: pb.sum(pb.checkpoint(lambda x: x * w)(x)), (1.0,), (1.0,))[1], 3.0)


# Gradients computed inside ------------------------------------------------------------------------


def by_tape(x: Any) -> Any:
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = pb.sum(x**3)
    return tape.gradient(y, x) * x


def by_autograd(x: Any) -> Any:
    (slope,) = pb.autograd.grad(pb.sum(x**3), x, create_graph=True)
    return slope * x


def by_tape_on_a_variable(x: Any) -> Any:
    v = pb.Variable(2.0)
    with pb.GradientTape() as tape:
        y = pb.sum(x**3 * v)
    return tape.gradient(y, v) * x


def by_grad(x: Any) -> Any:
    return pb.grad(lambda x: pb.sum(x**3))(x) * x


def by_two_tapes(x: Any) -> Any:
    with pb.GradientTape() as outer:
        outer.watch(x)
        slope = by_tape(x)
    return outer.gradient(slope, x) * x


DIFFERENTIATING = {
    f.__name__: f for f in (by_tape, by_autograd, by_tape_on_a_variable, by_grad, by_two_tapes)
}
every_way = pytest.mark.parametrize("f", DIFFERENTIATING.values(), ids=DIFFERENTIATING)


def backward(f: Callable[[Any], Any], x: Any) -> Any:
    leaf = pb.tensor(x, requires_grad=True)
    y = f(leaf * 1.0)
    y.backward(numbers(*y.shape, seed=5))
    return leaf.grad


def doubly(f: Callable[[Any], Any], x: Any) -> Any:
    leaf = pb.tensor(x, requires_grad=True)
    (slope,) = pb.autograd.grad(pb.sum(f(leaf) ** 2), leaf, create_graph=True)
    pb.sum(slope * numbers(*x.shape, seed=6)).backward()
    return leaf.grad


@every_way
def test_gradients_inside_are_differentiated(f: Callable[[Any], Any]) -> None:
    x, saving = numbers(3), pb.checkpoint(f)
    close(saving(pb.tensor(x, requires_grad=True)), f(pb.tensor(x, requires_grad=True)))
    close(backward(saving, x), backward(f, x))
    close(doubly(saving, x), doubly(f, x))
    close(backward(pb.checkpoint(saving), x), backward(f, x))
    variable = pb.Variable(x)
    with pb.GradientTape(persistent=True) as tape:
        a, b = saving(variable * 1.0), f(variable * 1.0)
    if f is not by_autograd:
        close(tape.gradient(a, variable), tape.gradient(b, variable))
    if f is not by_autograd:  # whose argument has to require a gradient
        for ask in (pb.grad, pb.hessian):
            close(ask(lambda x: pb.sum(saving(x)))(x), ask(lambda x: pb.sum(f(x)))(x))
        assert pb.jvp(saving, (x,), (x,))[1].tolist() == pb.jvp(f, (x,), (x,))[1].tolist()


@every_way
def test_gradients_inside_of_captured_tensors(f: Callable[[Any], Any]) -> None:
    def loss(wrap: Any, w: Any) -> Any:
        scaled = pb.sin(w)
        return pb.sum(wrap(lambda x: f(scaled) * x + f(scaled * x))(w * 2.0) * numbers(3, seed=4))

    x = numbers(3)
    saving = backward(lambda w: loss(pb.checkpoint, w), x)
    close(saving, backward(lambda w: loss(lambda f: f, w), x))


def test_both_runs_see_tensors_that_require_a_gradient() -> None:
    seen = []

    @pb.checkpoint
    def f(x: Any) -> Any:
        y = x * 2.0
        seen.append((x.requires_grad, y.requires_grad))
        return y * x

    pb.sum(f(pb.tensor([1.0, 2.0], requires_grad=True))).backward()
    assert seen == [(True, True)] * 2


# Overrides of a finished computation -----------------------------------------------------------


@pytest.mark.parametrize("wrap", [
    lambda f: f, pb.checkpoint, lambda f: pb.checkpoint(lambda x: pb.checkpoint(f)(x) * 1.0),
    lambda f: pb.checkpoint(pb.function(f)),
], ids=["plain", "checkpoint", "nested", "a traced function"])
def test_overrides_of_a_finished_computation_reach_inside(wrap: Any) -> None:
    def f(x: Any) -> Any:
        return pb.sign(x) * pb.exp(x) * 3.0

    def rule(op: Any, g: Any) -> Any:
        return g * 2.0 * op.inputs[0]

    x = numbers(3)
    right = 3 * np.exp(x) * (2.0 * x + np.sign(x))
    leaf = pb.tensor(x, requires_grad=True)
    pb.sum(wrap(f)(leaf)).backward(overrides={"sign": rule})
    close(leaf.grad, right)
    (slope,) = pb.autograd.grad(
        pb.sum(wrap(f)(leaf)), leaf, create_graph=True, overrides={"sign": rule})
    close(slope, right)
    with pb.GradientTape() as tape:
        y = wrap(f)(leaf)
    close(tape.gradient(y, leaf, overrides={"sign": rule}), right)
    with pytest.raises(pb.errors.UnknownNameError, match="sign"):
        pb.sum(wrap(f)(leaf)).backward(overrides={"tan": rule})


@pytest.mark.parametrize("captures", [False, True])
def test_nested_calls_hold_nothing_of_the_first_run(captures: bool) -> None:
    nodes = []

    @pb.checkpoint
    def outer(x: Any) -> Any:
        h = pb.exp(x)
        nodes.append(weakref.ref(h.node))
        inner = (lambda x: h * x) if captures else pb.sin
        return pb.checkpoint(inner)(h) * 2.0

    x = pb.tensor(numbers(3), requires_grad=True)
    gc.disable()
    try:
        y = outer(x)
        assert nodes[0]() is None
    finally:
        gc.enable()
    pb.sum(y).backward(overrides={"exp": lambda op, g: g})
    h = np.exp(x.detach().numpy())
    close(x.grad, 4 * h if captures else 2 * np.cos(h))
