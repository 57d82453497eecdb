"""Functions along axis 0 or -1 of a tensor without axes, which PyTorch allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.torch as t
from tests.parts import need

CALLS = [
    "x.sum(0)", "x.mean(-1)", "x.mean(0, keepdim=True)", "x.prod(0)", "x.amax(0)", "x.amin(-1)",
    "x.max(0).values", "x.logsumexp(0)", "x.cumsum(0)", "x.var(0, unbiased=False)",
    "x.var(-1, unbiased=False, keepdim=True)", "x.std(0, correction=0)", "x.softmax(0)",
    "x.sort(0).values", "lib.var_mean(x, 0, correction=0)[1]",
    "lib.std_mean(x, -1, unbiased=False)[0]",
]


def gradient(lib: Any, call: str) -> tuple[tuple[int, ...], float]:
    x = lib.tensor(1.7, dtype=lib.float64, requires_grad=True)
    y = eval(call, {"x": x, "lib": lib})
    (y * y + x).backward()
    return tuple(y.shape), x.grad.item()


@pytest.mark.parametrize("call", CALLS)
def test_they_are_as_pytorch_has_them_also_in_traced_functions(call: str) -> None:
    shape, wanted = gradient(need("torch"), call)
    assert gradient(t, call)[0] == shape
    np.testing.assert_allclose(gradient(t, call)[1], wanted)
    f = pb.function(lambda x: eval(call, {"x": x, "lib": t}) ** 2 + x)
    np.testing.assert_allclose(pb.grad(f)(t.tensor(1.7, dtype=t.float64)).numpy(), wanted)
