"""Pullbacks: against differences and complex steps, broadcast, in every dtype, alone and twice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.cases import rows, rows_and_dtypes
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
from tests.table import Row

SMALL_OPERANDS = [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((2, 1), (1, 3)), ((1,), (0, 1))]
"""Shapes of one operand and of the others, which stretch it."""


def differentiable(row: Row) -> bool:
    return row.differentiable


@rows(differentiable)
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


@rows_and_dtypes(differentiable)
def test_live_in_the_space_of_their_source(row: Row, dtype: str) -> None:
    """In the narrow dtypes with the numbers of the wide ones, to their precision."""
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


@rows(lambda row: row.differentiable and row.elementwise)
@pytest.mark.parametrize("shape", [(), (0, 2)], ids=str)
def test_of_no_axes_and_of_nothing(row: Row, shape: tuple[int, ...]) -> None:
    if row.empty or shape == ():
        arrays = row.draw(shapes=[shape] * len(row.args))
        check_pullback(row.call, arrays, row.rng(2), row.reference)


@rows(lambda row: row.differentiable and len(row.args) > 1)
def test_of_one_argument_alone(row: Row) -> None:
    check_alone(row.call, row.draw(), row.rng(3))


@rows_and_dtypes(differentiable)
def test_are_linear(row: Row, dtype: str) -> None:
    if dtype in ("float64", "complex128"):
        check_linear(row.call, row.draw(dtype), row.rng(4))


@rows(lambda row: row.differentiable and row.broadcast and len(row.args) == 2)
def test_of_one_array_given_twice(row: Row) -> None:
    x = row.draw()[0]
    if is_inexact(x) and row.args[1].dtype == "float":
        check_twice(row.call, x, row.rng(5))


@rows(differentiable)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_do_not_depend_on_the_layout(row: Row, layout: str) -> None:
    arrays = row.draw()
    cotangents = cotangents_of(row.call, arrays, row.rng(6))
    others = [LAYOUTS[layout](a) for a in arrays]
    turned = [None if c is None else LAYOUTS[layout](c) for c in cotangents]
    for got, wanted in zip(
        pulled(row.call, others, turned), pulled(row.call, arrays, cotangents), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-13)
