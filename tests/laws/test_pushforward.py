"""Pushforwards: against differences and complex steps, linear, in every dtype, and transposed."""

from __future__ import annotations

import numpy as np

from pullback.core.op import OPS
from tests.laws.cases import NAMES, few_rows, rows
from tests.laws.checks import is_inexact
from tests.laws.forward_checks import (
    check_push_linear,
    check_pushforward,
    check_saves_nothing_more,
    check_transposed,
    pushed,
    tangents_of,
)
from tests.loops import each
from tests.table import Row


def differentiable(row: Row) -> bool:
    return row.differentiable


@rows(differentiable)
def test_against_central_differences(row: Row) -> None:
    check_pushforward(row.call, row.draw(salt=21), row.rng(121), row.reference)


@rows(lambda row: row.differentiable and row.complex)
def test_of_complex_numbers_against_central_differences(row: Row) -> None:
    check_pushforward(row.call, row.draw("complex128", 22), row.rng(122), row.reference)


@rows(lambda row: row.differentiable and row.analytic)
def test_against_complex_steps(row: Row) -> None:
    arrays = row.draw(salt=23)
    check_pushforward(row.call, arrays, row.rng(123), row.reference, rtol=1e-12, analytic=True)


@rows(lambda row: row.differentiable and row.broadcast)
def test_of_each_operand_stretched_in_turn(row: Row) -> None:
    for i in range(len(row.args)):
        for small, large in (((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((2, 1), (1, 3))):
            shapes = [small if j == i else large for j in range(len(row.args))]
            arrays = row.draw(salt=i, shapes=shapes)
            check_pushforward(row.call, arrays, row.rng(i), row.reference)


@rows(differentiable)
def test_live_in_the_space_of_their_output(row: Row) -> None:
    """In the narrow dtypes with the numbers of the wide ones, to their precision."""

    def law(dtype: str) -> None:
        arrays = row.draw(dtype)
        widest = {"f": "float64", "c": "complex128"}
        wide = [a.astype(widest.get(a.dtype.kind, a.dtype)) for a in arrays]
        tangents = tangents_of(arrays, row.rng(24))
        value, got = pushed(row.call, arrays, tangents)
        for k, (v, g, w) in enumerate(
            zip(value, got, pushed(row.call, wide, tangents)[1], strict=True)
        ):
            assert (g.shape, g.dtype) == (v.shape, v.dtype), f"output {k}: {g.dtype}{list(g.shape)}"
            scale = np.max(np.abs(w), initial=1) if is_inexact(w) else 1
            tolerance = row.float32_tolerance * scale
            np.testing.assert_allclose(g, w, rtol=0, atol=tolerance, err_msg=f"output {k}")

    each(row.dtypes, law)


@few_rows(differentiable)
def test_are_linear(row: Row) -> None:
    each(row.precise, lambda dtype: check_push_linear(row.call, row.draw(dtype, 25), row.rng(125)))


@rows(differentiable)
def test_are_the_transposes_of_the_pullbacks(row: Row) -> None:
    each(row.precise, lambda dtype: check_transposed(row.call, row.draw(dtype, 26), row.rng(126)))


def test_forward_mode_saves_nothing_more() -> None:
    each(NAMES, lambda name: check_saves_nothing_more(OPS[name].op))
