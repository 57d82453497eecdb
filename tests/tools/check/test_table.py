"""Every operation of the table passes every law."""

from __future__ import annotations

import pytest

from pullback.tools.check import check
from tests.table import Row, all_rows

ROWS = [row for row in all_rows() if row.differentiable]
_INFINITE = "matrices with an infinite entry: singular values do not exist, gradients are NaN"
_FITTED = "an attribute says the shape, which other lengths do not fit; it is not looked at"
REASONS: dict[str, dict[str, str]] = {
    "convolution_weight_adjoint": {"lengths": _FITTED},
    "max_pool_scatter": {"lengths": _FITTED},
    "sum_pool_adjoint": {"lengths": _FITTED},
    "expm": {"edges": _INFINITE},
    "show_axis": {"dtypes": "a gradient with a hidden axis, which is inside vmap only"},
}
"""Operation or row -> the laws that do not hold of it, and why."""


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_operation_passes(row: Row) -> None:
    report = check(
        row.call, *row.draw(), order=2 if row.second else 1, rtol=1e-7,
        skip={**REASONS.get(row.name, {}), **REASONS.get(row.id, {})}, name=row.id,
    )
    assert report, str(report)


def test_reasons_are_of_operations_that_are_there() -> None:
    assert set(REASONS) <= {name for row in ROWS for name in (row.name, row.id)}
