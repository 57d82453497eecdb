"""Each hazard is caught by its law, and right rules pass them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.tools.check import check
from tests.tier import share
from tests.tools.check.entries import Planted
from tests.tools.check.planted_hazards import HAZARDS, RIGHT


def copied(example: Any) -> Any:
    """An example that a function may write into; a Python number stays one."""
    return example if isinstance(example, float) else np.array(example)


@pytest.mark.parametrize("planted", HAZARDS, ids=lambda p: p.id)
def test_a_hazard_is_caught_by_its_law(planted: Planted) -> None:
    report = check(planted.make(), *map(copied, planted.examples), **planted.options)
    assert {f.law for f in report.failures} & planted.laws, str(report)


@pytest.mark.parametrize("planted", share(RIGHT, 3), ids=lambda p: p.id)
def test_a_right_rule_passes(planted: Planted) -> None:
    report = check(planted.make(), *map(copied, planted.examples), **planted.options)
    assert report.ok, str(report)
