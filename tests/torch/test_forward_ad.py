"""Dual tensors and checkpoints; each test runs on PyTorch too."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*jit:DeprecationWarning")


def close(tensor, expected):
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.fixture
def fw(torch):
    return import_module(f"{torch.__name__}.autograd.forward_ad")


def test_a_dual_tensor_carries_its_tangent_along(torch, fw, rng):
    a, w, t = (torch.tensor(rng.normal(size=(3, 3))) for _ in "awt")
    with fw.dual_level():
        x = fw.make_dual(a, t)
        found = fw.unpack_dual((w @ x).tanh().sum(dim=0))
        unpacked = fw.unpack_dual(x)
        plain = fw.unpack_dual(w)
    y = (w @ a).tanh()
    close(found.primal, y.sum(0))
    close(found.tangent, ((1 - y * y) * (w @ t)).sum(0))
    close(unpacked.primal, a)
    close(unpacked[1], t)
    assert plain.tangent is None
    assert isinstance(found.tangent, torch.Tensor)
    assert fw.unpack_dual(x).tangent is None  # it went with its level
    assert not found.primal.requires_grad


def test_unpacking_ends_the_tangent(torch, fw):
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0, 2.0]), torch.ones(2))
        primal, tangent = fw.unpack_dual(x * x)
        assert fw.unpack_dual(primal * x).tangent.tolist() == [1.0, 4.0]
        assert fw.unpack_dual(primal * tangent).tangent is None


def test_levels_by_hand(torch, fw):
    level = fw.enter_dual_level()
    try:
        x = fw.make_dual(torch.tensor([2.0]), torch.ones(1), level=level)
        assert fw.unpack_dual(x**3, level=level).tangent.tolist() == [12.0]
    finally:
        fw.exit_dual_level(level=level)
    with pytest.raises(RuntimeError):
        fw.exit_dual_level()


def test_an_exception_closes_the_level(torch, fw):
    with pytest.raises(KeyError), fw.dual_level():
        raise KeyError
    with pytest.raises(RuntimeError, match="level"):
        fw.make_dual(torch.ones(1), torch.ones(1))


def test_gradients_of_tangents_and_tangents_of_gradients(torch, fw, rng):
    a, t = (torch.tensor(rng.normal(size=4)) for _ in "at")
    leaf = a.clone().requires_grad_()
    with fw.dual_level():
        x = fw.make_dual(leaf, t)
        y = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        found, slope = fw.unpack_dual(y), fw.unpack_dual(g)
        (h,) = torch.autograd.grad(found.tangent, leaf, retain_graph=True)
    expected = a.exp() * (a + 2) * t
    close(slope.primal, a.exp() * (a + 1))
    close(slope.tangent, expected)
    close(h, expected)
    close(torch.autograd.grad(found.primal, leaf)[0], a.exp() * (a + 1))


def test_no_grad_leaves_forward_mode_and_detach_ends_it(torch, fw):
    with fw.dual_level(), torch.no_grad():
        x = fw.make_dual(torch.tensor([3.0]), torch.ones(1))
        assert fw.unpack_dual(x * x).tangent.tolist() == [6.0]
        assert fw.unpack_dual(x * x.detach()).tangent.tolist() == [3.0]


def test_writes_in_place_are_followed(torch, fw):
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        y = x * 2
        y.mul_(x)
        y[0] = 7.0
        assert fw.unpack_dual(y).tangent.tolist() == [0.0, 80.0]


def test_modules_are_followed(torch, fw, rng):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    a, t = (torch.tensor(rng.normal(size=(5, 3)), dtype=torch.float32) for _ in "at")
    with fw.dual_level():
        found = fw.unpack_dual(net(fw.make_dual(a, t))).tangent
    hidden = (net[0](a) > 0).float() * (t @ net[0].weight.T)
    close(found, hidden @ net[2].weight.T)


MISUSE = {
    "integers": lambda t, fw: fw.make_dual(t.tensor([1]), t.ones(1)),
    "shape": lambda t, fw: fw.make_dual(t.ones(2), t.ones(3)),
    "twice": lambda t, fw: fw.make_dual(fw.make_dual(t.ones(2), t.ones(2)), t.ones(2)),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse(torch, fw, case):
    with fw.dual_level(), pytest.raises((RuntimeError, ValueError)):
        MISUSE[case](torch, fw)


def test_levels_nest_here(rng):
    import pullback.torch as torch
    from pullback.torch.autograd import forward_ad as fw

    a, t, s = (torch.tensor(rng.normal(size=4)) for _ in "ats")
    with fw.dual_level() as outer:
        x = fw.make_dual(a, t)
        with fw.dual_level():
            inner = fw.unpack_dual(fw.make_dual(x, s) ** 3)
        close(inner.tangent, 3 * a * a * s)
        close(fw.unpack_dual(inner.tangent, level=outer).tangent, 6 * a * s * t)
        close(fw.unpack_dual(inner.primal).tangent, 3 * a * a * t)


# Checkpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_computed_twice(torch, rng, reentrant):
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    assert torch.utils.checkpoint.checkpoint is checkpoint
    layer = torch.nn.Linear(3, 3)
    runs = []

    def block(x, scale=1.0):
        runs.append(1)
        return torch.tanh(layer(x)) * scale

    x = torch.tensor(rng.normal(size=(2, 3)), dtype=torch.float32, requires_grad=True)
    how = {} if reentrant else {"scale": 2.0}
    y = checkpoint(block, x, use_reentrant=reentrant, **how)
    assert len(runs) == 1
    y.sum().backward()
    assert len(runs) == 2
    found = x.grad, layer.weight.grad
    x.grad = layer.weight.grad = None
    block(x, **how).sum().backward()
    close(found[0], x.grad)
    close(found[1], layer.weight.grad)


def test_a_checkpoint_drops_the_same_again(torch):
    drop = torch.nn.Dropout(0.5)
    x = torch.ones(100, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: drop(x) * x, x, use_reentrant=False)
    y.sum().backward()
    close(x.grad, 2 * y)


def test_a_chain_of_checkpoints(torch, rng):
    net = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
    x = torch.tensor(rng.normal(size=(2, 3)), dtype=torch.float32, requires_grad=True)
    sequential = torch.utils.checkpoint.checkpoint_sequential
    y = sequential(net, 2, x, use_reentrant=False)
    close(y, net(x))
    (found,) = torch.autograd.grad(y.sum(), x)
    close(found, torch.autograd.grad(net(x).sum(), x)[0])
