"""PyTorch's functions and tensors on Tensors; JAX's and NumPy's beside data of another library."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.torch import rules

torch = pytest.importorskip("torch")
F = torch.nn.functional

M, V, S = (3, 4), (4,), (3, 3)

CALLS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "sin": (torch.sin, [M]), "exp": (torch.exp, [M]), "abs": (torch.abs, [M]),
    "absolute": (torch.absolute, [M]), "neg": (torch.neg, [M]), "tanh": (torch.tanh, [M]),
    "sigmoid": (torch.sigmoid, [M]), "erf": (torch.erf, [M]), "arctan": (torch.arctan, [M]),
    "square": (torch.square, [M]), "reciprocal": (torch.reciprocal, [M]), "sinc": (torch.sinc, [M]),
    "clone": (torch.clone, [M]), "special": (torch.special.erf, [M]),
    "i0e": (torch.special.i0e, [M]), "digamma": (torch.digamma, [M]),
    "expit": (torch.special.expit, [M]),
    "add": (torch.add, [M, V]), "add alpha": (lambda x, y: torch.add(x, y, alpha=2), [M, V]),
    "sub alpha": (lambda x, y: torch.sub(x, y, alpha=3), [M, V]), "mul": (torch.mul, [M, V]),
    "rsub": (lambda x, y: torch.rsub(x, y), [M, V]),
    "div": (lambda x, y: torch.div(x, y * y + 1), [M, M]), "atan2": (torch.atan2, [M, M]),
    "maximum": (torch.maximum, [M, M]), "logaddexp": (torch.logaddexp, [M, M]),
    "hypot": (torch.hypot, [M, M]), "pow": (lambda x: torch.pow(x, 3), [M]),
    "float_power of a number": (lambda x: torch.pow(2.0, x), [M]),
    "clamp": (lambda x: torch.clamp(x, -0.5, max=0.5), [M]),
    "where": (lambda x, y: torch.where(x > 0, x, y), [M, M]),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), [M, M]),
    "sum": (torch.sum, [M]), "sum dim": (lambda x: torch.sum(x, 0), [M]),
    "sum dims": (lambda x: torch.sum(x, dim=(0, 1), keepdim=True), [(3, 4, 2)]),
    "mean": (lambda x: torch.mean(x, -1, True), [M]), "prod": (lambda x: torch.prod(x, 1), [M]),
    "std": (torch.std, [M]), "var": (lambda x: torch.var(x, 1, unbiased=False), [M]),
    "var correction": (lambda x: torch.var(x, dim=0, correction=2, keepdim=True), [M]),
    "max": (torch.max, [M]), "max dim": (lambda x: torch.max(x, dim=1).values, [M]),
    "min keep": (lambda x: torch.min(x, 0, keepdim=True)[0], [M]),
    "max of two": (torch.max, [M, M]), "max of other": (lambda x, y: torch.max(x, other=y), [M, M]),
    "amax": (lambda x: torch.amax(x, (0, 1)), [M]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [M]),
    "cumsum": (lambda x: torch.cumsum(x, dim=0), [M]),
    "cumprod": (lambda x: torch.cumprod(x, 1), [M]), "norm": (torch.norm, [M]),
    "norm 3": (lambda x: torch.norm(x, p=3, dim=1), [M]),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, 3, dim=0), [M]),
    "sort": (lambda x: torch.sort(x, descending=True)[0], [M]),
    "topk": (lambda x: torch.topk(x, 2, dim=0).values, [M]),
    "diff": (lambda x: torch.diff(x, dim=0), [M]),
    "reshape": (lambda x: torch.reshape(x, (2, -1)), [M]),
    "flatten": (lambda x: torch.flatten(x, 1), [(2, 3, 2)]),
    "transpose": (lambda x: torch.transpose(x, 0, -1), [(2, 3, 4)]),
    "permute": (lambda x: torch.permute(x, (2, 0, 1)), [(2, 3, 4)]), "t": (torch.t, [M]),
    "movedim": (lambda x: torch.movedim(x, 0, 2), [(2, 3, 4)]),
    "squeeze": (torch.squeeze, [(1, 3, 1)]), "squeeze 1": (lambda x: torch.squeeze(x, 1), [(1, 3)]),
    "unsqueeze": (lambda x: torch.unsqueeze(x, -1), [M]),
    "broadcast_to": (lambda x: torch.broadcast_to(x, (2, 4)), [V]),
    "cat": (lambda x, y: torch.cat([x, y], dim=1), [M, M]),
    "stack": (lambda x, y: torch.stack((x, y), 1), [M, M]),
    "unbind": (lambda x: torch.unbind(x, 1)[2], [M]),
    "split": (lambda x: torch.split(x, 3, dim=1)[1], [M]),
    "split list": (lambda x: torch.split(x, [1, 3], 1)[1], [M]),
    "flip": (lambda x: torch.flip(x, (0, 1)), [M]), "roll": (lambda x: torch.roll(x, 1, 0), [M]),
    "tile": (lambda x: torch.tile(x, (2, 1)), [M]), "tril": (torch.tril, [M]),
    "triu": (lambda x: torch.triu(x, diagonal=1), [M]),
    "gather": (lambda x: torch.gather(x, 1, torch.tensor([[0, 0], [3, 1]])), [M]),
    "gather 0": (lambda x: torch.gather(x, 0, torch.tensor([[0, 2, 1]])), [M]),
    "index_select": (lambda x: torch.index_select(x, 1, torch.tensor([3, 3, 0])), [M]),
    "matmul": (torch.matmul, [M, (4, 2)]), "mm": (torch.mm, [M, (4, 2)]),
    "bmm": (torch.bmm, [(2, 3, 4), (2, 4, 2)]), "mv": (torch.mv, [M, V]),
    "dot": (torch.dot, [V, V]), "outer": (torch.outer, [V, (3,)]),
    "inner": (torch.inner, [V, V]), "inner of matrices": (torch.inner, [M, (5, 4)]),
    "einsum": (lambda x, y: torch.einsum("ij, kj -> ik", x, y), [M, (2, 4)]),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=1), [M, V]),
    "tensordot axes": (lambda x, y: torch.tensordot(x, y, dims=([0], [1])), [M, (2, 3)]),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=3), [V, (3, 2), (2, 4)]),
    "inv": (torch.linalg.inv, [S]), "det": (torch.det, [S]), "solve": (torch.linalg.solve, [S, S]),
    "svdvals": (torch.linalg.svdvals, [M]),
    "slogdet": (lambda x: torch.linalg.slogdet(x)[1], [S]),
    "rfft": (lambda x: torch.real(torch.fft.rfft(x, dim=0)), [M]),
    "fft": (lambda x: torch.abs(torch.fft.fft(x, 6, norm="ortho")), [M]),
    "relu": (F.relu, [M]), "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), [M]),
    "elu": (lambda x: F.elu(x, 1.5), [M]), "gelu": (F.gelu, [M]),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), [M]), "silu": (F.silu, [M]),
    "softplus": (lambda x: F.softplus(x, beta=2), [M]), "logsigmoid": (F.logsigmoid, [M]),
    "softmax": (lambda x: F.softmax(x, dim=0), [M]),
    "torch softmax": (lambda x: torch.softmax(x, 1), [M]),
    "log_softmax": (lambda x: F.log_softmax(x, dim=1), [M]),
    "linear": (F.linear, [M, (2, 4), (2,)]), "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), w, b), [M, V, V]),
    "conv1d": (lambda x, w: F.conv1d(x, w, dilation=2), [(2, 3, 7), (4, 3, 2)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, 2, 1), [(2, 3, 5, 5), (4, 3, 3, 3), (4,)]),
    "embedding": (lambda w: F.embedding(torch.tensor([[0, 2], [2, 2]]), w), [M]),
    "mse_loss": (F.mse_loss, [M, M]),
    "l1_loss": (lambda x, y: F.l1_loss(x, y, reduction="none"), [M, M]),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, delta=0.5), [M, M]),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 3, 1])), [M]),
    "cross_entropy of images": (
        lambda x: F.cross_entropy(x, torch.tensor([[0, 2], [1, 1]]), reduction="sum",
                                  label_smoothing=0.1), [(2, 3, 2)]),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([0, 3, 1])), [M]),
    "keywords": (lambda x, y: torch.add(input=torch.abs(input=x), other=y, alpha=2), [M, M]),
    "dims by keyword": (lambda x: torch.permute(torch.flip(x, dims=(0,)), dims=(1, 0)), [M]),
    "shape by keyword": (lambda x: torch.reshape(torch.tile(x, dims=(2,)), shape=(8, 3)), [M]),
    "rsub alpha": (lambda x, y: torch.rsub(x, y, alpha=2), [M, M]),
    "logit eps": (lambda x: torch.special.logit(x, 0.1), [M]),
    "eigvalsh upper": (lambda x: torch.linalg.eigvalsh(x @ x.T, UPLO="U"), [S]),
    "svd": (lambda x: torch.linalg.svd(x, full_matrices=False).S, [M]),
    "mean dtype": (lambda x: torch.mean(x, 0, dtype=torch.float64), [M]),
    "sort stable": (lambda x: torch.sort(x, stable=True).values, [M]),
    "diff prepend": (lambda x, y: torch.diff(x, prepend=y), [M, M]),
    "no dims": (lambda x: torch.sum(x, []), [M]),
    "gather 3": (
        lambda x: torch.gather(x, 1, torch.zeros((1, 2, 2), dtype=torch.int64)), [(2, 3, 4)]),
    "padding": (lambda w: F.embedding(torch.tensor([0, 2]), w, padding_idx=0), [M]),
    "one example": (lambda x, w: F.conv1d(x, w), [(3, 7), (4, 3, 2)]),
    "weighted cross_entropy": (
        lambda x, y: F.cross_entropy(x, torch.tensor([0, 3, 1]), weight=torch.arange(4.0).double(),
                                     ignore_index=3) + torch.sum(y), [M, V]),
    "where scalars": (lambda x: torch.where(x > 0, 1.0, 0.0) * x, [M]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_what_it_gives_pytorchs_own_tensors(
    name: str, rng: np.random.Generator
) -> None:
    """Values, dtypes and gradients, by PyTorch's autograd."""
    function, shapes = CALLS[name]
    arrays = [torch.from_numpy(rng.standard_normal(shape)) for shape in shapes]
    ours = [pb.tensor(a, requires_grad=True) for a in arrays]
    theirs = [a.clone().requires_grad_() for a in arrays]
    found, wanted = function(*ours), function(*theirs)
    assert type(found) is pb.Tensor
    assert found.dtype == wanted.dtype
    torch.testing.assert_close(found.data, wanted.detach(), rtol=1e-9, atol=1e-10)
    seed = torch.from_numpy(rng.standard_normal(tuple(wanted.shape)))
    got = pb.autograd.grad(found, ours, seed)
    for g, h in zip(got, torch.autograd.grad(wanted, theirs, seed), strict=True):
        torch.testing.assert_close(g.data, h, rtol=1e-9, atol=1e-10)


