"""Forward and reverse mode are adjoint, and second order is the same in any order."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from tests.laws.cases import rows
from tests.laws.checks import random_like
from tests.laws.forward_checks import check_both_directions, check_orders_agree
from tests.laws.test_edges import EDGES
from tests.loops import each
from tests.table import Row


@rows(lambda row: row.differentiable)
def test_are_adjoint(row: Row) -> None:
    def law(dtype: str) -> None:
        check_both_directions(row.call, row.draw(dtype, 31), row.rng(131))

    each(row.precise, law)


@rows(lambda row: row.differentiable and row.second)
def test_of_second_order_agree(row: Row) -> None:
    each(row.precise, lambda dtype: check_orders_agree(row.call, row.draw(dtype, 32), row.rng(132)))


# At kinks, ties, zeros and infinities, where the answer was chosen ----------------------------


@pytest.mark.parametrize("name", EDGES)
def test_the_chosen_answer_is_that_of_forward_mode(name: str, rng: np.random.Generator) -> None:
    """⟨c, J t⟩ = ⟨Jᵀ c, t⟩ with the Jᵀ c that the table of edges names; rules do not warn."""
    edge = EDGES[name]
    arrays = [np.array(a, float) for a in edge.arrays]
    tangents = [random_like(a, rng) for a in arrays]
    with np.errstate(all="ignore"):
        along = pb.linearize(edge.call, *arrays)[1]
    ahead = along(*tangents).data
    cotangent = np.array(edge.cotangent, float)
    used = cotangent != 0  # an infinite slope that nothing weighs is infinite forward
    left = np.sum(cotangent[used] * ahead[used])
    right = sum(
        np.sum(np.array(w, float) * t) for w, t in zip(edge.wanted, tangents, strict=True)
    )
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)
    with np.errstate(all="ignore"):
        together = pb.jvp(edge.call, tuple(arrays), tuple(tangents))[1].data
    np.testing.assert_array_equal(together, ahead)


@pytest.mark.parametrize("name", EDGES)
def test_the_chosen_answer_is_that_of_each_example(name: str) -> None:
    edge = EDGES[name]
    arrays = [np.array(a, float) for a in edge.arrays]
    cotangent = np.array(edge.cotangent, float)

    def pulled(c: pb.Tensor, *xs: pb.Tensor) -> tuple[pb.Tensor, ...]:
        return tuple(pb.vjp(edge.call, *xs)[1](c))

    with np.errstate(all="ignore"):
        found = pb.vmap(pulled)(
            np.stack([cotangent, -cotangent]), *[np.stack([a, a]) for a in arrays]
        )
    for got, wanted in zip(found, edge.wanted, strict=True):
        w = np.array(wanted, float)
        np.testing.assert_allclose(got.data, np.stack([w, -w]), rtol=1e-13, atol=1e-13)
