"""An error in a backward rule says which operation it belongs to, in debug with its line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
import pullback.tf as tf
import pullback.tf.v1 as v1
import pullback.torch as torch


class Broken(Exception):
    """What the rules here raise."""


def fail(*_: Any) -> Any:
    raise Broken


@pb.custom_gradient
def by_custom_gradient(x: Any) -> Any:
    return x * 2, fail


@tf.custom_gradient
def by_tf_custom_gradient(x: Any) -> Any:
    return x * 2.0, fail


class ByFunction(pb.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    backward = staticmethod(fail)


class ByTorchFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    backward = staticmethod(fail)


@pb.custom_vjp
def by_custom_vjp(x: Any) -> Any:
    return x * 2


by_custom_vjp.defvjp(lambda x: (x * 2, None), fail)


@pb.custom_jvp
def by_custom_jvp(x: Any) -> Any:
    return x * 2


by_custom_jvp.defjvp(fail)


def overridden(x: Any) -> Any:
    with pb.override_gradient({"sin": lambda op, g: fail()}):
        return pb.sin(x)


@pb.custom_gradient
def broken_twice(x: Any) -> Any:
    return x**2, lambda g: by_custom_gradient(g * x)


RULES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "custom_gradient": (by_custom_gradient, "by_custom_gradient"),
    "Function": (ByFunction.apply, "ByFunctionBackward"),
    "custom_vjp": (by_custom_vjp, "by_custom_vjp"),
    "custom_jvp": (by_custom_jvp, "by_custom_jvp"),
    "override": (overridden, "sin"),
}


def tracked() -> Any:
    return pb.tensor([1.0, 2.0], requires_grad=True)


def with_tape(f: Callable[[Any], Any]) -> None:
    v = pb.Variable([1.0, 2.0])
    with pb.GradientTape() as tape:
        y = pb.sum(f(v))
    tape.gradient(y, v)


ASKED: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "backward": lambda f: pb.sum(f(tracked())).backward(),
    "create_graph": lambda f: pb.sum(f(tracked())).backward(create_graph=True),
    "tape": with_tape,
    "grad": lambda f: pb.grad(lambda x: pb.sum(f(x)))(pb.tensor([1.0, 2.0])),
    "grad in vmap": lambda f: pb.vmap(pb.grad(lambda x: pb.sum(f(x))))(pb.ones((3, 2))),
    "vmap": lambda f: pb.sum(pb.vmap(f)(tracked())).backward(),
    "checkpoint": lambda f: pb.sum(pb.checkpoint(f)(tracked())).backward(),
    "function": lambda f: pb.function(lambda x: pb.sum(f(x)))(tracked()).backward(),
}


def check(call: Callable[[], Any], operation: str, debug: bool) -> None:
    with pb.debug() if debug else contextlib.nullcontext(), pytest.raises(Broken) as caught:
        call()
    notes = [n for n in caught.value.__notes__ if f"`{operation}`" in n]
    assert notes, caught.value.__notes__
    if debug:
        assert "test_rule_errors.py:" in notes[0]


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("rule", RULES)
def test_the_operation_of_a_rule_that_raises_is_named(rule: str, asked: str, debug: bool) -> None:
    f, operation = RULES[rule]
    check(lambda: ASKED[asked](f), operation, debug)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_so_it_is_at_second_order(debug: bool) -> None:
    def second() -> None:
        x = tracked()
        (g,) = pb.autograd.grad(pb.sum(broken_twice(x)), x, create_graph=True)
        pb.sum(g * g).backward()

    check(second, "by_custom_gradient", debug)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_so_it_is_through_the_doors(debug: bool) -> None:
    def through_torch() -> None:
        ByTorchFunction.apply(torch.ones(2, requires_grad=True)).sum().backward()

    def through_tf() -> None:
        v = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(by_tf_custom_gradient(v))
        tape.gradient(y, v)

    def in_a_graph() -> None:
        with v1.Graph().as_default():
            x = v1.placeholder(v1.float32, [None])
            v1.gradients(v1.reduce_sum(by_tf_custom_gradient(x)), x)

    check(through_torch, "ByTorchFunctionBackward", debug)
    check(through_tf, "by_tf_custom_gradient", debug)
    check(in_a_graph, "by_tf_custom_gradient", debug)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_a_gradient_of_a_wrong_shape_is_laid_at_its_operation(debug: bool) -> None:
    wrong = pb.custom_gradient(lambda x: (x * 2, lambda g: pb.ones(7)))
    wrong.__name__ = "wrong"
    with pb.debug() if debug else contextlib.nullcontext():
        y = pb.sum(wrong(tracked()))
    with pytest.raises(pb.errors.RuleError) as caught:
        y.backward()
    assert ("test_rule_errors.py:" in str(caught.value)) == debug
