"""`check`'s laws about numbers: right rules pass, each wrong one is caught by its law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgumentError, ArgumentTypeError, CheckFailed
from pullback.tools.check import check

X = np.array([[0.4, -1.2, 0.9], [1.7, -0.3, -0.8]])
NUMERIC = ("vjp", "jvp", "dot product", "linearity", "second order", "dtypes", "mixed dtypes")


def failing(report: Any) -> set[str]:
    """The laws of the engine that a function breaks."""
    return {f.law for f in report.failures} & set(NUMERIC)


def of(forward: Any, backward: Any) -> Any:
    """A custom gradient of one argument."""

    @pb.custom_gradient
    def made(x: Any) -> Any:
        return forward(x), lambda g: backward(g, x)

    return made


class Cube(pb.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * g * x * x


@pb.custom_jvp
def fourth(x: Any) -> Any:
    return x**4


@fourth.defjvp
def jvp_fourth(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return x**4, 4 * x**3 * t


RIGHT: dict[str, tuple[Any, ...]] = {
    "operation": (pb.exp, X),
    "two arguments": (pb.matmul, X, X.T.copy()),
    "kinks": (pb.relu, X),
    "number": (lambda x: x * x, 2.0),
    "structure": (lambda p: [p["a"] * p["b"], None, pb.argmax(p["b"])], {"a": 2.0, "b": X}),
    "integers": (lambda x, i: x[i], X, 1),
    "complex": (lambda z: z * z, X + 1j * X[::-1]),
    "custom gradient": (of(lambda x: x * x, lambda g, x: 2 * g * x), X),
    "Function": (Cube, X),
    "apply": (Cube.apply, X),
    "custom_jvp": (fourth, X),
    "float32": (pb.tanh, X.astype("float32")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_passes(name: str) -> None:
    f, *examples = RIGHT[name]
    report = check(f, *examples)
    assert not failing(report), str(report)
    assert report.tried["vjp"]["passed"] >= 1


def odd_second(g: Any, x: Any) -> Any:
    return 3 * g * pb.stop_gradient(x * x)


WRONG: dict[str, tuple[Any, Any, str, str]] = {
    "factor": (lambda x: x * x, lambda g, x: g * x, "vjp", "0.5 times"),
    "sign": (pb.sin, lambda g, x: -g * pb.cos(x), "vjp", "sign"),
    "a millionth": (pb.sin, lambda g, x: g * pb.cos(x) * 1.000001, "vjp", ""),
    "zeros": (pb.sin, lambda g, x: 0 * g, "vjp", "zeros"),
    "transposed": (lambda x: x.T @ x, lambda g, x: x @ (g.T - g), "vjp", ""),
    "ignores its cotangent": (pb.sin, lambda g, x: pb.cos(x), "linearity", "linear"),
    "not linear": (pb.sin, lambda g, x: g * g * pb.cos(x), "linearity", "linear"),
    "second order": (lambda x: x**3, odd_second, "second order", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_caught_by_its_law(name: str) -> None:
    forward, backward, law, fix = WRONG[name]
    report = check(of(forward, backward), X)
    assert law in failing(report), str(report)
    assert any(fix in f.fix for f in report.failures if f.law in NUMERIC)


def test_a_missing_conjugation_is_caught() -> None:
    report = check(of(lambda z: z * z, lambda g, z: 2 * g * z), X + 0.5j)
    assert "vjp" in failing(report)


def test_a_jvp_unlike_the_vjp_is_caught() -> None:
    class Odd(Cube):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * t

    assert {"jvp", "dot product"} <= failing(check(Odd, X))
    assert "vjp" not in failing(check(Odd, X))


def test_a_surrogate_is_what_a_rule_is_held_against() -> None:
    def window(x: Any) -> Any:
        return pb.clip(x, -1.0, 1.0)

    binarise = pb.straight_through(pb.sign, window)
    assert "vjp" in failing(check(binarise, X))
    assert not failing(check(binarise, X, surrogate=window))
    assert not failing(check(binarise, X, derivative_of=window))
    assert "vjp" in failing(check(binarise, X, surrogate=lambda x: 2 * window(x)))


def test_the_failing_input_is_made_small() -> None:
    report = check(of(lambda x: x * x, lambda g, x: g * x), np.arange(1.0, 25.0).reshape(4, 6))
    assert report.failures[0].inputs[0].size == 1


def test_order_one_is_not_asked_for_second_derivatives() -> None:
    f = of(lambda x: x**3, odd_second)
    assert "second order" not in failing(check(f, X, order=1))


def test_a_law_that_is_skipped_says_why() -> None:
    report = check(pb.exp, X, skip={"linearity": "on purpose"})
    assert report.tried["linearity"]["not applicable"] == 1
    assert "on purpose" in str(report)


def test_an_error_in_a_rule_is_a_finding() -> None:
    def broken(g: Any, x: Any) -> Any:
        raise ValueError("nothing comes out")

    report = check(of(pb.sin, broken), X)
    assert any("nothing comes out" in f.message for f in report.failures)


def test_a_declared_dtype_must_be_taken() -> None:
    def picky(x: Any) -> Any:
        assert x.dtype == np.float64
        return x * x

    assert "dtypes" not in failing(check(picky, X))
    assert "dtypes" in failing(check(picky, X, dtypes=["float64", "float32"]))


@pytest.mark.parametrize(("arguments", "error"), [
    ({"order": 3}, ArgumentError), ({"skip": ["linarity"]}, ArgumentError),
])
def test_misuse(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        check(pb.exp, 1.0, **arguments)
    with pytest.raises(ArgumentTypeError):
        check(3, 1.0)  # type: ignore[arg-type]


def test_raising() -> None:
    check(pb.exp, 1.0).raise_if_failed()
    with pytest.raises(CheckFailed, match="times"):
        check(of(lambda x: x * x, lambda g, x: g * x), 3.0).raise_if_failed()
