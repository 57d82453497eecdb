"""bfloat16 in the door: PyTorch's dtypes, and its values in float64 as far as eight bits go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback.torch as ours

pytest.importorskip("ml_dtypes")
theirs = pytest.importorskip("torch")

ROUNDED = np.arange(-8, 16, 2).reshape(3, 4) / 16
"""Numbers that bfloat16 has, so that what is rounded is what is computed of them."""
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "numbers": lambda t, x: (2 * x * x / 3 - 0.5).sum(),
    "integers beside it": lambda t, x: (x * t.arange(4)).sum(),
    "float32 beside it": lambda t, x: (x * t.full((4,), 1.5)).sum(),
    "float64 beside it": lambda t, x: (x * t.ones(4, dtype=t.float64)).sum(),
    "float32 without axes": lambda t, x: (x * t.tensor(1.5)).sum(),
    "where": lambda t, x: t.where(x > 0, x, x * 0.25).sum(),
    "clamp": lambda t, x: (x.clamp(-0.5, 0.5) * x).sum(),
    "matmul": lambda t, x: (x @ x.T).sum(),
    "softmax": lambda t, x: (t.softmax(x, dim=1) * x).sum(),
    "layer_norm": lambda t, x: (t.nn.functional.layer_norm(x, (4,)) * x).sum(),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([0, 1, 2])),
    "gelu": lambda t, x: t.nn.functional.gelu(x).mean(),
    "to float": lambda t, x: (x.float() ** 2).sum(),
    "sum in float32": lambda t, x: (x * 3).sum(dtype=t.float32),
    "nan_to_num": lambda t, x: t.nan_to_num(t.where(x > 0.5, x * float("nan"), x), nan=3.0).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_as_in_pytorch(name: str) -> None:
    found = []
    for t, dtype in ((theirs, "float64"), (theirs, "bfloat16"), (ours, "bfloat16")):
        x = t.tensor(ROUNDED.tolist(), dtype=getattr(t, dtype)).requires_grad_()
        y = PROGRAMS[name](t, x)
        y.backward(t.tensor(1.25, dtype=y.dtype))
        assert x.grad.dtype == x.dtype
        found.append((str(y.dtype).rpartition(".")[2], float(y.detach()), x.grad.double().numpy()))
    assert found[2][0] == found[1][0]
    assert found[2][1] == pytest.approx(found[0][1], rel=2e-2, abs=2e-2)
    np.testing.assert_allclose(found[2][2], found[0][2], rtol=2e-2, atol=2e-2)


def test_names() -> None:
    x = ours.tensor([1.5, 2.0]).bfloat16()
    assert x.dtype == ours.bfloat16
    assert x.bfloat16() is x
    assert x.type() == "torch.BFloat16Tensor"
    assert x.is_floating_point()
    assert x.is_signed()
    assert repr(x) == "tensor([1.5000, 2.0000], dtype=bfloat16)"
    assert float(ours.finfo(ours.bfloat16).eps) == theirs.finfo(theirs.bfloat16).eps
    assert ours.finfo().eps == theirs.finfo().eps
    assert ours.promote_types(ours.bfloat16, ours.float16) == ours.float32
    assert ours.can_cast(ours.bfloat16, ours.complex64)
    assert not ours.can_cast(ours.bfloat16, ours.int32)


def test_a_module_in_bfloat16() -> None:
    layer = ours.nn.Linear(3, 2).bfloat16()
    assert layer(ours.ones(1, 3, dtype=ours.bfloat16)).dtype == ours.bfloat16
    assert {p.dtype for p in layer.to(ours.float32).to(ours.bfloat16).parameters()} == {
        ours.bfloat16}


def test_a_default_dtype() -> None:
    ours.set_default_dtype(ours.bfloat16)
    try:
        assert ours.tensor([1.0]).dtype == ours.bfloat16
    finally:
        ours.set_default_dtype(ours.float32)
