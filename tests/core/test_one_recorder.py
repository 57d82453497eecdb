"""Every writer of nodes goes through `core.record`: lines, observers, writes, tangents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.multi_output import Pick
from pullback.core.node import Leaf, Node, line_of
from pullback.core.observe import Calls, observing
from pullback.errors import CaptureError, InplaceError


@pb.custom_gradient
def by_custom_gradient(x: Any) -> Any:
    return x * x, lambda g: 2 * g * x


class Square(pb.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


by_vjp = pb.custom_vjp(pb.square)
by_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (2 * g * x,))

by_jvp = pb.custom_jvp(pb.square)


@by_jvp.defjvp
def _rule(primals: Any, tangents: Any) -> Any:
    return primals[0] ** 2, 2 * tangents[0] * primals[0]


def by_root(x: Any) -> Any:
    return pb.root(lambda y: y - x * x, (x * x).detach())


def by_ode(x: Any) -> Any:
    return pb.odeint(lambda y, t: 0.0 * y, x * x, pb.tensor([0.0, 1.0]))[1]


WRITERS: dict[str, Callable[[Any], Any]] = {
    "an operation": pb.square,
    "custom_gradient": by_custom_gradient,
    "Function": Square.apply,
    "custom_vjp": by_vjp,
    "custom_jvp": by_jvp,
    "checkpoint": pb.checkpoint(pb.square),
    "a traced function": pb.function(pb.square),
    "root": by_root,
    "odeint": by_ode,
}
"""Functions that compute x², each recorded by another part of the library."""

every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


def recorded_by(y: Any) -> Iterator[Node]:
    """The nodes of a result and of its history, without those that pick an output."""
    stack, seen = [y.node], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack.extend(node.parents)
            if not isinstance(node, (Leaf, Pick)):
                yield node


@pytest.fixture
def x() -> Any:
    return pb.tensor(np.array([0.3, -0.4]), requires_grad=True)


@every_writer
def test_debug_knows_the_line(writer: Callable[[Any], Any], x: Any) -> None:
    with pb.debug():
        y = writer(x)
    nodes = list(recorded_by(y))
    assert nodes
    assert all(__file__ in line_of(node) for node in nodes)


@every_writer
def test_observers_see_the_node(writer: Callable[[Any], Any], x: Any) -> None:
    seen: list[Node] = []
    with observing(Calls(recorded=lambda node, outputs, inputs: seen.append(node))):
        y = writer(x)
    assert set(recorded_by(y)) <= set(seen)
    assert seen


@every_writer
def test_a_write_to_what_the_rule_reads_is_an_error(
    writer: Callable[[Any], Any], x: Any
) -> None:
    h = x * 1.0
    y = writer(h)
    h += 1.0
    with pytest.raises((InplaceError, CaptureError)):
        pb.sum(y).backward()


@every_writer
def test_tangents_are_computed_as_it_runs(
    writer: Callable[[Any], Any], x: Any, rng: np.random.Generator
) -> None:
    t = rng.normal(size=2)
    y, tangent = pb.jvp(writer, (x.detach(),), (t,))
    np.testing.assert_allclose(tangent.numpy(), 2 * x.detach().numpy() * t, rtol=1e-6)
    assert not y.requires_grad


@every_writer
def test_a_checkpoint_around_it_follows_captured_tensors(
    writer: Callable[[Any], Any], x: Any
) -> None:
    y = pb.checkpoint(lambda factor: factor * writer(x))(pb.tensor(2.0))
    pb.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * x.detach().numpy(), rtol=1e-6)


def test_overrides_in_force_at_the_call_reach_into_a_checkpoint(x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pb.override_gradient({"sign": lambda op, g: 3.0 * g}):
            y = pb.checkpoint(lambda x: pb.sign(x) * 2.0)(x)
    pb.sum(y).backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_custom_gradient_notices_writes_to_its_own_output(x: Any) -> None:
    @pb.custom_gradient
    def exp(x: Any) -> Any:
        y = pb.exp(x)
        return y, lambda g: g * y

    z = exp(x)
    z *= 3.0
    with pytest.raises(InplaceError, match="captured tensor"):
        pb.sum(z).backward()


def test_a_custom_gradient_notices_an_update_of_a_captured_parameter(x: Any) -> None:
    w = pb.tensor([2.0, 3.0], requires_grad=True)

    @pb.custom_gradient
    def scaled(x: Any) -> Any:
        return x * w.detach(), lambda g: g * w

    y = scaled(x)
    with pb.no_grad():
        w -= 1.0
    with pytest.raises(InplaceError):
        pb.sum(y).backward()
    pb.sum(scaled(x)).backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_custom_gradient_notices_an_assignment_to_a_captured_variable(x: Any) -> None:
    w = pb.Variable([2.0, 3.0])

    @pb.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 2.0, lambda g: g * w

    y = scaled(x)
    w.assign_sub([1.0, 1.0])
    with pytest.raises(InplaceError):
        pb.sum(y).backward()
    pb.sum(scaled(x)).backward()
    assert x.grad.tolist() == [1.0, 2.0]
