"""Which rows each law runs over; a case that does not apply is left out, never skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.table import Row, all_rows

ROWS = all_rows()


def rows(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by the rows for which something holds."""
    chosen = [row for row in ROWS if where(row)]
    return pytest.mark.parametrize("row", chosen, ids=[row.id for row in chosen])


def rows_and_dtypes(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by the rows and each dtype that a row runs in."""
    cases: Iterable[tuple[Row, str]] = [(r, d) for r in ROWS if where(r) for d in r.dtypes]
    return pytest.mark.parametrize(
        ("row", "dtype"), cases, ids=[f"{row.id}-{dtype}" for row, dtype in cases]
    )