def test_the_rules_are_the_front_ends_functions_of_pytorchs_names() -> None:
    spaces = {"": (torch, F), "linalg_": (torch.linalg,), "fft_": (torch.fft,),
              "special_": (torch.special,)}
    for start, names in rules.NAMES.items():
        for name in names.split():
            there = [getattr(space, name) for space in spaces[start] if hasattr(space, name)]
            assert start + name in {f.__name__ for f in there}
            assert rules.rule(start + name) is not None


def test_the_dtypes_are_the_cores() -> None:
    """Not float32, the front end's default, nor its promotion of scalars."""
    whole = pb.tensor(np.array([1, 2]))
    assert torch.sin(whole).dtype == np.float64
    assert torch.special.entr(whole).dtype == np.float64
    assert torch.mean(whole).dtype == pb.mean(whole).dtype
    small = pb.tensor(np.array([1, 2], "float16"))
    assert torch.hypot(small, small).dtype == np.float16
    wide = pb.tensor(torch.tensor([1, 2]))
    assert torch.div(wide, 2, rounding_mode="floor").dtype == torch.int64
    assert torch.zeros_like(wide, dtype=torch.float64).dtype == torch.float64
    assert type(torch.cat([wide, torch.tensor([0.5])])) is pb.Tensor
    front = pb.torch.tensor([1, 2])
    assert pb.torch.sin(front).dtype == np.float32
    assert type(torch.sin(front)) is pb.torch.Tensor


