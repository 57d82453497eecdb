"""Which rows each law runs over; a case that does not apply is left out, never skipped.

A law is a test with one case per row, which loops over the dtypes inside: a case costs pytest more
than most laws take. The quick tier has values and pullbacks of every row (`every_row`). Of the
other laws it has the first row of each operation and a rotating tenth of the others (`rows`), and
of laws that another one nearly implies a rotating tenth of all (`few_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pullback.core.op import OPS
from tests.table import Row, all_rows
from tests.tier import chosen, share

ROWS = all_rows()
NAMES = sorted(OPS)
"""The library's operations; tests may register others later."""


def _parametrised(found: Sequence[Row]) -> Any:
    return pytest.mark.parametrize("row", found, ids=[row.id for row in found])


def rows_among(some: Sequence[Row]) -> Any:
    """Parametrise a test by those of some rows that are in this tier."""
    return _parametrised(chosen(some, group=lambda row: row.name))


def every_row(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by all rows for which something holds, in both tiers."""
    return _parametrised([row for row in ROWS if where(row)])


def rows(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by the rows of this tier for which something holds."""
    return rows_among([row for row in ROWS if where(row)])


def few_rows(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by a rotating share of the rows for which something holds."""
    return _parametrised(share([row for row in ROWS if where(row)]))
