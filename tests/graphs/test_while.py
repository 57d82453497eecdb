"""`while_loop`: as many turns as its condition says when it runs, and derivatives through them."""

from __future__ import annotations

import gc
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
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
    while_loop,
)
from tests.graphs.orders import check, check_forward_over_reverse

RNG = np.random.default_rng(5)


def plain(x: Any, w: Any) -> Any:
    """A number of turns that depends on the values; a captured tensor; three kinds of variables."""
    y, _, z = while_loop(
        lambda y, n, z: pb.logical_and(pb.sum(y * y) < 50, n < 6),
        lambda y, n, z: (pb.tanh(y) * w + x, n + 1, z * 2.0), [x, 0, w],
    )
    return y * pb.sum(z)


def branching(x: Any, w: Any) -> Any:
    """A choice in a choice in a loop."""
    def body(y: Any, n: Any) -> Any:
        return cond(
            n % 2 == 0, lambda: pb.sin(y) * w,
            lambda: cond(pb.sum(y) > 0, lambda: y + x, lambda: y * y),
        ), n + 1

    return while_loop(lambda y, n: n < 5, body, [x, 0])[0]


def in_a_loop(x: Any, w: Any) -> Any:
    """A loop in a loop, of another number of turns each time."""
    def body(y: Any, n: Any) -> Any:
        z, _ = while_loop(lambda z, m: m < n, lambda z, m: (pb.sin(z) * w, m + 1), [y, 0])
        return z + x * y, n + 1

    return while_loop(lambda y, n: n < 4, body, [x, 0])[0]


def swapping(x: Any, w: Any) -> Any:
    """Variables that trade places, and one that begins as another does."""
    a, b, c, _ = while_loop(
        lambda a, b, c, n: n < 3, lambda a, b, c, n: (b, pb.sin(a), c * a, n + 1), [x, w, x, 0]
    )
    return a * b + c


def forgetting(x: Any, w: Any) -> Any:
    """A variable that a turn replaces, whatever it was."""
    y, z, _ = while_loop(
        lambda y, z, n: n < 3, lambda y, z, n: (w * z, pb.sin(z), n + 1), [x, x, 0]
    )
    return y + z


def growing(x: Any, w: Any) -> Any:
    """A variable that has another length after each turn."""
    return while_loop(
        lambda y, n: n < 4,
        lambda y, n: (pb.concat([y, pb.sin(y[-1:] * w)], axis=0), n + 1), [x, 0],
        shape_invariants=[(None,), ()],
    )[0]


@pytest.mark.parametrize("f", [plain, branching, in_a_loop, swapping, forgetting])
def test_values_and_cotangents_of_three_orders(f: Callable[..., Any]) -> None:
    check(f, (3,), (3,), order=3)


def test_lengths_that_change() -> None:
    check(growing, (3,), (1,))


def test_no_turn_at_all() -> None:
    def f(x: Any, w: Any) -> Any:
        return while_loop(lambda y, n: n < 0, lambda y, n: (y * w, n + 1), [x, 0])[0] * w

    check(f, (3,), (3,))


def test_an_end_that_is_said() -> None:
    def f(x: Any, w: Any) -> Any:
        return while_loop(lambda y: True, lambda y: pb.sin(y) * w, x, maximum_iterations=3)

    check(f, (3,), (3,))
    with Graph().as_default() as graph:
        limit = placeholder(np.int64, [])
        y = while_loop(lambda y: True, lambda y: 2 * y, 1.0, maximum_iterations=limit)
    assert [Session(graph).run(y, {limit: n}) for n in (0, 3)] == [1.0, 8.0]


def test_a_loop_of_a_million_bits_is_no_recursion() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [])
        count = placeholder(np.int64, [])
        y, _ = while_loop(lambda y, n: n < count, lambda y, n: (y * 1.0001, n + 1), [x, 0])
        dx, = gradients(y, x)
    found = Session(graph).run([y, dx], {x: 2.0, count: 5000})
    np.testing.assert_allclose(found, [2 * 1.0001**5000, 1.0001**5000])


