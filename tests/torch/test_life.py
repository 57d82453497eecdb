"""What happens to tensors: in place, views, leaves, `backward`, `grad`, hooks, errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-7)


# In place and views -------------------------------------------------------------------------

IN_PLACE = {
    "add_": lambda y: y.add_(2), "sub_": lambda y: y.sub_(y.detach() * 0.5),
    "mul_": lambda y: y.mul_(3), "div_": lambda y: y.div_(4), "exp_": lambda y: y.exp_(),
    "sin_": lambda y: y.sin_(), "tanh_": lambda y: y.tanh_(), "relu_": lambda y: y.relu_(),
    "neg_": lambda y: y.neg_(), "clamp_": lambda y: y.clamp_(-0.5, 0.5),
    "pow_": lambda y: y.pow_(2), "zero_": lambda y: y.zero_(), "fill_": lambda y: y.fill_(2),
    "masked_fill_": lambda y: y.masked_fill_(y > 0, 1.0), "sigmoid_": lambda y: y.sigmoid_(),
    "copy_": lambda y: y.copy_(y.detach() ** 2), "+=": lambda y: y.__iadd__(y),
    "*=": lambda y: y.__imul__(y.detach().exp()), "lerp_": lambda y: y.lerp_(y.detach() * 2, 0.25),
    "square_": lambda y: y.square_(), "cumsum_": lambda y: y.cumsum_(0),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_twins_give_pytorchs_gradients(name, rng):
    theirs = pytest.importorskip("torch")
    import pullback.torch as ours

    start, seed = rng.normal(size=5), rng.normal(size=5)
    found = []
    for t in (ours, theirs):
        x = t.tensor(start, requires_grad=True)
        y = x * 2
        same = IN_PLACE[name](y)
        assert same is y
        (y * t.tensor(seed)).sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_a_write_to_a_view_reaches_its_base(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[1:].mul_(10)
    y.view(3, 1)[0] = x[2] * 5
    close(y, [15.0, 20.0, 30.0])
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    close(x.grad, [0.0, 20.0, 35.0])


def test_memory_is_shared_by_views_detach_data_and_numpy(torch):
    x = torch.zeros(4)
    array = np.zeros(4, np.float32)
    x.view(2, 2)[1, 1] = 1
    x.detach()[0] = 2
    x.data[1] = 3
    x.numpy()[2] = 4
    close(x, [2.0, 3.0, 4.0, 1.0])
    torch.from_numpy(array).add_(1)
    assert array.tolist() == [1.0] * 4
    y = torch.tensor(array)
    y.add_(1)
    assert array.tolist() == [1.0] * 4


def test_data_trains_without_a_trace(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.data -= 0.5 * w.grad
    assert w.is_leaf
    assert w.requires_grad
    close(w, [0.0, 0.0])
    w.data = torch.ones(3)
    w.grad = None
    (w * 2).sum().backward()
    close(w.grad, [2.0, 2.0, 2.0])


def test_view_needs_memory_that_lies_so(torch):
    with pytest.raises(RuntimeError):
        torch.ones(2, 3).t().view(6)
    assert tuple(torch.ones(2, 3).t().contiguous().view(6).shape) == (6,)


def test_saved_values_are_guarded(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"in.?place"):
        y.sum().backward()
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 2
    c = (b * b).sum()
    b.detach().zero_()
    with pytest.raises(RuntimeError, match=r"in.?place"):
        c.backward()


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.zero_(), lambda x: x.__setitem__(0, 1.0),
    lambda x: x.normal_(), lambda x: x.view(2, 1).mul_(2), lambda x: x.__iadd__(1),
])
def test_leaves_are_guarded(torch, write):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        write(x)
    with torch.no_grad():
        write(x)
    assert x.is_leaf
    assert x.requires_grad


# Backward and grad --------------------------------------------------------------------------


def test_backward_accumulates_and_frees(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, [4.0, 8.0])
    with pytest.raises(RuntimeError):
        y.backward()
    x.grad.zero_()
    close(x.grad, [0.0, 0.0])
    x.grad = None
    assert x.grad is None


def test_backward_takes_a_gradient_and_inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    (x * w).backward(torch.tensor([1.0, 10.0]), inputs=[w])
    close(w.grad, 21.0)
    assert x.grad is None
    torch.autograd.backward([x * 2, w * 2], [torch.ones(2), None])
    close(x.grad, [2.0, 2.0])
    close(w.grad, 23.0)


def test_grad_gives_what_is_asked(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad
    assert x.grad is None
    (h,) = torch.autograd.grad(g, [x], grad_outputs=torch.tensor([1.0, 2.0]))
    close(h, [6.0, 24.0])
    out = (x * 2).sum()
    with pytest.raises(RuntimeError):
        torch.autograd.grad(out, [x, w], retain_graph=True)
    assert torch.autograd.grad(out, [x, w], allow_unused=True, retain_graph=True)[1] is None
    close(torch.autograd.grad(out, [x, w], materialize_grads=True)[1], 0.0)


MISUSES = {
    "backward of several entries": lambda t, x: (x * 2).backward(),
    "a gradient of another shape": lambda t, x: (x * 2).backward(t.ones(3)),
    "backward of a constant": lambda t, x: t.ones(1).backward(),
    "numpy of what requires grad": lambda t, x: x.numpy(),
    "integers that require grad": lambda t, x: t.tensor([1], requires_grad=True),
    "requires_grad_ of integers": lambda t, x: t.tensor([1]).requires_grad_(),
    "unsetting it on a result": lambda t, x: (x * 2).requires_grad_(False),
    "shapes that do not broadcast": lambda t, x: x + t.ones(3),
    "matrices that do not fit": lambda t, x: t.ones(2, 3) @ t.ones(2, 3),
    "matrices of two dtypes": lambda t, x: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64),
    "mm of vectors": lambda t, x: x.mm(x),
    "truth of several": lambda t, x: bool(x > 0),
    "item of several": lambda t, x: x.item(),
    "reshape to another size": lambda t, x: x.reshape(3),
    "cat of different widths": lambda t, x: t.cat([t.ones(2, 2), t.ones(2, 3)]),
    "a grad of another shape": lambda t, x: setattr(x, "grad", t.ones(3)),
    "mean of integers": lambda t, x: t.arange(3).mean(),
    "a hook on a constant": lambda t, x: t.ones(1).register_hook(print),
    "integer /= number": lambda t, x: t.arange(3).div_(2),
    "grad of an untracked input": lambda t, x: t.autograd.grad(x.sum(), t.ones(2)),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_a_runtime_error(torch, name):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError):
        MISUSES[name](torch, x)


def test_what_is_no_tensor_is_a_type_error(torch):
    for wrong in (lambda: torch.exp("a"), lambda: torch.ones(2) + None):
        with pytest.raises(TypeError):
            wrong()


def test_wrong_indices_are_index_errors(torch):
    for wrong in (lambda: torch.ones(2)[5], lambda: torch.ones(2).sum(dim=3)):
        with pytest.raises(IndexError):
            wrong()


def test_modes(torch):
    x = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with torch.inference_mode():
        assert not (x * 2).requires_grad

    @torch.no_grad()
    def quiet(x):
        return x * 2

    assert not quiet(x).requires_grad


def test_hooks_see_and_replace_gradients(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.clone()))
    handle = x.register_hook(lambda g: g * 10)
    (y * y).sum().backward()
    close(seen[0], [6.0, 12.0])
    close(y.grad, [6.0, 12.0])
    close(x.grad, [180.0, 360.0])
    handle.remove()
    x.grad = None
    (x * 1).sum().backward()
    close(x.grad, [1.0, 1.0])


def test_copies_keep_what_a_leaf_is(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made.requires_grad
        assert made.is_leaf
        close(made, [1.0, 2.0])
    with pytest.raises(RuntimeError):
        copy.deepcopy(x * 2)
    y = (x * 2).detach_()
    assert y.is_leaf
    assert not y.requires_grad


def test_small_members(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert tuple(x.size()) == (2, 2)
    assert repr(x.shape) == "torch.Size([2, 2])"
    assert x.shape.numel() == 4
    assert x.size(-1) == 2
    assert (x.dim(), x.ndim, x.numel(), len(x)) == (2, 2, 4, 2)
    assert x.is_floating_point()
    assert not x.is_complex()
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x[1, 0].item() == 3.0
    assert 3.0 in x
    assert f"{x[0, 1]:.2f}" == "2.00"
    assert x.dtype == torch.float32
    assert x.double().dtype == torch.float64
    assert x.to(x.dtype) is x
    assert torch.equal(x, x.clone())
    assert torch.allclose(x, x + 1e-9)
    assert torch.is_tensor(x)
    assert repr(torch.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert repr(torch.tensor([1.0, 2.0], requires_grad=True)) == (
        "tensor([1., 2.], requires_grad=True)"
    )
    assert repr(torch.tensor([1, 2])) == "tensor([1, 2])"
    assert [float(row.sum()) for row in x] == [3.0, 7.0]


def test_random_numbers_repeat_with_their_seed(torch):
    torch.manual_seed(3)
    first = torch.randn(4), torch.rand(2, 3), torch.randint(0, 5, (6,)), torch.randperm(5)
    torch.manual_seed(3)
    again = torch.randn(4), torch.rand(2, 3), torch.randint(0, 5, (6,)), torch.randperm(5)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    one, other = (torch.randn(3, generator=torch.Generator().manual_seed(1)) for _ in "ab")
    assert torch.equal(one, other)
    assert first[0].dtype == torch.float32
    assert sorted(first[3].tolist()) == [0, 1, 2, 3, 4]
    assert bool((first[2] < 5).all())
    noise = torch.empty(1000).normal_(2.0, 0.5)
    assert abs(float(noise.mean()) - 2.0) < 0.1
    spread = torch.empty(1000).uniform_(-1.0, 1.0)
    assert float(spread.min()) >= -1.0
    assert float(spread.max()) < 1.0
