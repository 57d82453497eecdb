"""Random programs, as they are and as traced functions: whatever is asked, the answers agree.

A program takes an array of some rows and a matrix, reads a variable and a tensor that it closes
over, and may assign the variable. Each question is asked three times, for the first run of a graph
is another than the later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as pb
from pullback.graphs import TensorSpec
from tests.tier import examples

N = 3


class World:
    """What a program closes over, at its beginning."""

    def __init__(self) -> None:
        self.variable = pb.Variable(numbers(N, seed=1))
        self.weight = pb.tensor(numbers(N, seed=2), requires_grad=True)
        self.table = numbers(N, seed=3)
        self.inner = pb.function(lambda x: pb.tanh(x) * self.weight + self.variable)
        self.start = self.variable.numpy().copy()

    def reset(self) -> None:
        self.variable.assign(self.start)
        self.weight.grad = None


def numbers(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape)


@pb.custom_gradient
def scaled_back(x: Any) -> Any:
    return pb.sin(x), lambda g: g * (pb.cos(x) * 0.5 + x * x)


class Cube(pb.Function):
    """x³ with a gradient of its own, so that mistakes about whose it is show."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * x * 2.5


def taped(world: World, x: Any, w: Any) -> Any:
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = pb.sum(pb.sin(x) * world.variable)
    # In a graph a gradient has a history in any case, elsewhere only while somebody records.
    return pb.stop_gradient(tape.gradient(y, x)) * x


def assigned(world: World, x: Any, w: Any) -> Any:
    before = x * world.variable
    world.variable.assign(world.variable * 0.5 + pb.mean(x, axis=0))
    return before + pb.cos(x) * world.variable


def added(world: World, x: Any, w: Any) -> Any:
    world.variable.assign_add(pb.sum(x, axis=0) * 0.25)
    return x + world.variable


def without(world: World, x: Any, w: Any) -> Any:
    with pb.no_grad():
        constant = pb.exp(-x * x)
    return pb.stop_gradient(constant) * x  # elsewhere tangents pass such a block


def written(world: World, x: Any, w: Any) -> Any:
    y = x * 1.0
    y[0] = y[-1] * 2.0
    y += world.table
    return y


STEPS: dict[str, Callable[[World, Any, Any], Any]] = {
    "sin": lambda world, x, w: pb.sin(x),
    "product": lambda world, x, w: pb.matmul(x, w),
    "minus its mean": lambda world, x, w: x - pb.mean(x, axis=0),
    "times its sum": lambda world, x, w: x * pb.sum(x, axis=1, keepdims=True) / 4,
    "softmax": lambda world, x, w: pb.softmax(x) * 3.0,
    "variable": lambda world, x, w: x * world.variable,
    "of the weight alone": lambda world, x, w: x * pb.exp(world.weight) / 2,
    "weight": lambda world, x, w: x + world.weight * world.weight,
    "constant": lambda world, x, w: x * world.table - 0.5,
    "flattened": lambda world, x, w: pb.reshape(pb.reshape(x, (-1,))[::-1], (-1, N)),
    "by lengths": lambda world, x, w: pb.reshape(pb.reshape(x, (-1,)) * 2, pb.shape(x)) / 2,
    "picked": lambda world, x, w: x[:, np.array([2, 0, 0])] * 0.7,
    "reversed": lambda world, x, w: x[::-1],
    "transposed": lambda world, x, w: pb.permute_dims(pb.permute_dims(x, (1, 0)) * 2, (1, 0)) / 3,
    "where": lambda world, x, w: pb.where(x > 0.1, x * x, 0.5 * x),
    "stopped": lambda world, x, w: pb.stop_gradient(pb.cos(x)) * x,
    "custom": lambda world, x, w: scaled_back(x),
    "Function": lambda world, x, w: Cube.apply(x) / 2,
    "inner": lambda world, x, w: world.inner(x),
    "both ways": lambda world, x, w: pb.concat([x[1:], x[:1]], axis=0) * x,
    "cumulative": lambda world, x, w: pb.cumulative_sum(x, axis=1) / 2,
    "largest": lambda world, x, w: x * pb.max(x, axis=1, keepdims=True) / 2,
    "sign": lambda world, x, w: pb.sign(x) * 0.3 + x,
    "tape": taped, "assign": assigned, "assign_add": added, "no_grad": without,
    "in place": written,
}


def program(world: World, names: list[str]) -> Callable[..., Any]:
    def run(x: Any, w: Any) -> Any:
        for name in names:
            x = STEPS[name](world, x, w)
        return x

    return run


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w: pb.sum(f(x, w) * pb.cos(f(x, w) * 0.5))


