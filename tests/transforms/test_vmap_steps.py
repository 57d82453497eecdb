"""`vmap` of small operations: few steps per operation, and the results of the general path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.compiled import compiled
from pullback.kinds import batching
from tests.transforms.test_forward_steps import chain, python_calls


def calls_per_op(run: Callable[[Callable[..., Any]], Any]) -> float:
    """The calls of Python functions that one more operation of the chain costs."""
    for ops in (100, 200):
        run(chain(ops))
    return (python_calls(lambda: run(chain(200))) - python_calls(lambda: run(chain(100)))) / 100


def test_a_mapped_operation_takes_few_steps() -> None:
    """None in Python with the compiled core, as without `vmap`; nor does its backward pass."""
    xs = pb.tensor(np.linspace(0.1, 0.8, 16).reshape(8, 2))
    forward = calls_per_op(lambda f: pb.vmap(f)(xs))
    both = calls_per_op(lambda f: pb.vmap(pb.grad(lambda x: pb.sum(f(x))))(xs))
    if compiled is not None:
        assert forward == both == 0
    else:
        assert forward <= 6
        assert both <= 20


def test_an_operation_of_a_hessian_takes_at_most_three_times_the_steps_of_one_direction() -> None:
    x, v = pb.tensor([0.3, 0.7]), np.array([1.0, 0.0])
    hessian = calls_per_op(lambda f: pb.hessian(lambda x: pb.sum(pb.sin(f(x))))(x))
    one = calls_per_op(lambda f: pb.grad(
        lambda x: pb.sum(pb.grad(lambda x: pb.sum(pb.sin(f(x))))(x) * v))(x))
    assert hessian <= 3 * one


PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "both": (np.ones((3, 2)) * 1.5, np.arange(6.0).reshape(3, 2), (0, 0)),
    "other ranks": (np.arange(3.0), np.arange(1.0, 7.0).reshape(3, 2), (0, 0)),
    "a constant row": (np.arange(6.0).reshape(3, 2), np.array([2.0, 3.0]), (0, None)),
    "a constant in front": (np.array([2.0, 3.0]), np.arange(1.0, 7.0).reshape(3, 2), (None, 0)),
    "a constant of one entry": (np.arange(6.0).reshape(3, 2), np.array([2.5]), (0, None)),
    "a constant without axes": (np.arange(6.0).reshape(3, 2), np.array(2.5), (0, None)),
    "a constant of higher rank": (np.arange(3.0), np.ones((2, 2)) * 0.5, (0, None)),
    "a constant that stretches": (np.ones((3, 1)), np.array([2.0, 3.0]), (0, None)),
    "single and double": (np.ones((3, 2), "float32"), np.full((3, 2), 2.0), (0, 0)),
    "half": (np.full((3, 2), 1.5, "float16"), np.full((3, 2), 2.0, "float16"), (0, 0)),
    "complex": (np.ones((3, 2)) * (1 + 2j), np.full((3, 2), 2.0), (0, 0)),
    "integers": (np.arange(6).reshape(3, 2), np.full((3, 2), 2), (0, 0)),
    "no examples": (np.ones((0, 2)), np.ones((0, 2)), (0, 0)),
    "large": (np.full((3, 200_000), 1.5, "float32"), np.float32(2.0), (0, None)),
    "columns": (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)[::-1], (1, 1)),
    "a number": (np.arange(6.0).reshape(3, 2), 3.0, (0, None)),
    "a large number": (np.ones((3, 2), "float32"), 1e18, (0, None)),
}


def formulas(x: Any, y: Any) -> Any:
    return (x + y, x * y - x, (1.0 - x) / (y * y + 2), y - 2 * x, pb.maximum(x, y), x < y)


@pytest.mark.parametrize("name", PAIRS)
def test_results_are_those_of_a_loop(name: str) -> None:
    x, y, axes = PAIRS[name]
    if x.dtype.kind == "c":
        f = lambda x, y: (*formulas(pb.real(x), y)[:2], x * y, 1 - x)  # noqa: E731
    else:
        f = formulas
    found = pb.vmap(f, axes)(x, y)
    count = x.shape[axes[0]] if axes[0] is not None else y.shape[axes[1]]
    for i in range(count):
        xi = x if axes[0] is None else np.take(x, i, axes[0])
        yi = y if axes[1] is None else np.take(y, i, axes[1])
        for part, wanted in zip(found, f(pb.asarray(xi), yi), strict=True):
            np.testing.assert_array_equal(part.numpy()[i], wanted.numpy())
            assert part.dtype == wanted.dtype


def test_vmaps_in_each_other_and_around_a_gradient() -> None:
    x, y = np.linspace(0.1, 1.2, 6).reshape(3, 2), np.array([0.5, -0.3])
    f = lambda a, b: pb.sin(a * b) + b / (1.0 + a * a) - a  # noqa: E731
    outer = pb.vmap(lambda a: pb.vmap(lambda b: f(a, b))(y))(x[:, 0])
    np.testing.assert_array_equal(outer, f(x[:, :1] + pb.zeros(1), y))
    slope = pb.vmap(lambda a: pb.grad(lambda w: pb.sum(pb.vmap(lambda b: f(a, b * w))(y)))(0.7))
    each = [float(pb.grad(lambda w, a=a: pb.sum(f(a, y * w)))(0.7)) for a in x[:, 0]]
    np.testing.assert_allclose(slope(x[:, 0]), each, rtol=1e-13)
    jac = pb.jacrev(lambda a: pb.vmap(lambda r: pb.tanh(r * y) * r)(a))(x)
    forward = pb.jacfwd(lambda a: pb.vmap(lambda r: pb.tanh(r * y) * r)(a))(x)
    np.testing.assert_allclose(jac, forward, rtol=1e-13)


def test_a_shared_weight_gets_the_sum_over_the_examples_of_an_ended_vmap() -> None:
    """And inside of the vmap, one for each example."""
    xs, w = np.linspace(-1.0, 1.0, 6).reshape(3, 2), np.array([0.5, 2.0])
    loss = lambda w, x: pb.sum(pb.exp(w * x) * w)  # noqa: E731
    each = np.stack([pb.grad(loss)(w, x) for x in xs])
    np.testing.assert_allclose(pb.vmap(pb.grad(loss), (None, 0))(w, xs), each, rtol=1e-13)
    total = pb.grad(lambda w: pb.sum(pb.vmap(lambda x: loss(w, x))(xs)))(w)
    np.testing.assert_allclose(total, each.sum(axis=0), rtol=1e-13)


def test_a_batching_rule_that_comes_later_is_used() -> None:
    @pb.op(elementwise=True)
    def shifted(xp: Any, x: Any, /) -> Any:
        return xp.add(x, 1.0)

    xs = np.ones((3, 2))
    assert float(pb.vmap(shifted)(xs)[0, 0]) == 2.0

    @shifted.batching
    def batch_shifted(x: Any) -> Any:
        return x + 5.0

    assert float(pb.vmap(shifted)(xs)[0, 0]) == 6.0


def test_warnings_and_errors_of_numpy() -> None:
    xs = np.array([[1.0, 0.0], [2.0, 3.0]])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        pb.vmap(lambda x: 1.0 / x)(xs)
    with np.errstate(divide="ignore"):
        assert np.isinf(pb.vmap(lambda x: x / np.zeros(2))(xs[1:])[0, 0])
    with pytest.raises(pb.errors.PullbackError, match="add"):
        pb.vmap(lambda x: x + np.ones(3))(xs)


def test_the_written_out_kernel_hands_other_cases_on() -> None:
    """It is the general kernel for other ranks, vmaps and rules."""
    op = pb.ops.add.op
    seen = []
    kernel = batching._short(op, lambda *args: seen.append(args) or args[0])
    one, two = (batching.Batched(np.ones((3, 2)), tag) for tag in (7, 8))
    assert kernel(one, one).value.tolist() == [[2.0, 2.0]] * 3
    assert not seen
    kernel(one, two)
    kernel(one, batching.Batched(np.ones(3), 7))
    kernel(np.ones((4, 2)), one)
    assert len(seen) == 3