def test_qr_without_q(rng: np.random.Generator) -> None:
    """PyTorch has no derivative for it."""
    a = torch.from_numpy(rng.standard_normal(M))
    found, wanted = torch.linalg.qr(pb.tensor(a), "r"), torch.linalg.qr(a, "r")
    assert found.Q.shape == tuple(wanted.Q.shape)
    torch.testing.assert_close(abs(found.R.data), abs(wanted.R))


def test_a_view_stays_a_view() -> None:
    """A write through it reaches its base, and the base's history."""
    x = pb.tensor(torch.arange(6.0).reshape(2, 3), requires_grad=True)
    base = x * 1
    view = torch.transpose(base, 0, 1)
    view[0] = torch.zeros(2)
    assert base.data[:, 0].tolist() == [0, 0]
    (g,) = pb.autograd.grad(pb.sum(base * base), x)
    assert g.tolist() == [[0, 2, 4], [0, 8, 10]]


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow,
    operator.matmul,
]


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_operators_in_both_orders(apply: Callable[..., Any], rng: np.random.Generator) -> None:
    t = torch.from_numpy(rng.random((3, 3)) + 0.5)
    x = pb.tensor(torch.from_numpy(rng.random((3, 3)) + 0.5), requires_grad=True)
    for left, right in ((t, x), (x, t)):
        out = apply(left, right)
        assert type(out) is pb.Tensor
        twin = x.data.clone().requires_grad_()
        wanted = apply(*[twin if v is x else v for v in (left, right)])
        torch.testing.assert_close(out.data, wanted.detach())
        seed = torch.from_numpy(rng.standard_normal((3, 3)))
        (g,) = pb.autograd.grad(out, x, seed)
        torch.testing.assert_close(g.data, torch.autograd.grad(wanted, twin, seed)[0])


