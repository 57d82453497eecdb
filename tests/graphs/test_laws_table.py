"""Every operation in a graph: values, and derivatives of both orders, of the eager ones.

With known shapes each row runs in both precisions and on complex numbers; with unknown lengths in
double precision, real and complex; of unknown rank real, and there to the first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.graphs.laws import WITHOUT, check_row, rows_of
from tests.laws.cases import ROWS
from tests.table import Row


def cases(known: str, dtypes: Sequence[str]) -> Any:
    chosen = [(r, d) for r in rows_of(known) for d in r.dtypes if d in dtypes]
    return pytest.mark.parametrize(
        ("row", "dtype"), chosen, ids=[f"{row.id}-{dtype}" for row, dtype in chosen]
    )


@cases("shapes", ("float64", "complex128"))
def test_with_known_shapes(row: Row, dtype: str) -> None:
    check_row(row, "shapes", dtype, 2)


@cases("shapes", ("float32",))
def test_in_single_precision(row: Row, dtype: str) -> None:
    check_row(row, "shapes", dtype, 1)


@cases("rank", ("float64", "complex128"))
def test_with_unknown_lengths(row: Row, dtype: str) -> None:
    check_row(row, "rank", dtype, 2)


@cases("nothing", ("float64",))
def test_of_unknown_rank(row: Row, dtype: str) -> None:
    check_row(row, "nothing", dtype, 1)


@pytest.mark.parametrize("known", WITHOUT)
def test_what_is_left_out_is_there(known: str) -> None:
    for name, reason in WITHOUT[known].items():
        assert reason
        assert any(row.id.startswith(name) for row in ROWS), name
