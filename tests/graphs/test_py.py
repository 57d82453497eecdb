"""Python in graphs: functions of arrays and of tensors, printing, assertions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentError, ArgumentTypeError
from pullback.graphs import (
    Graph,
    Session,
    assert_that,
    cond,
    gradients,
    map_fn,
    numpy_function,
    placeholder,
    print_op,
    py_function,
    while_loop,
)
from pullback.kinds.symbols import current_graph
from tests.graphs.orders import check, check_forward_over_reverse

RNG = np.random.default_rng(11)


def pair(a: Any, b: Any) -> tuple[Any, Any]:
    return pb.sin(a) * b, a * a


def called(x: Any, w: Any) -> Any:
    y, z = py_function(pair, [x, w], [np.float64, np.float64])
    for t in (y, z):
        if hasattr(t, "set_shape"):
            t.set_shape(x._data.shape)
    return y * z + x


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "alone": called,
    "in a map": lambda x, w: map_fn(lambda r: called(r * x, w), x),
    "in a loop": lambda x, w: while_loop(
        lambda y, n: n < 3, lambda y, n: (called(y, w), n + 1), [x, 0]
    )[0],
    "in a branch": lambda x, w: cond(pb.sum(x) > 0, lambda: called(x, w), lambda: x * w),
    "without a shape": lambda x, w: py_function(lambda a: a * a, [x * w], np.float64) * w,
}


@pytest.mark.parametrize("name", CASES)
def test_py_function_differentiates(name: str) -> None:
    check(CASES[name], (3,), (3,), order=3, runs=4)


@pytest.mark.parametrize("name", ["alone", "in a map", "in a loop"])
def test_py_function_forward_over_reverse(name: str) -> None:
    check_forward_over_reverse(CASES[name], (3,), (3,))


def test_py_function_is_called_once_a_run() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((type(x), x.node is not None))
        return x * x * x if float(pb.sum(x)) > 0 else -x

    with Graph().as_default() as graph:
        x = placeholder(np.float64, [2])
        y = py_function(f, [x], np.float64)
        dx, = gradients(y, x)
        ddx, = gradients(dx, x)
        t = pb.jvp(lambda x: py_function(f, [x], np.float64), (x,), (pb.ones_like(x),))[1]
    session = Session(graph)
    for _ in range(2):
        found = session.run([y, dx, ddx], {x: [1.0, 2.0]})
        np.testing.assert_allclose(found, [[1, 8], [3, 12], [6, 12]])
    assert seen == [(pb.Tensor, True)] * 2
    session.run(y, {x: [1.0, 2.0]})  # nobody differentiates: nothing is kept
    assert seen[2:] == [(pb.Tensor, False)]
    np.testing.assert_allclose(session.run(dx, {x: [-1.0, -2.0]}), [-1, -1])
    np.testing.assert_allclose(session.run(t, {x: [1.0, 2.0]}), [3, 12])


def test_py_function_converts_and_takes_integers() -> None:
    with Graph().as_default() as graph:
        x, n = placeholder(np.float32, [2]), placeholder(np.int64, [])
        y, m, none = py_function(
            lambda x, n: (x * int(n), n + 1, 7), [x, n], [np.float64, np.int32, np.float32]
        )
        dx, = gradients(y, x)
    found = Session(graph).run([y, m, none, dx], {x: [1.0, 2.0], n: 5})
    assert [a.dtype for a in found] == [np.float64, np.int32, np.float32, np.float32]
    np.testing.assert_allclose(found[3], [5, 5])


def test_py_function_outside_of_graphs_is_a_call() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y, z = py_function(pair, [x, pb.tensor(2.0)], [np.float64, np.float64])
    pb.sum(y * z).backward()
    a = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(a) * a * a + 4 * np.sin(a) * a)


def sorted_rule(op: Any, g: Any) -> Any:
    """The gradient of sorting: cotangents go back to where the entries came from."""
    x = op.inputs[0]
    return pb.take(g, pb.argsort(pb.argsort(x)))


def in_graph(make: Callable[[Any], Any], at: Any, c: Any) -> Any:
    with Graph().as_default() as graph:
        x, g = placeholder(np.float64, [3]), placeholder(np.float64, [3])
        y = make(x)
        dx, = gradients(y, x, g)
    return Session(graph).run([y, x if dx is None else dx], {x: at, g: c})


def test_numpy_function_has_no_gradient_of_its_own() -> None:
    with Graph().as_default():
        x = placeholder(np.float64, [3])
        y = numpy_function(np.sort, [x], np.float64)
        assert repr(y._data.shape) == "<unknown>"
        assert gradients(y, x) == [None]
        assert gradients(y * x, x)[0] is not None
    t = pb.tensor([3.0, 1.0], requires_grad=True)
    pb.sum(numpy_function(np.sort, [t], np.float64) * t).backward()
    np.testing.assert_allclose(t.grad.numpy(), [1, 3])


@pytest.mark.parametrize("key", ["numpy_function", numpy_function], ids=["name", "function"])
def test_numpy_function_takes_a_registered_gradient(key: Any) -> None:
    """The way of `py_func` with `RegisterGradient` and `gradient_override_map`."""
    name = f"tests.Sorted.{key if isinstance(key, str) else 'function'}"
    pb.register_gradient(name)(sorted_rule)

    def made(x: Any) -> Any:
        with pb.override_gradient({key: name}):
            return numpy_function(np.sort, [x], np.float64)

    at, c = RNG.normal(size=(2, 3))
    value, dx = in_graph(made, at, c)
    np.testing.assert_allclose(value, np.sort(at))
    np.testing.assert_allclose(dx, c[np.argsort(np.argsort(at))])
    np.testing.assert_allclose(pb.vjp(made, pb.tensor(at))[1](c)[0].numpy(), dx)


def test_numpy_function_takes_a_gradient_afterwards() -> None:
    at, c = RNG.normal(size=(2, 3))
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [3])
        y = numpy_function(np.sort, [x], np.float64)
        dx, = gradients(y, x, placeholder(np.float64, [3], name="c"),
                        overrides={"numpy_function": sorted_rule})
    found = Session(graph).run(dx, {x: at, "c:0": c})
    np.testing.assert_allclose(found, c[np.argsort(np.argsort(at))])


def test_custom_gradients_around_it() -> None:
    @pb.custom_gradient
    def sine(x: Any) -> Any:
        def grad(g: Any) -> Any:
            return g * pb.cos(x)

        return numpy_function(np.sin, [x], np.float64), grad

    check(lambda x, w: cond(pb.sum(w) > 0, lambda: sine(x) * w, lambda: w), (3,), (3,),
          order=2, runs=4)


def test_an_overridden_call_differentiates_to_any_order() -> None:
    rule = lambda op, g: g * pb.cos(op.inputs[0])  # noqa: E731
    with pb.override_gradient({"numpy_function": rule}):
        check(lambda x: numpy_function(np.sin, [x], np.float64), (3,), order=3)
        check(lambda x: while_loop(
            lambda y, n: n < 3, lambda y, n: (numpy_function(np.sin, [y], np.float64) * x, n + 1),
            [x, 0], shape_invariants=[None, ()],
        )[0], (3,), order=2)


@pytest.mark.parametrize("make", [numpy_function, py_function])
def test_it_runs_each_time_and_in_order(make: Callable[..., Any]) -> None:
    seen: list[str] = []

    def noted(text: str) -> Callable[[], float]:
        def call() -> float:
            seen.append(text)
            return float(len(seen))

        return call

    first = noted("a")
    with Graph().as_default() as graph:
        a = make(first, [], np.float64)
        b = make(noted("b"), [], np.float64)
        same = make(first, [], np.float64)
    session = Session(graph)
    assert session.run([same, b, a]) == [3.0, 2.0, 1.0]
    assert session.run([same, b, a]) == [6.0, 5.0, 4.0]
    assert seen == ["a", "b", "a"] * 2
    assert session.run(b) == 7.0


def test_several_outputs_and_none() -> None:
    kept: list[Any] = []
    with Graph().as_default() as graph:
        x = placeholder(np.float32, [None])
        low, at = numpy_function(lambda a: (a.min(), a.argmin()), [x], [np.float32, np.int64])
        wide = numpy_function(lambda a: [a, a], [x], np.float64)
        save = numpy_function(kept.append, [x], [])
    found = Session(graph).run([low, at, wide], {x: [3.0, 1.0]})
    assert found[:2] == [1.0, 1]
    assert (found[0].dtype, found[2].dtype, found[2].shape) == (np.float32, np.float64, (2, 2))
    assert Session(graph).run(save, {x: [5.0]}) is None
    np.testing.assert_allclose(kept, [[5.0]])


def test_arrays_of_the_graph_cannot_be_written_to() -> None:
    memory = np.zeros(2)

    def reused(a: np.ndarray) -> np.ndarray:
        memory[:] = a
        return memory

    def writes(a: np.ndarray) -> np.ndarray:
        a[0] = 5.0
        return a

    with Graph().as_default() as graph:
        x = placeholder(np.float64, [2])
        y, z = (numpy_function(reused, [v], np.float64) for v in (x, x * 2))
        bad = numpy_function(writes, [x * 2], np.float64)
    np.testing.assert_allclose(Session(graph).run([y, z], {x: [1.0, 2.0]}), [[1, 2], [2, 4]])
    with pytest.raises(ValueError, match="read-only"):
        Session(graph).run(bad, {x: [1.0, 2.0]})


@pytest.mark.parametrize("make", [numpy_function, py_function])
def test_misuse_is_said(make: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentTypeError, match="func"):
        make(3, [], np.float64)
    with pytest.raises(ArgumentError, match="2 values"):
        make(lambda: (1.0, 2.0, 3.0), [], [np.float64, np.float64])
    with Graph().as_default() as graph:
        y = make(lambda: (1.0, 2.0, 3.0), [], [np.float64, np.float64])
    with pytest.raises(ArgumentError, match="2 values"):
        Session(graph).run(y)


def test_print_runs_where_something_waits_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None])
        loud = print_op("x:", x, "of", pb.shape(x), sep=" ", end="!\n", summarize=1)
        with current_graph().control_dependencies([loud]):
            y = x + 1
        z = x + 2
    session = Session(graph)
    session.run(z, {x: np.arange(5.0)})
    assert capsys.readouterr().out == ""
    for _ in range(2):
        session.run(y, {x: np.arange(5.0)})
        assert capsys.readouterr().out == "x: [0. ... 4.] of [5]!\n"
    print_op("at once", pb.tensor(2.0), 3, file=sys.stderr)
    assert capsys.readouterr().err == "at once 2.0 3\n"


def test_assertions() -> None:
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None])
        check_ = assert_that(x > 0, [x, "is x"], message="x is positive")
        with graph.control_dependencies([check_]):
            y = pb.sqrt(x)
    session = Session(graph)
    for _ in range(3):
        np.testing.assert_allclose(session.run(y, {x: [4.0]}), [2])
    with pytest.raises(ArgumentError, match=r"x is positive(.|\n)*\[-1.  4.\], is x"):
        session.run(y, {x: [-1.0, 4.0]})
    assert_that(pb.tensor([True, True]))
    with pytest.raises(ArgumentError, match="true everywhere"):
        assert_that(pb.tensor([True, False]))


def test_effects_run_in_a_traced_function(capsys: pytest.CaptureFixture[str]) -> None:
    @pb.function
    def f(x: Any) -> Any:
        print_op("x =", x)
        assert_that(x < 5)
        return cond(x > 0, lambda: (print_op("positive"), x)[1], lambda: x)

    assert f(pb.tensor(1.0)).item() == 1.0
    assert f(pb.tensor(-1.0)).item() == -1.0
    assert capsys.readouterr().out == "x = 1.0\npositive\nx = -1.0\n"
    with pytest.raises(ArgumentError):
        f(pb.tensor(7.0))
