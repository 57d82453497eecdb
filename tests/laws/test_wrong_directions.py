"""The laws of forward mode and batching: each wrong rule of these tables breaks the law for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.op import OPS, op
from tests.laws.batch_checks import (
    check_batched,
    check_derivatives_of_batched,
    check_derivatives_per_example,
    check_few,
    check_nested,
    check_second_per_example,
)
from tests.laws.forward_checks import (
    check_both_directions,
    check_orders_agree,
    check_push_linear,
    check_pushforward,
    check_saves_nothing_more,
    check_transposed,
)
from tests.laws.test_wrong_rules import cube, dot, scale, sealed_normal, spin, total

Rules = dict[str, Callable[..., Any]]


def scratch(
    forward: Callable[..., Any], pullbacks: Rules, pushes: Rules | None = None,
    batch: Callable[..., Any] | None = None, **how: Any,
) -> Any:
    """An operation `scratch_…` with these rules, by argument."""
    name = f"scratch_{forward.__name__}"
    made = op(forward, name=name, **how)
    for prefix, rules in (("pullback", pullbacks), ("pushforward", pushes or {})):
        for argument, rule in rules.items():
            rule.__name__ = f"{prefix}_{name}"
            getattr(made, prefix)(argument)(rule)
    if batch is not None:
        batch.__name__ = f"batch_{name}"
        made.batching(batch)
    return made


@pytest.fixture(autouse=True)
def _no_scratch_left() -> Iterator[None]:
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)


def behind(axis: int) -> int:
    """An axis of a matrix, counted past the examples' in front."""
    return axis % 2 + 1


def rng() -> np.random.Generator:
    return np.random.default_rng(77)  # not the seed of the arrays


RIGHT_CUBE: Rules = {"x": lambda g, x: g * 3 * x * x}
RIGHT_DOT: Rules = {"x1": lambda g, x2: g @ pb.matrix_transpose(x2),
                    "x2": lambda g, x1: pb.matrix_transpose(x1) @ g}
RIGHT_PUSHES: Rules = {"x1": lambda t, x2: t @ x2, "x2": lambda t, x1: x1 @ t}


def batch_dot(x1: Any, x2: Any) -> Any:
    return x1 @ x2


def spread_total(g: Any, shape: Any, *, axis: int) -> Any:
    return pb.broadcast_to(pb.expand_dims(g, axis=axis), tuple(shape))


def test_right_rules_pass_every_law() -> None:
    made = scratch(dot, RIGHT_DOT, RIGHT_PUSHES, batch_dot)
    for dtype in ("float64", "complex128"):
        draws = [
            [sealed_normal(2, 3, seed=k, dtype=dtype), sealed_normal(3, 3, seed=k + 9, dtype=dtype)]
            for k in range(4)
        ]
        check_saves_nothing_more(made.op)
        for law in (
            check_pushforward, check_push_linear, check_both_directions, check_transposed,
            check_orders_agree,
        ):
            law(made, draws[0], rng())
        for batch_law in (check_batched, check_few, check_nested):
            batch_law(made, draws)
        for derivative_law in (
            check_derivatives_per_example, check_derivatives_of_batched, check_second_per_example,
        ):
            derivative_law(made, draws[:2], rng())


# Pushforwards ----------------------------------------------------------------------------------


def writes_into_t(t: Any, x: Any) -> Any:
    t *= 3
    return t * x * x


WRONG_CUBES = {
    "sign": lambda t, x: -t * 3 * x * x,
    "a factor of 1.001": lambda t, x: t * 3.003 * x * x,
    "a factor of 1 + 1e-6": lambda t, x: t * 3 * (1 + 1e-6) * x * x,
    "forgets t": lambda t, x: 3 * x * x,
    "uses t twice": lambda t, x: t * t * 3 * x * x,
    "an absolute value of t": lambda t, x: abs(t) * 3 * x * x,
    "a bias": lambda t, x: t * 3 * x * x + 1e-4,
    "mixed entries": lambda t, x: t[::-1] * 3 * x * x,
    "reads out for x": lambda t, out: t * 3 * out * out,
    "nothing": lambda t, x: None,
    "NaN": lambda t, x: t * x * np.nan,
    "writes into t": writes_into_t,
}


@pytest.mark.parametrize("name", WRONG_CUBES)
def test_differences_catch_a_tangent(name: str) -> None:
    made = scratch(cube, RIGHT_CUBE, {"x": WRONG_CUBES[name]})
    with pytest.raises((AssertionError, ValueError)) as caught:
        check_pushforward(made, [sealed_normal(5)], rng())
    if isinstance(caught.value, AssertionError):
        assert "tangent of all arguments, output 0" in str(caught.value)
    else:
        assert "read-only" in str(caught.value)


BLIND = {"nothing", "NaN", "writes into t"}
"""Not for the laws below: no number comes out, or differences have the word."""


