"""Second order: the gradient of a gradient, in the arguments and in the cotangent."""

from __future__ import annotations

from tests.laws.cases import rows
from tests.laws.checks import check_second
from tests.table import Row


@rows(lambda row: row.differentiable and row.second)
def test_against_differences_of_the_first(row: Row) -> None:
    check_second(row.call, row.draw(salt=11), row.rng(11))


@rows(lambda row: row.differentiable and row.second and row.complex)
def test_of_complex_numbers(row: Row) -> None:
    check_second(row.call, row.draw("complex128", 12), row.rng(12))


@rows(lambda row: row.differentiable and row.second and row.broadcast)
def test_of_a_stretched_operand(row: Row) -> None:
    for i in range(len(row.args)):
        shapes = [(3,) if j == i else (2, 1) for j in range(len(row.args))]
        check_second(row.call, row.draw(salt=i, shapes=shapes), row.rng(i))
