"""Clipping of lists of gradients, and of `grad`."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback import optim
from pullback.errors import ArgumentError, DtypeError


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("limit", [0.7, 50.0])
def test_by_global_norm(limit, dtype, rng):
    grads = [rng.normal(size=s).astype(dtype) for s in [(3, 2), (), (4,)]]
    if dtype == "complex128":
        grads = [g + 1j * rng.normal(size=g.shape) for g in grads]
    norm = np.sqrt(sum(np.sum(np.abs(g) ** 2) for g in grads))
    clipped, found = optim.clip_by_global_norm([*map(pb.tensor, grads), None], limit)
    assert clipped.pop() is None
    np.testing.assert_allclose(found.item(), norm, rtol=1e-13)
    for c, g in zip(clipped, grads, strict=True):
        np.testing.assert_allclose(c.numpy(), g * min(1.0, limit / norm), rtol=1e-13)


def test_by_global_norm_of_nothing():
    assert optim.clip_by_global_norm([None], 1.0) == ([None], 0.0)
    clipped, norm = optim.clip_by_global_norm([np.zeros(2)], 1.0)
    assert (clipped[0].tolist(), norm) == ([0.0, 0.0], 0.0)


def test_by_global_norm_is_differentiable(rng):
    x = pb.tensor(rng.normal(size=3), requires_grad=True)
    (clipped,), _ = optim.clip_by_global_norm([x * 100.0], 2.0)
    pb.sum(clipped * pb.tensor([1.0, 2.0, 3.0])).backward()
    norm, w = np.linalg.norm(x.numpy()), np.array([1.0, 2.0, 3.0])
    unit = x.numpy() / norm
    np.testing.assert_allclose(x.grad.numpy(), 2 * (w - unit * (unit @ w)) / norm, rtol=1e-12)


def test_by_value(rng):
    grads = [rng.normal(size=(3, 2)), None]
    clipped = optim.clip_by_value(grads, -0.5, 0.25)
    np.testing.assert_array_equal(clipped[0], np.clip(grads[0], -0.5, 0.25))
    assert clipped[1] is None


def test_clip_grad_replaces_and_does_not_scale_a_shared_gradient_twice():
    x, y = (pb.tensor([3.0], requires_grad=True) for _ in range(2))
    shared = pb.tensor([4.0])
    x.grad = y.grad = shared
    norm = optim.clip_grad_norm_([x, y], 1.0)
    assert norm.item() == pytest.approx(np.sqrt(32))
    assert x.grad.item() == pytest.approx(1 / np.sqrt(2), rel=1e-5)
    assert y.grad.item() == x.grad.item()
    assert shared.item() == 4.0


def test_clip_grad_without_gradients():
    x = pb.tensor([3.0], requires_grad=True)
    assert optim.clip_grad_norm_(x, 1.0).item() == 0.0
    optim.clip_grad_value_([x], 1.0)
    assert x.grad is None


def test_clip_grad_value():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.sum(x * pb.tensor([5.0, -0.5])).backward()
    optim.clip_grad_value_(x, 1.0)
    assert x.grad.tolist() == [1.0, -0.5]


def test_misuse():
    with pytest.raises(ArgumentError, match="`norm`"):
        optim.clip_by_global_norm([np.ones(2)], 0.0)
    with pytest.raises(ArgumentError, match="low ≤ high"):
        optim.clip_by_value([np.ones(2)], 1.0, -1.0)
    with pytest.raises(DtypeError, match="complex"):
        optim.clip_by_value([np.ones(2) * 1j], -1.0, 1.0)
    with pytest.raises(ArgumentError, match="norm_type"):
        optim.clip_grad_norm_([], 1.0, 0.0)
