"""Forward mode in graphs: `jvp` of every operation on tensors of a graph, against the eager one."""

from __future__ import annotations

from typing import Any

from tests.graphs.laws import check_forward, rows_of
from tests.laws.cases import rows_among
from tests.table import Row


def cases(known: str, dtype: str) -> Any:
    chosen = [r for r in rows_of(known) if r.differentiable and dtype in r.dtypes]
    return rows_among(chosen)


@cases("shapes", "complex128")
def test_of_complex_numbers(row: Row) -> None:
    check_forward(row, "shapes", "complex128")


@cases("rank", "float64")
def test_with_unknown_lengths(row: Row) -> None:
    check_forward(row, "rank", "float64")
