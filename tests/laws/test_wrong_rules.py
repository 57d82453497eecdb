"""The laws themselves: each wrong rule of this table breaks the law that is there to catch it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.op import OPS, op
from tests.laws.checks import (
    check_alone,
    check_linear,
    check_pullback,
    check_second,
    check_twice,
)


def scratch(forward: Callable[..., Any], **rules: Callable[..., Any]) -> Any:
    """An operation `scratch_…` with these rules, by argument."""
    name = f"scratch_{forward.__name__}"
    made = op(forward, name=name)
    for argument, rule in rules.items():
        rule.__name__ = f"pullback_{name}"
        made.pullback(argument)(rule)
    return made


@pytest.fixture(autouse=True)
def _no_scratch_left() -> Iterator[None]:
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)


def cube(xp: Any, x: Any, /) -> Any:
    return x * x * x


def scale(xp: Any, x1: Any, x2: Any, /) -> Any:
    return x1 * x2


def dot(xp: Any, x1: Any, x2: Any, /) -> Any:
    return xp.matmul(x1, x2)


def total(xp: Any, x: Any, /, *, axis: int) -> Any:
    return xp.sum(x, axis=axis)


def spin(xp: Any, x: Any, /) -> Any:
    return (2 + 1j) * x


def writes_into_g(g: Any, x: Any) -> Any:
    g *= 3
    return g * x * x


def writes_into_x(g: Any, x: Any) -> Any:
    x += 1
    return g * 3 * x * x


WRONG_CUBES = {
    "sign": lambda g, x: -g * 3 * x * x,
    "a factor of 1.001": lambda g, x: g * 3.003 * x * x,
    "a factor of 1 + 1e-6": lambda g, x: g * 3 * (1 + 1e-6) * x * x,
    "forgets g": lambda g, x: 3 * x * x,
    "uses g twice": lambda g, x: g * g * 3 * x * x,
    "an absolute value of g": lambda g, x: abs(g) * 3 * x * x,
    "a bias": lambda g, x: g * 3 * x * x + 1e-4,
    "the wrong power": lambda g, x: g * 3 * x,
    "a missing entry": lambda g, x: g * 3 * x * x * (np.arange(x.size).reshape(x.shape) != 2),
    "mixed entries": lambda g, x: g[::-1] * 3 * x * x,
    "reads out for x": lambda g, out: g * 3 * out * out,
    "NaN": lambda g, x: g * 3 * x * x * np.nan,
    "writes into g": writes_into_g,
    "writes into x": writes_into_x,
}


def sealed_normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(shape)
    made = (drawn + 1j * rng.standard_normal(shape) if dtype[0] == "c" else drawn).astype(dtype)
    made.flags.writeable = False
    return made


def test_a_right_rule_passes_every_law() -> None:
    made = scratch(
        scale, x1=lambda g, x2: g * x2, x2=lambda g, x1: g * x1
    )
    for dtype in ("float64", "complex128"):
        arrays = [sealed_normal(2, 3, dtype=dtype), sealed_normal(3, seed=1, dtype=dtype)]
        for law in (check_pullback, check_alone, check_linear, check_second):
            law(made, arrays, np.random.default_rng(0))
    check_pullback(
        made, [sealed_normal(2), sealed_normal(2)], np.random.default_rng(0),
        lambda a, b: a * b, rtol=1e-12, analytic=True,
    )
    check_twice(made, sealed_normal(2, 3), np.random.default_rng(0))


@pytest.mark.parametrize("name", WRONG_CUBES)
def test_differences_catch(name: str) -> None:
    made = scratch(cube, x=WRONG_CUBES[name])
    with pytest.raises((AssertionError, ValueError)) as caught:
        check_pullback(made, [sealed_normal(5)], np.random.default_rng(0))
    if isinstance(caught.value, AssertionError):
        assert "argument 0" in str(caught.value)
    else:
        assert "read-only" in str(caught.value)


def test_complex_steps_catch_a_factor_that_differences_cannot_see() -> None:
    made = scratch(cube, x=lambda g, x: g * 3 * (1 + 1e-10) * x * x)
    arrays, rng = [sealed_normal(5)], np.random.default_rng(0)
    check_pullback(made, arrays, rng)
    with pytest.raises(AssertionError, match="argument 0"):
        check_pullback(made, arrays, rng, lambda x: x**3, rtol=1e-12, analytic=True)


WRONG_DOTS = {
    "no transpose": lambda g, x2: g @ x2,
    "the wrong order": lambda g, x2: x2.T @ g,
    "a conjugate too many": lambda g, x2: g @ np.conj(x2.T),
}


@pytest.mark.parametrize("name", WRONG_DOTS)
def test_differences_catch_in_matrices(name: str) -> None:
    made = scratch(dot, x1=WRONG_DOTS[name], x2=lambda g, x1: x1.T @ g)
    arrays = [sealed_normal(3, 3, dtype="complex128"), sealed_normal(3, 3, dtype="complex128")]
    with pytest.raises(AssertionError, match="argument 0"):
        check_pullback(made, arrays, np.random.default_rng(0))


WRONG_SPINS = {"a missing factor i": lambda g: 2 * g, "the adjoint": lambda g: (2 - 1j) * g}


@pytest.mark.parametrize("name", WRONG_SPINS)
def test_differences_catch_in_complex_numbers(name: str) -> None:
    made = scratch(spin, x=WRONG_SPINS[name])
    with pytest.raises(AssertionError, match="argument 0"):
        check_pullback(made, [sealed_normal(2, dtype="complex128")], np.random.default_rng(0))


def test_differences_catch_the_wrong_axis() -> None:
    def pullback(g: Any, shape: Any) -> Any:
        return np.broadcast_to(g, shape)  # for axis=-1 it should be g[:, None]

    made = scratch(total, x=pullback)
    with pytest.raises(AssertionError, match="argument 0"):
        check_pullback(
            lambda x: made(x, axis=-1), [sealed_normal(3, 3)], np.random.default_rng(0)
        )


def test_a_rule_that_returns_nothing_is_caught_and_named() -> None:
    made = scratch(total, x=lambda g: None)
    with pytest.raises(AttributeError) as caught:
        check_pullback(lambda x: made(x, axis=0), [sealed_normal(3, 2)], np.random.default_rng(0))
    assert "in the gradient of `scratch_total`" in caught.value.__notes__[0]


def test_differences_catch_a_gradient_of_the_wrong_shape() -> None:
    made = scratch(total, x=lambda g: g)
    with pytest.raises(pb.errors.RuleError, match="argument 0"):
        check_pullback(lambda x: made(x, axis=0), [sealed_normal(3, 2)], np.random.default_rng(0))


def test_linearity_catches_a_cotangent_used_twice() -> None:
    made = scratch(cube, x=lambda g, x: g * g * 3 * x * x)
    with pytest.raises(AssertionError, match="argument 0"):
        check_linear(made, [sealed_normal(5)], np.random.default_rng(0))


def test_one_alone_catches_a_rule_that_changes_with_its_neighbour() -> None:
    calls = []

    def pullback(g: Any, x2: Any) -> Any:
        calls.append(1)
        return g * x2 * len(calls)

    made = scratch(scale, x1=pullback, x2=lambda g, x1: g * x1)
    with pytest.raises(AssertionError, match="argument 0"):
        check_alone(made, [sealed_normal(2), sealed_normal(2)], np.random.default_rng(0))


def test_second_order_catches_a_rule_that_leaves_the_graph() -> None:
    def pullback(g: Any, x: Any) -> Any:
        return g * 3 * pb.Tensor(x.data * x.data) if isinstance(x, pb.Tensor) else g * 3 * x * x

    made = scratch(cube, x=pullback)
    arrays, rng = [sealed_normal(4)], np.random.default_rng(0)
    check_pullback(made, arrays, rng)
    with pytest.raises(AssertionError, match="argument 0"):
        check_second(made, arrays, rng)
