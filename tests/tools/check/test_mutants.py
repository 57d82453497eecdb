"""No law is idle: each finds a wrong rule by itself, and finds nothing in the right one."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.tools.check import Report, check
from pullback.tools.check.laws import LAWS
from pullback.tools.check.mistakes import FOLLOW, ORDER
from tests.tools.check.entries import Planted
from tests.tools.check.mutants import MUTANTS


def alone(planted: Planted) -> Report:
    """What the planted bug's law says, with all others left out."""
    left_out = [name for name in LAWS if name not in planted.laws]
    examples = [np.array(e) for e in planted.examples]
    return check(planted.make(), *examples, skip=left_out, **planted.options)


@pytest.mark.parametrize("planted", MUTANTS, ids=lambda p: f"{min(p.laws)}: {p.id}")
def test_a_law_finds_its_mutant_alone(planted: Planted) -> None:
    report = alone(planted)
    assert {f.law for f in report.failures} == planted.laws, str(report)


def test_every_law_has_a_mutant() -> None:
    assert {law for planted in MUTANTS for law in planted.laws} == set(LAWS)


def test_every_law_has_its_place_in_the_report() -> None:
    assert set(ORDER) == set(LAWS)
    assert set(FOLLOW) <= set(LAWS)
    assert all(laws <= set(LAWS) for laws in FOLLOW.values())


def test_every_law_is_in_the_page() -> None:
    from tests.house.sources import ROOT

    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert [name for name in LAWS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("law", LAWS)
def test_a_law_finds_nothing_in_a_right_rule(law: str) -> None:
    @pb.custom_gradient
    def product(x: object, y: object) -> object:
        return x * y, lambda g: (g * y, g * x)  # type: ignore[operator]

    skip = [name for name in LAWS if name != law]
    assert check(product, np.array([0.5, -2.0]), np.array([1.5, 3.0]), skip=skip)
