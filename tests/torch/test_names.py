"""Names of PyTorch's, expression by expression: values, dtypes and gradients are PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback.torch as ours

from .names import DIFFERENTIABLE, IN_PLACE, PLAIN

theirs = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_notices():
    """PyTorch says of some names that they will go, NumPy of some values that they are large."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def answer(t, expression, arrays, cotangent):
    xs = [t.tensor(a, requires_grad=True) for a in arrays]
    t.set_default_dtype(t.float64)
    try:
        out = eval(expression, {"t": t, **dict(zip("xyz", xs, strict=False))})
    finally:
        t.set_default_dtype(t.float32)
    if cotangent is None:
        return out.detach().numpy(), None
    found = t.autograd.grad(out, xs, t.tensor(cotangent), allow_unused=True)
    return out.detach().numpy(), [
        None if g is None else g.resolve_neg().resolve_conj().numpy() for g in found
    ]


@pytest.mark.parametrize("expression", DIFFERENTIABLE)
def test_values_and_gradients(expression, rng):
    arrays = [rng.normal(size=shape) for shape in DIFFERENTIABLE[expression]]
    value, _ = answer(theirs, expression, arrays, None)
    cotangent = rng.normal(size=value.shape)
    found, gradients = answer(ours, expression, arrays, cotangent)
    value, expected = answer(theirs, expression, arrays, cotangent)
    assert found.dtype == value.dtype
    np.testing.assert_allclose(found, value, rtol=1e-7, atol=1e-9)
    for one, other in zip(gradients, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def flat(value):
    """Everything in nested results, tensors as arrays, dtypes and shapes as they are told."""
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [part for v in value for part in flat(v)]
    if hasattr(value, "detach"):
        return [value.detach().numpy()]
    if type(value).__name__ == "Size":
        return [tuple(value)]
    return [str(value).replace("torch.", "") if "dtype" in type(value).__name__.lower() else value]


@pytest.mark.parametrize("expression", PLAIN)
def test_values(expression, rng):
    array = rng.normal(size=(3, 4))
    both = []
    for t in (ours, theirs):
        names = {"t": t, "x": t.tensor(array), "i": t.tensor([3, 1, 2, 3, 5, 6])}
        both.append(flat(eval(expression, names)))
    assert len(both[0]) == len(both[1])
    for one, other in zip(*both, strict=True):
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
        else:
            assert one == other


@pytest.mark.parametrize("call", IN_PLACE)
def test_in_place(call, rng):
    start, other, cotangent = (rng.uniform(0.05, 0.95, size=(3, 3)) for _ in range(3))
    both = []
    for t in (ours, theirs):
        x = t.tensor(start, requires_grad=True)
        y = x * 0.5 + 0.25
        names = {"y": y, "z": t.tensor(other), "i": t.tensor([2, 0]), "t": t,
                 "k": t.tensor([[0, 1, 2], [2, 0, 1], [1, 2, 0]])}
        same = eval("y." + call, names)
        assert same is y
        assert y._version >= 1 or call.startswith(("t_", "squeeze_", "unsq", "transp", "swap"))
        if y.requires_grad:
            (y * t.tensor(cotangent).reshape(y.shape)).sum().backward()
        both.append((y.detach().numpy(), None if x.grad is None else x.grad.numpy(force=True)))
    (y, g), (w, h) = both
    np.testing.assert_allclose(y, w, rtol=1e-7, atol=1e-9)
    assert g is not None or h is None or not h.any()
    if h is not None and g is not None:
        np.testing.assert_allclose(g, h, rtol=1e-6, atol=1e-8)


def test_a_function_writes_to_out(torch):
    out = torch.empty(3)
    same = torch.add(torch.ones(3), 2, out=out)
    assert same is out
    assert out.tolist() == [3.0] * 3
    torch.exp(torch.zeros(3), out=out)
    assert out.tolist() == [1.0] * 3
    torch.matmul(torch.eye(3), torch.ones(3), out=out)
    torch.cumsum(out, 0, out=out)
    assert out.tolist() == [1.0, 2.0, 3.0]


def test_what_is_drawn_is_constant(torch):
    mean = torch.zeros(3, requires_grad=True)
    ((torch.normal(mean, 1.0) - mean) ** 2).sum().backward()
    drawn = torch.normal(mean.detach(), 1.0)
    assert drawn.dtype == torch.float32
    x = mean.detach().requires_grad_()
    value = torch.normal(x, 1.0)
    (value * 0 + x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_indices_of_a_pool_lead_back(torch, rng):
    x = torch.tensor(rng.normal(size=(2, 3, 6, 5)))
    values, at = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(x.flatten(2).gather(2, at.flatten(2)), values.flatten(2))


def test_modules_pool_and_undo_it(torch, rng):
    pool, undo = torch.nn.MaxPool2d(2, return_indices=True), torch.nn.MaxUnpool2d(2)
    assert repr(undo) == "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"
    x = torch.tensor(rng.normal(size=(2, 3, 5, 4)), requires_grad=True)
    values, at = pool(x)
    whole = undo(values, at, output_size=x.shape)
    (whole * 3).sum().backward()
    held = x.detach() * (x.grad != 0)
    assert torch.equal(whole.detach(), held)
    assert set(x.grad.unique().tolist()) == {0.0, 3.0}
    adaptive = torch.nn.AdaptiveMaxPool1d(2, return_indices=True)
    assert adaptive(torch.tensor([[[1.0, 9.0, 2.0, 3.0]]]))[1].tolist() == [[[1, 3]]]


def test_misuse_of_places_is_told(torch):
    F = torch.nn.functional
    image, places = torch.zeros(1, 1, 2, 2), torch.zeros(1, 2, 2, 2)
    for wrong in (
        lambda: F.grid_sample(image, places[0]),
        lambda: F.grid_sample(image, torch.zeros(1, 2, 2, 3)),
        lambda: F.grid_sample(image, places, mode="cubic"),
        lambda: F.grid_sample(image, places, padding_mode="wrap"),
        lambda: F.affine_grid(torch.zeros(1, 2, 2), (1, 1, 2, 2)),
        lambda: F.max_unpool2d(image, torch.full((1, 1, 2, 2), 99), 1),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            wrong()
