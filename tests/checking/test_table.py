"""Every operation passes the laws about numbers."""

from __future__ import annotations

import pytest

from pullback.checking import check
from pullback.checking.laws import LAWS
from tests.table import Row, all_rows

OURS = ("vjp", "jvp", "dot product", "linearity", "second order")
ROWS = [row for row in all_rows() if row.differentiable]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_operation_passes(row: Row) -> None:
    report = check(
        row.call, *row.draw(), order=2 if row.second else 1, rtol=1e-7,
        skip=[name for name in LAWS if name not in OURS], name=row.id,
    )
    assert report, str(report)
