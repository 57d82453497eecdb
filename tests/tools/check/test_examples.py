"""The gradients that the examples put in place of others, each against its surrogate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import examples.binarised_digits
import examples.binarised_digits_graph  # registers "HardTanh"
import examples.domain_adversarial_digits
import examples.guided_backpropagation
import pullback as pb

X = np.array([[0.4, -1.2, 0.9], [1.7, -0.3, -0.8]])


def overridden(f: Callable[..., Any], override: dict[str, str]) -> Callable[..., Any]:
    """A function with the gradient of an operation in it overridden."""

    def run(x: Any) -> Any:
        with pb.override_gradient(override):
            return f(x)

    return run


def window(x: Any) -> Any:
    """The hard tanh, whose derivative straight-through estimators use."""
    return pb.clip(x, -1.0, 1.0)


def failing(report: Any) -> set[str]:
    return {f.law for f in report.failures}


STRAIGHT = [o for o in examples.binarised_digits.RUNS.values() if o] + [{"sign": "HardTanh"}]


@pytest.mark.parametrize("override", STRAIGHT, ids=lambda o: o["sign"])
def test_binarised_digits(override: dict[str, str]) -> None:
    f = overridden(pb.sign, override)
    assert "vjp" in failing(pb.check(f, X))
    report = pb.check(f, X, surrogate=window)
    assert report, str(report)
    assert report.tried["second order"]["passed"]


def test_a_reversed_gradient() -> None:
    strength = examples.domain_adversarial_digits.STRENGTH
    f = overridden(pb.identity, {"identity": "Reversed"})
    assert "vjp" in failing(pb.check(f, X))
    report = pb.check(f, X, surrogate=lambda x: -strength * x)
    assert report, str(report)


def test_a_reversed_gradient_of_another_strength_is_seen() -> None:
    f = overridden(pb.identity, {"identity": "Reversed"})
    report = pb.check(f, X, surrogate=lambda x: -x)
    assert report.failures[0].law == "vjp"
    assert report.failures[0].fix == "it is 0.5 times what it should be"


def test_guided_backpropagation_lets_only_positive_cotangents_pass() -> None:
    """It is no derivative of anything: that it is not linear in its cotangent is seen."""
    f = overridden(pb.relu, {"relu": "GuidedRelu"})
    assert {"vjp", "linearity"} <= failing(pb.check(f, X))
