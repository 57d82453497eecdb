"""`torch.func`, `torch.vmap` and what `autograd` has of them; each test runs on PyTorch too."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings(  # PyTorch's own, about itself
    "ignore:.*jit:DeprecationWarning", "ignore:Attempted to insert",
    "ignore:Using backward.. with create_graph",
)


def close(tensor, expected):
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def drawn(torch, rng, *shapes):
    return [torch.tensor(rng.normal(size=s)) for s in shapes]


# Gradients and products ---------------------------------------------------------------------


def test_grad_and_its_orders_of_answers(torch, rng):
    x, y = drawn(torch, rng, 3, 3)

    def f(x, y):
        return (x * x * y).sum(), {"aux": y}

    g = torch.func.grad(lambda x, y: f(x, y)[0])(x, y)
    close(g, 2 * x * y)
    gx, gy = torch.func.grad(lambda x, y: f(x, y)[0], argnums=(0, 1))(x, y)
    close(gx, 2 * x * y)
    close(gy, x * x)
    (g,), aux = torch.func.grad(f, argnums=(1,), has_aux=True)(x, y)
    close(g, x * x)
    close(aux["aux"], y)
    g, value = torch.func.grad_and_value(lambda x: f(x, y)[0])(x)
    close(value, (x * x * y).sum())
    g, (value, aux) = torch.func.grad_and_value(f, has_aux=True)(x, y)
    close(g, 2 * x * y)
    close(value, (x * x * y).sum())
    assert all(isinstance(t, torch.Tensor) for t in (g, value, aux["aux"]))
    assert not g.requires_grad


def test_grad_of_structures_and_of_grad(torch, rng):
    x, y = drawn(torch, rng, 3, 3)
    found = torch.func.grad(lambda p: (p["a"] ** 3 * p["b"][0]).sum())({"a": x, "b": [y]})
    close(found["a"], 3 * x * x * y)
    close(found["b"][0], x**3)
    third = torch.func.grad(torch.func.grad(torch.func.grad(lambda s: s**4)))
    close(third(torch.tensor(2.0)), 48.0)


def test_grad_inside_backward(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    penalty = torch.func.grad(lambda x: (w * x**3).sum())(torch.tensor([2.0, 3.0])).sum()
    penalty.backward()
    close(w.grad, [12.0, 27.0])


def test_vjp_and_jvp(torch, rng):
    x, y, u = drawn(torch, rng, 3, 3, 3)
    value, pull = torch.func.vjp(lambda x, y: {"p": x * y, "q": x}, x, y)
    close(value["p"], x * y)
    gx, gy = pull({"p": u, "q": u})
    close(gx, u * y + u)
    close(gy, u * x)
    (gx,) = torch.func.vjp(torch.sin, x)[1](u)
    close(gx, u * x.cos())
    value, tangent = torch.func.jvp(lambda x, y: (x * y, x.sin()), (x, y), (u, u))
    close(tangent[0], u * y + u * x)
    close(tangent[1], u * x.cos())
    value, pull, aux = torch.func.vjp(lambda x: (x * x, x.sin()), x, has_aux=True)
    close(aux, x.sin())
    value, tangent, aux = torch.func.jvp(lambda x: (x * x, x.sin()), (x,), (u,), has_aux=True)
    close(value, x * x)
    close(tangent, 2 * x * u)
    close(aux, x.sin())


def test_linearize(torch, rng):
    x, y, u = drawn(torch, rng, 3, 3, 3)
    value, push = torch.func.linearize(lambda x, y: x.sin() * y, x, y)
    close(value, x.sin() * y)
    for k in (1, 2):
        close(push(k * u, u), k * u * x.cos() * y + u * x.sin())


# Jacobians ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["jacrev", "jacfwd"])
def test_jacobians(torch, rng, way):
    w, x = drawn(torch, rng, (2, 3), 3)
    jacobian = getattr(torch.func, way)
    slope = 1 - torch.tanh(w @ x) ** 2
    close(jacobian(lambda x: torch.tanh(w @ x))(x), slope[:, None] * w)
    found = jacobian(lambda w, x: {"y": torch.tanh(w @ x)}, argnums=(0, 1))(w, x)["y"]
    close(found[1], slope[:, None] * w)
    close(found[0], torch.eye(2)[:, :, None] * slope[:, None, None] * x)
    found, aux = jacobian(lambda x: (x * x, x), has_aux=True)(x)
    close(found, torch.diag(2 * x))
    close(aux, x)


def test_jacobian_in_pieces(torch, rng):
    (x,) = drawn(torch, rng, 5)
    close(torch.func.jacrev(torch.sin, chunk_size=2)(x), torch.diag(x.cos()))


def test_hessian(torch, rng):
    x, y = drawn(torch, rng, 3, 3)
    found = torch.func.hessian(lambda x, y: (x * x * y).sum(), argnums=(0, 1))(x, y)
    close(found[0][0], torch.diag(2 * y))
    close(found[0][1], torch.diag(2 * x))
    close(found[1][0], torch.diag(2 * x))
    close(found[1][1], np.zeros((3, 3)))


def test_forward_over_reverse_and_reverse_over_forward(torch, rng):
    x, u = drawn(torch, rng, 4, 4)
    func = torch.func

    def f(x):
        return (x.exp() * x).sum()

    expected = x.exp() * (x + 2) * u
    close(func.jvp(func.grad(f), (x,), (u,))[1], expected)
    close(func.grad(lambda x: func.jvp(f, (x,), (u,))[1])(x), expected)
    close(func.jvp(lambda x: func.jvp(f, (x,), (u,))[1], (x,), (u,))[1], (expected * u).sum())


# vmap ---------------------------------------------------------------------------------------


def test_vmap_axes(torch, rng):
    x, y = drawn(torch, rng, (4, 3), (3, 5))
    assert torch.vmap is torch.func.vmap
    close(torch.vmap(torch.dot)(x, x), (x * x).sum(1))
    close(torch.vmap(torch.dot, in_dims=(0, None))(x, y[:, 0]), x @ y[:, 0])
    products = torch.vmap(torch.vmap(torch.dot, (None, 1)), (0, None))(x, y)
    close(products, x @ y)
    close(torch.vmap(lambda v: v * 2, in_dims=-1, out_dims=1)(y), 2 * y)
    found = torch.vmap(lambda d: {"s": d["a"].exp()}, ({"a": 1},), {"s": 1})({"a": x})
    close(found["s"], x.exp())
    close(torch.vmap(lambda v: v.sum(), chunk_size=3)(x), x.sum(1))


def test_keyword_arguments_are_not_mapped(torch):
    found = torch.vmap(lambda v, scale: v * scale)(torch.ones(3, 2), scale=torch.arange(2.0))
    close(found, [[0.0, 1.0]] * 3)


def test_gradients_for_each_example(torch, rng):
    w, x, y = drawn(torch, rng, 3, (5, 3), 5)

    def loss(w, x, y):
        return (torch.tanh(w @ x) - y) ** 2

    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, x, y)
    p = torch.tanh(x @ w)
    close(found, (2 * (p - y) * (1 - p * p))[:, None] * x)
    total = torch.func.grad(lambda w: torch.vmap(loss, (None, 0, 0))(w, x, y).sum())(w)
    close(total, found.sum(0))


def test_randomness(torch):
    x = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="random"):
        torch.vmap(lambda v: v + torch.randn(3))(x)
    same = torch.vmap(lambda v: v + torch.rand(3), randomness="same")(x)
    close(same, same[:1].expand(4, 3))
    different = torch.vmap(lambda v: v + torch.randn(3), randomness="different")(x)
    assert len({float(v) for v in different[:, 0]}) == 4
    dropped = torch.vmap(torch.nn.functional.dropout, randomness="different")(torch.ones(50, 40))
    assert 0.3 < float((dropped == 0).double().mean()) < 0.7
    assert len({float(v) for v in dropped.sum(1)}) > 1


# Errors -------------------------------------------------------------------------------------

MISUSE = {
    "no scalar": lambda t, x: t.func.grad(lambda v: v * 2)(x),
    "no tensor given": lambda t, x: t.func.grad(lambda v: v * 2)(3.0),
    "no tensor returned": lambda t, x: t.func.grad(lambda v: 3.0)(x),
    "integers": lambda t, x: t.func.grad(lambda v: v.sum())(t.arange(3)),
    "cotangent": lambda t, x: t.func.vjp(t.sin, x)[1](t.ones(7)),
    "tangent": lambda t, x: t.func.jvp(t.sin, (x,), (t.ones(7),)),
    "no number of examples": lambda t, x: t.vmap(t.dot)(x[:, None], t.ones(7, 1)),
    "no axis": lambda t, x: t.vmap(t.sin, in_dims=3)(x),
    "axes": lambda t, x: t.vmap(t.sin, in_dims=(0, 0))(x),
    "a number as result": lambda t, x: t.vmap(lambda v: 2.0)(x),
    "a decision": lambda t, x: t.vmap(lambda v: v if v > 0 else -v)(x),
    "a number taken out": lambda t, x: t.vmap(lambda v: v * v.item())(x),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_raises_one_of_pytorchs_errors(torch, case):
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        MISUSE[case](torch, torch.tensor([1.0, 2.0, 3.0]))


# functional_call ----------------------------------------------------------------------------


def network(torch):
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def test_functional_call_leaves_the_module_alone(torch, rng):
    net = network(torch)
    before = {k: p.detach().numpy().copy() for k, p in net.named_parameters()}
    given = {k: torch.zeros(*p.shape) for k, p in net.named_parameters()}
    x = torch.tensor(rng.normal(size=(2, 3)), dtype=torch.float32)
    close(torch.func.functional_call(net, given, (x,)), np.zeros((2, 1)))
    part = {"2.bias": torch.ones(1)}
    close(torch.func.functional_call(net, part, x), net(x) - dict(net.named_parameters())["2.bias"]
          + 1)
    for k, p in net.named_parameters():
        np.testing.assert_array_equal(p.detach().numpy(), before[k])
        assert p.requires_grad
    with pytest.raises(RuntimeError):
        torch.func.functional_call(net, part, x, strict=True)
    with pytest.raises(ValueError, match=r".+"):
        torch.func.functional_call(net, (part, part), x)


def test_gradients_for_each_example_of_a_network(torch, rng):
    net = network(torch)
    parameters = {k: p.detach() for k, p in net.named_parameters()}
    x = torch.tensor(rng.normal(size=(6, 3)), dtype=torch.float32)

    def loss(parameters, example):
        return torch.func.functional_call(net, parameters, (example,)).sum() ** 2

    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    for i in range(6):
        for p in net.parameters():
            p.grad = None
        (net(x[i]).sum() ** 2).backward()
        for k, p in net.named_parameters():
            close(found[k][i], p.grad)


def test_an_exception_puts_the_parameters_back(torch):
    net = network(torch)
    kept = net[0].weight.detach().clone()
    with pytest.raises(RuntimeError):
        torch.func.functional_call(net, {"0.weight": torch.zeros(4, 3)}, torch.ones(2))
    close(net[0].weight, kept)


def test_given_buffers_are_updated_and_not_the_modules(torch):
    norm = torch.nn.BatchNorm1d(2)
    buffers = {"running_mean": torch.zeros(2), "running_var": torch.ones(2)}
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    torch.func.functional_call(norm, buffers, (x,))
    close(buffers["running_mean"], [0.2, 0.4])
    close(norm.running_mean, [0.0, 0.0])


# autograd -----------------------------------------------------------------------------------


def test_grad_for_a_batch_of_cotangents(torch, rng):
    start, gs = drawn(torch, rng, 3, (4, 3))
    x = start.requires_grad_()
    other = torch.zeros(2, requires_grad=True)
    y = x.sin()
    (found,) = torch.autograd.grad(y, x, gs, is_grads_batched=True, retain_graph=True)
    close(found, gs * x.cos())
    found, none = torch.autograd.grad(
        [y, x.exp()], [x, other], [gs, gs], is_grads_batched=True, allow_unused=True,
        create_graph=True,
    )
    close(found, gs * (x.cos() + x.exp()))
    assert none is None
    found.sum().backward()
    close(x.grad, gs.sum(0) * (x.exp() - x.sin()))
    with pytest.raises(RuntimeError):
        torch.autograd.grad(y, x, gs[0], is_grads_batched=True)


@pytest.mark.parametrize("how", [
    {}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"},
    {"vectorize": True, "create_graph": True},
])
def test_functional_jacobian(torch, rng, how):
    x, y = drawn(torch, rng, 3, 3)
    F = torch.autograd.functional
    close(F.jacobian(torch.sin, x, **how), torch.diag(x.cos()))
    found = F.jacobian(lambda x, y: (x * y, y.sum(), torch.ones(2)), (x, y), **how)
    close(found[0][0], torch.diag(y))
    close(found[0][1], torch.diag(x))
    close(found[1][0], np.zeros(3))
    close(found[1][1], np.ones(3))
    close(found[2][0], np.zeros((2, 3)))
    if "create_graph" in how:
        z = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(F.jacobian(torch.sin, z, **how).sum(), z)
        close(g, -z.sin())


@pytest.mark.parametrize("how", [
    {}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
])
def test_functional_hessian(torch, rng, how):
    x, y = drawn(torch, rng, 3, 3)
    F = torch.autograd.functional
    close(F.hessian(lambda x: (x**3).sum(), x, **how), torch.diag(6 * x))
    found = F.hessian(lambda x, y: (x * x * y).sum(), (x, y), **how)
    close(found[0][1], torch.diag(2 * x))
    close(found[1][1], np.zeros((3, 3)))


@pytest.mark.parametrize("create", [False, True])
def test_functional_products(torch, rng, create):
    x, y, u = drawn(torch, rng, 3, 3, 3)
    x.requires_grad_(create)
    F = torch.autograd.functional
    value, found = F.jvp(lambda x, y: x.sin() * y, (x, y), (u, u), create_graph=create)
    close(value, x.sin() * y)
    close(found, u * x.cos() * y + u * x.sin())
    _, (hx, hy) = F.hvp(lambda x, y: (x * x * y).sum(), (x, y), (u, u), create_graph=create)
    close(hx, 2 * y * u + 2 * x * u)
    close(hy, 2 * x * u)
    value, found = F.vhp(lambda x: (x**3).sum(), x, u, create_graph=create)
    close(value, (x**3).sum())
    close(found, 6 * x * u)
    assert found.requires_grad == create
    if create:
        (g,) = torch.autograd.grad(found.sum(), x)
        close(g, 6 * u)
    close(F.hvp(lambda s: s**3, torch.tensor(2.0))[1], 12.0)
    with pytest.raises(RuntimeError):
        F.hvp(lambda x: (x**3).sum(), y)


def test_strategies_that_are_not_there(torch):
    F = torch.autograd.functional
    with pytest.raises((RuntimeError, AssertionError)):
        F.jacobian(torch.sin, torch.ones(2), vectorize=True, strategy="sideways")
    with pytest.raises((RuntimeError, NotImplementedError)):
        F.jacobian(torch.sin, torch.ones(2), strategy="forward-mode")


def test_a_gradient_that_was_recorded_is_nobody_elses_memory(torch):
    x, given = torch.ones(2, requires_grad=True), torch.tensor([3.0, 4.0])
    x.clone().backward(given, create_graph=True)
    x.sum().backward()
    close(x.grad, [4.0, 5.0])
    close(given, [3.0, 4.0])
