"""Which rows each law runs over; a case that does not apply is left out, never skipped.

A law is a test with one case per row, which loops over the dtypes inside: a case costs pytest more
than most laws take. Values and pullbacks of every row are in both tiers (`every_row`); the other
laws take, in the quick tier, the first row of each operation and a rotating tenth of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.table import Row, all_rows
from tests.tier import chosen

ROWS = all_rows()


def _parametrised(found: Sequence[Row]) -> Any:
    return pytest.mark.parametrize("row", found, ids=[row.id for row in found])


def every_row(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by all rows for which something holds, in both tiers."""
    return _parametrised([row for row in ROWS if where(row)])


def rows(where: Callable[[Row], bool] = lambda row: True) -> Any:
    """Parametrise a test by the rows of this tier for which something holds."""
    return _parametrised(chosen([row for row in ROWS if where(row)], group=lambda row: row.name))
