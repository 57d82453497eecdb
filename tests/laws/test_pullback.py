"""Pullbacks: against differences and complex steps, broadcast, in every dtype, alone and twice."""

from __future__ import annotations

import numpy as np

from tests.laws.cases import every_row, few_rows, rows
from tests.laws.checks import (
    check_alone,
    check_linear,
    check_pullback,
    check_space,
    check_twice,
    cotangents_of,
    is_inexact,
    pulled,
)
from tests.laws.test_values import LAYOUTS
from tests.loops import each, noted
from tests.table import Row

SMALL_OPERANDS = [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((2, 1), (1, 3)), ((1,), (0, 1))]
"""Shapes of one operand and of the others, which stretch it."""


def differentiable(row: Row) -> bool:
    return row.differentiable


@every_row(differentiable)
def test_against_central_differences(row: Row) -> None:
    for salt in range(3):
        check_pullback(row.call, row.draw(salt=salt), row.rng(salt + 100), row.reference)


@rows(lambda row: row.differentiable and row.complex)
def test_of_complex_numbers_against_central_differences(row: Row) -> None:
    for salt in range(2):
        arrays = row.draw("complex128", salt)
        check_pullback(row.call, arrays, row.rng(salt + 100), row.reference)


@rows(lambda row: row.differentiable and row.analytic)
def test_against_complex_steps(row: Row) -> None:
    arrays = row.draw(salt=7)
    check_pullback(row.call, arrays, row.rng(7), row.reference, rtol=1e-12, analytic=True)


@rows(lambda row: row.differentiable and row.broadcast)
def test_of_each_operand_stretched_in_turn(row: Row) -> None:
    for i in range(len(row.args)):
        for small, large in SMALL_OPERANDS:
            if not row.empty and 0 in large:
                continue
            shapes = [small if j == i else large for j in range(len(row.args))]
            arrays = row.draw(salt=i, shapes=shapes)
            check_pullback(row.call, arrays, row.rng(i), row.reference)


@rows(differentiable)
def test_live_in_the_space_of_their_source(row: Row) -> None:
    """In the narrow dtypes with the numbers of the wide ones, to their precision."""

    def law(dtype: str) -> None:
        arrays = row.draw(dtype)
        widest = {"f": "float64", "c": "complex128"}
        wide = [a.astype(widest.get(a.dtype.kind, a.dtype)) for a in arrays]
        cotangents = cotangents_of(row.call, arrays, row.rng(1))
        tracked = [i for i, a in enumerate(arrays) if is_inexact(a)]
        got = pulled(row.call, arrays, cotangents, tracked)
        check_space(arrays, tracked, got)
        for i, g, w in zip(tracked, got, pulled(row.call, wide, cotangents, tracked), strict=True):
            tolerance = row.float32_tolerance * max(1.0, np.max(np.abs(w), initial=0))
            np.testing.assert_allclose(g, w, rtol=0, atol=tolerance, err_msg=f"argument {i}")

    each(row.dtypes, law)


@rows(lambda row: row.differentiable and row.elementwise)
def test_of_no_axes_and_of_nothing(row: Row) -> None:
    def law(shape: tuple[int, ...]) -> None:
        arrays = row.draw(shapes=[shape] * len(row.args))
        check_pullback(row.call, arrays, row.rng(2), row.reference)

    each([(), (0, 2)] if row.empty else [()], law)


@rows(lambda row: row.differentiable and len(row.args) > 1)
def test_of_one_argument_alone(row: Row) -> None:
    check_alone(row.call, row.draw(), row.rng(3))


@rows(differentiable)
def test_are_linear(row: Row) -> None:
    each(row.precise, lambda dtype: check_linear(row.call, row.draw(dtype), row.rng(4)))


def of_two_alike(row: Row) -> bool:
    """Whether both arguments may be the same array of floating-point numbers."""
    return row.differentiable and row.broadcast and [s.dtype for s in row.args] == ["float"] * 2


@rows(of_two_alike)
def test_of_one_array_given_twice(row: Row) -> None:
    check_twice(row.call, row.draw()[0], row.rng(5))


@few_rows(differentiable)
def test_do_not_depend_on_the_layout(row: Row) -> None:
    arrays = row.draw()
    cotangents = cotangents_of(row.call, arrays, row.rng(6))
    wanted = pulled(row.call, arrays, cotangents)
    for layout, laid in LAYOUTS.items():
        turned = [None if c is None else laid(c) for c in cotangents]
        with noted(layout):
            for g, w in zip(pulled(row.call, [*map(laid, arrays)], turned), wanted, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)