@pytest.mark.parametrize("name", sorted(set(WRONG_CUBES) - BLIND))
def test_both_directions_catch_a_tangent(name: str) -> None:
    made = scratch(cube, RIGHT_CUBE, {"x": WRONG_CUBES[name]})
    with pytest.raises(AssertionError, match="argument 0: ⟨c, J t⟩"):
        check_both_directions(made, [sealed_normal(5)], rng())


@pytest.mark.parametrize("name", sorted(set(WRONG_CUBES) - BLIND))
def test_transposing_catches_a_tangent(name: str) -> None:
    made = scratch(cube, RIGHT_CUBE, {"x": WRONG_CUBES[name]})
    with pytest.raises(AssertionError, match="argument 0, own rule and by transposition"):
        check_transposed(made, [sealed_normal(5)], rng())


def test_complex_steps_catch_a_factor_that_differences_cannot_see() -> None:
    made = scratch(cube, RIGHT_CUBE, {"x": lambda t, x: t * 3 * (1 + 1e-10) * x * x})
    arrays = [sealed_normal(5)]
    check_pushforward(made, arrays, rng())
    with pytest.raises(AssertionError, match="tangent of all arguments"):
        check_pushforward(made, arrays, rng(), lambda x: x**3, rtol=1e-12, analytic=True)


@pytest.mark.parametrize("name", ["uses t twice", "an absolute value of t", "a bias", "forgets t"])
def test_linearity_catches_a_tangent(name: str) -> None:
    made = scratch(cube, RIGHT_CUBE, {"x": WRONG_CUBES[name]})
    with pytest.raises(AssertionError, match="linearity in the tangent"):
        check_push_linear(made, [sealed_normal(5)], rng())


WRONG_DOTS = {
    "a transpose": lambda t, x2: t @ pb.matrix_transpose(x2),
    "the wrong order": lambda t, x2: x2 @ t,
    "a conjugate too many": lambda t, x2: t @ np.conj(x2),
    "the real part": lambda t, x2: pb.real(t) @ x2,
}


@pytest.mark.parametrize("name", WRONG_DOTS)
def test_differences_catch_a_tangent_of_matrices(name: str) -> None:
    made = scratch(dot, RIGHT_DOT, {**RIGHT_PUSHES, "x1": WRONG_DOTS[name]})
    arrays = [sealed_normal(3, 3, dtype="complex128"), sealed_normal(3, 3, dtype="complex128")]
    with pytest.raises(AssertionError, match="tangent of all arguments"):
        check_pushforward(made, arrays, rng())
    with pytest.raises(AssertionError, match="argument 0: ⟨c, J t⟩"):
        check_both_directions(made, arrays, rng())


def test_errors_that_cancel_are_caught_one_argument_at_a_time() -> None:
    """Each argument's tangent goes into the other's rule where both are there."""
    def pushforward(ts: Any, x1: Any, x2: Any) -> Any:
        t, s = ts
        right = (0 if t is None else t * x2) + (0 if s is None else x1 * s)
        return right if t is not None and s is not None else 1.5 * right

    made = scratch(
        scale, {"x1": lambda g, x2: g * x2, "x2": lambda g, x1: g * x1}, {"x1": pushforward}
    )
    with pytest.raises(AssertionError, match="tangent of argument 0, output 0"):
        check_pushforward(made, [sealed_normal(3), sealed_normal(3, seed=1)], rng())


def test_an_adjoint_for_a_transpose_is_caught() -> None:
    made = scratch(spin, {"x": lambda g: (2 + 1j) * g}, {"x": lambda t: (2 - 1j) * t})
    arrays = [sealed_normal(2, dtype="complex128")]
    with pytest.raises(AssertionError, match="tangent of all arguments"):
        check_pushforward(made, arrays, rng())
    with pytest.raises(AssertionError, match="own rule and by transposition"):
        check_transposed(made, arrays, rng())


def test_a_diagonal_that_is_none_is_caught() -> None:
    """An operation that mixes entries may not call itself elementwise."""
    def mirror(xp: Any, x: Any, /) -> Any:
        return xp.flip(x) * xp.asarray([1.0, 2.0, 3.0])

    def mirrored(g: Any) -> Any:
        return pb.flip(g * pb.tensor([1.0, 2.0, 3.0]))

    mirrored.__module__ = "pullback.ops.shaping"  # the library's own are taken at their word
    made = scratch(mirror, {"x": mirrored}, elementwise=True)
    with pytest.raises(AssertionError, match="tangent of all arguments"):
        check_pushforward(made, [sealed_normal(3)], rng())


def test_second_order_catches_a_tangent_that_leaves_the_graph() -> None:
    def pushforward(t: Any, x: Any) -> Any:
        frozen = pb.Tensor(x.data * x.data) if isinstance(x, pb.Tensor) else x * x
        return t * 3 * frozen

    made = scratch(cube, RIGHT_CUBE, {"x": pushforward})
    arrays = [sealed_normal(4)]
    check_pushforward(made, arrays, rng())
    with pytest.raises(AssertionError, match="forward over forward"):
        check_orders_agree(made, arrays, rng())


