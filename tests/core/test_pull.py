"""pull: order, depth, fan-out, what is computed and what is kept, and how memory goes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.node import FREED
from pullback.core.op import OPS, op

DEEP = 1_000_000


class Counted:
    """An operation x1 * x2 that counts how often each of its rules is called."""

    def __init__(self) -> None:
        self.calls = {"x1": 0, "x2": 0}

        @op(name="counted", elementwise=True)
        def counted(xp: Any, x1: Any, x2: Any, /) -> Any:
            return x1 * x2

        @counted.pullback("x1")
        def pullback_counted_x1(g: Any, x2: Any) -> Any:
            self.calls["x1"] += 1
            return g * x2

        @counted.pullback("x2")
        def pullback_counted_x2(g: Any, x1: Any) -> Any:
            self.calls["x2"] += 1
            return g * x1

        self.call = counted


@pytest.fixture
def counted() -> Iterator[Counted]:
    made = Counted()
    yield made
    del OPS["counted"]


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only reference counts free memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values: float) -> pb.Tensor:
    return pb.Tensor(np.array(values), requires_grad=True)


@pytest.mark.full
def test_a_million_operations_deep(no_collector: None) -> None:
    x = leaf(1.0)
    y = x
    for _ in range(DEEP // 2):
        y = -y
        y = y + x
    first = weakref.ref(x.node)
    y.backward(retain_graph=True)
    # y alternates between 0 and x: half a million steps of y ← x - y from y = x.
    assert x.grad.data == 1.0
    assert y.data == x.data
    del x, y  # freed by a loop: a recursion of this depth would overflow the stack
    assert first() is None


def test_a_deep_chain_under_no_retain() -> None:
    x = leaf(1.0, 2.0)
    y = x
    for _ in range(20_000):
        y = y * 1.0001
    pb.sum(y).backward()
    np.testing.assert_allclose(x.grad.data, 1.0001**20_000 * np.ones(2), rtol=1e-10)


def test_fan_out_of_ten_thousand(rng: np.random.Generator) -> None:
    x = leaf(0.5, -2.0)
    factors = rng.standard_normal(10_000)
    total = x * 0.0
    for f in factors.tolist():
        total = total + x * f
    pb.sum(total).backward()
    np.testing.assert_allclose(x.grad.data, np.full(2, factors.sum()), rtol=1e-10)


def test_a_diamond_is_passed_once(counted: Counted) -> None:
    x = leaf(3.0)
    top = counted.call(x, pb.Tensor(np.array([2.0])))
    pb.sum(counted.call(top * 5.0, top)).backward()  # 5 · (2x)²
    assert x.grad.data == 2 * 5 * 4 * 3.0
    assert counted.calls == {"x1": 2, "x2": 1}  # of two nodes, one with a constant


def test_a_tower_of_diamonds_is_linear_in_its_height() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(200):  # 2^200 paths
        y = y + y
        y = y * 0.5
    y.backward()
    assert x.grad.data == 1.0


def test_branches_that_lead_nowhere_are_not_computed(counted: Counted) -> None:
    x, z = leaf(3.0), leaf(4.0)
    side = counted.call(counted.call(z, z), z)
    out = pb.sum(counted.call(x, side))
    (g,) = pb.autograd.grad(out, [x])
    assert g.data == 64.0
    assert counted.calls == {"x1": 1, "x2": 0}


def test_what_hangs_on_nothing_asked_for_is_not_computed(counted: Counted) -> None:
    x = leaf(3.0)
    counted.call(x, x)
    pb.sum(x * 2.0).backward()
    assert counted.calls == {"x1": 0, "x2": 0}


def test_gradients_of_constants_are_not_computed(counted: Counted) -> None:
    x = leaf(3.0)
    for constant in (2.0, np.array([2.0]), pb.Tensor(np.array([2.0]))):
        pb.sum(counted.call(x, constant)).backward()
        pb.sum(counted.call(constant, x)).backward()
    assert counted.calls == {"x1": 3, "x2": 3}
    assert x.grad.data == 12.0


def test_one_argument_twice_adds_both_gradients(counted: Counted) -> None:
    x = leaf(3.0)
    pb.sum(counted.call(x, x)).backward()
    assert x.grad.data == 6.0
    assert counted.calls == {"x1": 1, "x2": 1}


# Memory ----------------------------------------------------------------------------------------


def test_arrays_die_with_the_last_tensor(no_collector: None) -> None:
    x = pb.Tensor(np.ones(3), requires_grad=True)
    y = pb.exp(x * 2.0)
    z = pb.sum(y * y)
    arrays = [weakref.ref(t.data) for t in (x, y)]
    nodes = [weakref.ref(t.node) for t in (x, y, z)]
    del x, y
    assert arrays[1]() is not None  # y * y saved it
    del z
    assert [r() for r in (*arrays, *nodes)] == [None] * 5


def test_backward_frees_what_was_saved(no_collector: None) -> None:
    x = leaf(1.0, 2.0)
    y = pb.exp(x)
    saved = weakref.ref(y.data)
    z = pb.sum(y * y)
    del y
    assert saved() is not None
    z.backward()
    assert saved() is None


def test_retain_graph_keeps_what_was_saved() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    pb.sum(y).backward(retain_graph=True)
    assert y.node is not None
    assert y.node.saved is not FREED
    pb.sum(y).backward()
    assert y.node.saved is FREED


def test_the_graph_holds_no_cycle(no_collector: None) -> None:
    def work() -> None:
        x = leaf(0.3, 0.7)
        y = pb.exp(x) * x / (x + 2.0)
        z = pb.sum(pb.tanh(y) + y[0] - pb.reshape(y, (2, 1)))
        z.backward()
        (g,) = pb.autograd.grad(pb.sum(x * x * x), x, create_graph=True)
        pb.sum(g).backward()
        with pb.no_grad():
            x -= 0.1

    work()  # what is made once stays
    gc.collect()
    for _ in range(20):
        work()
    assert gc.collect() == 0


def test_nodes_do_not_refer_to_their_tensors(no_collector: None) -> None:
    x = leaf(1.0)
    y = pb.exp(x)
    for tensor in (x, y):
        assert all(not isinstance(r, pb.Tensor) for r in gc.get_referents(tensor.node))
    node, tensor = y.node, weakref.ref(y)
    del y
    assert node is not None
    assert tensor() is None


def saves(result: pb.Tensor) -> list[bool]:
    """Which of the inputs and the output a node keeps alive."""
    assert result.node is not None
    return [value is not None and not isinstance(value, weakref.ref) for value in result.node.saved]


def test_only_what_rules_read_is_saved() -> None:
    x, c = leaf(1.0, 2.0), pb.Tensor(np.array([3.0, 4.0]))
    w = leaf(5.0, 6.0)
    assert saves(x + c) == [False, False, False]
    assert saves(x + w) == [False, False, False]
    assert saves(x * c) == [False, True, False]
    assert saves(c * x) == [True, False, False]
    assert saves(x * w) == [True, True, False]
    assert saves(pb.exp(x)) == [False, True]
    assert saves(-x) == [False, False]


def test_a_sum_keeps_neither_operand_alive(no_collector: None) -> None:
    x, c = leaf(1.0, 2.0) * 1.0, pb.Tensor(np.array([3.0, 4.0]))
    alive = [weakref.ref(x.data), weakref.ref(c.data)]
    y = x + c
    del x, c
    assert [r() for r in alive] == [None, None]
    assert y.node is not None


def test_a_product_with_a_constant_keeps_the_constant_alone(no_collector: None) -> None:
    x, c = leaf(1.0, 2.0) * 1.0, pb.Tensor(np.array([3.0, 4.0]))
    alive = [weakref.ref(x.data), weakref.ref(c.data)]
    y = x * c
    del x, c
    assert alive[0]() is None
    assert alive[1]() is not None
    del y
    assert alive[1]() is None


def test_peak_memory_of_a_backward_pass_is_that_of_the_saved_values() -> None:
    """Cotangents are let go of as soon as they have been handed on."""
    import tracemalloc

    size, depth = 100_000, 30
    x = pb.Tensor(np.ones(size), requires_grad=True)
    y = x
    for _ in range(depth):
        y = y * 1.01  # saves nothing but a number
    z = pb.sum(y)
    del y
    tracemalloc.start()
    z.backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 8 * size, f"{peak / 8 / size:.1f} arrays at once"


def test_an_error_in_a_rule_names_the_operation() -> None:
    @op(name="faulty")
    def faulty(xp: Any, x: Any, /) -> Any:
        return x * 1.0

    @faulty.pullback("x")
    def pullback_faulty(g: Any) -> Any:
        raise ZeroDivisionError("in the rule")

    try:
        with pytest.raises(ZeroDivisionError, match="in the rule") as caught:
            pb.sum(faulty(leaf(1.0))).backward()
    finally:
        del OPS["faulty"]
    (note,) = caught.value.__notes__
    assert note.startswith("in the gradient of `faulty` of shape (1,)")
    assert pb.is_grad_enabled()
