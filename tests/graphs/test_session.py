"""Sessions: what is asked for is computed, once, and freed; variables are each session's own."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.graphs import (
    Graph,
    GraphVariable,
    InteractiveSession,
    Session,
    get_default_session,
    gradients,
    initializer,
    placeholder,
    placeholder_with_default,
)
from pullback.graphs.operation import Kind
from pullback.graphs.program import Program

RNG = np.random.default_rng(11)


def spied(graph: Graph, calls: list[Any], x: Any, name: str = "spy") -> Any:
    """An operation that hands on its input and says that it ran."""

    def kernel(value: Any) -> Any:
        calls.append(name)
        return value

    return graph.source(Kind(name, kernel), x.shape, x.dtype, args=[x], name=name)


# Fetches and feeds ----------------------------------------------------------------------------


def test_fetches_come_back_in_the_structure_they_were_asked_for_in() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [2], name="x")
        y = x * x
        done = graph.group([y])
    found = Session(graph).run({"a": [x, (y, "multiply:0")], "b": done, "c": "x:0"}, {x: [1, 2]})
    assert list(found) == ["a", "b", "c"]
    assert found["b"] is None
    np.testing.assert_array_equal(found["a"][1][1], [1.0, 4.0])
    assert found["a"][1][0].dtype == np.float64
    assert Session(graph).run([], {x: [1, 2]}) == []


def test_any_tensor_may_be_fed() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
        y = x * 3.0
        z = y + 1.0
    assert Session(graph).run(z, {y: 10.0}) == 11.0
    assert Session(graph).run([y, z], {"multiply:0": 10.0}) == [10.0, 11.0]


def test_a_placeholder_has_its_default_unless_it_is_fed() -> None:
    with Graph().as_default() as graph:
        x = placeholder_with_default(np.array([1.0, 2.0]), [None])
        y = pb.sum(x)
        dx = gradients(y * y, x)[0]
    session = Session(graph)
    assert session.run(y) == 3.0
    assert session.run(y, {x: [1.0, 2.0, 3.0]}) == 6.0
    np.testing.assert_array_equal(session.run(dx, {x: [5.0]}), [10.0])


@pytest.mark.parametrize(
    ("feed", "error", "text"),
    [
        ({}, pb.errors.SessionError, "placeholder 'x'"),
        ({"x:0": np.ones((3, 2))}, pb.errors.ShapeError, r"shape \[None, 3\]"),
        ({"x:0": np.ones(3)}, pb.errors.ShapeError, r"shape \[3\]"),
        ({"x:0": "words"}, pb.errors.ArgumentTypeError, "feed for 'x:0'"),
        ({"y:0": 1.0}, pb.errors.UnknownNameError, "'y'"),
        ({3: 1.0}, pb.errors.ArgumentTypeError, "`feed_dict`"),
    ],
    ids=["nothing", "length", "rank", "kind", "name", "key"],
)
def test_what_cannot_be_fed_is_refused(feed: Any, error: type, text: str) -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [None, 3], name="x")
        y = pb.sum(x)
    with pytest.raises(error, match=text):
        Session(graph).run(y, feed)


def test_what_cannot_be_fetched_is_refused() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
    with Graph().as_default():
        stranger = placeholder(pb.float64, [])
    session = Session(graph)
    with pytest.raises(pb.errors.ArgumentTypeError, match="`fetches`"):
        session.run(None)
    with pytest.raises(pb.errors.GraphError, match="of another graph"):
        session.run(stranger)
    with pytest.raises(pb.errors.GraphError, match=r"built at .*test_session\.py"):  # noqa: SIM117
        with graph.as_default():
            x + stranger


# Only what is needed, once, and no longer than it is needed -------------------------------------


def test_only_what_is_needed_runs_and_each_operation_once() -> None:
    calls: list[Any] = []
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
        a = spied(graph, calls, x, "a")
        b = spied(graph, calls, a, "b")
        c = spied(graph, calls, a, "c")
        both = b + c
        with graph.control_dependencies([c]):
            last = spied(graph, calls, x, "last")
    session = Session(graph)
    for _ in range(3):  # the first run is interpreted, the others are compiled
        calls.clear()
        session.run(b, {x: 1.0})
        assert calls == ["a", "b"]
        calls.clear()
        session.run([both, b], {x: 1.0})
        assert calls == ["a", "b", "c"]
        calls.clear()
        session.run(last, {x: 1.0})
        assert calls == ["a", "c", "last"]
        calls.clear()
        session.run(both, {x: 1.0, a: 2.0})
        assert calls == ["b", "c"]


def test_constants_and_what_is_the_same_are_found_once() -> None:
    with Graph().as_default():
        x = placeholder(pb.float64, [3])
        scale = pb.exp(pb.tensor([1.0, 2.0, 3.0]) * 2.0)
        same = pb.sin(x) + pb.sin(x) + pb.sum(x * 1.0, axis=0) * pb.sum(x * 1.0, axis=0)
        zeros = pb.sum(pb.zeros_like(x) * scale)
        y = same * pb.exp(placeholder_of_constant(scale)) + zeros
    program = Program([y._data], [x._data])
    kinds = [s.operation.type for s in program.plan.steps]
    assert kinds.count("sin") == 1
    assert kinds.count("sum") == 1  # that of zeros is computed ahead
    assert kinds.count("exp") == 0


def placeholder_of_constant(value: Any) -> Any:
    """A constant of the graph that is being built, as a tensor of it."""
    from pullback.kinds.symbols import current_graph

    graph = current_graph()
    return graph.tensor(graph.constant(value.numpy()))


def test_signed_zeros_are_not_the_same() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
        up, down = pb.divide(1.0, x * 0.0), pb.divide(1.0, x * -0.0)
    with np.errstate(divide="ignore"):
        for _ in range(2):
            assert Session(graph).run([up, down], {x: 1.0}) == [np.inf, -np.inf]


def test_arrays_are_freed_after_their_last_use() -> None:
    alive: list[Any] = []
    most = [0]

    class Spy(Kind):
        def kernel(self, value: Any) -> Any:
            made = value + 1.0
            alive.append(weakref.ref(made))
            most[0] = max(most[0], sum(r() is not None for r in alive))
            return made

    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [4])
        y = x
        for i in range(20):
            y = graph.source(Spy(f"s{i}"), [4], np.dtype("float64"), args=[y], name=f"s{i}")
    session = Session(graph)
    for _ in range(3):
        alive.clear()
        most[0] = 0
        out = session.run(y, {x: np.zeros(4)})
        np.testing.assert_array_equal(out, np.full(4, 20.0))
        assert most[0] <= 2


def test_a_run_that_fails_names_the_operation_and_can_be_repeated() -> None:
    with Graph().as_default() as graph:
        x, y = placeholder(pb.float64, [None], name="x"), placeholder(pb.float64, [None], name="y")
        total = pb.add(x, y)
    session = Session(graph)
    for _ in range(3):
        with pytest.raises(pb.errors.ShapeError) as caught:
            session.run(total, {x: np.ones(2), y: np.ones(3)})
        assert "in operation 'add' (add), built at" in "\n".join(caught.value.__notes__)
        assert session.run(total, {x: [1.0], y: [2.0]})[0] == 3.0


# Variables --------------------------------------------------------------------------------------


def test_sessions_keep_their_variables_apart() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable([1.0, 2.0], name="v")
        more = v.assign_add([1.0, 1.0])
        start = initializer(graph.variables)
    one, other = Session(graph), Session(graph)
    one.run(start)
    with pytest.raises(pb.errors.SessionError, match="variable 'v'"):
        other.run(v)
    other.run(start)
    one.run(more)
    np.testing.assert_array_equal(one.run(more), [3.0, 4.0])
    np.testing.assert_array_equal(other.run(v), [1.0, 2.0])
    v.load([7.0, 7.0], other)
    np.testing.assert_array_equal(other.run(v), [7.0, 7.0])


def test_reads_and_assignments_go_in_the_order_of_dependencies() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(1.0, name="v")
        before = v * 10.0
        change = v.assign(5.0)
        with graph.control_dependencies([change]):
            after = v * 10.0
        with graph.control_dependencies(None):
            twice = change + v.assign_add(1.0)
    session = Session(graph)
    session.run(v.initializer)
    assert session.run([before, after]) == [10.0, 50.0]
    session.run(v.initializer)
    assert session.run(before) == 10.0
    assert session.run(twice) == 11.0
    assert session.run(v) == 6.0


def test_initial_values_may_depend_on_other_variables() -> None:
    with Graph().as_default() as graph:
        a = GraphVariable(lambda: np.array([2.0, 3.0]), name="a")
        b = GraphVariable(a.initialized_value() * 10.0, name="b")
        start = initializer([b, a])
    session = Session(graph)
    session.run(start)
    np.testing.assert_array_equal(session.run(b), [20.0, 30.0])
    assert [o.name for o in graph.get_operations() if "a/" in o.name][:2] == [
        "a/initial_value", "a/Assign"
    ]


def test_what_cannot_be_assigned_is_refused_when_it_is_built() -> None:
    with Graph().as_default():
        v = GraphVariable([1.0, 2.0], name="v")
        w = GraphVariable([1.0], name="w", validate_shape=False)
        w.assign(np.ones(3))
        with pytest.raises(pb.errors.ShapeError, match="assignment to variable 'v:0'"):
            v.assign(np.ones(3))
        with pytest.raises(pb.errors.ArgumentError, match="dtype"):
            v.assign(pb.astype(v, pb.float32))
        with pytest.raises(pb.errors.InplaceError, match="in-place"):
            v += 1.0


def test_training_by_hand_finds_the_least_squares() -> None:
    inputs, weights = RNG.normal(size=(50, 3)), np.array([1.0, -2.0, 0.5])
    with Graph().as_default() as graph:
        x, y = placeholder(pb.float64, [None, 3]), placeholder(pb.float64, [None])
        w = GraphVariable(np.zeros(3))
        loss = pb.mean((pb.matmul(x, w) - y) ** 2)
        (slope,) = gradients(loss, [w])
        step = w.assign_sub(0.1 * slope)
    with Session(graph) as session:
        session.run(w.initializer)
        for _ in range(300):
            session.run(step, {x: inputs, y: inputs @ weights})
        np.testing.assert_allclose(session.run(w), weights, rtol=1e-6)


# Life -------------------------------------------------------------------------------------------


def test_the_default_session_runs_eval_and_run() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
        y = x + 1.0
        v = GraphVariable(1.0)
        with pytest.raises(pb.errors.SessionError, match="no default"):
            y.eval({x: 1.0})
        with Session() as session:
            assert get_default_session() is session
            assert y.eval({x: 1.0}) == 2.0
            v.initializer.run()
            assert v.eval() == 1.0
        assert get_default_session() is None
        held = InteractiveSession(graph=graph)
        assert y.eval({x: 2.0}) == 3.0
        held.close()
        assert get_default_session() is None
    with pytest.raises(pb.errors.SessionError, match="a closed one"):
        session.run(y, {x: 1.0})
    with pytest.raises(pb.errors.GraphError, match="a graph"):
        Session()


def test_a_finalized_graph_runs_and_does_not_grow() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(2.0)
        y = v * 3.0
        start = initializer([v])
        graph.finalize()
        with pytest.raises(pb.errors.GraphError, match="a finalized one"):
            y + 1.0
    session = Session(graph)
    session.run(start)
    assert session.run([y, v]) == [6.0, 2.0]


def test_a_callable_runs_the_same_again_and_again() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [])
        double = Session(graph).make_callable(x * 2.0, [x])
    assert [double(k) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    with pytest.raises(pb.errors.ArgumentTypeError, match="1 values"):
        double(1.0, 2.0)


def test_threads_run_one_session_at_once() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [100])
        y = pb.sum(pb.sin(x) * x)
    session = Session(graph)
    found: dict[int, list[Any]] = {}

    def work(k: int) -> None:
        found[k] = [session.run(y, {x: np.full(100, float(k))}) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], 100 * k * np.sin(k), rtol=1e-12)


def test_large_arrays_and_other_shapes_are_compiled_anew() -> None:
    with Graph().as_default() as graph:
        x = placeholder(pb.float64, [None])
        y = pb.sum(pb.tanh(x) * x)
    session = Session(graph)
    for n in (3, 3, 3, 400_000, 400_000, 400_000, 3, 1):
        value = RNG.normal(size=n)
        np.testing.assert_allclose(session.run(y, {x: value}), np.sum(np.tanh(value) * value))


def test_arrays_of_many_lengths_run_by_one_compiled_function() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None])
        y = pb.sum(x * x)
    session = Session(graph)
    for n in range(1, 100):
        for _ in range(3):
            assert session.run(y, {x: np.ones(n)}) == n
    (program,) = session._programs.values()
    assert len(program._by_kernels) == 1
    assert not program._seen


def test_attributes_that_differ_by_a_sign_of_zero_are_not_the_same() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [2])
        bits = [pb.signbit(pb.full_like(x, fill_value=n)) for n in (0.0, -0.0)]
    found = Session(graph).run(bits, {x: [1.0, 2.0]})
    assert [b.tolist() for b in found] == [[False, False], [True, True]]
