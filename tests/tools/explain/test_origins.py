"""Numbers that are not finite are followed back to the operation that made them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import pullback as pb
from pullback.tools.explain import Explanation, explain
from pullback.tools.explain.script import explain_script, shown
from tests.tools.explain.test_causes import silent, two


def of(f: Callable[[Any], Any], *values: float) -> Explanation:
    """The explanation of the sum of a function's outputs."""
    x = two(*values)
    with silent():
        return explain(pb.sum(f(x)), x)


OVERFLOWS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...], str]] = {
    "a quotient of zero": (lambda x: 1 / (1 + pb.exp(x)), (800.0, 1.0), "exp"),
    "two steps before a sigmoid": (lambda x: pb.sigmoid(pb.exp(pb.exp(x))), (9.0, 8.0), "exp"),
    "saturated at infinity": (lambda x: pb.tanh(x * x), (1e200, 2e200), "multiply"),
    "divided by infinity": (lambda x: x / (x * x), (1e200, 2e200), "multiply"),
    "infinity minus infinity": (lambda x: pb.exp(x) - pb.exp(x), (1000.0, 1.0), "exp"),
    "infinity times zero": (lambda x: pb.exp(x) * 0.0, (1000.0, 1.0), "exp"),
}


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("name", OVERFLOWS)
def test_an_overflow_is_found_on_the_way_to_a_finite_target(name: str, debug: bool) -> None:
    f, values, operation = OVERFLOWS[name]
    with pb.debug() if debug else contextlib.nullcontext():
        found = of(f, *values)
    assert (found.cause, found.operation) == ("overflow", operation), str(found)
    assert "The forward pass was finite" not in found.text


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_a_nan_that_where_did_not_select_is_not_blamed(debug: bool) -> None:
    with pb.debug() if debug else contextlib.nullcontext():
        def masked(x: Any) -> Any:
            harmless = pb.sum(pb.where(x > 0, pb.log(pb.stop_gradient(x)), 0.0))
            return harmless * pb.sqrt(pb.sum(x - 3.0))

        found = of(masked, -1.0, 4.0)
    assert (found.cause, found.operation) == ("domain", "sqrt"), str(found)


@pytest.mark.parametrize("name", ["acos", "asin", "atanh", "acosh"])
def test_a_slope_is_infinite_at_the_end_of_the_domain(name: str) -> None:
    found = of(getattr(pb, name), 1.0, 1.0)
    assert (found.gradient, found.cause, found.operation) == ("inf", "bound", name), str(found)


@pytest.mark.parametrize("wrap", [pb.function, pb.checkpoint], ids=["function", "checkpoint"])
@pytest.mark.parametrize("f", [
    lambda x: pb.relu(-x * x), lambda x: pb.round(x) * 2.0, lambda x: pb.sqrt(x - x),
    lambda x: pb.where(x > 0, pb.stop_gradient(x), 0.0 * x),
])
def test_a_traced_function_is_not_called_a_custom_gradient(wrap: Any, f: Any) -> None:
    found = of(wrap(f), 1.0, 2.0)
    assert found.cause == "inside", str(found)
    assert "custom gradient" not in str(found)


def test_a_target_that_is_not_finite_is_stated_also_if_the_gradient_is() -> None:
    found = of(lambda x: x * 2.0 + float("nan"), 1.0, 2.0)
    assert (found.gradient, found.cause) == ("fine", "not finite"), str(found)
    assert "The target is not finite" in found.text


SCRIPTS: dict[str, tuple[str, str, str]] = {
    "a new tensor for a parameter of an optimizer": ("""
import pullback.torch as torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True), w], lr=0.1)
first, w = optimizer.param_groups[0]["params"][0], torch.ones(3, requires_grad=True)
for _ in range(2):
    (first.sum() * w).sum().backward()
    optimizer.step()
""", "unused", "Parameter 1 of the SGD, of shape (3,)"),
    "a target that is NaN": ("""
import pullback as pb
x = pb.tensor([1.0, 2.0], requires_grad=True)
y = pb.sum(x * 2) + pb.log(pb.tensor(-1.0))
y.backward()
""", "domain", "The target is not finite, although the gradient is."),
    "the gradient of a result": ("""
import pullback as pb
x = pb.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
pb.sum(h * h).backward()
print(h.grad * 2)
""", "result", "`h` is a result of `multiply`"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_explained_once(name: str, tmp_path: Path) -> None:
    text, cause, words = SCRIPTS[name]
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    with numpy.errstate(all="ignore"):
        found, ended = explain_script(str(path))
    assert [a.explanation.cause for a in found] == [cause], shown(found, ended)
    assert words in found[0].explanation.text
