"""Values and gradients of functions and methods, entry by entry those of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")

M, V = (3, 4), (4,)

UNARY = [
    "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf",
    "erfc", "sigmoid", "relu", "abs", "neg", "sign", "square", "ceil", "floor", "round", "trunc",
    "clone", "reciprocal", "log_softmax_last", "logsumexp_last",
]
POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]
SMALL = ["asin", "acos", "atanh"]

TABLE = {
    # name: (function of (torch, F, *tensors), shapes of the tensors)
    "add": (lambda t, F, x, y: x + y, [M, V]),
    "add_alpha": (lambda t, F, x, y: t.add(x, y, alpha=2), [M, V]),
    "sub": (lambda t, F, x, y: t.sub(x, y, alpha=3), [M, V]),
    "rsub": (lambda t, F, x: 2 - x, [M]),
    "mul": (lambda t, F, x, y: x * y, [M, (3, 1)]),
    "div": (lambda t, F, x, y: x / (y * y + 1), [M, M]),
    "rdiv": (lambda t, F, x: 1 / (x * x + 1), [M]),
    "pow": (lambda t, F, x: x**3, [M]),
    "pow_tensor": (lambda t, F, x, y: (x * x + 0.5) ** y, [M, M]),
    "rpow": (lambda t, F, x: 2.0**x, [M]),
    "mod": (lambda t, F, x: x % 0.7, [M]),
    "matmul": (lambda t, F, x, y: x @ y, [(2, 3, 4), (4, 5)]),
    "mm": (lambda t, F, x, y: x.mm(y.t()), [M, (5, 4)]),
    "bmm": (lambda t, F, x, y: t.bmm(x, y), [(2, 3, 4), (2, 4, 2)]),
    "mv": (lambda t, F, x, y: x.mv(y), [M, V]),
    "dot": (lambda t, F, x, y: x.dot(y), [V, V]),
    "outer": (lambda t, F, x, y: t.outer(x, y), [V, (3,)]),
    "addmm": (lambda t, F, b, x, y: t.addmm(b, x, y, beta=2, alpha=3), [V, (3, 2), (2, 4)]),
    "einsum": (lambda t, F, x, y: t.einsum("ij, kj -> ik", x, y), [M, (2, 4)]),
    "tensordot": (lambda t, F, x, y: t.tensordot(x, y, dims=1), [M, V]),
    "sum": (lambda t, F, x: x.sum(), [M]),
    "sum_dim": (lambda t, F, x: x.sum(dim=0), [M]),
    "sum_keep": (lambda t, F, x: x.sum((0, -1), keepdim=True), [(2, 3, 4)]),
    "mean": (lambda t, F, x: x.mean(-1, True), [M]),
    "prod": (lambda t, F, x: x.prod(1), [M]),
    "var": (lambda t, F, x: x.var(), [M]),
    "var_dim": (lambda t, F, x: x.var(1, unbiased=False), [M]),
    "std": (lambda t, F, x: t.std(x, dim=0, keepdim=True), [M]),
    "max": (lambda t, F, x: x.max(), [M]),
    "max_dim": (lambda t, F, x: x.max(1).values, [M]),
    "min_dim": (lambda t, F, x: t.min(x, 0, keepdim=True)[0], [M]),
    "max_pair": (lambda t, F, x, y: t.max(x, y), [M, M]),
    "amax": (lambda t, F, x: x.amax((0, 1)), [M]),
    "amin": (lambda t, F, x: x.amin(1, True), [M]),
    "norm": (lambda t, F, x: x.norm(), [M]),
    "norm1": (lambda t, F, x: x.norm(1, dim=0), [M]),
    "norm3": (lambda t, F, x: x.norm(p=3, dim=1), [M]),
    "cumsum": (lambda t, F, x: x.cumsum(0), [M]),
    "cumprod": (lambda t, F, x: x.cumprod(dim=1), [M]),
    "logsumexp": (lambda t, F, x: t.logsumexp(x, 1, keepdim=True), [M]),
    "clamp": (lambda t, F, x: x.clamp(-0.5, 0.5), [M]),
    "clamp_max": (lambda t, F, x: x.clamp(max=0), [M]),
    "lerp": (lambda t, F, x, y: t.lerp(x, y, 0.3), [M, M]),
    "addcmul": (lambda t, F, x, y, z: t.addcmul(x, y, z, value=0.5), [M, M, V]),
    "maximum": (lambda t, F, x, y: t.maximum(x, y), [M, V]),
    "where": (lambda t, F, x, y: t.where(x > 0, x, y), [M, M]),
    "where_number": (lambda t, F, x: x.where(x > 0, 0.5), [M]),
    "masked_fill": (lambda t, F, x: x.masked_fill(x > 0, 7.0), [M]),
    "view": (lambda t, F, x: x.view(2, -1), [M]),
    "view_as": (lambda t, F, x, y: x.view_as(y) * y, [M, (4, 3)]),
    "reshape": (lambda t, F, x: x.reshape((4, 3)), [M]),
    "T": (lambda t, F, x: x.T, [M]),
    "mT": (lambda t, F, x: x.mT, [(2, 3, 4)]),
    "transpose": (lambda t, F, x: x.transpose(0, -1), [(2, 3, 4)]),
    "permute": (lambda t, F, x: x.permute(2, 0, -2), [(2, 3, 4)]),
    "squeeze": (lambda t, F, x: x.squeeze(), [(1, 3, 1)]),
    "squeeze_dim": (lambda t, F, x: x.squeeze(1), [(1, 3, 1)]),
    "unsqueeze": (lambda t, F, x: x.unsqueeze(-1), [M]),
    "expand": (lambda t, F, x: x.expand(2, -1, 4), [(3, 1)]),
    "expand_as": (lambda t, F, x, y: x.expand_as(y) * y, [V, M]),
    "flatten": (lambda t, F, x: x.flatten(1), [(2, 3, 4)]),
    "repeat": (lambda t, F, x: x.repeat(2, 1, 2), [M]),
    "repeat_interleave": (lambda t, F, x: x.repeat_interleave(2, dim=1), [M]),
    "chunk": (lambda t, F, x: x.chunk(3, 1)[1], [(2, 7)]),
    "split": (lambda t, F, x: t.split(x, 2, dim=1)[-1], [(2, 5)]),
    "split_list": (lambda t, F, x: x.split([1, 3], 1)[1], [M]),
    "unbind": (lambda t, F, x: x.unbind(1)[2], [M]),
    "cat": (lambda t, F, x, y: t.cat([x, y], dim=1), [M, (3, 2)]),
    "stack": (lambda t, F, x, y: t.stack((x, y), 1), [M, M]),
    "flip": (lambda t, F, x: x.flip(0, 1), [M]),
    "roll": (lambda t, F, x: x.roll(1, 0), [M]),
    "narrow": (lambda t, F, x: x.narrow(1, 1, 2), [M]),
    "select": (lambda t, F, x: x.select(-1, 2), [M]),
    "tril": (lambda t, F, x: x.tril(), [M]),
    "triu": (lambda t, F, x: t.triu(x, diagonal=1), [M]),
    "diag": (lambda t, F, x: x.diag(1), [M]),
    "diag_of": (lambda t, F, x: t.diag(x, -1), [V]),
    "trace": (lambda t, F, x: x.trace(), [M]),
    "index": (lambda t, F, x: x[1:, [0, 2, 2]], [M]),
    "index_mask": (lambda t, F, x: x[x > 0], [M]),
    "index_none": (lambda t, F, x: x[None, ..., -1], [M]),
    "gather": (lambda t, F, x: x.gather(1, t.tensor([[0, 0], [3, 1]])), [M]),
    "index_select": (lambda t, F, x: x.index_select(1, t.tensor([3, 3, 0])), [M]),
    "scatter_add": (
        lambda t, F, x, y: x.scatter_add(0, t.tensor([[0, 1, 0, 0], [0, 2, 2, 1]]), y), [M, (2, 4)],
    ),
    "scatter": (lambda t, F, x, y: x.scatter(1, t.tensor([[0, 2], [3, 1]]), y), [M, (2, 2)]),
    "index_add": (lambda t, F, x, y: x.index_add(0, t.tensor([1, 1]), y), [M, (2, 4)]),
    "masked_select": (lambda t, F, x: x.masked_select(x > 0), [M]),
    "take_along_dim": (lambda t, F, x: t.take_along_dim(x, t.tensor([[1], [0], [3]]), 1), [M]),
    "sort": (lambda t, F, x: x.sort(1, descending=True).values, [M]),
    "topk": (lambda t, F, x: x.topk(2, dim=1)[0], [M]),
    "softmax": (lambda t, F, x: x.softmax(0), [M]),
    "log_softmax": (lambda t, F, x: F.log_softmax(x, dim=1), [M]),
    "leaky_relu": (lambda t, F, x: F.leaky_relu(x, 0.2), [M]),
    "elu": (lambda t, F, x: F.elu(x, 1.5), [M]),
    "gelu": (lambda t, F, x: F.gelu(x), [M]),
    "gelu_tanh": (lambda t, F, x: F.gelu(x, approximate="tanh"), [M]),
    "silu": (lambda t, F, x: F.silu(x), [M]),
    "softplus": (lambda t, F, x: F.softplus(x, beta=2), [M]),
    "logsigmoid": (lambda t, F, x: F.logsigmoid(x), [M]),
    "hardtanh": (lambda t, F, x: F.hardtanh(x), [M]),
    "normalize": (lambda t, F, x: F.normalize(x), [M]),
    "cross_entropy": (lambda t, F, x: F.cross_entropy(x, t.tensor([0, 3, 1])), [M]),
    "cross_entropy_images": (
        lambda t, F, x: F.cross_entropy(x, t.tensor([[0, 2], [1, 1]]), reduction="sum",
                                        label_smoothing=0.1), [(2, 3, 2)],
    ),
    "nll_loss": (lambda t, F, x: F.nll_loss(x, t.tensor([0, 3, 1])), [M]),
    "mse_loss": (lambda t, F, x, y: F.mse_loss(x, y), [M, M]),
    "l1_loss": (lambda t, F, x, y: F.l1_loss(x, y, reduction="none"), [M, M]),
    "huber_loss": (lambda t, F, x, y: F.huber_loss(x, y, delta=0.5), [M, M]),
    "bce_logits": (
        lambda t, F, x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), [M, M],
    ),
    "bce": (lambda t, F, x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), [M, M]),
    "linear": (lambda t, F, x, w, b: F.linear(x, w, b), [M, (2, 4), (2,)]),
    "conv2d": (
        lambda t, F, x, w, b: F.conv2d(x, w, b, 2, 1), [(2, 3, 5, 5), (4, 3, 3, 3), (4,)],
    ),
    "conv1d": (lambda t, F, x, w: F.conv1d(x, w, dilation=2), [(2, 3, 7), (4, 3, 2)]),
    "max_pool2d": (lambda t, F, x: F.max_pool2d(x, 2), [(1, 2, 4, 4)]),
    "avg_pool2d": (lambda t, F, x: F.avg_pool2d(x, 3, stride=1, padding=1), [(1, 2, 4, 4)]),
    "layer_norm": (lambda t, F, x, w, b: F.layer_norm(x, (4,), w, b), [M, V, V]),
    "batch_norm": (
        lambda t, F, x, w, b: F.batch_norm(x, t.zeros(4, dtype=x.dtype), t.ones(4, dtype=x.dtype),
                                           w, b, training=True), [M, V, V],
    ),
    "embedding": (lambda t, F, w: F.embedding(t.tensor([[0, 2], [2, 2]]), w), [M]),
    "pad": (lambda t, F, x: F.pad(x, (1, 2, 0, 1), value=3.0), [M]),
    "float_int": (lambda t, F, x: x * t.arange(4), [M]),
    "detached": (lambda t, F, x: x * x.detach(), [M]),
    "data": (lambda t, F, x: x * x.data, [M]),
    "to_float": (lambda t, F, x: x.float().to(t.float64), [M]),
}


def shaped(name):
    def function(t, F, x):
        base, last, _ = name.partition("_last")
        return getattr(x, base)(-1) if last else getattr(x, base)()

    return function


TABLE.update({name: (shaped(name), [M]) for name in UNARY})
TABLE.update({name: (lambda t, F, x, n=name: getattr(t, n)(x * x + 0.1), [M]) for name in POSITIVE})
TABLE.update({name: (lambda t, F, x, n=name: getattr(t, n)(x.tanh()), [M]) for name in SMALL})


def evaluated(t, function, arrays, cotangent):
    xs = [t.tensor(a, requires_grad=True) for a in arrays]
    out = function(t, t.nn.functional, *xs)
    seed = cotangent(tuple(out.shape))
    out.backward(t.tensor(seed))
    return out.detach().numpy(), [None if x.grad is None else x.grad.numpy() for x in xs]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", TABLE)
def test_value_and_gradient_are_pytorchs(name, dtype, rng):
    function, shapes = TABLE[name]
    arrays = [np.asarray(rng.normal(size=s), dtype) for s in shapes]
    made = {}

    def cotangent(shape):
        return made.setdefault(shape, np.asarray(rng.normal(size=shape), dtype))

    value, grads = evaluated(ours, function, arrays, cotangent)
    expected, slopes = evaluated(theirs, function, arrays, cotangent)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" or name == "to_float" else {
        "rtol": 1e-9, "atol": 1e-11,
    }
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    np.testing.assert_allclose(value, expected, **close)
    for g, h in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(g, h, **close)


KINKS = {
    "relu": lambda t, x: x.relu(),
    "abs": lambda t, x: x.abs(),
    "clamp": lambda t, x: x.clamp(0, 1),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x),
    "elu": lambda t, x: t.nn.functional.elu(x.clamp(min=0), alpha=2.0),  # at 1 there is no kink
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
    "sign": lambda t, x: x.sign(),
    "max_tie": lambda t, x: x.max(),
    "amax_tie": lambda t, x: x.amax(0),
    "max_dim_tie": lambda t, x: x.max(0).values,
    "min_dim_tie": lambda t, x: x.min(0).values,
    "maximum_tie": lambda t, x: t.maximum(x, t.zeros(5)),
    "norm_zero": lambda t, x: (x * 0).norm(),
    "prod_zero": lambda t, x: x.prod(),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_are_where_pytorch_has_them(name):
    found = []
    for t in (ours, theirs):
        x = t.tensor([0.0, 0.0, -1.0, 1.0, 1.0], requires_grad=True)
        out = KINKS[name](t, x)
        out.backward(t.full(tuple(out.shape), 3.0))
        found.append(x.grad.numpy())
    np.testing.assert_array_equal(*found)


PROMOTION = {
    "int / int": lambda t: t.tensor([1, 2]) / t.tensor([2, 4]),
    "int / number": lambda t: t.tensor([1, 2]) / 2,
    "number / int": lambda t: 1 / t.tensor([1, 2]),
    "int * float number": lambda t: t.arange(3) * 0.1,
    "int + float": lambda t: t.arange(3) + t.ones(3),
    "bool + int": lambda t: t.tensor([True]) + 1,
    "bool * float": lambda t: t.tensor([True]) * t.ones(1),
    "float32 * 0-d float64": lambda t: t.ones(2) * t.tensor(2.0, dtype=t.float64),
    "int * 0-d float": lambda t: t.arange(2) * t.tensor(2.5),
    "int // int": lambda t: t.tensor([-7, 7]) // 2,
    "float64 - float32": lambda t: t.ones(2, dtype=t.float64) - t.ones(2),
    "float32 * complex": lambda t: t.ones(2) * (1 + 2j),
    "int ** int": lambda t: t.arange(4) ** 2,
    "2 ** int": lambda t: 2 ** t.arange(4),
    "int ** float": lambda t: t.arange(4) ** 0.5,
    "sum of bool": lambda t: t.tensor([True, True]).sum(),
    "sum of int32": lambda t: t.tensor([1, 2], dtype=t.int32).sum(),
    "exp of int": lambda t: t.exp(t.arange(3)),
    "where": lambda t: t.where(t.tensor([True, False]), 1.0, 0.0),
    "where int": lambda t: t.where(t.tensor([True, False]), t.arange(2), 0.5),
    "clamp": lambda t: t.arange(4).clamp(0.5, 2),
    "arange": lambda t: t.arange(0, 1, 0.25),
    "arange int": lambda t: t.arange(5, 1, -2),
    "linspace": lambda t: t.linspace(0, 1, 5),
    "full": lambda t: t.full((2,), 3),
    "full float": lambda t: t.full((2,), 3.0),
    "eye": lambda t: t.eye(2, 3),
    "from numpy": lambda t: t.from_numpy(np.ones(2)),
    "tensor of numpy": lambda t: t.tensor(np.ones(2)),
    "as_tensor": lambda t: t.as_tensor([1.5, 2]),
    "complex": lambda t: t.tensor([1j]),
    "bits": lambda t: (t.arange(4) > 1) & ~(t.arange(4) == 3),
    "argmax": lambda t: t.tensor([[1.0, 3.0], [5.0, 2.0]]).argmax(dim=1),
    "max index": lambda t: t.tensor([[1.0, 3.0], [5.0, 2.0]]).max(0).indices,
    "cat of two dtypes": lambda t: t.cat([t.ones(2), t.arange(2)]),
    "uneven scatter": lambda t: t.zeros(1, 3).scatter(1, t.tensor([[2]]), t.ones(4, 4)),
    "sort index": lambda t: t.tensor([2.0, 1.0, 3.0]).sort().indices,
    "any": lambda t: (t.eye(2) > 0).any(dim=0),
    "long": lambda t: t.tensor([1.7, -1.7]).long(),
    "bool": lambda t: t.tensor([0.0, 2.0]).bool(),
    "new_ones": lambda t: t.eye(2, dtype=t.float64).new_ones(2, 3),
    "new_tensor": lambda t: t.eye(2).new_tensor([1, 2]),
    "zeros_like": lambda t: t.zeros_like(t.arange(3)),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor([0, 2]), 4),
    "isclose": lambda t: t.isclose(t.tensor([1.0, np.inf, np.nan]), t.tensor([1.0, np.inf, 1.0])),
    "nonzero": lambda t: t.tensor([[0, 1], [2, 0]]).nonzero(),
    "div floor": lambda t: t.div(t.tensor([7.0, -7.0]), 2, rounding_mode="floor"),
    "div trunc": lambda t: t.div(t.tensor([7, -7]), 2, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", PROMOTION)
def test_dtypes_are_pytorchs(name):
    found, expected = (PROMOTION[name](t).numpy() for t in (ours, theirs))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
