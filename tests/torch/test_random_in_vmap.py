"""Every function of `pullback.torch` that draws random numbers, inside vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
import pullback.torch as torch

F = torch.nn.functional

DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: torch.rand(8),
    "randn": lambda: torch.randn(8),
    "rand_like": lambda: torch.rand_like(torch.ones(8)),
    "randn_like": lambda: torch.randn_like(torch.ones(8)),
    "randint": lambda: torch.randint(0, 99, (8,)),
    "randint_like": lambda: torch.randint_like(torch.ones(8), 99),
    "randperm": lambda: torch.randperm(16),
    "normal": lambda: torch.normal(torch.zeros(8), torch.ones(8)),
    "normal of a number": lambda: torch.normal(torch.zeros(8), 1.0),
    "bernoulli": lambda: torch.bernoulli(torch.full((40,), 0.5)),
    "poisson": lambda: torch.poisson(torch.full((8,), 9.0)),
    "binomial": lambda: torch.binomial(torch.full((8,), 50.0), torch.full((8,), 0.5)),
    "multinomial": lambda: torch.multinomial(torch.ones(20), 8),
    "multinomial with replacement": lambda: torch.multinomial(torch.ones(99), 8, replacement=True),
    "dropout": lambda: F.dropout(torch.ones(40)),
    "dropout1d": lambda: F.dropout1d(torch.ones(1, 40, 2)),
    "dropout2d": lambda: F.dropout2d(torch.ones(1, 40, 2, 2)),
    "dropout3d": lambda: F.dropout3d(torch.ones(1, 40, 2, 2, 2)),
    "alpha_dropout": lambda: F.alpha_dropout(torch.ones(40), training=True),
    "feature_alpha_dropout": lambda: F.feature_alpha_dropout(
        torch.ones(1, 40, 2, 2), training=True),
    "gumbel_softmax": lambda: F.gumbel_softmax(torch.ones(8)),
    "rrelu": lambda: F.rrelu(-torch.ones(8), training=True),
}


def drawn(name: str, randomness: str, **how: Any) -> Any:
    torch.manual_seed(7)
    f = torch.vmap(lambda x: DRAWS[name]() + 0 * x, randomness=randomness, **how)
    return f(torch.ones(4))


@pytest.mark.parametrize("name", DRAWS)
def test_draws_per_example_the_same_for_all_or_none(name: str) -> None:
    different, same = drawn(name, "different"), drawn(name, "same")
    assert not any(bool((different[0] == d).all()) for d in different[1:])
    assert all(bool((same[0] == s).all()) for s in same)
    assert different.shape == same.shape
    assert different.dtype == same.dtype
    with pytest.raises(pb.errors.BatchedValueError, match="error"):
        drawn(name, "error")


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_draws_for_all_chunks(name: str) -> None:
    same = drawn(name, "same", chunk_size=3)
    assert all(bool((same[0] == s).all()) for s in same)
    different = drawn(name, "different", chunk_size=2)
    assert not any(bool((different[0] == d).all()) for d in different[1:])
