"""Losses and activations with their options and at their kinks, values and gradients."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")

M, V = (5, 4), (5,)
C, W = [0, 3, 1, 1, 2], [0.5, 1.0, 2.0, 0.3]


def sign(t, y):
    return t.sign(y.detach())


LOSSES = {
    # name: (function of (torch, functional, reduction, *tensors), shapes of the tensors)
    "cross_entropy weight": (lambda t, F, r, x: F.cross_entropy(
        x, t.tensor(C), weight=t.tensor(W, dtype=x.dtype), reduction=r), [M]),
    "cross_entropy ignored": (lambda t, F, r, x: F.cross_entropy(
        x, t.tensor([0, -100, 1, -100, 2]), reduction=r), [M]),
    "cross_entropy all": (lambda t, F, r, x: F.cross_entropy(
        x, t.tensor([0, 7, 1, 7, 2]), t.tensor(W, dtype=x.dtype), ignore_index=7, reduction=r,
        label_smoothing=0.2), [M]),
    "cross_entropy probabilities": (lambda t, F, r, x, q: F.cross_entropy(
        x, q.softmax(1), t.tensor(W, dtype=x.dtype), reduction=r, label_smoothing=0.1), [M, M]),
    "cross_entropy images": (lambda t, F, r, x: F.cross_entropy(
        x, t.tensor([[0, 2], [1, 0]]), t.tensor(W[:3], dtype=x.dtype), ignore_index=0,
        reduction=r), [(2, 3, 2)]),
    "cross_entropy single": (lambda t, F, r, x: F.cross_entropy(
        x, t.tensor(2), reduction=r), [(4,)]),
    "nll_loss": (lambda t, F, r, x: F.nll_loss(
        x, t.tensor(C), t.tensor(W, dtype=x.dtype), ignore_index=1, reduction=r), [M]),
    "mse_loss": (lambda t, F, r, x, y, w: F.mse_loss(
        x, y, reduction=r, weight=w.detach().abs()), [M, M, M]),
    "l1_loss": (lambda t, F, r, x, y: F.l1_loss(x, y, reduction=r), [M, M]),
    "smooth_l1_loss": (lambda t, F, r, x, y: F.smooth_l1_loss(x, y, reduction=r, beta=0.7), [M, M]),
    "huber_loss": (lambda t, F, r, x, y: F.huber_loss(x, y, r, 0.4), [M, M]),
    "kl_div": (lambda t, F, r, x, q: F.kl_div(
        x.log_softmax(1), q.softmax(1), reduction=r), [M, M]),
    "kl_div logarithms": (lambda t, F, r, x, q: F.kl_div(
        x.log_softmax(1), q.log_softmax(1), reduction=r, log_target=True), [M, M]),
    "binary_cross_entropy": (lambda t, F, r, x, y, w: F.binary_cross_entropy(
        x.sigmoid(), y.sigmoid(), w.detach().abs(), reduction=r), [M, M, M]),
    "with logits": (lambda t, F, r, x, y, w: F.binary_cross_entropy_with_logits(
        x, y.sigmoid(), w.detach().abs(), reduction=r, pos_weight=t.tensor(W, dtype=x.dtype)),
        [M, M, M]),
    "poisson_nll_loss": (lambda t, F, r, x, y: F.poisson_nll_loss(
        x, y.detach().abs() * 3, full=True, reduction=r), [M, M]),
    "poisson_nll_loss plain": (lambda t, F, r, x, y: F.poisson_nll_loss(
        x.exp(), y.detach().abs(), log_input=False, reduction=r), [M, M]),
    "gaussian_nll_loss": (lambda t, F, r, x, y, v: F.gaussian_nll_loss(
        x, y, v.exp(), full=True, reduction=r), [M, M, (5, 1)]),
    "margin_ranking_loss": (lambda t, F, r, x, y, s: F.margin_ranking_loss(
        x, y, sign(t, s), 0.3, reduction=r), [V, V, V]),
    "hinge_embedding_loss": (lambda t, F, r, x, s: F.hinge_embedding_loss(
        x, sign(t, s), 0.8, reduction=r), [M, M]),
    "cosine_embedding_loss": (lambda t, F, r, x, y, s: F.cosine_embedding_loss(
        x, y, sign(t, s), 0.1, reduction=r), [M, M, V]),
    "soft_margin_loss": (lambda t, F, r, x, s: F.soft_margin_loss(
        x, sign(t, s), reduction=r), [M, M]),
    "triplet_margin_loss": (lambda t, F, r, a, p, n: F.triplet_margin_loss(
        a, p, n, margin=0.8, p=1.5, swap=True, reduction=r), [M, M, M]),
    "triplet with a distance": (lambda t, F, r, a, p, n: F.triplet_margin_with_distance_loss(
        a, p, n, distance_function=lambda x, y: ((x - y) ** 2).sum(1), reduction=r), [M, M, M]),
    "multi_margin_loss": (lambda t, F, r, x: F.multi_margin_loss(
        x, t.tensor(C), p=2, margin=0.7, weight=t.tensor(W, dtype=x.dtype), reduction=r), [M]),
    "multilabel_soft_margin_loss": (lambda t, F, r, x, s: F.multilabel_soft_margin_loss(
        x, (s.detach() > 0).to(x.dtype), t.tensor(W, dtype=x.dtype), reduction=r), [M, M]),
}


def evaluated(t, function, reduction, arrays, weights):
    xs = [t.tensor(a, requires_grad=True) for a in arrays]
    out = function(t, t.nn.functional, reduction, *xs)
    weight = weights.setdefault(tuple(out.shape), np.random.default_rng(1).normal(
        size=tuple(out.shape)))
    out.backward(t.tensor(weight))
    return [out.detach().numpy(), *(None if x.grad is None else x.grad.numpy() for x in xs)]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    function, shapes = LOSSES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arrays, weights = [rng.normal(size=s) for s in shapes], {}
    found = evaluated(ours, function, reduction, arrays, weights)
    expected = evaluated(theirs, function, reduction, arrays, weights)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


MODULES = {
    "CrossEntropyLoss(weight=w, label_smoothing=0.1)": "class",
    "CrossEntropyLoss(reduction='sum')": "class", "NLLLoss(w, ignore_index=1)": "class",
    "MultiMarginLoss()": "class", "MSELoss()": "same", "L1Loss(reduction='sum')": "same",
    "SmoothL1Loss(beta=0.5)": "same", "HuberLoss(delta=0.5)": "same", "KLDivLoss()": "same",
    "BCEWithLogitsLoss(pos_weight=w)": "unit", "BCELoss()": "unit", "PoissonNLLLoss()": "unit",
    "SoftMarginLoss()": "unit", "HingeEmbeddingLoss(0.5)": "same",
    "MultiLabelSoftMarginLoss()": "unit", "TripletMarginLoss(0.5)": "three",
    "TripletMarginWithDistanceLoss(margin=0.5)": "three", "MarginRankingLoss(0.5)": "three",
    "GaussianNLLLoss()": "three", "CosineEmbeddingLoss()": "cosine",
    "MSELoss(size_average=False)": "same",
}


@pytest.mark.filterwarnings("ignore:size_average and reduce")
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("text", MODULES)
def test_losses_as_modules(text, rng):
    arrays = [rng.uniform(0.1, 0.9, size=M) for _ in range(3)]
    found = []
    for t in (ours, theirs):
        w = t.tensor(W, dtype=t.float64)
        module = eval("nn." + text, {"nn": t.nn, "w": w})
        x, y, z = (t.tensor(a, requires_grad=True) for a in arrays)
        target = {"class": [t.tensor(C)], "same": [y], "unit": [y.detach()], "three": [y, z],
                  "cosine": [y, t.tensor([1, -1, 1, 1, -1])]}[MODULES[text]]
        loss = module(x, *target)
        loss.backward()
        found.append([loss.detach().numpy(), x.grad.numpy(), repr(module), [*module.state_dict()]])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-8, atol=1e-12)
    assert found[0][2:] == found[1][2:]


KINKS = {
    "hardswish": lambda t, F, x: F.hardswish(x), "hardsigmoid": lambda t, F, x: F.hardsigmoid(x),
    "hardshrink": lambda t, F, x: F.hardshrink(x, 3.0), "prelu": lambda t, F, x: F.prelu(
        x, t.full((1,), 0.3)), "softshrink": lambda t, F, x: F.softshrink(x, 3.0),
    "threshold": lambda t, F, x: F.threshold(x, 3.0, 7.0), "celu": lambda t, F, x: F.celu(x, 0.5),
    "selu": lambda t, F, x: F.selu(x), "hardtanh": lambda t, F, x: F.hardtanh(x, -3.0, 3.0),
    "rrelu": lambda t, F, x: F.rrelu(x), "softsign": lambda t, F, x: F.softsign(x),
    "smooth_l1": lambda t, F, x: F.smooth_l1_loss(x, x.detach() * 0, beta=3.0, reduction="none"),
    "hinge": lambda t, F, x: F.hinge_embedding_loss(x, x.detach() * 0 - 1, 3.0, reduction="none"),
    "bce": lambda t, F, x: F.binary_cross_entropy(
        x.clamp(0, 1) + 0 * x, (x.detach() > 0).to(x.dtype), reduction="none"),
    "max_pool tie": lambda t, F, x: F.adaptive_max_pool1d(x[None, None], 2),
    "cosine of zeros": lambda t, F, x: F.cosine_similarity(x * 0, x, dim=0),
    "lp_pool of zeros": lambda t, F, x: F.lp_pool1d((x * 0)[None, None], 2, 2),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name):
    found = []
    for t in (ours, theirs):
        x = t.tensor([-3.0, -3.0, 0.0, 0.0, 3.0, 3.0, 1.0], requires_grad=True)
        out = KINKS[name](t, t.nn.functional, x)
        out.backward(t.full(tuple(out.shape), 2.0))
        found.append((out.detach().numpy(), x.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [
    "elu", "selu", "celu", "softplus", "silu", "mish", "hardswish", "gelu", "logsigmoid",
    "softsign",
])
def test_second_derivatives_at_kinks(name):
    found = []
    for t in (ours, theirs):
        x = t.tensor([-1.0, -0.0, 0.0, 2.0], dtype=t.float64, requires_grad=True)
        y = getattr(t.nn.functional, name)(x)
        (g,) = t.autograd.grad((y * t.tensor([0.3, -1.2, 0.7, 2.0])).sum(), x, create_graph=True)
        (g * t.tensor([1.5, 0.4, -0.6, 0.9])).sum().backward()
        found.append((g.detach().numpy(), x.grad.numpy()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7, atol=1e-12)


def test_activations_in_place(torch):
    functional = torch.nn.functional
    for name in ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_", "rrelu_"):
        x = torch.tensor([-0.5, 2.0])
        y = getattr(functional, name)(x)
        assert y is x
        assert torch.allclose(x, getattr(functional, name[:-1])(torch.tensor([-0.5, 2.0])))
    x = torch.tensor([-0.5, 2.0])
    assert functional.threshold_(x, 0.0, 9.0) is x
    assert x.tolist() == [9.0, 2.0]


def test_a_random_choice(torch):
    logits = torch.zeros(500, 4, requires_grad=True)
    hard = torch.nn.functional.gumbel_softmax(logits, tau=0.5, hard=True)
    assert sorted(np.unique(hard.detach().numpy().round(6))) == [0.0, 1.0]
    assert hard.sum(1).detach().tolist() == pytest.approx([1.0] * 500)
    (hard * torch.arange(4.0)).sum().backward()
    assert logits.grad.abs().sum() > 0


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"mask": "bool"},
                                     {"mask": "float"}], ids=str)
def test_attention(options, rng):
    options = dict(options)
    arrays, found = [rng.normal(size=(2, 3, 4, 5)) for _ in range(3)], []
    kind = options.pop("mask", None)
    for t in (ours, theirs):
        mask = {None: None, "bool": t.ones(4, 4, dtype=t.bool).tril(),
                "float": t.tensor(np.eye(4))}[kind]
        q, k, v = (t.tensor(a, requires_grad=True) for a in arrays)
        out = t.nn.functional.scaled_dot_product_attention(q, k, v, mask, **options)
        (out**2).sum().backward()
        found.append([x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)
