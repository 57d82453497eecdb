"""The marker: which ways to ask for a gradient are tried, and what is said of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import raw
from pullback.tools.check import check
from pullback.tools.check.hazards.asking import PATHS
from pullback.tools.check.hazards.marking import MARK, marked, rules_of
from pullback.tools.check.laws import LAWS
from tests.tools.check.entries import normal
from tests.tools.check.planted import square, squaring
from tests.tools.check.planted_hazards import square_rule
from tests.tools.check.spellings import SPELLINGS, as_op

X = normal(2, 3)


def found(f: Callable[..., Any], *examples: Any, **options: Any) -> dict[str, Any]:
    """What the law says, by path."""
    report = check(f, *examples, skip=[n for n in LAWS if n != "paths"], **options)
    return {k.path: k for k in report.findings if k.law == "paths"}


@pb.custom_jvp
def tangential(x: Any) -> Any:
    return x * x


tangential.defjvp(lambda xs, ts: (xs[0] * xs[0], 2 * xs[0] * ts[0]))

pb.register_gradient("Checking.Sin")(lambda op, g: g * pb.cos(op.inputs[0]))


def overridden(x: Any) -> Any:
    with pb.override_gradient({"sin": "Checking.Sin"}):
        return pb.sin(x)


RULES: dict[str, Callable[..., Any]] = {
    **{name: spelling(square, square_rule) for name, spelling in SPELLINGS.items()},
    "custom_jvp": tangential, "override": overridden,
    "op": as_op(squaring, x=lambda g, x: 2 * g * x),
}


@pytest.mark.parametrize("name", RULES)
def test_each_path_shows_the_mark(name: str) -> None:
    pytest.importorskip("jax")
    said = found(RULES[name], X)
    assert set(said) == set(PATHS)
    for path, finding in said.items():
        assert path == "called by keyword" or finding.reason == "it uses the rule", finding


@pytest.mark.parametrize("name", RULES)
def test_a_mark_is_taken_off_again(name: str) -> None:
    x = pb.tensor(X, requires_grad=True)

    def gradient() -> Any:
        return pb.autograd.grad(pb.sum(RULES[name](x)), x)[0].numpy()

    before = gradient()
    with marked(rules_of([RULES[name](x)._node])):
        np.testing.assert_allclose(gradient(), MARK * before)
    np.testing.assert_array_equal(gradient(), before)


@pytest.mark.needs("jax")  # without it, the path through JAX is not tried
def test_a_rule_that_cannot_be_marked_is_compared() -> None:
    def f(x: Any) -> Any:
        with pb.override_gradient({"sin": lambda op, g: g * pb.cos(op.inputs[0])}):
            return pb.sin(x)

    assert {k.status for k in found(f, X).values()} == {"passed"}
    assert "no mark is visible" in found(f, X)["tape"].reason


def test_arguments_by_keyword() -> None:
    assert found(tangential, X)["called by keyword"].reason == "it uses the rule"

    def careless(x: Any = None, **more: Any) -> Any:
        return tangential(x)

    assert found(careless, X)["called by keyword"].status == "passed"
    said = found(lambda *xs: tangential(*xs), X)["called by keyword"]
    assert said.status == "not applicable"


def test_a_number_has_a_tangent() -> None:
    assert found(tangential, 3.0)["jvp"].reason == "it uses the rule"


def lost_in(kind: str) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return x * x if type(raw(x)).__name__ == kind else tangential(x)

    return f


def raising_in(kind: str) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if type(raw(x)).__name__ == kind:
            raise ValueError("not here")
        return tangential(x)

    return f


@pytest.mark.parametrize("make", [lost_in, raising_in])
def test_what_is_lost_or_raises_in_a_graph_is_a_failure(make: Callable[..., Any]) -> None:
    said = found(make("Symbol"), X)
    assert {path for path, k in said.items() if not k.ok} == {"function (graph)",
                                                              "gradients (graph)"}
    said = found(make("Batched"), X)
    assert {path for path, k in said.items() if not k.ok} == {"vmap of grad"}


def test_what_is_lost_in_jit_is_a_failure() -> None:
    pytest.importorskip("jax")
    assert not found(lost_in("DynamicJaxprTracer"), X)["jax.jit"].ok


def test_a_library_that_the_program_does_not_use_is_not_imported(monkeypatch: Any) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert found(tangential, X)["jax.jit"].reason == "JAX is not imported"
    assert "jax" not in sys.modules


def test_a_documented_refusal_is_none() -> None:
    def f(x: Any) -> Any:
        return tangential(x) * float(pb.sum(x).detach().numpy() > -1e9)

    for path in ("function (graph)", "gradients (graph)", "vmap of grad"):
        assert found(f, X)[path].status == "not applicable"


def test_hand_written_rules_in_a_graph_take_other_arguments_than_tracked_ones() -> None:
    weight = pb.tensor(X, requires_grad=True)

    @pb.custom_vjp
    def scaled(x: Any) -> Any:
        return x * weight

    scaled.defvjp(lambda x: (x * weight, ()), lambda saved, g: (g * weight,))
    with pytest.raises(pb.errors.CaptureError):
        pb.function(lambda x: scaled(x))(pb.tensor(X))
