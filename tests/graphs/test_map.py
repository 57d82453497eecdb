"""`map_fn`, `foldl`, `foldr`, `scan`: one operation each, and loops of Python outside of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentError, DtypeError, ShapeError
from pullback.graphs import (
    Graph,
    Session,
    cond,
    foldl,
    foldr,
    gradients,
    map_fn,
    numpy_function,
    placeholder,
    scan,
    while_loop,
)
from tests.graphs.orders import check, check_forward_over_reverse

RNG = np.random.default_rng(7)


def mixed(w: Any) -> Callable[[Any, Any], Any]:
    return lambda a, r: pb.tanh(a * r) + w


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda x, w: map_fn(lambda r: pb.sin(r) * w, x),
    "map numbers": lambda x, w: map_fn(lambda r: pb.sin(pb.sum(r)) * pb.sum(w), x),
    "map of pairs": lambda x, w: map_fn(
        lambda p: pb.sin(p["a"]) * p["b"], {"a": x, "b": x * pb.sum(w)}
    ),
    "map in a map": lambda x, w: map_fn(lambda r: map_fn(lambda v: v * r * w, r), x),
    "map to another length": lambda x, w: map_fn(lambda r: r[:2] * w[1:], x),
    "foldl": lambda x, w: foldl(mixed(w), x, w),
    "foldl from the first": lambda x, w: foldl(mixed(w), x),
    "foldr": lambda x, w: foldr(mixed(w), x, w),
    "foldr from the last": lambda x, w: foldr(mixed(w), x),
    "scan": lambda x, w: scan(mixed(w), x, w),
    "scan from the first": lambda x, w: scan(mixed(w), x),
    "scan backwards": lambda x, w: scan(mixed(w), x, w, reverse=True),
    "scan from the last": lambda x, w: scan(mixed(w), x, reverse=True),
    "choices": lambda x, w: map_fn(
        lambda r: cond(pb.sum(r) > 0, lambda: r * w, lambda: pb.exp(r)), x
    ),
    "loops": lambda x, w: map_fn(
        lambda r: while_loop(lambda y: pb.sum(y * y) < 9, lambda y: y * 1.5 + w * w, r), x
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_cotangents(name: str) -> None:
    order = 3 if name in ("map", "foldr", "scan") else 2
    check(CASES[name], (4, 3), (3,), order=order, runs=2)


def rows(x: np.ndarray, start: np.ndarray | None, w: np.ndarray) -> list[np.ndarray]:
    """The values of a scan, by NumPy."""
    found = [x[0]] if start is None else []
    for r in x if start is not None else x[1:]:
        found.append(np.tanh((found[-1] if found else start) * r) + w)
    return found


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
def test_scans_and_folds_are_what_they_are_said_to_be(started: bool, backwards: bool) -> None:
    x, w = RNG.normal(size=(4, 3)), RNG.normal(size=3)
    start = w if started else None
    order = slice(None, None, -1 if backwards else 1)
    wanted = rows(x[order], start, w)
    fold = foldr if backwards else foldl
    with Graph().as_default() as graph:
        made = [scan(mixed(w), pb.tensor(x), start, reverse=backwards),
                fold(mixed(w), pb.tensor(x), start)]
    here = [scan(mixed(w), pb.tensor(x), start, reverse=backwards),
            fold(mixed(w), pb.tensor(x), start)]
    for found in (Session(graph).run(made), here):
        np.testing.assert_allclose(np.asarray(found[0]), np.stack(wanted)[order])
        np.testing.assert_allclose(np.asarray(found[1]), wanted[-1])


def test_of_no_entries_nothing_is_run_that_has_effects() -> None:
    ran: list[int] = []
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 3])
        y = map_fn(lambda r: numpy_function(lambda a: ran.append(1) or a, [r], np.float64), x)
    for n in (0, 2):
        assert Session(graph).run(y, {x: np.ones((n, 3))}).shape[0] == n
    assert ran == [1, 1]


@pytest.mark.parametrize("name", ["map", "foldl", "scan", "scan backwards"])
def test_no_entries(name: str) -> None:
    check(CASES[name], (0, 3), (3,), runs=1)


def test_another_number_of_entries_each_time() -> None:
    with Graph().as_default() as graph:
        x, w = placeholder(np.float64, [None, 3]), placeholder(np.float64, [3])
        y = scan(mixed(w), x, w)
        c = placeholder(np.float64, [None, 3])
        dx, dw = gradients(y, [x, w], c)
    session = Session(graph)
    for n in (2, 5, 0, 5, 2):
        values = RNG.normal(size=(n, 3)), RNG.normal(size=3), RNG.normal(size=(n, 3))
        wanted = pb.vjp(CASES["scan"], *values[:2])[1](values[2])
        for a, b in zip(session.run([dx, dw], dict(zip((x, w, c), values, strict=True))), wanted,
                        strict=True):
            np.testing.assert_allclose(a, b.numpy())


def test_what_is_returned_may_be_nested_and_of_other_dtypes() -> None:
    def f(x: Any) -> Any:
        return map_fn(lambda r: {"s": pb.sum(r), "n": (pb.argmax(r), r > 0)}, x)

    values = RNG.normal(size=(4, 3))
    with Graph().as_default() as graph:
        x = placeholder(np.float64, [None, 3])
        made = f(x)
        assert made["s"].shape == (None,)
    found = Session(graph).run(made, {x: values})
    here = f(pb.tensor(values))
    for answer in (found, here):
        np.testing.assert_allclose(np.asarray(answer["s"]), values.sum(axis=1))
        np.testing.assert_array_equal(np.asarray(answer["n"][0]), values.argmax(axis=1))
        np.testing.assert_array_equal(np.asarray(answer["n"][1]), values > 0)


def test_several_values_are_carried() -> None:
    def fibonacci(count: Any) -> Any:
        return foldl(lambda p, _: (p[1], p[0] + p[1]), count, (1.0, 1.0))

    with Graph().as_default() as graph:
        a, b = fibonacci(pb.zeros((6,)))
    assert Session(graph).run([a, b]) == [13.0, 21.0]
    assert fibonacci(pb.zeros((6,))) == (13.0, 21.0)


def test_forward_mode_goes_through() -> None:
    values = [RNG.normal(size=s) for s in ((4, 3), (3,), (4, 3), (3,))]
    for name in ("map", "foldl", "scan backwards"):
        f = CASES[name]
        with Graph().as_default() as graph:
            fed = [placeholder(np.float64, v.shape) for v in values]
            out, tangent = pb.jvp(f, tuple(fed[:2]), tuple(fed[2:]))
        found = Session(graph).run([out, tangent], dict(zip(fed, values, strict=True)))
        for a, b in zip(found, pb.jvp(f, tuple(values[:2]), tuple(values[2:])), strict=True):
            np.testing.assert_allclose(a, np.asarray(b))


@pytest.mark.parametrize("name", ["map", "foldr", "scan from the first"])
def test_forward_over_reverse(name: str) -> None:
    check_forward_over_reverse(CASES[name], (4, 3), (3,))


def test_inside_vmap() -> None:
    traced = pb.function(lambda x, w: CASES["scan"](x, w))
    xs, w = RNG.normal(size=(5, 4, 3)), pb.tensor(RNG.normal(size=3))
    loss = lambda f: lambda x: pb.sum(f(x, w) * x)  # noqa: E731
    found = pb.vmap(pb.grad(loss(traced)))(xs)
    wanted = [pb.grad(loss(CASES["scan"]))(pb.tensor(x)).numpy() for x in xs]
    np.testing.assert_allclose(found.numpy(), wanted)


def test_the_dtype_that_was_said_is_checked() -> None:
    def make() -> Any:
        return map_fn(lambda r: r * 2, pb.ones((2,)), dtype=pb.float32)

    with pytest.raises(DtypeError, match="float32"):
        make()
    with Graph().as_default(), pytest.raises(DtypeError, match="float32"):
        make()
    assert map_fn(lambda r: r, pb.ones((2,)), fn_output_signature=np.float64).shape == (2,)


@pytest.mark.parametrize(("make", "error", "match"), [
    (lambda x: map_fn(lambda p: p[0], (x, x[:1])), ShapeError, "one length"),
    (lambda x: map_fn(lambda r: r, x[0, 0]), ShapeError, "one axis"),
    (lambda x: map_fn(lambda r: r, []), ArgumentError, "elems"),
    (lambda x: foldl(lambda a, r: a, x[:0]), ArgumentError, "initializer"),
    (lambda x: foldl(lambda a, r: (a, a), x), ArgumentError, "nesting"),
], ids=["lengths", "axis", "nothing", "no entry", "nesting"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_misuse_is_said(
    make: Callable[..., Any], error: type, match: str, symbolic: bool
) -> None:
    if not symbolic:
        with pytest.raises(error, match=match):
            make(pb.ones((3, 2)))
        return
    with Graph().as_default(), pytest.raises(error, match=match):
        make(placeholder(np.float64, [3, 2]))


@pytest.mark.parametrize(("make", "error"), [
    (lambda x: foldl(lambda a, r: pb.astype(a, pb.float32), x), DtypeError),
    (lambda x: foldl(lambda a, r: pb.concat([a, r], axis=0), x), ShapeError),
], ids=["dtype", "shape"])
def test_what_is_carried_looks_the_same_in_a_graph(
    make: Callable[..., Any], error: type
) -> None:
    with Graph().as_default(), pytest.raises(error, match="like its argument"):
        make(placeholder(np.float64, [3, 2]))


def test_lengths_that_differ_are_said_when_it_runs() -> None:
    with Graph().as_default() as graph:
        x, y = placeholder(np.float64, [None]), placeholder(np.float64, [None])
        z = map_fn(lambda p: p[0] * p[1], (x, y))
    with pytest.raises(ShapeError, match="one length"):
        Session(graph).run(z, {x: np.ones(2), y: np.ones(3)})
