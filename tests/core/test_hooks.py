"""Hooks: they see whole gradients, may replace them, and are taken away again."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.autograd import grad


def leaf(*values: complex, dtype: Any = None) -> pb.Tensor:
    return pb.Tensor(np.array(values, dtype), requires_grad=True)


def same(tensor: Any, wanted: Any) -> None:
    np.testing.assert_allclose(tensor.data, wanted, rtol=1e-14)


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x = leaf(1.0, 2.0)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(np.array(g.data)))
    pb.sum(x * 2.0 + x * x).backward()
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], [4.0, 6.0])
    same(x.grad, [4.0, 6.0])


def test_hooks_change_the_gradient_in_order_until_removed() -> None:
    x = leaf(1.0)
    y = x * 1.0
    first = y.register_hook(lambda g: g + 1.0)
    second = y.register_hook(lambda g: g * 10.0)
    z = y * 3.0
    z.backward(retain_graph=True)
    same(x.grad, [40.0])
    first.remove()
    first.remove()
    x.grad = None
    z.backward(retain_graph=True)
    same(x.grad, [30.0])
    with second:
        pass
    x.grad = None
    z.backward()
    same(x.grad, [3.0])


def test_a_hook_on_a_target_and_its_retained_gradient() -> None:
    x = leaf(2.0)
    y = x * 5.0
    y.register_hook(lambda g: g * 3.0)
    y.retain_grad()
    y.backward()
    same(y.grad, [3.0])
    same(x.grad, [15.0])


def test_a_hook_is_seen_by_autograd_grad() -> None:
    x = leaf(2.0)
    y = x * 5.0
    y.register_hook(lambda g: g * 3.0)
    to_x, to_y = grad(y * 2.0, [x, y])
    same(to_y, [6.0])
    same(to_x, [30.0])


def test_a_hook_that_returns_another_shape_is_an_error() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: pb.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(errors.RuleError, match="hook on") as caught:
        pb.sum(x * 2.0).backward()
    assert "shape (2,)" in str(caught.value)
    assert "shape (3,)" in str(caught.value)


def test_a_hook_s_answer_is_differentiated() -> None:
    x = leaf(2.0)
    y = x * 1.0
    with y.register_hook(lambda g: g * y):
        (g,) = grad(y * 3.0, x, create_graph=True)  # 3 x
    same(g, [6.0])
    same(grad(g, x)[0], [3.0])


def test_a_hook_on_a_constant_is_an_error() -> None:
    for method in (lambda t: t.register_hook(print), lambda t: t.retain_grad()):
        with pytest.raises(errors.ArgumentError, match="requires_grad_"):
            method(pb.tensor(1.0))


def test_hooks_go_with_their_node() -> None:
    from pullback.core.node import notes

    gc.collect()  # what earlier tests left behind must not go in between
    before = len(notes)
    x = leaf(1.0)
    (x * 2.0).register_hook(lambda g: g)
    assert len(notes) == before
