"""The gradients that the examples put in place of others, each against its surrogate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import examples.binarised_digits
import examples.guided_backpropagation
import pullback as pb
from pullback.checking import check

X = np.array([[0.4, -1.2, 0.9], [1.7, -0.3, -0.8]])
FIRST = ("vjp", "dtypes", "second order")


def overridden(f: Callable[..., Any], override: dict[str, str]) -> Callable[..., Any]:
    """A function with the gradient of an operation in it overridden."""

    def run(x: Any) -> Any:
        with pb.override_gradient(override):
            return f(x)

    return run


def window(x: Any) -> Any:
    return pb.clip(x, -1.0, 1.0)


def broken(report: Any) -> set[str]:
    return {f.law for f in report.failures} & set(FIRST)


@pytest.mark.parametrize("name", [n for n, o in examples.binarised_digits.RUNS.items() if o])
def test_binarised_digits(name: str) -> None:
    f = overridden(pb.sign, examples.binarised_digits.RUNS[name])
    assert "vjp" in broken(check(f, X))
    report = check(f, X, surrogate=window)
    assert not broken(report), str(report)


def test_guided_backpropagation_lets_only_positive_cotangents_pass() -> None:
    """It is no derivative of anything: that it is not linear in its cotangent is seen."""
    f = overridden(pb.relu, {"relu": "GuidedRelu"})
    assert "linearity" in {law.law for law in check(f, X).failures}
