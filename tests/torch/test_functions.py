"""Gradients written by hand, gradients checked, whole derivatives, training."""

from __future__ import annotations

import numpy as np
import pytest


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-7)


def cube_of(torch, wrong=1.0):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x * wrong

    return Cube.apply


def double(torch, rng, *shape):
    return torch.tensor(rng.normal(size=shape), requires_grad=True)


def test_a_function_is_differentiated_twice(torch):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = cube_of(torch)(x)
    assert type(y.grad_fn).__name__ == "CubeBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    close(g, [3.0, 12.0])
    g.sum().backward()
    close(x.grad, [6.0, -12.0])


def test_setup_context_and_several_outputs(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(x, y, scale):
            return x * y * scale, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            *saved, ctx.scale = inputs
            ctx.save_for_backward(*saved)

        @staticmethod
        def backward(ctx, g, h):
            _, y = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False, False)
            return g * y * ctx.scale + h, None, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    product, total = Both.apply(x, torch.tensor([5.0, 7.0]), 2)
    (product.sum() + (total * total).sum()).backward()
    close(x.grad, [22.0, 32.0])


def test_marks(torch):
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, indices = x.sort()
            ctx.mark_non_differentiable(indices)
            ctx.save_for_backward(indices)
            return values, indices

        @staticmethod
        def backward(ctx, g, _):
            (indices,) = ctx.saved_tensors
            return torch.zeros_like(g).index_add(0, indices, g)

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, indices = Sorted.apply(x)
    assert not indices.requires_grad
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    close(x.grad, [100.0, 1.0, 10.0])
    y = x * 1
    assert Doubled.apply(y) is y
    x.grad = None
    y.sum().backward()
    close(x.grad, [2.0, 2.0, 2.0])


def test_once_differentiable(torch):
    from importlib import import_module

    once = import_module(torch.__name__ + ".autograd.function").once_differentiable

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once
        def backward(ctx, g):
            return g * 2

    x = torch.tensor([1.0], requires_grad=True)
    (g,) = torch.autograd.grad((Twice.apply(x) ** 2).sum(), x, create_graph=True)
    close(g, [8.0])
    with pytest.raises(RuntimeError):
        g.sum().backward()


def test_a_wrong_number_of_gradients_is_an_error(torch):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError):
        Bad.apply(x, x).sum().backward()


def test_an_error_in_a_rule_arrives_as_it_is(torch):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")

    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match="mine") as caught:
        Bad.apply(x).sum().backward()
    assert str(caught.value) == "mine"
    assert not isinstance(caught.value, RuntimeError)


# Checking -----------------------------------------------------------------------------------


def test_gradcheck_finds_right_rules_right(torch, rng):
    x, w = double(torch, rng, 3, 2), double(torch, rng, 2)
    constant = torch.tensor(rng.normal(size=2))
    assert torch.autograd.gradcheck(cube_of(torch), x, eps=1e-6, atol=1e-4)
    assert torch.autograd.gradgradcheck(cube_of(torch), (x,))
    several = lambda a, b, c: (a @ b, (a * c).sin())  # noqa: E731
    assert torch.autograd.gradcheck(several, (x, w, constant))
    assert torch.autograd.gradgradcheck(lambda a, b: (a * b).exp().sum(0), (x, w))
    z = torch.tensor(rng.normal(size=2) + 1j * rng.normal(size=2), requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: z * z.conj() + z.exp(), z)


@pytest.mark.parametrize("wrong", [-1.0, 1.01, 0.0])
def test_gradcheck_finds_wrong_rules(torch, rng, wrong):
    x = double(torch, rng, 3)
    with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"]):
        torch.autograd.gradcheck(cube_of(torch, wrong), x)
    assert not torch.autograd.gradcheck(cube_of(torch, wrong), x, raise_exception=False)


def test_gradcheck_finds_gradients_that_are_cut(torch, rng):
    x = double(torch, rng, 3)
    assert not torch.autograd.gradcheck(
        lambda x: x * x.detach(), x, raise_exception=False
    )


def test_gradgradcheck_finds_wrong_second_derivatives(torch, rng):
    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x.detach() ** 2

    x = double(torch, rng, 3)
    assert torch.autograd.gradcheck(Cut.apply, x)
    assert not torch.autograd.gradgradcheck(Cut.apply, x, raise_exception=False)


def test_gradcheck_wants_an_input_to_look_at(torch):
    with pytest.raises(ValueError, match="grad"):
        torch.autograd.gradcheck(lambda x: x * 2, torch.ones(2, dtype=torch.float64))


def test_functional_derivatives(torch, rng):
    F = torch.autograd.functional
    x, y = (torch.tensor(rng.normal(size=3)) for _ in "ab")
    rows = F.jacobian(lambda a: a * a, x)
    close(rows, np.diag(2 * x.numpy()))
    one, two = F.jacobian(lambda a, b: (a * b).sum(), (x, y))
    close(one, y.numpy())
    close(two, x.numpy())
    close(F.hessian(lambda a: (a**3).sum(), x), np.diag(6 * x.numpy()))
    value, g = F.vjp(lambda a: a.exp(), x, y)
    close(value, np.exp(x.numpy()))
    close(g, np.exp(x.numpy()) * y.numpy())
    value, t = F.jvp(lambda a: a.sin(), x, y)
    close(t, np.cos(x.numpy()) * y.numpy())
    _, h = F.hvp(lambda a: (a**3).sum(), x, y)
    close(h, 6 * x.numpy() * y.numpy())


def test_modules_are_found_by_import_and_as_attributes(torch):
    from importlib import import_module

    for name in ("nn.functional", "nn.init", "nn.utils", "optim", "autograd.functional", "func",
                 "autograd.forward_ad", "utils.checkpoint"):
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
        assert import_module(f"{torch.__name__}.{name}") is found


# Training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_network_learns(torch, rng, name):
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
            )
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            return self.body(x) * self.scale

    net = Net()
    x = torch.tensor(rng.normal(size=(64, 3)), dtype=torch.float32)
    y = x.sum(dim=1, keepdim=True)
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01)
    criterion = torch.nn.MSELoss()
    first = criterion(net(x), y).item()
    for _ in range(80):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        assert float(torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)) > 0
        optimizer.step()
    assert criterion(net(x), y).item() < first * 0.7
    assert all(isinstance(p, torch.Tensor) for p in net.parameters())
    assert all(isinstance(p.grad, torch.Tensor) for p in net.parameters())
    assert sorted(net.state_dict()) == [
        "body.0.bias", "body.0.weight", "body.2.bias", "body.2.weight", "scale",
    ]


def test_layers_give_tensors_of_the_door(torch):
    nn = torch.nn
    image = torch.ones(2, 3, 8, 8)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                        nn.Linear(256, 5), nn.LayerNorm(5), nn.Dropout(0.1), nn.Softmax(dim=1))
    out = net(image)
    assert isinstance(out, torch.Tensor)
    close(out.sum(dim=1), [1.0, 1.0])
    out[:, 0].sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    rows = nn.Embedding(5, 2)(torch.tensor([1, 1, 4]))
    assert isinstance(rows, torch.Tensor)
    assert tuple(rows.shape) == (3, 2)
    loss = nn.CrossEntropyLoss()(torch.zeros(2, 3), torch.tensor([0, 2]))
    assert abs(loss.item() - np.log(3)) < 1e-6
