"""A gradient that is there, but lacks the part of a path that was cut, is not called fine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import explain

X = np.array([1.0, 2.0])


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of this file in which a text stands, in a function."""
    code = function.__code__
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(n for n in range(code.co_firstlineno, len(lines) + 1) if text in lines[n - 1])


def by_no_grad(x: Any) -> Any:
    with pb.no_grad():
        scale = pb.sum(x * x)  # cut
    return pb.sum(x**2) * scale


def by_detach(x: Any) -> Any:
    return pb.sum(x**2) * x.detach()[0]  # cut


def by_stop_gradient(x: Any) -> Any:
    scale = pb.stop_gradient(pb.exp(x))  # cut
    return pb.sum(x**2) * pb.sum(scale)


def by_a_new_tensor(x: Any) -> Any:
    scale = pb.tensor(pb.exp(x))  # cut
    return pb.sum(x**2) * pb.sum(scale)


def by_float(x: Any) -> Any:
    return pb.sum(x**2) + x[1] * float(x[0])  # cut


def by_item(x: Any) -> Any:
    return pb.sum(x**2) + x[1] * x[0].item()  # cut


def by_numpy(x: Any) -> Any:
    return pb.sum(x**2) + pb.sum(x * np.exp(x.numpy()))  # cut


def by_a_list(x: Any) -> Any:
    return pb.sum(x**2) + pb.sum(x * pb.tensor(x.tolist()))  # cut


SURE = [by_no_grad, by_detach, by_stop_gradient, by_a_new_tensor]
LEFT = [by_float, by_item, by_numpy, by_a_list]


@pytest.mark.parametrize("f", SURE, ids=lambda f: f.__name__)
def test_a_path_that_was_cut_is_named_with_its_line(f: Callable[..., Any]) -> None:
    line = line_of(f, "# cut")
    with pb.debug():
        x = pb.tensor(X, requires_grad=True)
        y = f(x)
        found = [explain(y, x), explain(f, X + 0.0)]
    for e in found:
        assert (e.gradient, e.cause, e.line) == ("fine", "partly lost", line), str(e)
        assert "part of the gradient is missing" in e.text
        assert e.fix
        assert any(p.cut for p in e.path)


@pytest.mark.parametrize("f", [*LEFT, by_detach], ids=lambda f: f.__name__)
def test_what_may_be_missing_is_said_without_a_journal(f: Callable[..., Any]) -> None:
    line = line_of(f, "# cut")
    x = pb.tensor(X, requires_grad=True)
    y = f(x)
    with pb.GradientTape(persistent=True) as tape:
        watched = pb.tensor(X)
        tape.watch(watched)
        z = f(watched)
    for e in (explain(y, x), explain(z, watched), explain(z, watched, tape=tape)):
        assert e.cause == "fine"
        assert f"test_partly_lost.py:{line}" in e.text, str(e)
        assert "if the target is computed from that too" in e.text


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_values_that_left_are_named_by_explain_of_a_function(f: Callable[..., Any]) -> None:
    e = explain(f, X)
    assert f"test_partly_lost.py:{line_of(f, '# cut')}" in e.text, str(e)


def test_nothing_is_said_of_what_has_no_part_in_the_target() -> None:
    def whole(x: Any) -> Any:
        mask = x > 1.5  # an operation without a derivative loses none
        y = pb.where(mask, x**2, x) * pb.exp(x)
        return pb.sum(y[pb.argmax(y)] + y)

    def straight(x: Any) -> Any:
        return pb.sum(pb.straight_through(pb.round)(x) * x)

    in_numpy = pb.custom_gradient(lambda x: (pb.tensor(np.exp(x.numpy())), lambda g: g * pb.exp(x)))
    for f in (whole, straight, lambda x: pb.sum(in_numpy(x) * x)):
        e = explain(f, X)
        assert e.cause == "fine"
        assert "missing" not in e.text, str(e)
    x = pb.tensor(X, requires_grad=True)
    y = whole(x)
    pb.tensor(X, requires_grad=True)[0].item()  # of another source
    with pb.debug():
        z = pb.sum(pb.tensor(X) * 3.0 + x)
    float(y)  # after the targets
    for target in (y, z):
        assert "missing" not in explain(target, x).text
