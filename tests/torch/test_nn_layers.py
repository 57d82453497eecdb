"""Layers and losses as modules: values, gradients and what is printed, as PyTorch has them."""

from __future__ import annotations

import importlib
import zlib

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")

M, P, S = (3, 4), (2, 4, 6, 6), (2, 4, 7)  # a matrix, images, signals

LAYERS = {
    # a constructor -> shapes of its inputs
    "Identity(54, unused=1)": [M], "Linear(4, 3)": [M], "Linear(4, 3, bias=False)": [M],
    "Bilinear(4, 3, 2)": [M, (3, 3)], "Flatten()": [P], "Flatten(0, 1)": [P],
    "Unflatten(1, (2, 2))": [M], "CosineSimilarity(dim=1)": [M, M], "PairwiseDistance()": [M, M],
    "ReLU()": [M], "ReLU6()": [M], "LeakyReLU(0.2)": [M], "ELU(1.5)": [M], "CELU(0.5)": [M],
    "SELU()": [M], "GELU()": [M], "GELU('tanh')": [M], "SiLU()": [M], "Mish()": [M],
    "Softplus(2.0)": [M], "Softsign()": [M], "Tanh()": [M], "Tanhshrink()": [M], "Sigmoid()": [M],
    "LogSigmoid()": [M], "Hardtanh(-0.5, 0.7)": [M], "Hardswish()": [M],
    "Hardshrink(0.4)": [M], "Softshrink(0.3)": [M], "Threshold(0.1, 20.0)": [M], "GLU()": [M],
    "GLU(0)": [(2, 3)], "Softmax(dim=1)": [M], "Softmin(dim=0)": [M], "LogSoftmax(dim=1)": [M],
    "Softmax2d()": [P], "PReLU()": [M], "PReLU(4)": [P], "RReLU().eval()": [M],
    "Conv1d(4, 6, 3, padding=1)": [S], "Conv1d(4, 6, 3, 2, dilation=2, groups=2)": [S],
    "Conv2d(4, 6, 3)": [P], "Conv2d(4, 6, (3, 1), stride=2, padding=(1, 0), bias=False)": [P],
    "Conv2d(4, 2, 3, padding='same', padding_mode='reflect')": [P],
    "Conv2d(4, 2, 3, padding=2, padding_mode='circular')": [P], "Conv2d(4, 2, 3, 1, 1)": [P[1:]],
    "Conv3d(2, 3, 2, padding=1)": [(1, 2, 3, 4, 4)],
    "ConvTranspose1d(4, 3, 3, stride=2, padding=1, output_padding=1)": [S],
    "ConvTranspose2d(4, 6, 3, stride=2, groups=2)": [P],
    "MaxPool1d(2)": [S], "MaxPool2d(3, 2, padding=1)": [P], "MaxPool2d(2, ceil_mode=True)": [P],
    "MaxPool3d(2)": [(1, 2, 4, 4, 4)], "MaxPool2d(3, 2, ceil_mode=True, dilation=2)": [P],
    "AvgPool1d(2)": [S], "AvgPool2d(3, stride=2, padding=1)": [P],
    "AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)": [P],
    "AvgPool2d(4, 3, 1, ceil_mode=True)": [P], "AvgPool3d(2)": [(1, 2, 4, 4, 4)],
    "AvgPool2d(2, divisor_override=3)": [P], "LPPool1d(2, 3)": [S], "LPPool2d(2, 2, stride=1)": [P],
    "AdaptiveAvgPool1d(3)": [S], "AdaptiveAvgPool2d((1, 1))": [P],
    "AdaptiveAvgPool2d((4, None))": [P], "AdaptiveAvgPool3d(2)": [(1, 2, 4, 4, 4)],
    "AdaptiveMaxPool1d(3)": [S], "AdaptiveMaxPool2d((2, 4))": [P],
    "ConstantPad1d((1, 2), 3.5)": [S], "ConstantPad2d(1, 0.5)": [P], "ZeroPad2d((1, 0, 2, 1))": [P],
    "ReflectionPad1d(2)": [S], "ReflectionPad2d((1, 1, 2, 0))": [P], "ReplicationPad2d(2)": [P],
    "ReplicationPad1d((3, 1))": [S], "CircularPad2d((1, 2, 2, 1))": [P], "ZeroPad1d(1)": [S],
    "Unfold((2, 3), padding=1, stride=2)": [P], "Fold((4, 5), (2, 2))": [(2, 12, 12)],
    "PixelShuffle(2)": [P], "PixelUnshuffle(3)": [P], "ChannelShuffle(2)": [P],
    "Upsample(scale_factor=2)": [P], "Upsample(size=(5, 9), mode='bilinear')": [P],
    "Upsample(size=(5, 9), mode='bilinear', align_corners=True)": [P],
    "Upsample(scale_factor=1.6, mode='bilinear')": [P],
    "Upsample(size=11, mode='linear')": [S], "Upsample(size=(9, 4), mode='bicubic')": [P],
    "LayerNorm(4)": [M], "LayerNorm((6, 6), eps=0.1)": [P], "LayerNorm(4, bias=False)": [M],
    "LayerNorm(4, elementwise_affine=False)": [M], "RMSNorm(4)": [M], "GroupNorm(2, 4)": [P],
    "GroupNorm(4, 4, affine=False)": [S], "InstanceNorm1d(4)": [S],
    "InstanceNorm2d(4, affine=True, track_running_stats=True)": [P],
    "BatchNorm1d(4)": [M], "BatchNorm1d(4, affine=False)": [S], "BatchNorm2d(4)": [P],
    "BatchNorm2d(4, momentum=None)": [P], "BatchNorm2d(4, track_running_stats=False)": [P],
    "BatchNorm2d(4).eval()": [P], "BatchNorm3d(2)": [(2, 2, 2, 2, 2)],
    "LocalResponseNorm(3, alpha=0.1)": [P],
    "Dropout(0.0)": [M], "Dropout(0.3).eval()": [M], "Dropout2d(0.5).eval()": [P],
    "AlphaDropout(0.2).eval()": [M],
    "RNNCell(4, 5)": [M, (3, 5)], "RNNCell(4, 5, nonlinearity='relu')": [M], "GRUCell(4, 5)": [M],
    "GRUCell(4, 5, bias=False)": [M, (3, 5)],
    "Sequential(L(4, 3), R(), L(3, 2))": [M],
}