def test_comparisons_and_bits() -> None:
    t, x = torch.tensor([1, 2, 3]), pb.tensor(torch.tensor([3, 2, 1]))
    for apply in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
                  operator.and_, operator.or_, operator.xor, operator.floordiv):
        for out, wanted in ((apply(t, x), apply(t, x.data)), (apply(x, t), apply(x.data, t))):
            assert type(out) is pb.Tensor
            assert torch.equal(out.data, wanted)


def test_methods_of_pytorchs_tensors() -> None:
    t, x = torch.tensor([1.0, 2.0]), pb.tensor(torch.tensor([3.0, 4.0]), requires_grad=True)
    (g,) = pb.autograd.grad(pb.sum(t.mul(x)) + pb.sum(t.add(x, alpha=2)), x)
    assert torch.equal(g.data, t + 2)
    assert t.dot(x).item() == 11


def test_data_of_numpy_is_taken_too() -> None:
    """As NumPy's functions take PyTorch's data."""
    x = pb.tensor(np.array([0.5, 1.0]), requires_grad=True)
    assert isinstance(torch.sin(x).data, np.ndarray)
    assert torch.sin(x).requires_grad
    with pytest.raises(errors.MixedLibrariesError, match=r"torch and numpy|numpy and torch"):
        torch.add(torch.ones(2), x)


def test_a_module_of_pytorchs_without_parameters() -> None:
    x = pb.tensor(torch.tensor([-1.0, 2.0]), requires_grad=True)
    pb.sum(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Softplus())(x)).backward()
    assert x.grad.data[0] == 0.0
    assert x.grad.data[1] > 0.5


def test_parameters_of_pytorchs_would_receive_no_gradient() -> None:
    x = pb.tensor(torch.ones(1, 3), requires_grad=True)
    layer = torch.nn.Linear(3, 2)
    with pytest.raises(TypeError, match=r"(?s)torch.linear.*would receive none.*detach\(\)"):
        layer(x)
    out = F.linear(x, layer.weight.detach(), layer.bias.detach())
    torch.testing.assert_close(out.data, layer(x.data).detach())


