"""Every operation in a graph: values, and derivatives of both orders, of the eager ones.

With known shapes each row runs in both precisions and on complex numbers; with unknown lengths in
double precision, real and complex; of unknown rank real, and there to the first order.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.graphs.laws import WITHOUT, check_row, rows_of
from tests.laws.cases import ROWS, rows_among
from tests.loops import each
from tests.table import Row
from tests.tier import share


def cases(known: str) -> Any:
    return rows_among(rows_of(known))


def few_cases(known: str) -> Any:
    """A rotating share in the quick tier: those of fewer known lengths nearly imply the law."""
    held = share(rows_of(known))
    return pytest.mark.parametrize("row", held, ids=[row.id for row in held])


@few_cases("shapes")
def test_with_known_shapes(row: Row) -> None:
    each(row.precise, lambda dtype: check_row(row, "shapes", dtype, 2))


@few_cases("shapes")
def test_in_single_precision(row: Row) -> None:
    check_row(row, "shapes", "float32", 1)


@cases("rank")
def test_with_unknown_lengths(row: Row) -> None:
    each(row.precise, lambda dtype: check_row(row, "rank", dtype, 2))


@few_cases("nothing")
def test_of_unknown_rank(row: Row) -> None:
    check_row(row, "nothing", "float64", 1)


@pytest.mark.parametrize("known", WITHOUT)
def test_what_is_left_out_is_there(known: str) -> None:
    for name, reason in WITHOUT[known].items():
        assert reason
        assert any(row.id.startswith(name) for row in ROWS), name