def test_second_order_catches_a_pullback_that_leaves_the_graph() -> None:
    def pullback(g: Any, x: Any) -> Any:
        return g * 3 * pb.Tensor(x.data * x.data) if isinstance(x, pb.Tensor) else g * 3 * x * x

    made = scratch(cube, {"x": pullback}, {"x": lambda t, x: t * 3 * x * x})
    with pytest.raises(AssertionError, match="forward over forward"):
        check_orders_agree(made, [sealed_normal(4)], rng())


def test_a_tangent_that_reads_more_is_caught() -> None:
    """The cube's pullback reads x; a tangent made of `out` would keep that in memory too."""
    check_saves_nothing_more(scratch(cube, RIGHT_CUBE, {"x": lambda t, x: t * 3 * x * x}).op)
    del OPS["scratch_cube"]
    made = scratch(cube, RIGHT_CUBE, {"x": lambda t, x, out: t * 3 * out / x})
    with pytest.raises(AssertionError, match=r"saves \(True, True\) of \(inputs…, output\)"):
        check_saves_nothing_more(made.op)
    assert made.op.keep((True,)) == (True, True)


# Batching --------------------------------------------------------------------------------------


def sums(batch: Callable[..., Any] | None) -> Callable[[Any], Any]:
    made = scratch(total, {"x": spread_total}, batch=batch)
    return lambda x: made(x, axis=-1)


WRONG_TOTALS = {
    "the axis not moved": lambda x, *, axis: pb.sum(x, axis=axis % 2),
    "another axis": lambda x, *, axis: pb.sum(x, axis=1),
    "all examples": lambda x, *, axis: pb.broadcast_to(
        pb.sum(x, axis=(0, behind(axis))), (x.shape[0], x.shape[1])
    ),
    "the first example for all": lambda x, *, axis: pb.broadcast_to(
        pb.sum(x[0], axis=axis), (x.shape[0], x.shape[1])
    ),
    "examples turned round": lambda x, *, axis: pb.flip(pb.sum(x, axis=behind(axis)), axis=0),
    "the examples at the end": lambda x, *, axis: pb.matrix_transpose(
        pb.sum(x, axis=behind(axis))
    ),
    "another dtype": lambda x, *, axis: pb.astype(pb.sum(x, axis=behind(axis)), pb.float32),
}


@pytest.mark.parametrize("name", WRONG_TOTALS)
def test_a_loop_catches_a_batching_rule(name: str) -> None:
    call = sums(WRONG_TOTALS[name])
    draws = [[sealed_normal(2, 2, seed=k)] for k in range(2)]
    with pytest.raises(AssertionError, match=r"mapped arguments \[0\]"):
        check_batched(call, draws)


def test_a_rule_that_is_right_for_some_axes_is_caught() -> None:
    """With the examples in front of one argument and not of the other, ranks differ."""
    def batch(x1: Any, x2: Any, *, hidden: tuple[bool, ...]) -> Any:
        return x1 * x2  # aligned at the end, where the hidden axis of a smaller one is not

    made = scratch(
        scale, {"x1": lambda g, x2: g * x2, "x2": lambda g, x1: g * x1}, batch=batch
    )
    draws = [[sealed_normal(2, 2, seed=k), sealed_normal(2, seed=k + 5)] for k in range(2)]
    with pytest.raises(AssertionError, match=r"mapped arguments \[1\]"):
        check_batched(made, draws)


def test_a_missing_rule_is_caught() -> None:
    draws = [[sealed_normal(2, 2, seed=k)] for k in range(2)]
    with pytest.raises(pb.errors.LoopWarning, match="`scratch_total` has no batching rule"):
        check_batched(sums(None), draws)


def test_none_at_all_catches_a_rule_that_needs_an_example() -> None:
    call = sums(lambda x, *, axis: pb.sum(x, axis=behind(axis)) + 0 * x[0, 0, 0])
    draws = [[sealed_normal(2, 2)]]
    check_batched(call, draws)
    with pytest.raises(IndexError):
        check_few(call, draws)


def test_nesting_catches_a_rule_that_leaves_the_library() -> None:
    call = sums(lambda x, *, axis: np.sum(x, axis=behind(axis)))
    draws = [[sealed_normal(2, 2, seed=k)] for k in range(4)]
    check_batched(call, draws)
    with pytest.raises((TypeError, pb.errors.PullbackError)):
        check_nested(call, draws)


def test_derivatives_catch_a_pullback_that_is_wrong_for_many() -> None:
    """Which sums over all entries that there are, those of other examples too."""
    def pullback(g: Any, x: Any) -> Any:
        whole = x.value if isinstance(x, pb.arrays.batched.Batched) else x
        return g * 3 * x * x * (1.0 if whole is x else 1.5)

    made = scratch(cube, {"x": pullback}, elementwise=True)
    draws = [[sealed_normal(3, seed=k)] for k in range(2)]
    check_batched(made, draws)
    with pytest.raises(AssertionError, match="vmap of a pullback"):
        check_derivatives_per_example(made, draws, rng())
    with pytest.raises(AssertionError, match="pullback of a vmap"):
        check_derivatives_of_batched(made, draws, rng())