WITHOUT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no rule": (lambda x: torch.trapezoid(x), "torch.trapezoid of a Tensor"),
    "an argument": (lambda x: torch.exp(x, out=torch.ones(2)), "leave out arguments.*out"),
    "in place": (lambda x: F.relu(x, inplace=True), "leave out arguments.*inplace"),
    "random": (lambda x: F.dropout(x), "torch.dropout"),
    "a write": (lambda x: torch.ones(2).add_(x), r"write t = t \+ x"),
    "an entry": (lambda x: torch.ones(2, 2).__setitem__(0, x), "write"),
    "theirs": (lambda x: torch.autograd.grad(x, torch.ones(2)), "torch.grad"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_function_without_a_rule_is_an_error_where_somebody_follows(name: str) -> None:
    call, words = WITHOUT[name]
    x = pb.tensor(torch.tensor([1.0, 2.0]), requires_grad=True)
    with pytest.raises(errors.ArgumentTypeError, match=f"(?s){words}.*detach"):
        call(x)


def test_where_nobody_follows_pytorch_answers() -> None:
    x = pb.tensor(torch.tensor([1.0, 2.0]))
    assert type(torch.trapezoid(x)) is torch.Tensor
    target = torch.zeros(2)
    target.add_(x)
    assert target.tolist() == [1.0, 2.0]
    with pb.no_grad():
        tracked = pb.tensor(torch.tensor([1.0, 3.0]), requires_grad=True)
        assert torch.trapezoid(tracked).item() == 2.0


def test_an_augmented_assignment_is_a_new_tensor() -> None:
    t, x = torch.ones(2), pb.tensor(torch.ones(2), requires_grad=True)
    t += x
    assert type(t) is pb.Tensor
    assert t.requires_grad


@pytest.mark.parametrize("leave", [
    torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack,
], ids=lambda f: f.__name__)
def test_what_leaves_is_an_error(leave: Callable[..., Any]) -> None:
    """PyTorch's conversions lose the history: in a transformation, an error names the call."""
    with pytest.raises(errors.LostGradientError, match=r"by \.__dlpack__\(\) at .*test_torch_pro"):
        pb.grad(lambda x: pb.sum(pb.asarray(torch.sin(leave(x)))))(torch.ones(2))


def test_forward_mode_and_vmap() -> None:
    x = torch.tensor([0.5, 1.0])
    _, tangent = pb.jvp(torch.sin, (x,), (torch.tensor([2.0, 3.0]),))
    torch.testing.assert_close(tangent.data, torch.cos(x) * torch.tensor([2.0, 3.0]))
    rows = pb.vmap(lambda r: torch.sum(torch.exp(r)))(torch.ones(3, 2))
    torch.testing.assert_close(rows.data, torch.exp(torch.ones(3, 2)).sum(1))


# JAX's and NumPy's --------------------------------------------------------------------------


def test_jax_refuses_by_itself_what_it_would_lose() -> None:
    """It has no protocol, and asks no argument for an array."""
    jax = pytest.importorskip("jax")
    x = pb.tensor(jax.numpy.ones(2), requires_grad=True)
    for call in (
        jax.numpy.sin, lambda x: jax.numpy.add(jax.numpy.ones(2), x), jax.jit(lambda x: x),
        jax.grad(jax.numpy.sum), jax.vmap(lambda x: x),
    ):
        with pytest.raises(TypeError):
            call(x)


def test_operators_with_jax_arrays() -> None:
    jax = pytest.importorskip("jax")
    a = jax.numpy.asarray([2.0, 3.0])
    x = pb.tensor(jax.numpy.asarray([5.0, 7.0]), requires_grad=True)
    for out in (a * x, x * a):
        assert type(out) is pb.Tensor
        (g,) = pb.autograd.grad(pb.sum(out), x)
        assert g.tolist() == [2.0, 3.0]
    assert (a < x).tolist() == [True, True]


def test_numpy_arrays_beside_data_of_another_library() -> None:
    """An error that names both, in either order; NumPy's scalars are numbers like others."""
    x = pb.tensor(torch.ones(2), requires_grad=True)
    for call in (lambda: np.ones(2) + x, lambda: x + np.ones(2), lambda: np.add(np.ones(2), x),
                 lambda: np.concatenate([np.ones(2), x])):
        with pytest.raises(errors.MixedLibrariesError, match=r"like="):
            call()
    out = np.float64(2) * x
    assert out.dtype == torch.float32
    assert np.sin(x).requires_grad
