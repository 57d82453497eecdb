"""The operation table on the stand-in for CuPy: what the adapter does itself, without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pullback.errors import PullbackError
from tests.arrays import laws
from tests.arrays.laws import LIBRARIES, Library, rows_of
from tests.arrays.stand_in import standing_in
from tests.laws.cases import ROWS
from tests.laws.test_batching import batched
from tests.loops import each
from tests.table import Row

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    with standing_in():
        yield replace(LIBRARIES["cupy"], tolerance=1e-11)


def differentiable(row: Row) -> bool:
    return row.differentiable


@rows_of("cupy")
def test_values(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_values(row, library, dtype))


@rows_of("cupy", lambda row: "float32" in row.dtypes)
def test_values_in_single_precision(row: Row, library: Library) -> None:
    laws.check_single(row, library)


@rows_of("cupy", differentiable)
def test_pullbacks(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_pullback(row, library, dtype))


@rows_of("cupy", differentiable)
def test_pushforwards(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_pushforward(row, library, dtype))


@rows_of("cupy", batched)
def test_vmap(row: Row, library: Library) -> None:
    laws.check_vmap(row, library)


LEFT_OUT = [row for row in ROWS if row.id in LIBRARIES["cupy"].without]


def test_what_is_left_out_is_there() -> None:
    assert {row.id for row in LEFT_OUT} == set(LIBRARIES["cupy"].without)


@pytest.mark.parametrize("row", LEFT_OUT, ids=[row.id for row in LEFT_OUT])
def test_what_is_left_out_is_refused_by_name(row: Row, library: Library) -> None:
    with pytest.raises(PullbackError, match=r"(?s)`(betainc|gammainc|[ijky]v|.ve|spher).*like="):
        laws.check_pullback(row, library, "float64")
