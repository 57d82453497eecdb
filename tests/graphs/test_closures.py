"""What a traced function closes over, and whose memory its arguments and results have."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core import outside, state
from pullback.graphs import Graph, Session, TensorSpec, function, placeholder
from pullback.kinds.symbols import current_graph


def leaf(*values: float) -> Any:
    return pb.tensor(list(values), requires_grad=True)


# Tensors that are closed over --------------------------------------------------------------------


def test_a_tensor_is_read_when_the_function_runs_also_where_it_is_computed_with_alone() -> None:
    w, mask = leaf(1.0, 2.0), pb.tensor([1.0, 1.0])

    def loss(x: Any) -> Any:
        return pb.sum(pb.exp(w * mask) * x) + pb.sum(w * w)

    traced, x = function(loss), pb.tensor([0.5, -1.5])
    for _ in range(4):
        answers = []
        for f in (traced, loss):
            w.grad = None
            y = f(x)
            y.backward()
            answers.append((y.item(), *w.grad.tolist()))
        np.testing.assert_allclose(*answers, rtol=1e-14)
        with pb.no_grad():
            w -= 0.1
            mask *= 1.5
    assert traced.experimental_get_tracing_count() == 1


def test_whether_it_requires_a_gradient_is_looked_at_with_each_call() -> None:
    w = pb.tensor([1.0, 2.0])
    traced = function(lambda x: pb.sum(w * w * x))
    x = pb.tensor([3.0, 4.0])
    assert not traced(x).requires_grad
    w.requires_grad_()
    traced(x).backward()
    assert w.grad.tolist() == [6.0, 16.0]
    w.requires_grad_(False)
    assert not traced(x).requires_grad
    with pb.GradientTape() as tape:
        tape.watch(w)
        y = traced(x)
    assert tape.gradient(y, w).tolist() == [6.0, 16.0]


def test_a_modules_parameters_may_be_given_from_outside() -> None:
    layer = pb.nn.Linear(2, 1, bias=False)
    traced, x = function(lambda x: pb.sum(layer(x))), pb.tensor([1.0, 2.0])
    traced(x)

    def of(p: Any) -> Any:
        return pb.nn.functional_call(_Called(layer, traced), p, x)

    values = {"layer.weight": pb.tensor([[5.0, 6.0]])}
    assert of(values).item() == 17.0
    assert pb.grad(of)(values)["layer.weight"].tolist() == [[1.0, 2.0]]
    inside = function(lambda w: pb.nn.functional_call(layer, {"weight": w}, x))
    before = layer.weight.numpy().copy()
    assert inside(pb.tensor([[5.0, 6.0]])).tolist() == [17.0]
    assert layer.weight.numpy().tolist() == before.tolist()


class _Called(pb.nn.Module):
    """A module that runs a traced function of another one."""

    def __init__(self, layer: Any, function: Any) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def test_another_shape_or_dtype_of_it_is_another_trace() -> None:
    layer = pb.nn.Linear(2, 1)
    traced = function(lambda x: layer(x))
    traced(pb.ones(2))
    layer.to(dtype="float32")
    assert traced(pb.ones(2, dtype="float32")).dtype == "float32"
    box = pb.tensor([1.0, 2.0])
    doubled = function(lambda: box * 2.0)
    assert doubled().tolist() == [2.0, 4.0]
    box._data = np.array([1.0, 2.0, 3.0])
    assert doubled().tolist() == [2.0, 4.0, 6.0]


def test_it_is_written_when_the_function_runs() -> None:
    average = pb.zeros(2)
    view = average[:1]

    @function
    def moved(x: Any) -> Any:
        before = average * 10.0
        with pb.no_grad():
            average[:] = average * 0.5 + x
        return before + average

    @function
    def twice(x: Any) -> Any:
        return moved(x) + moved(x)

    x = pb.tensor([1.0, 2.0])
    assert moved(x).tolist() == [1.0, 2.0]
    assert moved(x).tolist() == [11.5, 23.0]
    assert view.tolist() == [1.5]
    assert twice(x).tolist() == [1.75 + 15.0 + 1.875 + 17.5, 2 * (1.75 + 15.0 + 1.875 + 17.5)]
    assert average.tolist() == [1.875, 3.75]


def test_an_optimizer_of_tensors_steps_inside() -> None:
    def training(wrap: Callable[..., Any]) -> list[Any]:
        w = leaf(1.0, 2.0)
        optimizer = pb.optim.SGD([w], lr=0.1, momentum=0.5)

        def step(x: Any) -> Any:
            loss = pb.sum((w - x) ** 2) + pb.sum(pb.exp(w))
            optimizer.step(pb.autograd.grad(loss, [w]))
            return loss, pb.sum(pb.exp(w))

        stepped, x = wrap(step), pb.tensor([0.5, -0.5])
        return [v.item() for _ in range(4) for v in stepped(x)] + w.tolist()

    np.testing.assert_allclose(training(function), training(lambda f: f), rtol=1e-14)


def test_arrays_and_tensors_made_inside_are_constants_of_the_trace() -> None:
    table = np.array([1.0, 2.0])

    @function
    def scaled(x: Any) -> Any:
        buffer = pb.zeros(2)
        first = x * buffer
        buffer += 1.0
        return first + x * buffer * table, buffer

    for _ in range(3):
        y, buffer = scaled(pb.ones(2))
        assert y.tolist() == [1.0, 2.0]
        assert buffer.tolist() == [1.0, 1.0]
        buffer += 5.0
        table += 1.0


# Memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        lambda x, c, v: x, lambda x, c, v: x[1:], lambda x, c, v: pb.reshape(x, (2, 1)),
        lambda x, c, v: c, lambda x, c, v: c[:1], lambda x, c, v: v.value(), lambda x, c, v: v,
        lambda x, c, v: pb.ones(2), lambda x, c, v: v.assign(x), lambda x, c, v: v.assign(c),
        lambda x, c, v: (pb.sin(x), pb.sin(x)), lambda x, c, v: (lambda y: (y, y[:1]))(x * 2),
        lambda x, c, v: (lambda y: (y, v.assign(y)))(x * 2),
    ],
)
def test_what_is_returned_shares_memory_with_nothing(body: Callable[..., Any]) -> None:
    x, c, v = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0]), pb.Variable([5.0, 6.0])
    traced = function(lambda x: body(x, c, v))
    for _ in range(3):
        found = list(pb.trees.flatten(traced(x))[0])
        everything = [x, c, v, *found]
        before = [t.numpy().copy() for t in everything]
        for i, t in enumerate(found, 3):
            t += 100.0
            before[i] += 100.0
        for t, kept in zip(everything, before, strict=True):
            assert t.numpy().tolist() == kept.tolist()
        found = pb.trees.flatten(traced(x))[0]
        kept = [t.numpy().copy() for t in found]
        held = v.numpy().copy()
        with pb.no_grad():
            x += 1.0
        assert v.numpy().tolist() == held.tolist()
        assert [t.numpy().tolist() for t in found] == [k.tolist() for k in kept]


def test_what_a_session_returns_and_is_fed_is_not_its_own() -> None:
    from pullback.graphs import GraphVariable, initializer

    with Graph().as_default() as graph:
        x = placeholder(np.float64, [2])
        v = GraphVariable(np.zeros(2))
        put, start = v.assign(x), initializer([v])
    session, fed = Session(graph), np.array([1.0, 2.0])
    session.run(start)
    for _ in range(3):
        found = session.run(put, {x: fed})
        found += 10.0
        fed *= 2.0
        read = session.run(v)
        assert read.tolist() == (fed / 2.0).tolist()
        read += 1.0
        assert session.run(v).tolist() == (fed / 2.0).tolist()


@pytest.mark.parametrize("write", ["argument", "result", "closed"])
def test_a_write_between_a_call_and_its_pull_is_an_error(write: str) -> None:
    w = leaf(1.0, 2.0)
    traced = function(lambda x: pb.exp(x * w))
    for _ in range(3):
        x = pb.tensor([1.0, 2.0], requires_grad=True) * 1.0
        y = traced(x)
        total = pb.sum(y * 2.0)
        with pb.no_grad():
            {"argument": x, "result": y, "closed": w}[write].__iadd__(1.0)
        with pytest.raises(pb.errors.InplaceError, match="the value it was recorded with"):
            total.backward()
    linear = function(lambda x: x * 2.0)  # needs nothing of what it was called with
    x = leaf(1.0, 2.0) * 1.0
    y = linear(x)
    x += 1.0
    pb.sum(y).backward()


# Overrides ---------------------------------------------------------------------------------------


def test_each_rule_is_its_own_also_where_another_one_had_its_place() -> None:
    traced = function(lambda x: pb.sum(pb.sign(x)))
    for k in range(30):
        x = leaf(1.0)
        traced(x).backward(overrides={"sign": lambda op, g, k=k: g * k})
        assert x.grad.item() == k


def test_rules_of_each_turn_leave_nothing_behind() -> None:
    traced, x = function(lambda x: pb.sum(pb.sign(x) * x)), leaf(1.0, -2.0)
    built: list[int] = []

    def turn(scale: float, text: str = "") -> None:
        def rule(op: Any, g: Any) -> Any:
            built.append(1)
            return g * scale

        y = pb.autograd.grad(
            traced(x), x, create_graph=True, overrides={"sign": rule})[0]
        pb.sum(y * y).backward()

    turn(1.5)
    graph = traced.get_concrete_function(x).graph
    for k in range(20):
        turn(float(k))
    count = len(graph.operations)
    for k in range(20):
        turn(0.5 + k)
    assert len(graph.operations) == count
    assert len(traced.get_concrete_function(x).piece._pieces) < 20
    built.clear()
    for _ in range(3):
        x.grad = None
        traced(x).backward(overrides={"sign": lambda op, g: (built.append(1), g)[1]})
    assert len(built) == 1  # one text, nothing closed over that differs: one rule


# State, threads, life ----------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_while_it_is_traced_leaves_nothing_behind(error: type[BaseException]) -> None:
    v, w = pb.Variable(1.0), leaf(1.0)

    def fails(x: Any) -> Any:
        v.assign_add(1.0)
        with pb.no_grad():
            w.__iadd__(x)
        raise error

    traced = function(fails)
    for _ in range(2):
        with pytest.raises(error):
            traced(pb.tensor([2.0]))
        assert current_graph() is None
        assert state.state() == state.State()
        assert not outside.traces
        assert (v.numpy(), w.tolist()) == (1.0, [1.0])


def test_two_threads_trace_functions_that_call_each_other() -> None:
    entered = threading.Barrier(2, timeout=1)

    def meet() -> None:
        with suppress(threading.BrokenBarrierError):  # one traces after the other
            entered.wait()

    def first(x: Any, deep: bool = False) -> Any:
        meet()
        return x if deep else second_(x, True) * 2.0

    def second(x: Any, deep: bool = False) -> Any:
        meet()
        return x if deep else first_(x, True) * 3.0

    first_, second_ = function(first), function(second)
    found: dict[Any, Any] = {}
    threads = [
        threading.Thread(target=lambda f=f: found.update({f: f(pb.ones(1)).item()}), daemon=True)
        for f in (first_, second_)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == {first_: 2.0, second_: 3.0}


def test_a_function_that_is_dropped_takes_its_graphs_and_what_it_closed_over_along() -> None:
    def made(w: Any) -> tuple[Any, Any]:
        return function(lambda x: pb.sum(pb.sign(w) * x * w)), weakref.ref(w)

    (traced, weight), x = made(leaf(1.0, 2.0)), leaf(3.0, 4.0)
    traced(x).backward(overrides={"sign": lambda op, g: g})
    pb.hessian(traced)(pb.ones(2))
    pb.jvp(traced, (pb.ones(2),), (pb.ones(2),))
    found = traced.get_concrete_function(x)
    gone = [weight, *[weakref.ref(o) for o in (traced, found.graph, found.piece)]]
    del traced, found
    gc.collect()
    assert [r() for r in gone] == [None] * 4


def test_numbers_among_arguments_are_told_apart_by_sign_and_nan_is_one() -> None:
    scaled = function(lambda x, n: x * n)
    x = pb.tensor([1.0])
    assert np.signbit(scaled(x, 0.0).numpy()).tolist() == [False]
    assert np.signbit(scaled(x, -0.0).numpy()).tolist() == [True]
    for _ in range(3):
        scaled(x, float("nan"))
    assert scaled.experimental_get_tracing_count() == 3


def test_forward_over_reverse_of_a_function_with_unknown_lengths() -> None:
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3.0 * g * x * x

    cube = function(Cube.apply, input_signature=[TensorSpec([None])])
    x = pb.tensor([1.0, 2.0])
    slope = pb.grad(lambda x: pb.sum(cube(x)))
    assert pb.jvp(slope, (x,), (pb.ones(2),))[1].tolist() == [6.0, 12.0]
