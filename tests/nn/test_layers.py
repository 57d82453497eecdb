"""Layers: against NumPy here, against PyTorch where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback import nn
from pullback.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def against(torch, ours, theirs, x, rng, **tolerance):
    """The same state gives the same output and the same gradients, of everything."""
    state = {k: rng.normal(size=v.shape) for k, v in ours.state_dict().items()
             if v.dtype.kind == "f"}
    state = {k: abs(v) if k.endswith("var") else v for k, v in state.items()}
    ours.load_state_dict(state, strict=False)
    theirs.load_state_dict({k: torch.tensor(v) for k, v in state.items()}, strict=False)
    a, b = pb.tensor(x.copy()), torch.tensor(x)
    if x.dtype.kind == "f":
        a.requires_grad_()
        b.requires_grad_()
    out, expected = ours(a), theirs(b)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    g = rng.normal(size=out.shape)
    out.backward(pb.tensor(g))
    expected.backward(torch.tensor(g))
    pairs = list(zip(ours.parameters(), theirs.parameters(), strict=True))
    for p, q in [*pairs, (a, b)]:
        if q.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9, atol=1e-11)
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(), (5,), (2, 3)])
def test_linear(torch, bias, lead, rng):
    ours = nn.Linear(4, 3, bias, dtype="float64")
    theirs = torch.nn.Linear(4, 3, bias, dtype=torch.float64)
    against(torch, ours, theirs, rng.normal(size=(*lead, 4)), rng)


@pytest.mark.parametrize("options", [
    {}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}, {"bias": False},
    {"padding": "same"},
])
def test_conv2d(torch, options, rng):
    ours = nn.Conv2d(4, 6, (3, 5), dtype="float64", **options)
    theirs = torch.nn.Conv2d(4, 6, (3, 5), dtype=torch.float64, **options)
    against(torch, ours, theirs, rng.normal(size=(2, 4, 7, 10)), rng)


def test_embedding(torch, rng):
    ours, theirs = nn.Embedding(9, 4, dtype="float64"), torch.nn.Embedding(9, 4, dtype=torch.double)
    against(torch, ours, theirs, rng.integers(0, 9, size=(2, 5)), rng)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [4, (3, 4)])
def test_layer_norm(torch, shape, affine, rng):
    ours = nn.LayerNorm(shape, affine=affine, dtype="float64")
    theirs = torch.nn.LayerNorm(shape, elementwise_affine=affine, dtype=torch.float64)
    against(torch, ours, theirs, rng.normal(size=(2, 3, 4)), rng)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (4, 3, 2, 5)])
@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"affine": False}])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(torch, shape, options, training, rng):
    theirs = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[len(shape)]
    theirs = theirs(3, dtype=torch.float64, **options).train(training)
    ours = nn.BatchNorm(3, dtype="float64", **options).train(training)
    for _ in range(2):
        against(torch, ours, theirs, rng.normal(size=shape), rng)
        ours.zero_grad()
        theirs.zero_grad()


def test_batch_norm_without_averages(rng):
    norm = nn.BatchNorm(3, track=False, dtype="float64")
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(norm.eval()(x).numpy(), norm.train()(x).numpy())
    assert norm.buffers() == []


def test_a_graph_of_use_survives_training(rng):
    """Running averages are replaced, not written: an older graph still has its own."""
    norm = nn.BatchNorm(3, dtype="float64")
    x = pb.tensor(rng.normal(size=(5, 3)), requires_grad=True)
    y = norm.eval()(x)
    norm.train()(x)
    y.backward(pb.tensor(rng.normal(size=(5, 3))))
    assert x.grad is not None


def test_dropout(rng):
    layer = nn.Dropout(0.25, generator=pb.random.Generator(0))
    x = pb.tensor(rng.normal(size=10_000), requires_grad=True)
    y = layer(x)
    kept = y.numpy() != 0
    assert 0.72 < kept.mean() < 0.78
    np.testing.assert_allclose(y.numpy()[kept], x.numpy()[kept] / 0.75)
    g = rng.normal(size=10_000)
    y.backward(pb.tensor(g))
    np.testing.assert_allclose(x.grad.numpy(), np.where(kept, g / 0.75, 0.0))
    assert layer.eval()(x) is x


@pytest.mark.parametrize(("layer", "function"), [
    (nn.ReLU(), "relu"), (nn.LeakyReLU(0.1), lambda f, x: f.leaky_relu(x, 0.1)),
    (nn.Tanh(), "tanh"), (nn.Sigmoid(), "sigmoid"), (nn.SiLU(), "silu"), (nn.GELU(), "gelu"),
    (nn.GELU("tanh"), lambda f, x: f.gelu(x, approximate="tanh")),
    (nn.Softplus(2.0), lambda f, x: f.softplus(x, beta=2.0)),
    (nn.Softmax(), lambda f, x: f.softmax(x, -1)),
    (nn.Softmax(axis=0), lambda f, x: f.softmax(x, 0)),
], ids=lambda v: "" if callable(v) and not isinstance(v, nn.Module) else repr(v))
def test_activations(torch, layer, function, rng):
    x = rng.normal(size=(3, 4))
    functional = torch.nn.functional
    f = getattr(functional, function) if isinstance(function, str) else (
        lambda v: function(functional, v))
    np.testing.assert_allclose(layer(pb.tensor(x)).numpy(), f(torch.tensor(x)).numpy(), rtol=1e-7)


def test_losses(torch, rng):
    logits, classes = rng.normal(size=(5, 4)), rng.integers(0, 4, size=5)
    for options in ({}, {"reduction": "sum"}, {"label_smoothing": 0.1}):
        ours = nn.CrossEntropyLoss(**options)(pb.tensor(logits), pb.tensor(classes))
        theirs = torch.nn.CrossEntropyLoss(**options)(torch.tensor(logits), torch.tensor(classes))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)
    other = rng.normal(size=(5, 4))
    for reduction in ("mean", "sum", "none"):
        ours = nn.MSELoss(reduction)(pb.tensor(logits), pb.tensor(other))
        theirs = torch.nn.MSELoss(reduction=reduction)(torch.tensor(logits), torch.tensor(other))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


def test_flatten_and_sequential(rng):
    first, last = nn.Linear(6, 5, dtype="float64"), nn.Linear(5, 2, dtype="float64")
    net = nn.Sequential(nn.Flatten(), first, pb.tanh, last)
    x = rng.normal(size=(4, 2, 3))
    expected = np.tanh(x.reshape(4, 6) @ first.weight.numpy().T + first.bias.numpy())
    expected = expected @ last.weight.numpy().T + last.bias.numpy()
    np.testing.assert_allclose(net(pb.tensor(x)).numpy(), expected, rtol=1e-12)
    assert [len(net), net[1] is first, len(net[:2]), list(net)[3] is last] == [4, True, 2, True]
    assert list(net.state_dict()) == ["1.weight", "1.bias", "3.weight", "3.bias"]


def test_layers_are_float32_unless_told():
    x = pb.ones((2, 3, 8, 8), dtype="float32")
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm(4), nn.ReLU(), nn.Flatten(),
                        nn.Linear(144, 5), nn.LayerNorm(5), nn.Dropout(), nn.GELU())
    out = net(x)
    assert out.dtype == np.float32
    pb.sum(out).backward()
    assert {p.grad.dtype for p in net.parameters()} == {np.dtype("float32")}
    assert {b.dtype.kind for b in net.buffers()} == {"f", "i"}


@pytest.mark.parametrize(("error", "make"), [
    (ShapeError, lambda: nn.Linear(3, 2)(pb.ones((2, 4)))),
    (ShapeError, lambda: nn.Linear(3, 2)(pb.tensor(1.0))),
    (ShapeError, lambda: nn.LayerNorm((3, 2))(pb.ones(2))),
    (ShapeError, lambda: nn.BatchNorm(3)(pb.ones((2, 4)))),
    (ShapeError, lambda: nn.Flatten(2)(pb.ones((2, 4)))),
    (ArgumentError, lambda: nn.BatchNorm(3)(pb.ones((1, 3)))),
    (ArgumentError, lambda: nn.Conv2d(3, 4, 3, groups=2)),
    (ArgumentError, lambda: nn.Dropout(1.5)),
    (ArgumentTypeError, lambda: nn.Sequential([nn.ReLU()])),
    (DtypeError, lambda: nn.Embedding(3, 2)(pb.tensor([0.5]))),
])
def test_misuse(error, make):
    with pytest.raises(error):
        make()
