"""Every function of the table in forward mode and under `vmap`, by itself and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

import pullback.torch as torch
from tests.torch.test_table import TABLE

F = torch.nn.functional

BY_VALUE = {"index_mask", "masked_select"}
"""Rows in which the shape of the result depends on values, so that no map can have them."""
WRITES = {"batch_norm"}
"""A row that writes what it computes to a tensor that is one for all; PyTorch refuses it too."""
MAPPED = [n for n in TABLE if n not in BY_VALUE | WRITES]


def drawn(name, rng, *lead):
    return [torch.tensor(rng.normal(size=(*lead, *s))) for s in TABLE[name][1]]


def call(name, *xs):
    return TABLE[name][0](torch, F, *xs)


@pytest.mark.parametrize("name", TABLE)
def test_the_tangent_is_the_transpose_of_the_gradient(name, rng):
    xs, ts = drawn(name, rng), drawn(name, rng)
    value, tangent = torch.func.jvp(lambda *xs: call(name, *xs), tuple(xs), tuple(ts))
    again, pull = torch.func.vjp(lambda *xs: call(name, *xs), *xs)
    assert isinstance(tangent, torch.Tensor)
    assert tangent.dtype == value.dtype
    np.testing.assert_array_equal(value.numpy(), again.numpy())
    u = torch.tensor(rng.normal(size=value.shape))
    back = sum(float((g * t).sum()) for g, t in zip(pull(u), ts, strict=True))
    close = {"rel": 1e-5} if name == "to_float" else {"rel": 1e-8, "abs": 1e-8}
    assert float((tangent * u).sum()) == pytest.approx(back, **close)


@pytest.mark.parametrize("name", MAPPED)
def test_a_map_is_a_loop(name, rng):
    columns = drawn(name, rng, 3)
    found = torch.vmap(lambda *xs: call(name, *xs))(*columns)
    expected = np.stack([call(name, *[c[i] for c in columns]).numpy() for i in range(3)])
    assert isinstance(found, torch.Tensor)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MAPPED)
def test_a_map_of_gradients_is_a_loop(name, rng):
    columns = drawn(name, rng, 3)
    weights = torch.tensor(rng.normal(size=call(name, *[c[0] for c in columns]).shape))
    places = tuple(range(len(columns)))
    slope = torch.func.grad(lambda *xs: (call(name, *xs) * weights).sum(), places)
    found = torch.vmap(slope)(*columns)
    rows = [slope(*[c[i] for c in columns]) for i in range(3)]
    close = {"rtol": 1e-5} if name == "to_float" else {"rtol": 1e-8, "atol": 1e-11}
    for g, each in zip(found, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(g.numpy(), np.stack([h.numpy() for h in each]), **close)


@pytest.mark.parametrize("name", sorted(BY_VALUE | WRITES))
def test_what_no_map_can_have_is_refused(name, rng):
    with pytest.raises(RuntimeError, match="inside vmap"):
        torch.vmap(lambda *xs: call(name, *xs))(*drawn(name, rng, 3))
