"""Perturbations are told apart: a derivative in a derivative, in every pair and to three levels.

Every way to differentiate a function of one number is a `D`; whatever stands inside whatever, the
answers are the textbook's.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import pullback as pb

Scalar = Callable[[Any], Any]


def by_tape(f: Scalar) -> Scalar:
    def derivative(x: Any) -> Any:
        x = x if isinstance(x, pb.Tensor) else pb.tensor(float(x))
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    return derivative


def by_jacobian_of_one(jacobian: Callable[..., Any]) -> Callable[[Scalar], Scalar]:
    """Of a vector of one entry."""
    return lambda f: lambda x: jacobian(lambda v: f(v[0]))(pb.stack([pb.asarray(x)]))[0]


Way = Callable[[Scalar], Scalar]

WAYS: dict[str, Way] = {
    "grad": pb.grad,
    "jvp": lambda f: lambda x: pb.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: pb.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: pb.linearize(f, x)[1](1.0),
    "jacfwd": pb.jacfwd,
    "jacrev": by_jacobian_of_one(pb.jacrev),
}
WITH_TAPES = {**WAYS, "tape": by_tape}
"""A tape differentiates in every use of what it watches: in what is closed over, too."""


def pairs(outer: dict[str, Way], inner: dict[str, Way]) -> Any:
    names = list(product(outer, inner))
    return pytest.mark.parametrize(
        ("outer", "inner"), [(outer[a], inner[b]) for a, b in names],
        ids=[f"{a} of {b}" for a, b in names],
    )


def number(x: Any) -> float:
    return float(x.data)


@pairs(WITH_TAPES, WITH_TAPES)
def test_a_constant_of_the_inner_is_a_variable_of_the_outer(outer: Way, inner: Way) -> None:
    """d/dx [x · d/dy (x + y)] is 1, and not 2."""
    assert number(outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert number(outer(lambda x: x * inner(lambda y: x * y)(2.0))(3.0)) == 6.0


@pairs(WITH_TAPES, WAYS)
def test_at_the_outer_variable_itself(outer: Way, inner: Way) -> None:
    """The inner point is the very tensor that is closed over, too."""
    assert number(outer(lambda x: inner(lambda y: x * y * y)(x))(3.0)) == 4 * 3.0
    assert number(outer(lambda x: x * inner(lambda y: x + y)(x))(3.0)) == 1.0
    assert number(outer(lambda x: inner(lambda y: x)(x) + x * x)(3.0)) == 6.0


@pairs(WITH_TAPES, WITH_TAPES)
def test_second_derivatives(outer: Way, inner: Way) -> None:
    assert number(outer(inner(lambda x: x * x * x))(2.0)) == 12.0
    assert number(outer(inner(pb.exp))(0.5)) == pytest.approx(np.exp(0.5), rel=1e-14)


@pairs(WITH_TAPES, WAYS)
def test_for_each_example(outer: Way, inner: Way) -> None:
    def f(x: Any) -> Any:
        return outer(lambda x: x * inner(lambda y: x * x * y)(x))(x)

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(pb.vmap(f)(x).data, 3 * x**2, rtol=1e-14)


TRIPLES = list(product(["grad", "jvp", "linearize"], repeat=3))


@pytest.mark.parametrize("names", TRIPLES, ids=[" of ".join(n) for n in TRIPLES])
def test_three_levels(names: tuple[str, ...]) -> None:
    """d/dx x · d/dy y · d/dz (x + y z) at z = y, at y = x."""
    outer, middle, inner = (WAYS[n] for n in names)

    def of_y(x: Any, y: Any) -> Any:
        return y * inner(lambda z: x * z * z + y * z)(y)  # y (2 x y + y)

    def of_x(x: Any) -> Any:
        return x * middle(lambda y: of_y(x, y))(x)  # x (4 x² + 2 x)

    assert number(outer(of_x)(2.0)) == 12 * 2.0**2 + 4 * 2.0


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_one_tensor_as_two_arguments(way: Way) -> None:
    """f(x, x): each place has a derivative of its own, and an outer one sees both."""
    def f(a: Any, b: Any) -> Any:
        return a * b * b

    x = pb.tensor(3.0)
    assert [number(g) for g in pb.grad(f, (0, 1))(x, x)] == [9.0, 18.0]
    assert [number(pb.grad(f, i)(x, x)) for i in (0, 1)] == [9.0, 18.0]
    assert number(pb.jvp(f, (x, x), (1.0, 0.0))[1]) == 9.0
    assert number(pb.jvp(f, (x, x), (0.0, 1.0))[1]) == 18.0
    assert number(pb.linearize(f, x, x)[1](0.0, 1.0)) == 18.0
    for i, wanted in ((0, 6.0), (1, 12.0)):  # x² and 2x² of one x
        assert number(way(lambda x, i=i: pb.grad(f, i)(x, x))(3.0)) == wanted
    tangent = way(lambda x: pb.jvp(f, (x, x), (1.0, 0.0))[1])
    assert number(tangent(3.0)) == 6.0


def test_one_array_in_two_places_of_a_structure() -> None:
    x = np.array([1.0, 2.0])

    def f(p: Any) -> Any:
        return pb.sum(p["a"] * p["b"][0] * p["b"][0])

    for shared in (x, pb.tensor(x)):
        g = pb.grad(f)({"a": shared, "b": [shared]})
        np.testing.assert_array_equal(g["a"].data, x**2)
        np.testing.assert_array_equal(g["b"][0].data, 2 * x**2)
        _, t = pb.jvp(f, ({"a": shared, "b": [shared]},), ({"a": 0 * x, "b": [x]},))
        assert number(t) == np.sum(2 * x**3)


def test_an_argument_that_is_closed_over_too() -> None:
    """Only the argument is differentiated, not what is closed over, though it is one tensor."""
    w = pb.tensor(3.0, requires_grad=True)
    assert number(pb.grad(lambda x: x * w)(w)) == 3.0
    assert number(pb.jvp(lambda x: x * w, (w,), (1.0,))[1]) == 3.0
    assert number(pb.linearize(lambda x: x * w, w)[1](1.0)) == 3.0
    assert number(pb.jacfwd(lambda x: x * w)(w)) == 3.0
    pb.grad(lambda x: x * w)(w).backward()
    assert number(w.grad) == 1.0  # of the gradient, which is w


def test_a_pull_kept_from_inside_belongs_to_its_own_call() -> None:
    """A pullback that leaves its outer derivative is still the pullback it was."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        value, pull = pb.vjp(lambda y: x * y * y, x)
        kept.append(pull)
        return value

    assert number(pb.grad(f)(2.0)) == 12.0
    assert number(pb.jvp(f, (2.0,), (1.0,))[1]) == 12.0
    for pull in kept:
        assert number(pull(1.0)[0]) == 8.0


def test_a_tangent_of_a_tangent_is_none_of_the_inner_sweep() -> None:
    """jvp of jvp in the direction of the outer's own variable."""
    def directional(x: Any) -> Any:
        return pb.jvp(lambda y: y * y * y, (x,), (x,))[1]  # 3 x³

    value, tangent = pb.jvp(directional, (2.0,), (1.0,))
    assert (number(value), number(tangent)) == (24.0, 36.0)
    assert number(pb.grad(directional)(2.0)) == 36.0


def test_the_right_answer_where_inner_points_coincide() -> None:
    """Equal numbers are not equal variables."""
    def f(x: Any, y: Any) -> Any:
        return x * pb.grad(lambda z: z * y)(x) + y * pb.grad(lambda z: z * x)(y)  # 2 x y

    assert [number(g) for g in pb.grad(f, (0, 1))(2.0, 2.0)] == [4.0, 4.0]
    assert number(pb.hessian(f, (0, 1))(2.0, 2.0)[0][1]) == 2.0
