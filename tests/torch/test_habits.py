"""Short programs as people write them, which print the same numbers here and on PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback.torch as ours

theirs = pytest.importorskip("torch")


def data(t, *shape, seed=0, dtype="float32", requires_grad=True):
    array = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    return t.tensor(array, requires_grad=requires_grad)


def by_hand(t):
    w, x = data(t, 3), data(t, 8, 3, seed=1, requires_grad=False)
    for _ in range(3):
        loss = ((x @ w - 1) ** 2).mean()
        loss.backward()
        with t.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    for _ in range(3):
        ((x @ w - 1) ** 2).mean().backward()
        w.data.add_(w.grad, alpha=-0.1)
        w.grad.data.zero_()
    return w


def straight_through(t):
    x = data(t, 5)
    y = x + (x.round() - x).detach()
    (y * y).sum().backward()
    return x.grad


def surrogate(t):
    class Spike(t.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return (input > 0).float()

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            grad = grad_output.clone()
            return grad / (10 * input.abs() + 1.0) ** 2

    x = data(t, 4)
    Spike.apply(x).sum().backward()
    return x.grad


def masked_gradients(t):
    class Clamp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, low, high):
            ctx.save_for_backward(x)
            ctx.bounds = low, high
            return x.clamp(low, high)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            low, high = ctx.bounds
            g = t.where((x >= low) & (x <= high), g, t.zeros_like(g))
            g.masked_fill_(x.gt(0), 5.0)
            return g, None, None

    x = data(t, 6)
    (Clamp.apply(x, -0.5, 0.5) * 2).sum().backward()
    return x.grad


def reversal(t):
    class Reverse(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.neg() * ctx.alpha, None

    x = data(t, 3)
    (Reverse.apply(x, 0.5) * t.tensor([1.0, 2.0, 3.0])).sum().backward()
    return x.grad


def through_numpy(t):
    class Sine(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return t.as_tensor(np.sin(x.detach().numpy()), dtype=x.dtype)

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * t.from_numpy(np.cos(x.numpy()))

    x = data(t, 3)
    Sine.apply(x).sum().backward()
    return x.grad


def saved_output(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return g * result

    x = data(t, 3)
    (g,) = t.autograd.grad(outputs=Exp.apply(x).sum(), inputs=x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return h


def attention(t):
    q, k, v = (data(t, 2, 4, 3, seed=s) for s in range(3))
    scores = t.bmm(q, k.transpose(-2, -1)) / 3**0.5
    mask = t.tril(t.ones(4, 4)).bool()
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    out = t.einsum("bij,bjk->bik", weights, v)
    out.square().sum().backward()
    return t.cat([q.grad, k.grad, v.grad])


def accuracy(t):
    logits = data(t, 6, 3, requires_grad=False)
    target = t.tensor([0, 1, 2, 0, 1, 2])
    _, predicted = logits.max(dim=1)
    right = (predicted == target).float().mean()
    return right + (logits.argmax(1) == target).sum().item()


def filled_piece_by_piece(t):
    x = data(t, 3)
    y = t.zeros(3, 2)
    for i in range(3):
        y[i, 0] = x[i] ** 2
        y[i, 1] += x[i]
    y[:, 1] *= 2
    (y * t.arange(6.0).view(3, 2)).sum().backward()
    return x.grad


def penalty(t):
    x, w = data(t, 4, 3), data(t, 3, seed=1)
    out = (x @ w).tanh().sum()
    (g,) = t.autograd.grad(out, x, create_graph=True)
    ((g.norm(2, dim=1) - 1) ** 2).mean().backward()
    return w.grad


def loop_and_stack(t):
    x = data(t, 5)
    states, h = [], t.zeros(())
    for value in x:
        h = (h * 0.5 + value).tanh()
        states.append(h)
    t.stack(states).sum().backward()
    return x.grad


def sizes(t):
    x = data(t, 2, 3)
    n, d = x.size()
    y = x.unsqueeze(0).expand(4, -1, -1).contiguous().view(4 * n, d)
    y = y.t().reshape(d, -1).sum([0]).mean(dim=(0,))
    y.backward()
    return x.grad


def hooks_that_clip(t):
    x = data(t, 4)
    x.register_hook(lambda g: g.clamp_(-0.5, 0.5))
    (x**3).sum().backward()
    return x.grad


def detached_copies(t):
    x = data(t, 3)
    y = (x * 2).clone().detach().requires_grad_(True)
    (y * x).sum().backward()
    return y.grad + x.grad


def momentum(t):
    w = t.nn.Parameter(data(t, 3, requires_grad=False))
    other = t.nn.Parameter(t.ones(1))
    optimizer = t.optim.SGD([{"params": [w], "lr": 0.2}, {"params": [other]}], lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad(set_to_none=False)
        ((w * other) ** 2).sum().backward()
        t.nn.utils.clip_grad_value_([w], 0.5)
        optimizer.step()
    return t.cat([w, other])


def in_place_layers(t):
    x = data(t, 2, 3)
    net = t.nn.Sequential(t.nn.ReLU(inplace=True), t.nn.Tanh())
    y = x * 1
    (net(y) * 2).sum().backward()
    z = x * 3
    assert t.nn.LeakyReLU(0.3, inplace=True)(z) is z
    (z + t.nn.functional.elu(x * 1, inplace=True)).sum().backward()
    return x.grad


def losses(t):
    F = t.nn.functional
    logits, target = data(t, 4, 3), t.tensor([0, 2, 1, 1])
    F.nll_loss(F.log_softmax(logits, dim=1), target).backward()
    F.mse_loss(logits.softmax(1), F.one_hot(target, 3).float(), reduction="sum").backward()
    return logits.grad


def running_statistics(t):
    norm = t.nn.BatchNorm1d(3)
    x = data(t, 8, 3)
    norm(x)
    norm(x * 2)
    return t.stack([norm.running_mean, norm.running_var, norm.eval()(x)[0]])


def kept_gradients(t):
    x = data(t, 3)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y**2).sum().backward()
    return y.grad


def flags(t):
    x = t.ones(2)
    x.requires_grad = True
    y = x * 2
    assert (x.is_leaf, y.is_leaf, x.grad_fn) == (True, False, None)
    y = y.detach()
    y += 1
    with t.no_grad():
        x.copy_(t.tensor([5.0, 6.0]))
        x.fill_(3).add_(1)
    (x * y).sum().backward()
    return x.grad + x.detach()


def functional_inside_no_grad(t):
    functional, x = t.autograd.functional, data(t, 3)
    with t.no_grad():
        value, g = functional.vjp(lambda x: (x**3).sum(), x)
        rows = [functional.jacobian(t.sin, x, vectorize=v) for v in (False, True)]
        square = functional.hessian(lambda x: (x**3).sum(), x)
        product = functional.hvp(lambda x: (x**3).sum(), x, t.ones(3))[1]
        kept = functional.jacobian(t.sin, x, create_graph=True)
    kept.sum().backward()
    assert not any(v.requires_grad for v in (value, g, square))
    return value + g + rows[0] + rows[1] + square + product + x.grad


def recording_again(t):
    x = data(t, 3)
    with t.inference_mode(), t.inference_mode(False):
        assert not t.is_inference_mode_enabled()
        y = x * x
    with t.no_grad(), t.inference_mode(False):
        z = y * x
    with t.inference_mode(False), t.no_grad():
        assert not (x * x).requires_grad
    z.sum().backward()
    return x.grad


def outputs_that_are_no_tensors(t):
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, s):
            ctx.s = s
            return s, x * s, "text", x + 1

        @staticmethod
        def backward(ctx, *gs):
            assert gs[0] is gs[2] is None
            return gs[1] * ctx.s + gs[3], None

    x = data(t, 3)
    s, y, text, z = Scaled.apply(x, 3)
    assert (s, text) == (3, "text")
    (y.sin() + 2 * z).sum().backward()
    return x.grad


def defaults_in_setup_context(t):
    class Power(t.autograd.Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = data(t, 3)
    (Power.apply(x) + Power.apply(x, 2)).sum().backward()
    return x.grad


def gradients_kept_while_a_graph_is_created(t):
    x = data(t, 3)
    y = x * x
    y.sum().backward(retain_graph=True)
    first = x.grad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of a reference cycle
        (2 * y).sum().backward(create_graph=True)
    return first + 10 * x.grad.detach()


HABITS = [
    defaults_in_setup_context, functional_inside_no_grad, gradients_kept_while_a_graph_is_created,
    outputs_that_are_no_tensors, recording_again,
    accuracy, attention, by_hand, detached_copies, filled_piece_by_piece, flags, hooks_that_clip,
    in_place_layers, kept_gradients, loop_and_stack, losses, masked_gradients, momentum, penalty,
    reversal, running_statistics, saved_output, sizes, straight_through, surrogate, through_numpy,
]


@pytest.mark.parametrize("program", HABITS, ids=lambda f: f.__name__)
def test_a_program_gives_pytorchs_numbers(program):
    found, expected = program(ours), program(theirs)
    assert isinstance(found, ours.Tensor)
    assert found.dtype == expected.detach().numpy().dtype
    np.testing.assert_allclose(
        found.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6
    )


def test_anomaly_mode_names_the_line():
    with ours.autograd.detect_anomaly():
        x = ours.ones(2, requires_grad=True)
        y = x.exp()
        y += 1
    with pytest.raises(RuntimeError, match=r"test_habits\.py"):
        y.sum().backward()


def test_an_array_beside_at() -> None:
    """Of the tensor's dtype it counts as a tensor; what is no array is a TypeError."""
    x = ours.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x @ np.array([[1.0], [-2.0]], np.float32)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1, -2], [1, -2]])
    with pytest.raises(RuntimeError, match="one dtype"):
        x @ np.ones((2, 1))
    for other in (3.0, [[1.0], [2.0]]):
        with pytest.raises(TypeError, match="unsupported operand"):
            x @ other
