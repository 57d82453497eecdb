"""Views share memory, versions and histories: writes through any of them reach all."""

from __future__ import annotations

import numpy as np
import pytest


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-6, atol=1e-9)


VIEWS = {
    "slice": lambda y: y[1:],
    "rows": lambda y: y[:, 1],
    "steps": lambda y: y[::2],
    "view": lambda y: y.view(-1)[2:5],
    "reshape": lambda y: y.reshape(2, 6)[0],
    "flatten": lambda y: y.flatten()[3:],
    "t": lambda y: y.t()[1],
    "T": lambda y: y.T[0],
    "transpose": lambda y: y.transpose(0, 1)[2:],
    "permute": lambda y: y.permute(1, 0)[0],
    "movedim": lambda y: y.movedim(0, 1)[1],
    "unsqueeze": lambda y: y.unsqueeze(1)[0],
    "squeeze": lambda y: y[:1].squeeze(0),
    "narrow": lambda y: y.narrow(1, 1, 2),
    "select": lambda y: y.select(0, 2),
    "tensor_split": lambda y: y.tensor_split(2)[0],
    "diagonal": lambda y: y.diagonal(),
    "diagonal of t": lambda y: y.t().diagonal(-1),
    "view_as": lambda y: y.view_as(y)[0],
    "unflatten": lambda y: y.unflatten(1, (2, 2))[0, 0],
    "swapaxes": lambda y: y.swapaxes(0, 1)[1:3],
    "expand to itself": lambda y: y.expand(3, 4)[1],
    "chain": lambda y: y[1:].t()[::2].select(1, 0),
    "ellipsis": lambda y: y[..., 1:3],
    "none": lambda y: y[None, 1],
    "detach": lambda y: y.detach()[0],
}
ATTACHED = [name for name in VIEWS if name != "detach"]
SEVERAL = {
    "unbind": lambda y: y.unbind(1)[3],
    "chunk": lambda y: y.chunk(2, 1)[1],
    "split": lambda y: y.split([1, 2])[1],
}


@pytest.mark.parametrize("name", ATTACHED)
def test_writes_to_a_view_rewrite_the_base(torch, name, rng):
    start, weights = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    x = torch.tensor(start, requires_grad=True)
    y = x * 2
    view, other = VIEWS[name](y), y[:2, 1:]
    view.mul_(3)
    view.add_(1)
    again = VIEWS[name](torch.arange(12.0).reshape(3, 4)).flatten().long()
    mask = np.zeros(12, bool)
    mask[again.numpy()] = True
    mask = mask.reshape(3, 4)
    close(y, np.where(mask, start * 6 + 1, start * 2))
    close(other, np.where(mask, start * 6 + 1, start * 2)[:2, 1:])
    (y * torch.tensor(weights)).sum().backward()
    close(x.grad, weights * np.where(mask, 6, 2))


@pytest.mark.parametrize("name", ATTACHED)
def test_writes_to_the_base_rewrite_its_views(torch, name, rng):
    start = rng.normal(size=(3, 4))
    x = torch.tensor(start, requires_grad=True)
    y = x * 2
    view = VIEWS[name](y)
    weights = rng.normal(size=tuple(view.shape))
    y.mul_(x.detach())
    (view * torch.tensor(weights)).sum().backward()
    theirs = torch.tensor(start, requires_grad=True)
    (VIEWS[name](theirs * 2 * theirs.detach()) * torch.tensor(weights)).sum().backward()
    close(x.grad, theirs.grad.numpy())


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_version(torch, name):
    y = torch.zeros(3, 4)
    view = VIEWS[name](y)
    assert view._version == y._version == 0
    view.add_(1)
    assert view._version == y._version == 1
    assert y.sum().item() == view.numel()
    y.fill_(5)
    assert view.flatten().tolist() == [5.0] * view.numel()


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_views_is_written_to_here(name, rng):
    """PyTorch refuses what is a view beside others of the same call."""
    import pullback.torch as torch

    x = torch.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    y = x * 2
    SEVERAL[name](y).mul_(3)
    y.sum().backward()
    touched = SEVERAL[name](torch.arange(12).reshape(3, 4)).flatten().tolist()
    close(x.grad.flatten(), [6.0 if i in touched else 2.0 for i in range(12)])


@pytest.mark.parametrize("name", SEVERAL)
def test_several_views_share_memory(torch, name):
    y = torch.zeros(3, 4)
    view = SEVERAL[name](y)
    view.fill_(1)
    assert y.sum().item() == view.numel()
    assert y._version == view._version == 1


def test_overlapping_views_are_rewritten(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    left, right = y[:3], y[1:]
    left.mul_(10)
    right.mul_(x[1:])
    close(y, [10.0, 40.0, 90.0, 16.0])
    (left.sum() + right[0]).backward()
    close(x.grad, [10.0, 80.0, 60.0, 0.0])


def test_what_repeats_entries_is_not_written_to(torch):
    x = torch.zeros(3, 1).expand(3, 4)
    with pytest.raises(RuntimeError):
        x.add_(1)


def test_windows_read_and_do_not_write_apart(torch):
    x = torch.arange(4.0, dtype=torch.float64).requires_grad_()
    windows = x.unfold(0, 3, 1)
    (windows * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    close(x.grad, [1.0, 11.0, 110.0, 100.0])


def test_a_leaf_is_guarded_through_its_views(torch):
    x = torch.ones(3, requires_grad=True)
    for view in (x[1:], x.view(3, 1), x.unsqueeze(0)):
        with pytest.raises(RuntimeError, match="leaf"):
            view.mul_(2)
    with torch.no_grad():
        x[1:].mul_(2)
    close(x, [1.0, 2.0, 2.0])
    assert x.is_leaf


def test_a_saved_value_is_guarded_through_views(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = y.exp()
    y[0].zero_()
    with pytest.raises(RuntimeError, match=r"inplace|in-place"):
        z.sum().backward()


def test_a_constant_buffer_takes_on_history(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    buffer = torch.zeros(2, 3)
    buffer[:, 0] = w
    buffer.t()[1].copy_(w * 2)
    buffer.view(-1)[2::3].add_(w * 3)
    close(buffer, [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    (buffer * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    close(w.grad, [321.0, 321.0])