def test_nestings_keep_their_form() -> None:
    State = namedtuple("State", "a b")

    def body(s: Any, n: Any) -> Any:
        return {"u": s["v"][0], "v": (s["u"] * 2.0,)}, n + 1

    with Graph().as_default() as graph:
        x = placeholder(np.float64, [])
        s, _ = while_loop(lambda s, n: n < 3, body, ({"u": x, "v": (x + 1,)}, 0))
        t = while_loop(lambda a, b: a < 5, lambda a, b: State(a + b, b), State(x, 2.0))
    assert Session(graph).run([s["u"], s["v"][0]], {x: 1.0}) == [4.0, 4.0]
    assert isinstance(t, State)
    assert Session(graph).run(t.a, {x: 0.0}) == 6.0


def test_outside_of_graphs_it_is_a_loop_of_python() -> None:
    x = pb.tensor(3.0, requires_grad=True)
    y, n = while_loop(lambda y, n: y < 100, lambda y, n: (y * y, n + 1), [x, 0])
    y.backward()
    assert (y.item(), n, x.grad.item()) == (6561.0, 3, 8 * 3.0**7)
    assert while_loop(lambda y: True, lambda y: y + 1, 0, maximum_iterations=4) == 4


def test_variables_are_read_and_assigned_in_each_turn() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable(1.0)
        x = placeholder(np.float64, [])

        def body(y: Any, n: Any) -> Any:
            return y * v.assign_add(1.0), n + 1

        y, _ = while_loop(lambda y, n: n < 3, body, [x, 0])
        dx, = gradients(y, x)
        after = v.value()
    session = Session(graph)
    session.run(v.initializer)
    assert session.run([y, dx, after], {x: 10.0}) == [240.0, 24.0, 4.0]
    assert session.run(v) == 4.0


def test_a_variable_captured_has_a_gradient() -> None:
    with Graph().as_default() as graph:
        v = GraphVariable([2.0, 3.0])
        x = placeholder(np.float64, [2])
        y, _ = while_loop(lambda y, n: n < 3, lambda y, n: (y * v, n + 1), [x, 0])
        dv, = gradients(y, v)
        ddv, = gradients(dv, v)
    session = Session(graph)
    session.run(v.initializer)
    found = session.run([dv, ddv], {x: [1.0, 10.0]})
    np.testing.assert_allclose(found, [[12, 270], [12, 180]])


def test_random_numbers_are_drawn_once() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [4])

        def body(y: Any, n: Any) -> Any:
            return cond(
                n % 2 == 0, lambda: y * pb.random.uniform((4,)), lambda: y * pb.random.normal((4,))
            ), n + 1

        y, _ = while_loop(lambda y, n: n < 4, body, [x, 0])
        dx, = gradients(y * y, x)
        ddx, = gradients(dx, x)
    at = RNG.normal(size=4)
    a, b, c = Session(graph).run([y, dx, ddx], {x: at})
    np.testing.assert_allclose(b, 2 * a * a / at)
    np.testing.assert_allclose(c, 2 * a * a / at**2)


def test_a_body_is_called_once_a_turn() -> None:
    calls: list[int] = []

    def noted(a: np.ndarray) -> np.ndarray:
        calls.append(1)
        return a

    with Graph().as_default() as graph:
        x = placeholder(np.float64, [])
        y, _ = while_loop(
            lambda y, n: n < 4, lambda y, n: (y * numpy_function(noted, [x], np.float64), n + 1),
            [x, 0], shape_invariants=[None, ()],
        )
        dx, = gradients(y, x)
    found = Session(graph).run([y, dx], {x: 3.0})
    assert (found, len(calls)) == ([3.0**5, 3.0**4], 4)


