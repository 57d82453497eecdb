"""Each of the thirteen planted bugs is found, and by the right law; what is no bug raises no alarm.
"""

from __future__ import annotations

import pytest

from pullback.tools.check import Report, check
from pullback.tools.check.laws import LAWS
from pullback.tools.check.mistakes import mistakes
from tests.tier import chosen, share
from tests.tools.check.entries import Planted
from tests.tools.check.harmless import HARMLESS
from tests.tools.check.planted import BUGS, KINDS


def checked(planted: Planted) -> Report:
    return check(planted.make(), *planted.examples, **planted.options)


def test_there_are_thirteen_kinds() -> None:
    assert len(KINDS) == 13
    assert all(planted.laws and planted.laws <= set(LAWS) for planted in BUGS)
    assert not any(planted.laws for planted in HARMLESS)


@pytest.mark.parametrize("planted", chosen(BUGS, lambda p: p.kind), ids=lambda p: p.id)
def test_a_bug_is_found_by_the_right_law(planted: Planted) -> None:
    report = checked(planted)
    assert {f.law for f in report.failures} & planted.laws, str(report)
    # The report leads with a law that knows the bug, or with `vjp`, which shows the numbers.
    leading = [m.leading.law for m in mistakes(report.failures)]
    assert leading[0] in planted.laws | {"vjp"}
    assert len(leading) <= 2


@pytest.mark.parametrize("planted", share(HARMLESS, 4), ids=lambda p: p.id)
def test_what_is_no_bug_raises_no_alarm(planted: Planted) -> None:
    report = checked(planted)
    assert report.ok, str(report)
