"""Whether results have a history, and what stays in memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import state
from pullback.kinds import batching

X = np.array([1.0, 2.0])
V = np.array([3.0, 5.0])
Function = Callable[[Any], Any]


def cube(x: Any) -> Any:
    return x * x * x


def total(f: Function) -> Function:
    return lambda x: pb.sum(f(x))


TRANSFORMED: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: pb.grad(total(f)),
    "value_and_grad": lambda f: pb.value_and_grad(total(f)),
    "vjp": lambda f: lambda x: pb.vjp(f, x)[1](V)[0],
    "vjp, value": lambda f: lambda x: pb.vjp(f, x)[0],
    "jvp": lambda f: lambda x: pb.jvp(f, (x,), (V,)),
    "jvp along itself": lambda f: lambda x: pb.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: pb.linearize(f, x)[1](V),
    "linearize, value": lambda f: lambda x: pb.linearize(f, x)[0],
    "linearize along itself": lambda f: lambda x: pb.linearize(f, x)[1](x),
    "jacrev": pb.jacrev,
    "jacfwd": pb.jacfwd,
    "hessian": lambda f: pb.hessian(total(f)),
    "hvp": lambda f: lambda x: pb.hvp(total(f), (x,), (V,)),
    "vmap": pb.vmap,
    "vmap of grad": lambda f: pb.vmap(pb.grad(f)),
    "vmap of jvp": lambda f: lambda x: pb.vmap(lambda y, v: pb.jvp(f, (y,), (v,)))(x, V),
    "grad of vmap": lambda f: pb.grad(total(pb.vmap(f))),
    "grad of grad": lambda f: pb.grad(total(pb.grad(total(f)))),
    "jvp of grad": lambda f: lambda x: pb.jvp(pb.grad(total(f)), (x,), (V,)),
    "grad of jvp": lambda f: pb.grad(lambda x: pb.sum(pb.jvp(f, (x,), (V,))[1])),
    "jvp of jvp": lambda f: lambda x: pb.jvp(lambda y: pb.jvp(f, (y,), (V,))[1], (x,), (V,)),
    "jvp of linearize": lambda f: lambda x: pb.jvp(
        lambda y: pb.linearize(f, y)[1](V), (x,), (V,)
    ),
    "jvp of linearize along itself": lambda f: lambda x: pb.jvp(
        lambda y: pb.linearize(f, y)[1](y), (x,), (V,)
    ),
    "linearize of jvp": lambda f: lambda x: pb.linearize(
        lambda y: pb.jvp(f, (y,), (V,))[1], x
    )[1](V),
}

each = pytest.mark.parametrize("name", TRANSFORMED)


@pytest.fixture(autouse=True)
def _everything_is_put_back() -> Iterator[None]:
    before = state()
    yield
    assert state() == before
    assert batching.running() == ()


def results(name: str, f: Function, x: Any) -> list[pb.Tensor]:
    return list(pb.trees.leaves(TRANSFORMED[name](f)(x)))


# None, where nobody outside differentiates ----------------------------------------------------


@each
def test_results_have_no_history(name: str) -> None:
    for x in (X, pb.tensor(X)):
        for r in results(name, cube, x):
            assert type(r) is pb.Tensor
            assert not r.requires_grad
            assert r.node is None


@each
def test_nothing_stays_alive(name: str) -> None:
    """The nodes of a call die with it, by counting references alone."""
    alive: list[weakref.ref[Any]] = []

    def spied(x: Any) -> Any:
        for y in (x * x, x * 2.0):
            if y.node is not None:
                alive.append(weakref.ref(y.node))
        return x * y

    gc.disable()
    try:
        kept = results(name, spied, pb.tensor(X))
        assert bool(alive) == (name != "vmap")  # which records nothing, as nobody differentiates
        assert [r().name() for r in alive if r() is not None] == []
        assert kept
    finally:
        gc.enable()


@each
def test_without_recording_all_is_the_same(name: str) -> None:
    """`no_grad` is about what is outside: a transformation differentiates all the same."""
    plain = results(name, cube, X)
    x = pb.tensor(X, requires_grad=True)
    for scope in (pb.no_grad, pb.inference_mode):
        with scope():
            for got, wanted in zip(results(name, cube, x), plain, strict=True):
                np.testing.assert_array_equal(got.data, wanted.data)
                assert not got.requires_grad


def test_inside_without_recording() -> None:
    """Constant for reverse mode; forward mode has no part in it, as in PyTorch."""
    def frozen(x: Any) -> Any:
        with pb.no_grad():
            factor = x * x
        return factor * x

    for name in ("grad", "vjp", "linearize", "jacrev"):
        wanted = results(name, lambda x: pb.tensor(X * X) * x, X)
        for got, w in zip(results(name, frozen, X), wanted, strict=True):
            np.testing.assert_array_equal(got.data, w.data)
    for name in ("jvp", "jacfwd"):
        for got, w in zip(results(name, frozen, X), results(name, cube, X), strict=True):
            np.testing.assert_array_equal(got.data, w.data)


# One, where somebody does ----------------------------------------------------------------------


def weighed(found: list[Any]) -> Any:
    """A number of all results, each entry with another weight."""
    parts = [
        pb.sum(r * np.cos(np.arange(float(np.prod(r.shape)))).reshape(r.shape)) for r in found
    ]
    return sum(parts[1:], parts[0])


def measured(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """The gradient by central differences of fourth order."""
    def along(i: int) -> float:
        def at(h: float) -> float:
            moved = np.array(x)
            moved[i] += h
            return float(f(moved).data)

        h = 1e-3
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    return np.array([along(i) for i in range(x.size)])


def by_backward(f: Function, x: np.ndarray) -> Any:
    leaf = pb.tensor(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad


def by_tape(f: Function, x: np.ndarray) -> Any:
    variable = pb.Variable(x)
    with pb.GradientTape() as tape:
        y = f(variable)
    return tape.gradient(y, variable)


def by_watching(f: Function, x: np.ndarray) -> Any:
    watched = pb.tensor(x)
    with pb.GradientTape() as tape:
        tape.watch(watched)
        y = f(watched)
    return tape.gradient(y, watched)


def by_pushing(f: Function, x: np.ndarray) -> Any:
    return pb.stack([pb.jvp(f, (x,), (unit,))[1] for unit in np.eye(x.size)])


OUTSIDE: dict[str, Callable[[Function, np.ndarray], Any]] = {
    "backward": by_backward, "a tape": by_tape, "a tape that watches": by_watching,
    "grad": lambda f, x: pb.grad(f)(x), "jvp": by_pushing,
    "linearize": lambda f, x: pb.stack([pb.linearize(f, x)[1](u) for u in np.eye(x.size)]),
    "vmap of grad": lambda f, x: pb.vmap(pb.grad(f))(x[None])[0],
}


@pytest.mark.parametrize("outside", OUTSIDE)
@each
def test_of_the_argument(name: str, outside: str) -> None:
    def f(x: Any) -> Any:
        return weighed(results(name, cube, x))

    got = OUTSIDE[outside](f, X)
    np.testing.assert_allclose(got.data, measured(f, X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("outside", OUTSIDE)
@each
def test_of_what_is_closed_over(name: str, outside: str) -> None:
    def f(w: Any) -> Any:
        return weighed(results(name, lambda x: x * x * x * pb.sum(w * w), X))

    got = OUTSIDE[outside](f, X)
    np.testing.assert_allclose(got.data, measured(f, X), rtol=1e-8, atol=1e-8)


HANDED_OUT: dict[str, Callable[[Function, Any, Any], Any]] = {
    "jvp": lambda f, x, t: pb.jvp(f, (x,), (t,))[1],
    "linearize": lambda f, x, t: pb.linearize(f, x)[1](t),
    "vjp": lambda f, x, t: pb.vjp(lambda y: f(y)[0], x)[1](t),
    "vjp of two": lambda f, x, t: pb.vjp(lambda y, z: f(y + z)[0], x, x)[1](t),
}


@pytest.mark.parametrize("name", HANDED_OUT)
@pytest.mark.parametrize("kind", [np.array, pb.tensor], ids=["arrays", "tensors"])
def test_derivatives_that_are_handed_out_are_nobody_elses(name: str, kind: Any) -> None:
    """They may be written to: what was passed does not change, nor does another of them."""
    def f(x: Any) -> Any:
        y = x + 1.0  # whose tangent is the argument's, and whose cotangent is the value's
        return y, y, y[:], pb.broadcast_to(y[0], (2,))

    x, t = kind(X), kind(V)
    found = list(HANDED_OUT[name](f, x, t))
    before = [np.array(g.data) for g in found]
    for k, g in enumerate(found):
        g += 100.0
        np.testing.assert_array_equal(pb.asarray(t).data, V)
        np.testing.assert_array_equal(pb.asarray(x).data, X)
        for other, b in zip(found[k + 1 :], before[k + 1 :], strict=True):
            np.testing.assert_array_equal(other.data, b)
    again = HANDED_OUT[name](f, x, t)
    for g, b in zip(again, before, strict=True):
        np.testing.assert_array_equal(g.data, b)


@each
def test_a_leaf_that_is_not_used_outside_gets_nothing(name: str) -> None:
    """What is differentiated inside does not add to `.grad` of an argument."""
    x = pb.tensor(X, requires_grad=True)
    results(name, cube, x)
    assert x.grad is None


def test_a_derivative_of_a_derivative_in_another_argument_has_no_history() -> None:
    mixed = pb.grad(pb.grad(lambda x, y: x**2 * y, 0), 1)(2.0, 3.0)
    assert float(mixed.data) == 4.0
    assert mixed.node is None