def built(t, text):
    return eval("nn." + text, {"nn": t.nn, "L": t.nn.Linear, "R": t.nn.ReLU})


def same_values(one, other, seed):
    """Give both the same parameters and buffers."""
    rng = np.random.default_rng(seed)
    for (name, p), (named, q) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        assert name == named
        value = rng.normal(size=tuple(q.shape))
        p.data, q.data = ours.tensor(value), theirs.tensor(value)


def results(t, module, arrays, cotangent):
    xs = [t.tensor(a, requires_grad=True) for a in arrays]
    out = module(*xs)
    out.backward(t.tensor(cotangent(tuple(out.shape))))
    state = [(n, v.detach().numpy()) for n, v in module.state_dict().items()]
    grads = [x.grad for x in xs] + [p.grad for p in module.parameters()]
    return out.detach().numpy(), [None if g is None else g.numpy() for g in grads], state


def compared(one, other, shapes, seed=0):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=s) for s in shapes]
    same_values(one, other, seed)
    one.double(), other.double()
    weights = {}

    def cotangent(shape):
        return weights.setdefault(shape, rng.normal(size=shape))

    value, grads, state = results(ours, one, arrays, cotangent)
    expected, slopes, theirs_state = results(theirs, other, arrays, cotangent)
    assert value.dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-11)
    for g, h in zip(grads, slopes, strict=True):
        assert (g is None) == (h is None)
        if g is not None:
            np.testing.assert_allclose(g, h, rtol=1e-8, atol=1e-10)
    for (name, v), (named, w) in zip(state, theirs_state, strict=True):
        assert name == named
        np.testing.assert_allclose(v, w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("text", LAYERS)
def test_values_gradients_state_and_print(text):
    one, other = built(ours, text), built(theirs, text)
    assert repr(one) == repr(other)
    compared(one, other, LAYERS[text], zlib.crc32(text.encode()))


RECURRENT = [
    "RNN(4, 5)", "RNN(4, 5, 2, nonlinearity='relu', bias=False)", "GRU(4, 5, batch_first=True)",
    "GRU(4, 5, num_layers=2, bidirectional=True)", "LSTM(4, 5)", "LSTM(4, 5, 2, dropout=0.0)",
    "LSTM(4, 5, bidirectional=True, batch_first=True)", "LSTM(4, 5, proj_size=3)",
]


@pytest.mark.parametrize("text", RECURRENT)
@pytest.mark.parametrize("shape", [(6, 3, 4), (6, 4)], ids=["batch", "single"])
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
def test_recurrent_layers(text, shape, given, rng):
    one, other = built(ours, text), built(theirs, text)
    assert repr(one) == repr(other)
    same_values(one, other, 3)
    x, answers, starts = rng.normal(size=shape), [], []
    weights = {}
    for t, module in ((ours, one), (theirs, other)):
        module.double()
        v = t.tensor(x, requires_grad=True)
        out, last = module(v)
        if given:
            many = isinstance(last, tuple)
            if not starts:
                starts = [rng.normal(size=tuple(s.shape)) for s in (last if many else (last,))]
            state = tuple(t.tensor(s) for s in starts)
            out, last = module(v, state if many else state[0])
        parts = [out, *(last if isinstance(last, tuple) else (last,))]
        for i, p in enumerate(parts):
            if i not in weights:
                weights[i] = rng.normal(size=tuple(p.shape))
        sum((p * t.tensor(weights[i])).sum() for i, p in enumerate(parts)).backward()
        answers.append([*(p.detach().numpy() for p in parts), v.grad.numpy(),
                        *(p.grad.numpy() for p in module.parameters())])
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_lstm_cell(rng):
    one, other = ours.nn.LSTMCell(4, 5), theirs.nn.LSTMCell(4, 5)
    assert repr(one) == repr(other)
    same_values(one, other, 0)
    arrays = [rng.normal(size=s) for s in ((3, 4), (3, 5), (3, 5))]
    found = []
    for t, cell in ((ours, one), (theirs, other)):
        cell.double()
        x, h, c = (t.tensor(a, requires_grad=True) for a in arrays)
        h1, c1 = cell(x, (h, c))
        (h1 * c1).sum().backward()
        found.append([v.detach().numpy() for v in (h1, c1, x.grad, h.grad, cell.bias_ih.grad)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def attended(t, module, arrays, **options):
    q, k, v = (t.tensor(a, requires_grad=True) for a in arrays)
    module.double()
    out, weights = module(q, k, v, **options)
    loss = (out * out).sum() + (0 if weights is None else (weights**2).sum())
    loss.backward()
    return [out.detach().numpy(), q.grad.numpy(), v.grad.numpy(),
            *(p.grad.numpy() for p in module.parameters())]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("mask", ["none", "boolean", "padding", "numbers"])
def test_attention_of_several_heads(first, mask, rng):
    made = [t.nn.MultiheadAttention(8, 2, batch_first=first) for t in (ours, theirs)]
    assert repr(made[0]) == repr(made[1]).replace("NonDynamicallyQuantizableLinear", "Linear")
    same_values(*made, 0)
    arrays = [rng.normal(size=(4, 4, 8)) for _ in range(3)]
    found = []
    for t, module in zip((ours, theirs), made, strict=True):
        options = {
            "none": {"need_weights": False},
            "boolean": {"attn_mask": ~t.ones(4, 4, dtype=t.bool).tril()},
            "padding": {"key_padding_mask": t.tensor([[False, False, True, True]] * 4)},
            "numbers": {"attn_mask": t.tensor(np.eye(4)), "average_attn_weights": False},
        }[mask]
        found.append(attended(t, module, arrays, **options))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_layers(norm_first, rng):
    x, memory = rng.normal(size=(5, 2, 8)), rng.normal(size=(3, 2, 8))
    found, encoders, decoders = [], [], []
    for t in (ours, theirs):
        how = {"dim_feedforward": 16, "dropout": 0.0, "norm_first": norm_first}
        layer = t.nn.TransformerEncoderLayer(8, 2, activation="gelu", **how)
        encoders.append(t.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
        decoders.append(t.nn.TransformerDecoderLayer(8, 2, **how))
    same_values(*encoders, 0)
    same_values(*decoders, 1)
    for t, encoder, decoder in zip((ours, theirs), encoders, decoders, strict=True):
        encoder.double(), decoder.double()
        v = t.tensor(x, requires_grad=True)
        out = decoder(encoder(v), t.tensor(memory))
        (out * out * out).sum().backward()
        found.append([out.detach().numpy(), v.grad.numpy(),
                      *(p.grad.numpy() for p in encoder.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


def test_embeddings(torch, rng):
    table = torch.nn.Embedding(5, 2, padding_idx=-1)
    assert table.weight[4].tolist() == [0.0, 0.0]
    table(torch.tensor([[1, 4], [1, 0]])).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0], [0, 0]]
    fixed = torch.nn.Embedding.from_pretrained(torch.tensor([[3.0, 4.0], [1.0, 0.0]]), max_norm=1.0)
    assert not fixed.weight.requires_grad
    assert fixed(torch.tensor([0])).detach().numpy() == pytest.approx(np.array([[0.6, 0.8]]))
    bag = torch.nn.EmbeddingBag(4, 2, mode="mean")
    rows = bag(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 1, 1]))
    assert rows[1].tolist() == [0.0, 0.0]
    rows.sum().backward()
    third = pytest.approx(1 / 3)
    assert bag.weight.grad.tolist() == [[1, 1], [2 * third.expected] * 2, [0, 0], [third, third]] \
        or np.allclose(bag.weight.grad.numpy(), [[1, 1], [2 / 3] * 2, [0, 0], [1 / 3] * 2])
    assert repr(table) == "Embedding(5, 2, padding_idx=4)"
    assert repr(bag) == "EmbeddingBag(4, 2, mode='mean')"


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout",
                                  "FeatureAlphaDropout"])
def test_dropout_in_training(name, torch):
    shape = {"Dropout1d": (50, 40, 3), "Dropout3d": (50, 40, 2, 2, 2)}.get(name, (50, 40, 2, 2))
    x = torch.ones(*shape, requires_grad=True)
    layer = getattr(torch.nn, name)(0.25)
    y = layer(x)
    values = np.unique(y.detach().numpy().round(4))
    assert len(values) == 2
    assert 0.2 < float((y == y.min()).double().mean()) < 0.3
    if "d" in name[-1:] or name.startswith("Feature"):
        flat = y.detach().numpy().reshape(50, 40, -1)
        assert (flat == flat[..., :1]).all()
    y.sum().backward()
    assert len(np.unique(x.grad.numpy())) == 2
    assert layer.eval()(x) is x


def test_torch_modules_are_where_they_are_looked_for():
    for name in ("functional", "init", "utils", "parameter"):
        importlib.import_module(f"pullback.torch.nn.{name}")
    assert ours.nn.parameter.Parameter is ours.nn.Parameter
