"""The operation table on PyTorch's tensors, on the CPU."""

from __future__ import annotations

import pytest

from tests.arrays import laws
from tests.arrays.laws import Library, library_fixture, rows_of
from tests.laws.cases import ROWS
from tests.laws.test_batching import batched
from tests.loops import each
from tests.table import Row

pytestmark = pytest.mark.needs("torch")
library = library_fixture("torch")


def differentiable(row: Row) -> bool:
    return row.differentiable


@rows_of("torch")
def test_values(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_values(row, library, dtype))


@rows_of("torch", differentiable)
def test_pullbacks(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_pullback(row, library, dtype))


@rows_of("torch", differentiable)
def test_pushforwards(row: Row, library: Library) -> None:
    each(row.precise, lambda dtype: laws.check_pushforward(row, library, dtype))


@rows_of("torch", batched)
def test_vmap(row: Row, library: Library) -> None:
    laws.check_vmap(row, library)


def test_what_is_left_out_is_there(library: Library) -> None:
    assert set(library.without) <= {row.id for row in ROWS}
