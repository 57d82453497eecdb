"""The two tiers: which cases the quick run (`make test`) has, and which only the full one.

`make test` runs what finds nearly every mistake, in under two minutes; `make test-all` passes
`--full`, and runs everything. A test of the full tier alone is marked `@pytest.mark.full`; a table
of cases is thinned with `chosen` or `share`. Which mutants each tier finds is measured: see
`tests/mutation`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from datetime import date
from typing import TypeVar

T = TypeVar("T")

FULL = False
"""Whether this is the full run; set by `conftest.py` before the first test module is imported."""

PARTS = 10
"""The quick run takes the first case of each group, and of the others one in so many."""


def turn() -> int:
    """Which of the `PARTS` shares of the other cases this run takes; a new one each day.

    The number stands in the header of the run; `PULLBACK_TESTS_TURN=3` repeats share 3. It is put
    into the environment, so that all workers of a run take the same.
    """
    value = os.environ.setdefault("PULLBACK_TESTS_TURN", str(date.today().toordinal() % PARTS))
    return int(value) % PARTS


def examples(count: int) -> int:
    """How many examples Hypothesis draws: `count` in the full run, a fifth in the quick one."""
    return count if FULL else count // 5


def share(cases: Sequence[T], parts: int = PARTS) -> list[T]:
    """All cases in the full run; in the quick one a rotating share, one in `parts`."""
    if FULL:
        return list(cases)
    return [case for n, case in enumerate(cases) if n % parts == turn() % parts]


def chosen(cases: Sequence[T], group: Callable[[T], Hashable]) -> list[T]:
    """All cases in the full run; in the quick one, the first of each group and a rotating tenth."""
    if FULL:
        return list(cases)
    seen: set[Hashable] = set()
    kept, others = [], 0
    for case in cases:
        if group(case) not in seen:
            seen.add(group(case))
            kept.append(case)
            continue
        others += 1
        if others % PARTS == turn():
            kept.append(case)
    return kept
