"""Nodes, hooks of all kinds, versions and anomaly mode."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-7)


def leaf(torch, *values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.fixture
def anomaly(torch):
    """Anomaly mode, of which PyTorch warns that it is slow."""

    def made(**how):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.autograd.detect_anomaly(**how)

    return made


# Nodes ----------------------------------------------------------------------------------------


def test_nodes_lead_from_the_result_to_the_leaves(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    loss = ((x * y).exp() + 1).sum()
    names, node = [], loss.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    assert [n.rpartition("::")[2] for n in names] == [
        "SumBackward0", "AddBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad",
    ]
    product = loss.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0]
    assert [n.variable is v for (n, _), v in zip(product.next_functions, (x, y), strict=True)] == [
        True, True,
    ]
    assert loss.grad_fn is loss.grad_fn
    assert x.grad_fn is None
    assert (x * 2).grad_fn.next_functions[1] == (None, 0)
    assert type(loss.grad_fn).__name__ == "SumBackward0"
    assert isinstance(loss.grad_fn, torch.autograd.graph.Node)


def test_outputs_of_one_operation_are_told_apart(torch):
    x = torch.eye(2, dtype=torch.float64, requires_grad=True)
    first, second = torch.linalg.qr(x)
    assert [first.output_nr, second.output_nr, x.output_nr] == [0, 1, 0]
    assert first.grad_fn is second.grad_fn
    assert (second * 2).grad_fn.next_functions[0] == (first.grad_fn, 1)


def test_a_node_remembers_what_is_put_there(torch):
    y = leaf(torch, 1.0).exp()
    y.grad_fn.metadata["place"] = "here"
    gc.collect()
    assert y.grad_fn.metadata == {"place": "here"}


def test_saved_values_are_seen(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    assert torch.equal(y.grad_fn._saved_result, y)
    z = x * y
    assert z.grad_fn._saved_self is x
    close(z.grad_fn._saved_other, y.detach().numpy())
    z.sum().backward()
    with pytest.raises(RuntimeError):
        _ = z.grad_fn._saved_self
    assert not hasattr(x.sum().grad_fn, "_saved_result")


def test_looking_at_a_node_keeps_nothing_alive(torch):
    class Box:
        pass

    y = leaf(torch, 1.0).exp()
    box = y.grad_fn.metadata["box"] = Box()
    seen = weakref.ref(box)
    del y, box
    gc.collect()
    assert seen() is None


# Hooks ----------------------------------------------------------------------------------------


def test_hooks_before_and_after_a_node(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = x * y
    told = []

    def before(grad_outputs):
        (g,) = grad_outputs
        told.append(("before", g.tolist()))
        return (g * 10,)

    def after(grad_inputs, grad_outputs):
        told.append(("after", [g.tolist() for g in grad_inputs], grad_outputs[0].tolist()))
        return grad_inputs[0] * 2, grad_inputs[1]

    first, second = z.grad_fn.register_prehook(before), z.grad_fn.register_hook(after)
    z.sum().backward(retain_graph=True)
    assert told == [
        ("before", [1.0, 1.0]), ("after", [[30.0, 40.0], [10.0, 20.0]], [10.0, 10.0]),
    ]
    close(x.grad, [60.0, 80.0])
    close(y.grad, [10.0, 20.0])
    first.remove()
    second.remove()
    z.sum().backward()
    close(x.grad, [63.0, 84.0])
    assert len(told) == 2


def test_hooks_of_a_node_see_constants_as_none_and_only_look(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 5
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append([g is None for g in gi]))
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert seen == [[False, True]]
    close(g, [5.0, 5.0])


def test_hooks_of_a_node_are_differentiated(torch):
    x = leaf(torch, 2.0)
    y = x * x * x
    y.grad_fn.register_hook(lambda gi, go: tuple(g * g for g in gi))
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    # d/d(x²) is x → x², d/dx is x² → x⁴: 2x·x² + x⁴
    close(g, [2 * 8 + 16])
    (h,) = torch.autograd.grad(g, x)
    close(h, [6 * 4 + 4 * 8])


def test_a_hook_after_accumulation(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []

    def stepped(p):
        seen.append((p is x, p.grad.tolist()))
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(stepped)
    (x * 3).sum().backward()
    assert x.grad is None
    assert seen == [(True, [3.0, 3.0])]
    torch.autograd.grad((x * 3).sum(), x)
    assert len(seen) == 1
    handle.remove()
    (x * 3).sum().backward()
    close(x.grad, [3.0, 3.0])
    with pytest.raises(RuntimeError):
        (x * 2).register_post_accumulate_grad_hook(stepped)
    with pytest.raises(RuntimeError):
        x.detach().register_post_accumulate_grad_hook(stepped)


def test_hooks_of_an_accumulating_node(torch):
    x = leaf(torch, 1.0, 2.0)
    node = x.view(2).grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: (gs[0] * 2,))
    (x * 3).sum().backward()
    close(x.grad, [6.0, 6.0])


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_on_several_tensors(torch, mode):
    a, b, c, d = (leaf(torch, v) for v in (1.0, 2.0, 3.0, 4.0))
    y = b * c
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, y, d), seen.append, mode=mode)
    (a * y).sum().backward(retain_graph=True)
    (y * 1).sum().backward()
    if mode == "all":
        assert [[None if g is None else g.tolist() for g in gs] for gs in seen] == [
            [[6.0], [1.0], None], [None, [1.0], None],
        ]
    else:
        assert len(seen) == 2
    handle.remove()
    (a * b).sum().backward()
    assert len(seen) == 2


def test_kept_gradients_follow_writes_and_hooks_do_not(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    seen = []
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(10)
    (y * 3).sum().backward()
    close(y.grad, [3.0, 3.0])
    assert seen == [[30.0, 30.0]]


def test_kept_gradients_of_views_follow_writes_too(torch):
    base = leaf(torch, 1.0).clone()
    one, other = base[:], base[:]
    one.retain_grad()
    other.retain_grad()
    one.mul_(2)
    (one + other).sum().backward()
    close(one.grad, [1.0])
    close(other.grad, [1.0])


# Edges ----------------------------------------------------------------------------------------


def test_edges_stand_for_tensors(torch):
    x = leaf(torch, 2.0)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    z = (y * 5).sum()
    close(torch.autograd.grad(z, edge, retain_graph=True)[0], [5.0])
    close(torch.autograd.grad(edge, x, torch.ones(1, dtype=torch.float64),
                              retain_graph=True)[0], [4.0])
    at = torch.autograd.graph.get_gradient_edge(x)
    z.backward(inputs=at)
    close(x.grad, [20.0])
    with pytest.raises(RuntimeError):
        torch.autograd.graph.get_gradient_edge(x.detach())


# Versions -------------------------------------------------------------------------------------


def test_versions_count_writes_and_are_shared(torch):
    x = torch.zeros(4)
    assert x._version == 0
    x.add_(1)
    x[0] = 5
    y = x.view(2, 2)
    y.mul_(2)
    assert x._version == y._version == x.detach()._version == 3
    assert x.clone()._version == 0
    torch.autograd.graph.increment_version(x)
    assert y._version == 4


def test_views_know_their_base(torch):
    x = torch.zeros(4)
    y = x.view(2, 2)
    assert x._base is None
    assert not x._is_view()
    assert y._base is x
    assert y[0]._base is x
    assert y._is_view()
    assert x.clone()._base is None
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


# Anomaly mode ---------------------------------------------------------------------------------


class Bad:
    """0 / 0 in a gradient written by hand."""

    @staticmethod
    def of(torch):
        class Broken(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * float("nan")

        return Broken.apply


def test_anomaly_mode_finds_nan(torch, anomaly):
    x = leaf(torch, 1.0)
    with anomaly():
        y = Bad.of(torch)(x * 3).sum()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match=r"Broken[\s\S]*returned nan values in its 0th"):
                y.backward()
    Bad.of(torch)(x).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_anomaly_mode_can_leave_nan_alone(torch, anomaly):
    x = leaf(torch, 1.0)
    with anomaly(check_nan=False):
        Bad.of(torch)(x).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_anomaly_mode_is_set_and_put_back(torch):
    x = leaf(torch, 1.0)
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
        with torch.autograd.set_detect_anomaly(False):
            Bad.of(torch)(x).sum().backward()
        y = Bad.of(torch)(x).sum()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError):
                y.backward()
    assert not torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_modes_of_random_streams_and_machines(torch):
    state = torch.get_rng_state()
    first = torch.rand(3)
    with torch.random.fork_rng():
        torch.rand(5)
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(3), first)
    torch.manual_seed(7)
    assert torch.initial_seed() == 7
    generator = torch.Generator().manual_seed(3)
    assert generator.initial_seed() == 3
    state = generator.get_state()
    one = torch.randn(2, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randn(2, generator=generator), one)
    assert torch.multinomial(torch.tensor([0.0, 1.0, 2.0]), 2).sort().values.tolist() == [1, 2]
    assert torch.multinomial(torch.eye(2), 3, replacement=True).tolist() == [[0] * 3, [1] * 3]
    assert torch.poisson(torch.zeros(2)).tolist() == [0.0, 0.0]
    assert torch.binomial(torch.full((2,), 5.0), torch.ones(2)).tolist() == [5.0, 5.0]
    x = torch.empty(50)
    for name, call in {
        "random_": lambda: x.random_(2, 5), "exponential_": lambda: x.exponential_(2.0),
        "geometric_": lambda: x.geometric_(0.5), "log_normal_": lambda: x.log_normal_(0, 1),
    }.items():
        call()
        assert x.min().item() >= (0 if name != "geometric_" else 1), name
    assert x.cauchy_().isfinite().all()
    assert torch.FloatTensor([1, 2]).dtype == torch.float32
    assert torch.LongTensor(2, 3).shape == (2, 3)
    assert torch.get_num_threads() >= 1
    assert torch.relu_(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert torch.cosine_similarity(torch.ones(1, 2), torch.ones(1, 2)).item() == pytest.approx(1)
    assert torch.tensor([1.0, 2.0]).apply_(lambda v: v + 1).tolist() == [2.0, 3.0]
    assert torch.ones(2).map_(torch.ones(2), lambda a, b: a + b).tolist() == [2.0, 2.0]


def test_a_hook_that_writes_changes_its_own_gradient(torch):
    a, b = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    a.register_hook(lambda g: g * 5)
    ((a + b) * 2).sum().backward()
    close(a.grad, [10.0, 10.0])
    close(b.grad, [2.0, 2.0])
