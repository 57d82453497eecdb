"""Where a path was cut, `check` names the line, and blames no rule unless there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import check
from tests.tools.explain.test_partly_lost import LEFT, SURE, X, by_a_new_tensor, line_of

REFUSED = [*LEFT, by_a_new_tensor]
"""What leaves the library in a function that is differentiated is an error there."""


@pytest.mark.parametrize("f", [f for f in SURE if f not in REFUSED], ids=lambda f: f.__name__)
def test_a_cut_path_is_named_with_its_line(f: Callable[..., Any]) -> None:
    report = check(f, X)
    first = report.failures[0]
    assert f"test_partly_lost.py:{line_of(f, '# cut')}" in first.fix, str(report)
    assert "surrogate" in first.fix
    assert "correct the rule" not in str(report)


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_leaves_the_library_is_to_be_computed_inside(f: Callable[..., Any]) -> None:
    first = check(f, X).failures[0]
    assert f"test_partly_lost.py:{line_of(f, '# cut')}" in first.got
    assert "x.detach() for a constant" in first.fix


def test_without_a_rule_by_hand_no_rule_is_to_be_corrected() -> None:
    def written(x: Any) -> Any:
        y = x * 1.0
        y.data[0] = np.sin(y.data[1]) * 2  # a raw array: no check sees it
        return y * y

    report = check(written, X)
    assert report.failures
    assert "correct the rule" not in str(report)
    assert "x.data" in report.failures[0].fix


def test_a_rule_by_hand_is_still_to_be_corrected() -> None:
    wrong = pb.custom_gradient(lambda x: (x**3, lambda g: g * x))
    assert "correct the rule" in check(wrong, X).failures[0].fix
