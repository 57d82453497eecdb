"""`Function` with all of its context, in both directions and in batches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _no_notices():
    """PyTorch's forward mode, on first use, says of its own parts that they will go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-6, atol=1e-9)


def leaf(torch, *values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_an_input_marked_dirty_is_the_output(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = leaf(torch, 1.0, 2.0)
    y = x * 3
    view = y[:1]
    z = Doubled.apply(y)
    assert z is y
    close(y, [6.0, 12.0])
    (y.sum() + view.sum()).backward()
    close(x.grad, [12.0, 6.0])
    with pytest.raises(RuntimeError):
        Doubled.apply(x)


def test_outputs_without_gradients(torch):
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

    x = leaf(torch, 3.0, 1.0, 2.0)
    values, indices = Sorted.apply(x)
    assert values.requires_grad
    assert not indices.requires_grad
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    close(x.grad, [3.0, 1.0, 2.0])


@pytest.mark.parametrize("materialize", [True, False])
def test_cotangents_of_unused_outputs(torch, materialize):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h if h is None else h.tolist())
            return g * 2

    x = leaf(torch, 1.0, 2.0)
    Two.apply(x)[0].sum().backward()
    assert seen == [[0.0, 0.0] if materialize else None]


def test_which_gradients_are_wanted(torch):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, scale):
            ctx.save_for_backward(x, y)
            ctx.scale = scale
            return x * y * scale

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append(ctx.needs_input_grad)
            first = g * y * ctx.scale if ctx.needs_input_grad[0] else None
            return first, g * x * ctx.scale if ctx.needs_input_grad[1] else None, None

    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    Product.apply(x, y.detach(), 3).backward()
    Product.apply(x, y, 3).backward()
    assert seen == [(True, False, False), (True, True, False)]
    close(x.grad, [12.0])
    close(y.grad, [3.0])


def test_attributes_of_the_context_are_those_of_grad_fn(torch):
    class Powered(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            ctx.save_for_backward(x)
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    y = Powered.apply(leaf(torch, 2.0), 3)
    assert y.grad_fn.n == 3
    close(y.grad_fn.saved_tensors[0], [2.0])
    assert y.grad_fn.name() == "PoweredBackward"
    y.backward()
    with pytest.raises(RuntimeError):
        _ = y.grad_fn.saved_tensors


def cube_of(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * 3 * x * x

    return Cube.apply


def test_both_directions_and_a_generated_map(torch):
    cube, x = cube_of(torch), torch.tensor([1.0, 2.0], dtype=torch.float64)
    value, tangent = torch.func.jvp(cube, (x,), (torch.ones_like(x),))
    close(value, [1.0, 8.0])
    close(tangent, [3.0, 12.0])
    close(torch.func.grad(lambda v: cube(v).sum())(x), [3.0, 12.0])
    close(torch.vmap(torch.func.grad(cube))(x), [3.0, 12.0])
    close(torch.func.jacrev(cube)(x), [[3.0, 0.0], [0.0, 12.0]])
    close(torch.func.hessian(lambda v: cube(v).sum())(x), [[6.0, 0.0], [0.0, 12.0]])


def test_a_map_written_by_hand(torch):
    calls = []

    class Total(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.shape = inputs[0].shape

        @staticmethod
        def backward(ctx, g):
            return g.expand(ctx.shape)

        @staticmethod
        def vmap(info, in_dims, x):
            calls.append(info.batch_size)
            return x.movedim(in_dims[0], 0).flatten(1).sum(1), 0

    x = torch.arange(6.0).view(2, 3)
    close(torch.vmap(Total.apply, in_dims=1)(x), [3.0, 5.0, 7.0])
    assert calls == [3]


def test_a_first_derivative_only(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(torch, 3.0)
    (g,) = torch.autograd.grad(Once.apply(x), x, create_graph=True)
    close(g, [6.0])
    with pytest.raises(RuntimeError):
        g.backward()


def test_no_argument_that_is_tracked_records_nothing(torch):
    cube = cube_of(torch)
    assert not cube(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not cube(leaf(torch, 1.0)).requires_grad


# What is asked of `grad` and `backward` -------------------------------------------------------


def test_inputs_may_have_names(torch):
    named = {"a": leaf(torch, 2.0), "b": leaf(torch, 3.0)}
    y = named["a"] * named["b"]
    found = torch.autograd.grad(y, named, retain_graph=True)
    assert list(found) == ["a", "b"]
    close(found["a"], [3.0])
    torch.autograd.backward(y, inputs={"a": named["a"]})
    close(named["a"].grad, [3.0])
    assert named["b"].grad is None


def test_batches_of_cotangents(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x**2
    (rows,) = torch.autograd.grad(
        y, x, torch.eye(2, dtype=torch.float64), retain_graph=True, is_grads_batched=True
    )
    close(rows, [[2.0, 0.0], [0.0, 4.0]])
    z = leaf(torch, 1.0)
    found = torch.autograd.grad(
        y, (x, z), torch.eye(2, dtype=torch.float64), is_grads_batched=True, allow_unused=True
    )
    assert found[1] is None


def test_a_stacked_ensemble(torch):
    models = [torch.nn.Linear(2, 1) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    assert buffers == {}
    assert parameters["weight"].requires_grad
    x = torch.ones(4, 2)

    def run(p, x):
        return torch.func.functional_call(models[0], p, (x,))

    found = torch.vmap(run, in_dims=(0, None))(parameters, x)
    for row, model in zip(found, models, strict=True):
        close(row, model(x).detach().numpy())
    with pytest.raises(RuntimeError):
        torch.func.stack_module_state([])
