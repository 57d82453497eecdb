"""The expressions of `names` in forward mode and under `vmap`."""

from __future__ import annotations

import numpy as np
import pytest

import pullback.torch as torch
from tests.tier import share

from .names import DIFFERENTIABLE

BY_VALUE = {
    e for e in DIFFERENTIABLE
    if any(n in e for n in ("x.mode", "cummax", "masked_scatter", "'amin'", "'amax'"))
}
"""Which entries these pick is found by values, one example after the other."""


@pytest.fixture(autouse=True)
def _wide():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def function_of(expression):
    return lambda *xs: eval(expression, {"t": torch, **dict(zip("xyz", xs, strict=False))})


def drawn(expression, rng, *lead):
    return [torch.tensor(rng.normal(size=(*lead, *s))) for s in DIFFERENTIABLE[expression]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", share([*DIFFERENTIABLE], 5))
def test_the_tangent_is_the_transpose_of_the_gradient(expression, rng):
    xs, ts, function = drawn(expression, rng), drawn(expression, rng), function_of(expression)
    value, tangent = torch.func.jvp(function, tuple(xs), tuple(ts))
    _, pull = torch.func.vjp(function, *xs)
    u = torch.tensor(rng.normal(size=tuple(value.shape)))
    back = sum(float((g * t).sum()) for g, t in zip(pull(u), ts, strict=True))
    assert float((tangent * u).sum()) == pytest.approx(back, rel=1e-7, abs=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", share([*DIFFERENTIABLE], 5))
def test_a_map_is_a_loop_or_refused(expression, rng):
    columns, function = drawn(expression, rng, 3), function_of(expression)
    if expression in BY_VALUE:
        with pytest.raises(RuntimeError, match="inside vmap"):
            torch.vmap(function)(*columns)
        return
    found = torch.vmap(function)(*columns)
    # Each example in memory of its own, which `as_strided` reads.
    rows = [function(*[c[i].clone() for c in columns]).numpy() for i in range(3)]
    np.testing.assert_allclose(found.numpy(), np.stack(rows), rtol=1e-7, atol=1e-9)
