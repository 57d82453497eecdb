"""How values are saved: hooks that pack and unpack them; and modes in threads."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-7)


def leaf(torch, *values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_saved_values_go_through_hooks(torch):
    x = leaf(torch, 1.0, 2.0)
    packed, opened = [], []

    def pack(t):
        packed.append(t.tolist())
        return t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy()

    def unpack(a):
        opened.append(a.tolist())
        return torch.tensor(a)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * torch.tensor([3.0, 4.0], dtype=torch.float64)
    z = y.exp().sum()
    assert sorted(packed) == sorted([np.exp([1.0, 2.0]).tolist(), [3.0, 4.0]])
    assert opened == []
    z.backward()
    assert len(opened) == 2
    inner = np.exp(np.array([1.0, 2.0])) * [3, 4]
    close(x.grad, np.exp(inner) * inner)


def test_hooks_of_saved_values_change_what_the_gradient_is(torch):
    x = leaf(torch, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = x * x
    y.backward()
    close(x.grad, [40.0])


def test_what_hooks_packed_has_its_history(torch):
    x = leaf(torch, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy(), torch.tensor):
        y = x.exp() * x
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    close(h, 4 * np.exp([2.0]))


def test_the_innermost_hooks_count_and_go_with_their_block(torch):
    x = leaf(torch, 0.0)
    hooks, seen = torch.autograd.graph.saved_tensors_hooks, []

    def named(name):
        return hooks(lambda t: seen.append(name) or t, lambda t: t)

    with named("outer"):
        y = x.exp()
        with named("inner"):
            y = y.exp()
        y = y.exp()
    y.sin().sum().backward()
    assert seen == ["outer", "inner", "outer"]


def test_hooks_of_saved_values_see_a_functions(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(torch, 3.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t):
        y = Square.apply(x)
    y.backward()
    close(x.grad, [12.0])


def test_hooks_of_one_saved_value(torch):
    x = leaf(torch, 2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t.detach() * 3, lambda t: t)
    y.backward()
    close(x.grad, 3 * np.exp([2.0]))


def test_what_unpacks_to_no_tensor_is_an_error(torch):
    x = leaf(torch, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 1, lambda v: v):
        y = x.exp()
    with pytest.raises(TypeError):
        y.backward()


def test_packed_values_are_let_go(torch):
    class Box:
        def __init__(self, t):
            self.t = t

    x, kept = leaf(torch, 2.0), []

    def pack(t):
        box = Box(t.detach())
        kept.append(weakref.ref(box))
        return box

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.t):
        y = x.exp()
    assert kept[0]() is not None
    y.backward()
    assert kept[0]() is None
    with pytest.raises(RuntimeError):
        y.backward()


def test_saving_on_the_processor_and_disabled_hooks(torch):
    x = leaf(torch, 2.0)
    graph = torch.autograd.graph
    with graph.save_on_cpu():
        y = x.exp()
    y.backward()
    close(x.grad, np.exp([2.0]))
    with graph.disable_saved_tensors_hooks("not in here"):
        with pytest.raises(RuntimeError, match="not in here"), graph.save_on_cpu():
            pass
        x.exp()
    with graph.save_on_cpu():
        pass


def test_saved_values_may_be_written_to_where_that_is_allowed(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        out.backward()
    close(x.grad, [2.0, 4.0])


def test_modes_are_of_their_thread(torch):
    found = []

    def look():
        found.append(torch.is_grad_enabled())
        with torch.no_grad():
            found.append(torch.is_grad_enabled())

    with torch.no_grad():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert found == [True, False]