def test_turns_are_let_go_of_when_nobody_differentiates() -> None:
    alive: list[Any] = []
    most = [0]

    class Array(np.ndarray):
        pass

    def fresh(a: np.ndarray) -> np.ndarray:
        made = np.array(a + 1).view(Array)
        alive.append(weakref.ref(made))
        most[0] = max(most[0], sum(r() is not None for r in alive))
        return made

    def looped(graph: Graph) -> tuple[Any, Any]:
        x = placeholder(np.float64, [8])

        def body(y: Any, n: Any) -> Any:
            z = numpy_function(fresh, [y], np.float64)
            z.set_shape([8])
            return z * y, n + 1

        return x, while_loop(lambda y, n: n < 30, body, [x, 0])[0]

    with Graph().as_default() as graph:
        x, y = looped(graph)
        dx, = gradients(y, x)
    Session(graph).run(y, {x: np.zeros(8)})
    assert most[0] <= 2
    alive.clear()
    Session(graph).run([y, dx], {x: np.zeros(8)})
    gc.collect()
    assert not any(r() is not None for r in alive)


def test_what_turns_were_is_kept_for_the_pullback_only() -> None:
    """Counted by the rows that the loop makes."""
    from pullback.graphs.tensor_list import Rows

    made: list[Any] = []
    before = Rows.__init__

    def counted(self: Any, items: Any, *rest: Any) -> None:
        made.append((len(items), weakref.ref(self)))
        before(self, items, *rest)

    with Graph().as_default() as graph:
        x, w = placeholder(np.float64, [3]), placeholder(np.float64, [3])
        y, _, _ = while_loop(
            lambda y, z, n: n < 7, lambda y, z, n: (pb.sin(y) * w, z + 1.0, n + 1), [x, w, 0]
        )
        dx, = gradients(y, x)
    Rows.__init__ = counted  # type: ignore[method-assign]
    try:
        feed = {x: np.ones(3), w: np.ones(3)}
        Session(graph).run(y, feed)
        assert made == []
        Session(graph).run([y, dx], feed)
    finally:
        Rows.__init__ = before  # type: ignore[method-assign]
    assert [n for n, _ in made] == [7]  # of y alone; not of z, n, nor of cotangents
    assert all(r() is None for _, r in made)


def test_forward_mode_goes_through() -> None:
    values = RNG.normal(size=(4, 3))
    for f in (plain, branching, in_a_loop, swapping):
        with Graph().as_default() as graph:
            fed = [placeholder(np.float64, [3]) for _ in range(4)]
            out, tangent = pb.jvp(f, tuple(fed[:2]), tuple(fed[2:]))
            dx, = gradients(tangent, fed[0])
        found = Session(graph).run([out, tangent, dx], dict(zip(fed, values, strict=True)))
        x, w, t, u = values
        wanted = pb.jvp(f, (x, w), (t, u))
        slope = pb.grad(lambda x: pb.sum(pb.jvp(f, (x, w), (t, u))[1]))(x)  # noqa: B023
        for a, b in zip(found, (*wanted, slope), strict=True):
            np.testing.assert_allclose(a, np.asarray(b))


@pytest.mark.parametrize("f", [plain, branching, swapping, in_a_loop])
def test_forward_over_reverse(f: Callable[..., Any]) -> None:
    check_forward_over_reverse(f, (3,), (3,))


def test_one_tangent_of_several_variables() -> None:
    x, w, t = RNG.normal(size=(3, 3))
    with Graph().as_default() as graph:
        fed = [placeholder(np.float64, [3]) for _ in range(3)]
        _, tangent = pb.jvp(lambda w: plain(fed[0], w), (fed[1],), (fed[2],))
    wanted = pb.jvp(lambda w: plain(pb.tensor(x), w), (w,), (t,))[1]
    found = Session(graph).run(tangent, dict(zip(fed, (x, w, t), strict=True)))
    np.testing.assert_allclose(found, wanted.numpy())


def test_in_a_traced_function() -> None:
    traced = pb.function(branching)
    x, w = RNG.normal(size=(2, 3))
    both = lambda f: lambda x, w: pb.sum(pb.sin(f(x, w)) * x)  # noqa: E731
    for _ in range(2):
        for a, b in zip(pb.grad(both(traced), (0, 1))(x, w), pb.grad(both(branching), (0, 1))(x, w),
                        strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy())
    hessian = pb.hessian(both(traced))(pb.tensor(x), pb.tensor(w))
    np.testing.assert_allclose(
        hessian.numpy(), pb.hessian(both(branching))(pb.tensor(x), pb.tensor(w)).numpy()
    )


