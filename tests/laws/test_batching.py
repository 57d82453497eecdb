"""Batching: every operation on all examples at once, differentiated inside and outside."""

from __future__ import annotations

import pytest

import pullback as pb
from pullback import errors
from pullback.core.op import OPS
from tests.laws.batch_checks import (
    check_batched,
    check_derivatives_of_batched,
    check_derivatives_per_example,
    check_few,
    check_nested,
    check_second_per_example,
)
from tests.laws.cases import NAMES, few_rows, rows
from tests.laws.checks import Arrays
from tests.loops import each, none_of
from tests.table import Row

RAGGED = {
    "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values", "repeat[counts]",
}
"""Operations and rows the shape of whose results depends on the values: no batch can hold them."""


def batched(row: Row) -> bool:
    return row.name not in RAGGED and row.id not in RAGGED


def differentiable(row: Row) -> bool:
    return row.differentiable and batched(row)


def examples(row: Row, count: int, dtype: str = "float64", salt: int = 40) -> list[Arrays]:
    return [row.draw(dtype, salt + k) for k in range(count)]


@pytest.fixture(autouse=True)
def _every_loop_warns() -> None:
    """An operation says only once that it loops; here, each time, and a warning is an error."""
    for function in OPS.values():
        function.op.looped = False  # type: ignore[attr-defined]


def test_every_operation_has_a_batching_rule() -> None:
    def looped(name: str) -> bool:
        """Whether it would run once per example."""
        made = OPS[name].op  # type: ignore[attr-defined]
        own_kernels = name in ("hide_axis", "show_axis")
        general = made.elementwise or made.shape == "reduced"
        return not (made.batch is not None or general or own_kernels)

    none_of(NAMES, looped, str)


@rows(batched)
def test_against_a_loop(row: Row) -> None:
    each(row.precise, lambda dtype: check_batched(row.call, examples(row, 3, dtype)))


@few_rows(batched)
def test_against_a_loop_in_single_precision(row: Row) -> None:
    def law(dtype: str) -> None:
        check_batched(row.call, examples(row, 2, dtype), row.float32_tolerance)

    each([dtype for dtype in row.dtypes if dtype not in row.precise], law)


@few_rows(batched)
def test_of_one_and_of_none(row: Row) -> None:
    check_few(row.call, examples(row, 1))


@few_rows(batched)
def test_nested(row: Row) -> None:
    check_nested(row.call, examples(row, 4))


@rows(lambda row: batched(row) and row.broadcast)
def test_of_operands_of_other_ranks(row: Row) -> None:
    for i in range(len(row.args)):
        for small, large in (((3,), (2, 3)), ((), (3,)), ((2, 1), (1, 3))):
            shapes = [small if j == i else large for j in range(len(row.args))]
            check_batched(row.call, [row.draw(salt=k, shapes=shapes) for k in range(2)])


@rows(differentiable)
def test_derivatives_per_example(row: Row) -> None:
    def law(dtype: str) -> None:
        check_derivatives_per_example(row.call, examples(row, 2, dtype), row.rng(41))

    each(row.precise, law)


@rows(differentiable)
def test_derivatives_of_batched(row: Row) -> None:
    def law(dtype: str) -> None:
        check_derivatives_of_batched(row.call, examples(row, 2, dtype), row.rng(42))

    each(row.precise, law)


@rows(lambda row: differentiable(row) and row.second)
def test_second_order_per_example(row: Row) -> None:
    check_second_per_example(row.call, examples(row, 2), row.rng(43))


@rows(lambda row: not batched(row))
def test_where_the_shape_depends_on_values_there_is_an_error(row: Row) -> None:
    with pytest.raises(errors.BatchedValueError, match=row.name.partition("_")[0]):
        pb.vmap(row.call)(*row.draw())
