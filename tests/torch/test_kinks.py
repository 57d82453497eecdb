"""Gradients where a function has no derivative, or several, are PyTorch's conventions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")

INF, NAN = float("inf"), float("nan")

KINKS = {
    # expression in x: values of x
    "x.relu()": [-1.0, 0.0, 1.0],
    "x.abs()": [-1.0, 0.0, 1.0],
    "x.sign()": [-1.0, 0.0, 1.0],
    "x.clamp(0, 1)": [-1.0, 0.0, 0.5, 1.0, 2.0],
    "x.clamp(min=0)": [-1.0, 0.0, 1.0],
    "x.clamp(max=0)": [-1.0, 0.0, 1.0],
    "x.clamp(1, 0)": [-1.0, 0.0, 0.5, 1.0],
    "t.maximum(x, x.flip(0).detach())": [1.0, 0.0, 1.0],
    "t.minimum(x, t.zeros(3, dtype=x.dtype))": [1.0, 0.0, -1.0],
    "t.fmax(x, t.zeros(3, dtype=x.dtype))": [1.0, 0.0, -1.0],
    "t.fmin(t.zeros(3, dtype=x.dtype), x)": [1.0, 0.0, -1.0],
    "x.max()": [1.0, 3.0, 3.0],
    "x.min()": [1.0, 1.0, 3.0],
    "x.max(0).values": [1.0, 3.0, 3.0],
    "x.min(0).values": [1.0, 1.0, 3.0],
    "x.amax(0)": [1.0, 3.0, 3.0],
    "x.amin()": [1.0, 1.0, 3.0],
    "x.aminmax().max": [3.0, 1.0, 3.0],
    "x.median(0).values": [2.0, 2.0, 1.0],
    "x.sort().values[0]": [1.0, 1.0, 2.0],
    "x.topk(1).values": [3.0, 3.0, 1.0],
    "x.cummax(0).values": [1.0, 1.0, 0.0],
    "x.norm()": [0.0, 0.0],
    "x.norm(1)": [0.0, 1.0],
    "x.norm(3)": [0.0, 0.0],
    "x.norm(INF)": [2.0, -2.0, 1.0],
    "x.norm(-INF)": [2.0, -2.0, 3.0],
    "t.linalg.vector_norm(x)": [0.0, 0.0],
    "t.linalg.norm(x.view(1, 2))": [0.0, 0.0],
    "t.dist(x, x.detach())": [1.0, 2.0],
    "t.cdist(x.view(2, 1), x.detach().view(2, 1))": [1.0, 2.0],
    "x.std(unbiased=False) * 0": [1.0, 2.0],
    "x.prod()": [0.0, 2.0, 3.0],
    "x.prod() + 0": [0.0, 0.0, 3.0],
    "x.cumprod(0)": [2.0, 0.0, 3.0, 0.0],
    "x ** 0": [0.0, 1.0],
    "x ** 1": [0.0, 1.0],
    "x ** 2": [0.0, -1.0],
    "t.pow(x, t.tensor([0.0, 2.0], dtype=x.dtype))": [0.0, 0.0],
    "t.pow(0.0, x)": [0.0, 1.0],
    "x.floor() + x.ceil() + x.round() + x.trunc()": [0.0, 0.5, 1.0],
    "x.frac()": [0.0, 1.5],
    "t.atan2(x, x.detach() * 0)": [0.0, 1.0],
    "x.logsumexp(0)": [-INF, 0.0],
    "x.softmax(0)": [-INF, 0.0, 1.0],
    "x.logaddexp(x.detach())": [-50.0, 700.0],
    "t.where(x > 0, x, x * 2)": [-1.0, 0.0, 1.0],
    "x.sinc()": [0.0, 1.0],
    "t.xlogy(x, t.tensor([2.0, 3.0], dtype=x.dtype))": [0.0, 1.0],
    "x.nan_to_num(nan=5.0)": [NAN, 1.0, INF],
    "x.nansum()": [NAN, 1.0],
    "x % 1": [0.0, 0.5, 2.0],
    "t.fmod(x, 1)": [0.0, 0.5, -0.5],
    "x.copysign(t.tensor([1.0, -1.0], dtype=x.dtype))": [2.0, 0.0],
    "x.heaviside(x.detach()).detach() + x": [0.0, 1.0],
    "t.lerp(x, x.detach(), 0.5)": [0.0, 1.0],
    "t.nn.functional.relu6(x)": [0.0, 6.0, 7.0],
    "t.nn.functional.hardtanh(x)": [-1.0, 0.0, 1.0],
    "t.nn.functional.leaky_relu(x, 0.1)": [-1.0, 0.0, 1.0],
    "t.nn.functional.elu(x)": [-1.0, 0.0, 1.0],
    "t.nn.functional.softplus(x)": [0.0, 25.0],
    "t.nn.functional.l1_loss(x, x.detach())": [0.0, 1.0],
    "t.nn.functional.smooth_l1_loss(x, x.detach() * 0)": [0.0, 1.0, 2.0],
    "t.nn.functional.max_pool1d(x.view(1, 1, 4), 2)": [1.0, 1.0, 2.0, 3.0],
    "x[t.tensor([0, 0, 1])]": [1.0, 2.0],
    "x.index_select(0, t.tensor([1, 1]))": [1.0, 2.0],
    "x.gather(0, t.tensor([0, 0]))": [1.0, 2.0],
    "x.expand(3, 2)": [1.0, 2.0],
    "x.repeat(2)": [1.0, 2.0],
}


@pytest.mark.parametrize("expression", KINKS)
def test_gradients_at_kinks(expression, rng):
    both, weights = [], None
    for t in (theirs, ours):
        x = t.tensor(KINKS[expression], dtype=t.float64, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = eval(expression, {"t": t, "x": x, "INF": INF})
            weights = rng.normal(size=tuple(out.shape)) if weights is None else weights
            (g,) = t.autograd.grad(out, x, t.tensor(weights, dtype=out.dtype))
        both.append((out.detach().numpy(), g.numpy()))
    (value, g), (found, gradient) = both
    np.testing.assert_allclose(found, value, rtol=1e-7)
    np.testing.assert_allclose(gradient, g, rtol=1e-7, atol=1e-12)


# The dtype of a gradient is its tensor's ------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [
    ("float32", "float64"), ("float16", "float32"), ("float32", "complex64"),
    ("float64", "complex64"),
])
def test_gradients_are_cast_to_their_tensors(torch, one, other):
    x = torch.tensor([1.0, 2.0], dtype=getattr(torch, one), requires_grad=True)
    y = torch.tensor([3.0, 4.0], dtype=getattr(torch, other), requires_grad=True)
    z = x * y
    z.backward(torch.ones_like(z))
    assert x.grad.dtype == x.dtype
    assert y.grad.dtype == y.dtype
    np.testing.assert_allclose(x.grad.numpy(), [3.0, 4.0])


def test_cotangents_of_another_dtype_are_cast(torch):
    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.double() * 2

    x = torch.ones(2, requires_grad=True)
    Wide.apply(x).sum().backward()
    assert x.grad.dtype == torch.float32
    y = x.double().exp().to(torch.float16).sum()
    (g,) = torch.autograd.grad(y, x)
    assert g.dtype == torch.float32


def test_a_zero_dimensional_tensor_gets_a_sum(torch):
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    x = torch.ones(3, requires_grad=True)
    (s * x).sum().backward()
    assert s.grad.dtype == torch.float64
    assert s.grad.shape == ()
    assert s.grad.item() == 3.0
    assert x.grad.tolist() == [2.0] * 3