# Questions ------------------------------------------------------------------------------------


def by_backward(f: Any, world: World, x: Any, w: Any) -> Any:
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    pb.sum(f(x, w) ** 2).backward()
    return [x.grad, w.grad, world.weight.grad]


def by_tape(f: Any, world: World, x: Any, w: Any) -> Any:
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pb.sum(f(x, w) ** 2)
    sources = [x, world.variable, world.weight]
    return tape.gradient(y, sources) + tape.gradient(y, sources)


def second(f: Any, world: World, x: Any, w: Any) -> Any:
    slope = pb.grad(loss(f), (0, 1))
    return pb.grad(lambda x, w: sum(pb.sum(g * g) for g in slope(x, w)), (0, 1))(x, w)


def mixed(f: Any, world: World, x: Any, w: Any) -> Any:
    """The gradient in the weight of a gradient in x."""
    x = x.detach().requires_grad_()
    (g,) = pb.autograd.grad(pb.sum(f(x, w) ** 2), x, create_graph=True)
    return pb.autograd.grad(pb.sum(g * g), [x, world.weight], allow_unused=True)


def overridden(f: Any, world: World, x: Any, w: Any) -> Any:
    x = x.detach().requires_grad_()
    rules = {"multiply": lambda op, g: (g * op.inputs[1] * 2.0, g * op.inputs[0])}
    with pb.keep_values():
        y = pb.sum(f(x, w) * 1.5)
    return pb.autograd.grad(y, [x, world.weight], allow_unused=True, overrides=rules)


ASKED: dict[str, Callable[..., Any]] = {
    "value": lambda f, world, x, w: f(x, w),
    "backward": by_backward, "tape": by_tape, "second order": second, "mixed": mixed,
    "overrides": overridden,
    "jvp": lambda f, world, x, w: pb.jvp(f, (x, w), (x * 2 + 1, w * w)),
    "vmap": lambda f, world, x, w: pb.vmap(f, (0, None))(pb.stack([x, x * 0.5 - 0.2]), w),
    "forward over reverse": lambda f, world, x, w: pb.jvp(
        lambda x: pb.grad(loss(f))(x, w), (x,), (pb.cos(x),)),
}


LOST = (pb.errors.InplaceError, pb.errors.NotDifferentiableError)
"""What is raised for values that were overwritten, or not kept: a graph still has them."""


class Answer(NamedTuple):
    """What came out, and what it left behind; an error by its class."""

    values: Any
    variable: Any


def answer(asked: Any, f: Any, world: World, x: Any, w: Any) -> Answer:
    world.reset()
    try:
        found = asked(f, world, x, w)
    except pb.errors.PullbackError as error:
        return Answer(type(error), None)
    return Answer(found, world.variable.numpy().copy())


def check(ours: Answer, theirs: Answer, what: str) -> None:
    if isinstance(theirs.values, type) and issubclass(theirs.values, LOST):
        return
    if isinstance(theirs.values, type) or isinstance(ours.values, type):
        assert isinstance(ours.values, type), (what, ours, theirs)
        assert isinstance(theirs.values, type), (what, ours, theirs)
        return
    some, others = pb.trees.flatten(ours.values)[0], pb.trees.flatten(theirs.values)[0]
    assert len(some) == len(others), what
    for a, b in zip(some, others, strict=True):
        assert (a is None) == (b is None), what
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9, err_msg=what)
    np.testing.assert_allclose(ours.variable, theirs.variable, rtol=1e-9, atol=1e-9, err_msg=what)


@pytest.mark.parametrize("wide", [False, True], ids=["static", "any length"])
@settings(max_examples=examples(50), deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    questions=st.lists(st.sampled_from(sorted(ASKED)), min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 50),
)
def test_a_traced_program_answers_as_it_does_untraced(
    wide: bool, names: list[str], questions: list[str], seed: int
) -> None:
    world = World()
    plain = program(world, names)
    signature = [TensorSpec([None, N]), TensorSpec([N, N])] if wide else None
    traced = pb.function(plain, input_signature=signature)
    w = pb.tensor(numbers(N, N, seed=seed))
    for rows in (2, 4) if wide else (3,):
        x = pb.tensor(numbers(rows, N, seed=seed + 1))
        for question in questions:
            for run in range(3):
                with pb.no_grad():
                    world.weight[:] = numbers(N, seed=seed + run)  # as an optimizer does
                check(
                    answer(ASKED[question], traced, world, x, w),
                    answer(ASKED[question], plain, world, x, w),
                    f"{question} of {names}, run {run} with {rows} rows",
                )
