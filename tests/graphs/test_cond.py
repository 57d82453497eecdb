"""`cond` and `switch_case`: what one function gives, and the others not even run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    BatchedValueError,
    DtypeError,
    GraphError,
    ShapeError,
)
from pullback.graphs import (
    Graph,
    GraphVariable,
    Session,
    cond,
    gradients,
    numpy_function,
    placeholder,
    print_op,
    switch_case,
)
from pullback.kinds.symbols import current_graph
from tests.graphs.orders import check, check_forward_over_reverse

RNG = np.random.default_rng(3)


def chosen(x: Any, w: Any) -> Any:
    return cond(pb.sum(x) > 0, lambda: pb.sin(x) * w, lambda: x * x * pb.sum(w))


def nested(x: Any, w: Any) -> Any:
    def inner() -> Any:
        y = x * w
        return cond(pb.sum(y) > 0, lambda: pb.exp(y) * x, lambda: cond(
            pb.sum(w) > 0, lambda: y * y * y, lambda: pb.tanh(w) * y
        ))

    return cond(pb.sum(x) > 0, inner, lambda: w * x[0])


@pytest.mark.parametrize("f", [chosen, nested])
def test_values_and_cotangents_of_three_orders(f: Callable[..., Any]) -> None:
    check(f, (3,), (3,), order=3, runs=6)


def test_a_branch_may_return_what_is_captured() -> None:
    check(lambda x, w: cond(pb.sum(x) > 0, lambda: x, lambda: w), (3,), (3,), runs=4)


def test_nestings_keep_their_form() -> None:
    def f(x: Any, w: Any) -> list[Any]:
        made = cond(
            pb.sum(x) > 0, lambda: {"a": x * w, "b": (w, None)}, lambda: {"a": w, "b": (x, None)}
        )
        assert made["b"][1] is None or not isinstance(made["b"][1], pb.Tensor)
        return [made["a"], made["b"][0]]

    with Graph().as_default() as graph:
        x, w = placeholder(np.float64, [2]), placeholder(np.float64, [2])
        a, b = f(x, w)
        c = [placeholder(np.float64, [2]) for _ in range(2)]
        dx, dw = gradients([a, b], [x, w], c)
    for sign in (1.0, -1.0):
        values = [sign * np.abs(RNG.normal(size=2)), *RNG.normal(size=(3, 2))]
        _, pull = pb.vjp(f, *values[:2])
        wanted = pull(list(values[2:]))
        found = Session(graph).run([dx, dw], dict(zip([x, w, *c], values, strict=True)))
        np.testing.assert_allclose(found, [np.asarray(v) for v in wanted])


def test_only_the_branch_that_is_taken_runs() -> None:
    ran: list[str] = []

    def noted(name: str) -> Callable[[np.ndarray], np.ndarray]:
        def call(a: np.ndarray) -> np.ndarray:
            ran.append(name)
            return a

        return call

    with Graph().as_default() as graph:
        p = placeholder(bool, [])
        x = placeholder(np.float64, [2])
        y = cond(
            p, lambda: numpy_function(noted("true"), [x], np.float64) * x,
            lambda: numpy_function(noted("false"), [x], np.float64) + x,
        )
        dx, = gradients(y, x)
    session = Session(graph)
    for value in (True, False, True):
        session.run([y, dx], {p: value, x: RNG.normal(size=2)})
    assert ran == ["true", "false", "true"]  # and once: the pullback is handed what came out


def test_what_nobody_asks_for_is_not_run() -> None:
    ran: list[int] = []

    def branch(x: Any) -> Any:
        numpy_function(lambda a: ran.append(1) or a, [x], np.float64)
        return x * 2

    with Graph().as_default() as graph:
        p, x = placeholder(bool, []), placeholder(np.float64, [])
        y = cond(p, lambda: branch(x), lambda: x)
    assert (Session(graph).run(y, {p: True, x: 2.0}), ran) == (4.0, [])


def test_random_numbers_are_drawn_once() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [4])
        p = placeholder(bool, [])
        y = cond(p, lambda: x * pb.random.normal((4,)), lambda: cond(
            pb.sum(x) > 0, lambda: x * pb.random.uniform((4,)), lambda: x
        ))
        dx, = gradients(y, x)
        ddx, = gradients(y * dx, x)
    at = np.abs(RNG.normal(size=4))
    for value in (True, False):
        a, b, c = Session(graph).run([y, dx, ddx], {x: at, p: value})
        np.testing.assert_allclose(a, at * b)
        np.testing.assert_allclose(c, b * b)
        assert len(set(b)) == 4


def test_variables_are_read_and_assigned_inside() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable([1.0, 2.0], name="v")
        x = placeholder(np.float64, [2])

        def bumped() -> Any:
            return v.assign_add(x) * v

        y = cond(pb.sum(x) > 0, bumped, lambda: v * x)
        dx, dv = gradients(y, [x, v])
        after = v.value()
    session = Session(graph)
    session.run(v.initializer)
    np.testing.assert_allclose(session.run([y, dv], {x: [-1.0, -3.0]}), [[-1, -6], [-1, -3]])
    np.testing.assert_allclose(session.run(v), [1, 2])
    found = session.run([y, after], {x: [1.0, 1.0]})
    np.testing.assert_allclose(found, [[4, 9], [2, 3]])
    np.testing.assert_allclose(session.run(v), [2, 3])
    assert dx.shape == (2,)


def test_what_a_pullback_reads_of_a_variable_is_what_the_branch_read() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(2.0)
        x = placeholder(np.float64, [])
        y = cond(x > 0, lambda: x * v, lambda: x)
        with graph.control_dependencies([y]):
            changed = v.assign(50.0)
        with graph.control_dependencies([changed]):
            dx, = gradients(y, x)
    session = Session(graph)
    session.run(v.initializer)
    assert session.run([y, changed, dx], {x: 3.0}) == [6.0, 50.0, 2.0]


def test_branches_of_operations() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(1.0)
        p = placeholder(bool, [])
        made = cond(p, lambda: v.assign(5.0).op, lambda: None)
    session = Session(graph)
    session.run(v.initializer)
    assert session.run(made, {p: False}) is None
    assert session.run(v) == 1.0
    session.run(made, {p: True})
    assert session.run(v) == 5.0


def test_effects_inside_run_with_the_branch(capsys: pytest.CaptureFixture[str]) -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [])

        def loud() -> Any:
            with current_graph().control_dependencies([print_op("x is", x)]):
                return x + 0.0

        y = cond(x > 0, loud, lambda: -x)
        dx, = gradients(y, x)
    assert Session(graph).run([y, dx], {x: 2.0}) == [2.0, 1.0]
    assert Session(graph).run([y, dx], {x: -2.0}) == [2.0, -1.0]
    assert capsys.readouterr().out == "x is 2.0\n"


def test_control_dependencies_on_the_outside_hold_for_the_whole() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(1.0)
        first = v.assign_add(1.0)

        def branch() -> Any:
            with current_graph().control_dependencies([first]):
                return v.value() * 1.0

        p = placeholder(bool, [])
        y = cond(p, branch, lambda: 0.0)
    session = Session(graph)
    session.run(v.initializer)
    assert [session.run(y, {p: True}) for _ in range(2)] == [2.0, 3.0]


def test_shapes_are_joined() -> None:
    with Graph().as_default():
        p = placeholder(bool, [])
        x, y = placeholder(np.float64, [2, 3]), placeholder(np.float64, [4, 3])
        z = placeholder(np.float64, [None])
        assert cond(p, lambda: x, lambda: y).shape == (None, 3)
        assert repr(cond(p, lambda: x, lambda: z)._data.shape) == "<unknown>"
        same = cond(p, lambda: pb.sin(z), lambda: pb.cos(z))
        assert same._data.shape == z._data.shape  # the same length, whatever it is


def test_lengths_that_differ_differentiate() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [3])
        y = cond(pb.sum(x) > 0, lambda: x[:2] * x[1], lambda: x * x)
        c = placeholder(np.float64, [None])
        dx, = gradients(y, x, c)
    at = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(Session(graph).run(dx, {x: at, c: [1.0, 10.0]}), [2, 41, 0])
    np.testing.assert_allclose(Session(graph).run(dx, {x: -at, c: [1.0, 10.0, 100.0]}),
                               [-2, -40, -600])


def test_a_value_that_is_known_chooses_at_once() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [])
        count = len(graph.operations)
        assert cond(True, lambda: x, lambda: 1 / 0) is x
        assert cond(np.bool_(False), lambda: 1 / 0, lambda: x) is x
        assert cond(pb.tensor(0), lambda: 1 / 0, lambda: x) is x
        assert len(graph.operations) == count


def test_outside_of_graphs_the_branch_is_called() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.sum(cond(pb.sum(x) > 0, lambda: x * x, lambda: 1 / 0)).backward()
    np.testing.assert_allclose(x.grad.numpy(), [2, 4])


@pytest.mark.parametrize("traced", [False, True])
def test_inside_vmap_each_example_has_its_own(traced: bool) -> None:
    def f(x: Any) -> Any:
        return cond(pb.sum(x) > 0, lambda: pb.sin(x), lambda: x * x * x)

    seen = pb.function(f) if traced else f
    xs = RNG.normal(size=(6, 3))
    both = lambda g: lambda x: pb.sum(g(x) * x)  # noqa: E731
    wanted = [f(x).numpy() for x in map(pb.tensor, xs)]
    np.testing.assert_allclose(pb.vmap(seen)(xs).numpy(), wanted)
    found = pb.vmap(pb.grad(both(seen)))(xs)
    np.testing.assert_allclose(
        found.numpy(), [pb.grad(both(f))(pb.tensor(x)).numpy() for x in xs]
    )


def test_inside_vmap_nothing_may_be_assigned() -> None:
    v = pb.Variable(1.0)

    @pb.function
    def f(x: Any) -> Any:
        return cond(x > 0, lambda: v.assign_add(1.0) * x, lambda: x)

    with pytest.raises(BatchedValueError, match="change nothing"):
        pb.vmap(f)(np.ones(3))


def test_forward_mode_goes_through() -> None:
    x, w, t, u = RNG.normal(size=(4, 3))
    with Graph().as_default() as graph:
        fed = [placeholder(np.float64, [3]) for _ in range(4)]
        out, tangent = pb.jvp(nested, tuple(fed[:2]), tuple(fed[2:]))
    for sign in (1, -1):
        feed = dict(zip(fed, (sign * x, w, t, u), strict=True))
        wanted = pb.jvp(nested, (sign * x, w), (t, u))
        found = Session(graph).run([out, tangent], feed)
        np.testing.assert_allclose(found, [np.asarray(v) for v in wanted])


@pytest.mark.parametrize("f", [chosen, nested])
def test_forward_over_reverse(f: Callable[..., Any]) -> None:
    for seed in range(4):
        check_forward_over_reverse(f, (3,), (3,), seed=seed)


def test_tangents_are_computed_outside_of_the_branches() -> None:
    counts = []
    for along in (False, True):
        with Graph().as_default() as graph:
            x = placeholder(np.float64, [2])
            f = lambda x: cond(pb.sum(x) > 0, lambda: pb.sin(x) * x, lambda: x)  # noqa: E731
            pb.jvp(f, (x,), (x,)) if along else f(x)
        made = next(o for o in graph.operations if o.type == "cond")
        counts.append([len(r.operations) for r in made.op.regions])
    assert counts[0] == counts[1]


def test_lengths_of_a_branch_are_not_those_of_the_outside() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None])
        y = switch_case(pb.astype(pb.sum(x), pb.int64), [lambda: x[1:] * 2.0])
        dx, = gradients(pb.sum(y * y) * pb.sum(pb.shape(y)), x)
    np.testing.assert_allclose(Session(graph).run(dx, {x: [5.0, 1.0, 2.0]}), [0, 16, 32])


def test_switch_case() -> None:
    def f(x: Any, w: Any) -> Any:
        index = pb.astype(pb.abs(x[0] * 2), pb.int64)
        return switch_case(index, [lambda: x * w, lambda: pb.sin(x)], lambda: w * w * x)

    check(f, (3,), (3,), runs=8)


def test_switch_case_takes_numbers_and_a_last_one() -> None:
    with Graph().as_default() as graph:
        i = placeholder(np.int64, [])
        out = switch_case(i, {3: lambda: 30.0, -1: lambda: 10.0})
        pairs = switch_case(i, [(3, lambda: 30.0), (7, lambda: 70.0)])
    run = Session(graph).run
    assert [run(out, {i: n}) for n in (3, -1, 0, 5)] == [30, 10, 30, 30]
    assert [run(pairs, {i: n}) for n in (3, 7, 0)] == [30, 70, 70]
    assert switch_case(4, [lambda: "a", lambda: "b"]) == "b"


def test_switch_case_inside_vmap() -> None:
    xs, at = RNG.normal(size=(5, 2)), np.array([0, 2, 1, 9, 0])
    f = pb.function(lambda i, x: switch_case(i, [lambda: x, lambda: x * x, lambda: pb.sin(x)]))
    wanted = [[x, x * x, np.sin(x)][min(i, 2)] for i, x in zip(at, xs, strict=True)]
    np.testing.assert_allclose(pb.vmap(f)(pb.asarray(at), xs).numpy(), wanted)


@pytest.mark.parametrize(("make", "error", "match"), [
    (lambda p, x: cond(p, lambda: x, lambda: (x, x)), ArgumentError, "nesting"),
    (lambda p, x: cond(p, lambda: (x,), lambda: [x]), ArgumentError, "nesting"),
    (lambda p, x: cond(p, lambda: x, lambda: pb.astype(x, pb.float32)), DtypeError, "float32"),
    (lambda p, x: cond(p, lambda: x, lambda: None), ArgumentTypeError, "a tensor"),
    (lambda p, x: cond(x > 0, lambda: x, lambda: x), ShapeError, "one value"),
    (lambda p, x: cond(p, x, lambda: x), ArgumentTypeError, "true_fn"),
    (lambda p, x: switch_case(p, []), ArgumentTypeError, "branch_fns"),
], ids=["counts", "kinds", "dtypes", "none", "pred", "no function", "no branches"])
def test_misuse_is_said(make: Callable[..., Any], error: type, match: str) -> None:
    with Graph().as_default(), pytest.raises(error, match=match):
        make(placeholder(bool, []), placeholder(np.float64, [2]))


def test_a_tensor_of_a_branch_stays_there() -> None:
    leaked: list[Any] = []
    with Graph().as_default():
        x = placeholder(np.float64, [2])
        cond(placeholder(bool, []), lambda: leaked.append(x * 2) or x, lambda: x)
        with pytest.raises(GraphError, match="another graph"):
            leaked[0] + x


def test_a_number_takes_on_the_dtype_of_the_other_branch() -> None:
    with Graph().as_default() as graph:
        p, x = placeholder(bool, []), placeholder(np.float32, [])
        y = cond(p, lambda: x, lambda: 0.5)
    assert y.dtype == np.float32
    assert Session(graph).run(y, {p: False, x: 1.0}) == 0.5
