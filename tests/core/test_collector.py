"""Graphs cost the garbage collector nothing, and every cycle through one is still found."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.torch as t
from pullback._registry import OPS
from pullback.core.node import Leaf, Node
from pullback.core.op import Op
from tests.fuzz import programs
from tests.tier import turn

compiled = pytest.mark.needs("compiled")


def leaf() -> Any:
    return pb.tensor(np.array([1.5, -2.0]), requires_grad=True)


def chain(x: Any) -> Any:
    """A few operations of every kind of node that is calm."""
    y = pb.tanh(x * 1.5 + 0.5)
    y = y * pb.tensor([2.0, 3.0]) - x
    y = pb.reshape(y, (2, 1))[0:2, 0]
    return y * pb.sum(y, axis=0, keepdims=True)


def nodes_of(node: Node | None) -> Iterator[Node]:
    """The nodes that a node depends on, and itself."""
    met, stack = set[Node](), [node]
    while stack:
        now = stack.pop()
        if now is not None and now not in met:
            met.add(now)
            yield now
            stack.extend(now.parents)


def tracked(y: Any) -> list[bool]:
    """Of each computed node, whether the collector visits it."""
    return [gc.is_tracked(n) for n in nodes_of(y.node) if not isinstance(n, Leaf)]


@compiled
def test_the_collector_visits_no_node_of_a_plain_graph() -> None:
    found = tracked(chain(leaf()))
    assert len(found) > 8
    assert not any(found)


@compiled
def test_and_none_of_the_next_step() -> None:
    x = leaf()
    for _ in range(2):
        y = chain(x)
        assert not any(tracked(y))
        pb.sum(y).backward()
    assert x.grad is not None


def by_a_hook_of_the_leaf(x: Any) -> None:
    y = chain(x)
    x.register_hook(lambda g: g * pb.sum(y.detach()))


def by_a_hook_within(x: Any) -> None:
    y = x * 2.0
    z = chain(y)
    y.register_hook(lambda g: g * pb.sum(z.detach()))


def by_a_hook_changed_later(x: Any) -> None:
    held: list[Any] = []
    x.register_hook(lambda g: g * len(held))
    held.append(chain(x))


def by_a_gradient_with_a_history(x: Any) -> None:
    pb.sum(chain(x) ** 3).backward(create_graph=True)


def by_a_second_gradient_with_a_history(x: Any) -> None:
    y = chain(x)
    pb.sum(y).backward(retain_graph=True)
    pb.sum(y).backward(create_graph=True)


def by_an_assigned_gradient(x: Any) -> None:
    x.grad = chain(x)


def by_a_write_to_the_gradient(x: Any) -> None:
    x.grad = pb.zeros(2)
    y = chain(x)
    x.grad += y


def by_a_write_to_a_view_of_the_gradient(x: Any) -> None:
    x.grad = pb.zeros(2)
    part = x.grad[0:1]
    y = chain(x)
    part += y[0:1]


def by_a_gradient_that_is_a_view(x: Any) -> None:
    base = pb.zeros(4)
    x.grad = base[0:2]
    y = chain(x)
    base[2:4] = y


def by_a_rule_that_returns_the_gradient(x: Any) -> None:
    x.grad = pb.zeros(2)

    class Returned(pb.Function):
        @staticmethod
        def forward(ctx: Any, y: Any) -> Any:
            return x.grad

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    Returned.apply(chain(x))


def by_an_override(x: Any) -> None:
    held: list[Any] = []

    def rule(g: Any, out: Any) -> Any:
        return g * len(held)

    with pb.override_gradient({"tanh": rule}):
        held.append(chain(x))


def by_an_operation_of_ones_own(x: Any) -> None:
    held: list[Any] = []

    class Own(pb.Function):
        @staticmethod
        def forward(ctx: Any, y: Any) -> Any:
            ctx.held = held
            return y * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    held.append(chain(Own.apply(chain(x))))


def by_a_custom_gradient(x: Any) -> None:
    held: list[Any] = []
    rule = pb.custom_gradient(lambda y: (y * 2.0, lambda g: g * len(held)))
    held.append(chain(rule(chain(x))))


def by_an_array_with_attributes(x: Any) -> None:
    class Array(np.ndarray):
        held: Any

    array = np.array([1.0, 2.0]).view(Array)
    y = chain(pb.tensor(array, requires_grad=True) * x)
    array.held = y
    z = x * pb.tensor(array)
    array.held = (y, chain(z))


def by_what_the_user_puts_on_a_gradient(x: Any) -> None:
    class Mine(pb.Tensor):
        held: Any

    y = chain(x)
    g = Mine(np.zeros(2))
    x.grad = g
    g.held = y


WAYS = [value for name, value in sorted(globals().items()) if name.startswith("by_")]


@pytest.mark.parametrize("close", WAYS, ids=lambda f: f.__name__)
def test_a_cycle_is_collected(close: Callable[[Any], None]) -> None:
    x = leaf()
    ends = weakref.ref(x.node)
    gc.disable()
    try:
        close(x)
        after = chain(x)  # what is computed from an open leaf
        if x.grad is None:
            x.grad = pb.zeros(2)
        after.register_hook(lambda g, held=[after]: g)
        del x, after
        gc.collect()
        assert ends() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("close", WAYS, ids=lambda f: f.__name__)
def test_a_cycle_that_is_closed_alone_is_collected(close: Callable[[Any], None]) -> None:
    x = leaf()
    ends = weakref.ref(x.node)
    close(x)
    del x
    gc.collect()
    assert ends() is None


@compiled
def test_the_graph_of_an_open_leaf_is_visited() -> None:
    x = leaf()
    before = chain(x)
    handle = x.register_hook(lambda g: g)
    assert all(tracked(before))
    assert all(tracked(chain(x)))
    handle.remove()


def is_calm(value: Any) -> bool:
    """Whether nothing leads from an object to a graph, so far as the collector can see."""
    if isinstance(value, (tuple, dict, slice)):
        return all(map(is_calm, gc.get_referents(value)))
    return not gc.is_tracked(value) or isinstance(value, (weakref.ref, type))


def is_lasting(value: Any) -> bool:
    """Whether it is an operation of the library, or its compiled function."""
    if isinstance(value, type(pb.exp)):
        return bool(value.__module__.startswith("pullback.") and value.__name__ in OPS)
    return isinstance(value, Op) and OPS[value.name].op is value


@compiled
@pytest.mark.parametrize("count", [25, pytest.param(300, marks=pytest.mark.full)])
def test_calm_nodes_lead_to_calm_nodes_and_closed_leaves(count: int) -> None:
    """Of random programs: what an unvisited node refers to is not visited, or cannot lead back."""
    calm = 0
    for seed in range(10**6 * turn(), 10**6 * turn() + count):
        roots: list[Any] = []

        def differentiate(t: Any, loss: Any, leaves: Any, kept: Any = roots) -> list[Any]:
            kept.append(loss.node)
            return programs.WAYS["twice"](t, loss, leaves)

        programs.run(t, programs.written(seed, t), differentiate)
        for node in {n for root in roots for n in nodes_of(root)}:
            if gc.is_tracked(node):
                continue
            calm += 1
            for held in gc.get_referents(node):
                if isinstance(held, Leaf):
                    assert not hasattr(held, "noted")
                    assert held.grad is None or held.grad.node is None
                else:
                    assert is_lasting(held) or is_calm(held), (node, held)
    assert calm > 2 * count