def test_inside_vmap() -> None:
    def f(x: Any) -> Any:
        return while_loop(lambda y, n: n < 3, lambda y, n: (pb.sin(y) * x, n + 1), [x, 0])[0]

    traced, xs = pb.function(f), RNG.normal(size=(4, 3))
    found = pb.vmap(pb.grad(lambda x: pb.sum(traced(x) * x)))(xs)
    wanted = [pb.grad(lambda x: pb.sum(f(x) * x))(pb.tensor(x)).numpy() for x in xs]
    np.testing.assert_allclose(found.numpy(), wanted)



def test_inside_vmap_each_example_has_its_own_number_of_turns() -> None:
    def f(x: Any) -> Any:
        return while_loop(lambda y: pb.sum(y * y) < 90, lambda y: y * 1.5 + pb.sin(x), x)

    def derivatives(g: Any) -> Any:
        first = pb.grad(lambda x: pb.sum(g(x) ** 2))
        return (g, first, lambda x: pb.jvp(g, (x,), (x * x,))[1],
                pb.grad(lambda x: pb.sum(first(x) * x)))

    xs = RNG.normal(size=(5, 3)) * np.array([[0.1], [1.0], [3.0], [9.0], [2.0]])
    for derived in (*derivatives(f), *derivatives(pb.function(f))):
        wanted = [derived(pb.tensor(x)).numpy() for x in xs]
        np.testing.assert_allclose(pb.vmap(derived)(xs).numpy(), wanted, rtol=1e-10)


def test_unknown_lengths_that_no_turn_changes_stay_those_they_were() -> None:
    with Graph().as_default():
        x = placeholder(np.float64, [None, 3])
        same, n = while_loop(lambda y, n: n < 3, lambda y, n: (pb.sin(y), n + 1), [x, 0])
        assert same._data.shape == x._data.shape
        assert n.shape == ()
        other, _ = while_loop(lambda y, n: n < 3, lambda y, n: (y[1:], n + 1), [x, 0])
        assert other._data.shape != x._data.shape
        assert other.shape == (None, 3)


@pytest.mark.parametrize(("make", "error", "match"), [
    (lambda x: while_loop(lambda y: True, lambda y: y[:2], x), ShapeError, "every turn"),
    (lambda x: while_loop(lambda y: True, lambda y: pb.astype(y, pb.float32), x), DtypeError,
     "float32"),
    (lambda x: while_loop(lambda y, z: True, lambda y, z: (y, (z, z)), [x, x]), ArgumentError,
     "nesting"),
    (lambda x: while_loop(lambda y, z: True, lambda y, z: y, [x, x]), ArgumentError, "nesting"),
    (lambda x: while_loop(lambda y: y > 0, lambda y: y, x), ShapeError, "truth value"),
    (lambda x: while_loop(lambda: True, lambda: (), []), ArgumentError, "loop_vars"),
    (lambda x: while_loop(True, lambda y: y, x), ArgumentTypeError, "cond"),
    (lambda x: while_loop(lambda y: True, lambda y: y, [x], shape_invariants=[(4,)]), ShapeError,
     "shape_invariants"),
    (lambda x: while_loop(lambda y: True, lambda y: y, [x], shape_invariants=[(3,), ()]),
     ArgumentError, "one for each"),
    (lambda x: while_loop(lambda y: True, lambda y: (None,), [x]), ArgumentTypeError, "None"),
], ids=["shape", "dtype", "nesting", "count", "condition", "nothing", "no function", "invariant",
        "invariants", "none"])
def test_misuse_is_said(make: Callable[..., Any], error: type, match: str) -> None:
    with Graph().as_default(), pytest.raises(error, match=match):
        make(placeholder(np.float64, [3]))
