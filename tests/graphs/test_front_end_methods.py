"""Traced code keeps the methods of the tensors that it is called with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.tf as tf
import pullback.torch as torch
from pullback.graphs.tensor import symbolic_class

CALLS: dict[str, Any] = {
    "transpose": lambda x: (x.transpose(0, 1) * torch.tensor([[1.0], [2.0]])).sum(),
    "view": lambda x: x.view(-1).cumsum(0).sum(),
    "size": lambda x: x.sum() * x.size(0) + x.numel(),
    "in place": lambda x: (x * 1.0).mul_(x).sub_(x, alpha=0.5).sum(),
    "function": lambda x: torch.nn.functional.gelu(x).max(1).values.sum(),
}


@pytest.mark.parametrize("name", CALLS)
def test_methods_of_the_pytorch_front_end(name: str, rng: np.random.Generator) -> None:
    call = CALLS[name]
    x = torch.tensor(rng.standard_normal((3, 2)))
    traced = pb.function(call)
    assert type(traced(x)) is torch.Tensor
    np.testing.assert_allclose(traced(x).numpy(), call(x).numpy())
    np.testing.assert_allclose(pb.grad(traced)(x).numpy(), pb.grad(call)(x).numpy())
    nested = pb.function(lambda y: traced(y) * 2)
    np.testing.assert_allclose(pb.grad(nested)(x).numpy(), 2 * pb.grad(call)(x).numpy())


def test_one_function_for_tensors_of_several_front_ends() -> None:
    traced = pb.function(lambda x: x * x)
    for cls, x in ((pb.Tensor, pb.tensor(3.0)), (torch.Tensor, torch.tensor(3.0))):
        assert type(traced(x)) is cls
        assert type(traced(x)) is cls
    assert isinstance(traced(tf.constant(3.0)), tf.Tensor)
    assert traced.experimental_get_tracing_count() == 3
    assert symbolic_class(torch.Tensor) is symbolic_class(torch.Tensor)


def test_a_write_with_recording_off_changes_no_history(rng: np.random.Generator) -> None:
    """As in eager code: the values change, the gradient passes to what was there before."""
    def f(x: Any) -> Any:
        y = x * 3.0
        with pb.no_grad():
            y[...] = 0.3
            y[0] = x[1]
        return pb.sum(y * y + x)

    x = pb.tensor(rng.standard_normal(3))
    np.testing.assert_allclose(pb.grad(pb.function(f))(x).numpy(), pb.grad(f)(x).numpy())
