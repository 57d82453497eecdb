"""`backward` and `autograd.grad`: accumulation, what is kept, and whose gradient it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.autograd import backward, grad


def leaf(*values: complex, dtype: Any = None) -> pb.Tensor:
    return pb.Tensor(np.array(values, dtype), requires_grad=True)


def same(tensor: Any, wanted: Any) -> None:
    np.testing.assert_allclose(tensor.data, wanted, rtol=1e-14)


# Accumulation ----------------------------------------------------------------------------------


def test_gradients_add_up_over_calls() -> None:
    x = leaf(1.0, 2.0)
    assert x.grad is None
    for times in (1, 2, 3):
        pb.sum(x * x).backward()
        same(x.grad, [2.0 * times, 4.0 * times])
    x.grad = None
    pb.sum(x * 3.0).backward()
    same(x.grad, [3.0, 3.0])


def test_accumulation_writes_into_the_array_that_is_there() -> None:
    x = leaf(1.0, 2.0)
    pb.sum(x * 2.0).backward()
    grad_, array = x.grad, x.grad.data
    pb.sum(x * 3.0).backward()
    assert x.grad is grad_
    assert x.grad.data is array
    same(x.grad, [5.0, 5.0])


def test_gradients_of_two_leaves_never_share_memory() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    c = np.array([5.0, 6.0])
    (x + y).backward(c)
    assert not np.shares_memory(x.grad.data, y.grad.data)
    assert not np.shares_memory(x.grad.data, c)
    assert not np.shares_memory(y.grad.data, c)
    (x + 1.0).backward(c)
    same(x.grad, 2 * c)
    same(y.grad, c)
    same(pb.Tensor(c), [5.0, 6.0])


@pytest.mark.parametrize(
    "pass_on",
    [
        lambda x: x + 1.0, lambda x: pb.reshape(x, (2, 1)), lambda x: x[::-1], lambda x: x[:],
        lambda x: pb.broadcast_to(x, (2, 2)), lambda x: pb.permute_dims(x, (0,)),
    ],
)
def test_a_gradient_can_be_written_to(pass_on: Any) -> None:
    """Neither read-only, as a broadcast one is, nor memory that belongs to somebody else."""
    x = leaf(1.0, 2.0)
    out = pass_on(x)
    c = np.ones(out.shape)
    out.backward(c)
    x.grad.data[...] = 7.0
    assert (c == 1.0).all()
    out = pass_on(x)
    pb.sum(out).backward()
    same(x.grad, 7.0 + np.full(2, out.size / 2))


def test_the_gradient_of_a_sum_is_an_array_of_its_own() -> None:
    x = leaf(1.0, 2.0)
    pb.sum(x).backward()
    assert x.grad.data.flags.writeable
    assert x.grad.data.strides == (8,)


def test_a_target_that_is_a_leaf() -> None:
    x = leaf(2.0)
    x.backward()
    same(x.grad, [1.0])
    (g,) = grad(x, x)
    same(g, [1.0])


def test_several_targets_add_up() -> None:
    x = leaf(1.0, 2.0)
    y, z = x * 2.0, pb.sum(x * x)
    backward([y, z], [pb.tensor([1.0, -1.0]), None])
    same(x.grad, [2.0 + 2.0, -2.0 + 4.0])
    (g,) = grad([pb.sum(x), pb.sum(x)], x)
    same(g, [2.0, 2.0])
    z = pb.sum(x * x)
    (g,) = grad([z, z], x, [pb.tensor(1.0), pb.tensor(3.0)])
    same(g, [8.0, 16.0])


def test_the_dtype_of_a_gradient_given_is_made_the_target_s() -> None:
    x = leaf(1.0, 2.0, dtype="float32")
    (x * 2.0).backward(np.array([1, 2]))
    assert x.grad.dtype == "float32"
    same(x.grad, [2.0, 4.0])
    (x * 2.0).backward([1.0, 1.0])
    same(x.grad, [4.0, 6.0])


def test_a_complex_gradient_points_uphill() -> None:
    """dL/dRe + i dL/dIm, as PyTorch has it: for |z|² it is 2 z."""
    z = leaf(1.0 + 2.0j, -3.0j)
    pb.sum(pb.real(z * pb.conj(z))).backward()
    same(z.grad, 2 * z.data)
    (g,) = grad(pb.sum(pb.imag(z)), z)
    same(g, [1j, 1j])


# What is kept ----------------------------------------------------------------------------------


def test_backward_twice_is_an_error_that_says_what_to_do() -> None:
    x = leaf(1.0, 2.0)
    y = pb.sum(pb.exp(x))
    y.backward()
    with pytest.raises(errors.GraphFreedError) as caught:
        y.backward()
    text = str(caught.value)
    assert "`exp` of shape (2,)" in text
    assert "backward(retain_graph=True)" in text
    assert isinstance(caught.value, RuntimeError)
    same(x.grad, np.exp(x.data))


def test_backward_twice_through_what_saves_nothing_is_fine() -> None:
    x = leaf(1.0, 2.0)
    y = pb.sum(x + 1.0)
    y.backward()
    y.backward()
    same(x.grad, [2.0, 2.0])


def test_retain_graph() -> None:
    x = leaf(1.0, 2.0)
    y = pb.sum(x * x)
    y.backward(retain_graph=True)
    grad(y, x, retain_graph=True)
    y.backward(retain_graph=False)
    same(x.grad, 4 * x.data)
    with pytest.raises(errors.GraphFreedError):
        grad(y, x)


def test_create_graph() -> None:
    x = leaf(2.0, 3.0)
    y = pb.sum(x * x * x)
    (first,) = grad(y, x, create_graph=True)
    same(first, 3 * x.data**2)
    (second,) = grad(pb.sum(first), x, create_graph=True)
    same(second, 6 * x.data)
    (third,) = grad(pb.sum(second), x)
    same(third, [6.0, 6.0])
    assert not third.requires_grad


def test_backward_with_create_graph_makes_a_grad_with_history() -> None:
    x = leaf(2.0, 3.0)
    pb.sum(x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    pb.sum(first * first).backward()  # adds 8 x to the 2 x that is there
    same(first, 2 * x.data)
    same(x.grad, 2 * x.data + 8 * x.data)


def test_create_graph_false_records_nothing() -> None:
    x = leaf(2.0)
    (g,) = grad(x * x, x)
    assert g.node is None
    (x * x).backward()
    assert x.grad.node is None


def test_create_graph_under_no_grad_records_all_the_same() -> None:
    x = leaf(2.0)
    y = x * x * x
    with pb.no_grad():
        (g,) = grad(y, x, create_graph=True)
    same(grad(g, x)[0], [12.0])


# Whose gradient --------------------------------------------------------------------------------


def test_inputs_limits_who_receives() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x * y).backward(inputs=[x])
    same(x.grad, [2.0])
    assert y.grad is None
    (x * y).backward(inputs=y)
    same(y.grad, [1.0])
    same(x.grad, [2.0])


def test_inputs_may_be_a_computed_tensor() -> None:
    x = leaf(3.0)
    y = x * 2.0
    (y * y).backward(inputs=[y])
    same(y.grad, [12.0])
    assert x.grad is None


def test_one_input_twice() -> None:
    x = leaf(3.0)
    first, second = grad(x * x, [x, x])
    same(first, [6.0])
    same(second, [6.0])


def test_grad_of_inputs_on_one_path() -> None:
    x = leaf(3.0)
    y = x * 2.0
    to_x, to_y = grad(y * y, [x, y])
    same(to_x, [24.0])
    same(to_y, [12.0])


def test_unused_inputs() -> None:
    x, y = leaf(1.0), leaf(2.0, 3.0)
    with pytest.raises(errors.DisconnectedError, match="input 1 of autograd") as caught:
        grad(x * x, [x, y])
    assert "allow_unused=True" in str(caught.value)
    g, nothing = grad(x * x, [x, y], allow_unused=True)
    same(g, [2.0])
    assert nothing is None
    _, zeros = grad(x * x, [x, y], materialize_grads=True)
    same(zeros, [0.0, 0.0])
    assert x.grad is None


def test_retain_grad() -> None:
    x = leaf(3.0)
    y = x * 2.0
    assert y.grad is None
    y.retain_grad()
    y.retain_grad()
    z = y * y
    z.backward(retain_graph=True)
    same(y.grad, [12.0])
    z.backward()
    same(y.grad, [24.0])
    x.retain_grad()  # of a leaf it changes nothing
    same(x.grad, [48.0])


def test_retained_and_asked_for_at_once_is_counted_once() -> None:
    x = leaf(3.0)
    y = x * 2.0
    y.retain_grad()
    (y * y).backward(inputs=[x, y])
    same(y.grad, [12.0])
    same(x.grad, [24.0])


def test_detach() -> None:
    x = leaf(3.0)
    y = (x * 2.0).detach()
    assert not y.requires_grad
    assert y.is_leaf
    (x * y).backward()
    same(x.grad, [6.0])
    assert np.shares_memory(x.detach().data, x.data)


def test_a_leaf_and_what_is_computed() -> None:
    x = leaf(3.0)
    y = x * 2.0
    assert (x.is_leaf, y.is_leaf) == (True, False)
    assert x.grad_fn is None
    assert y.grad_fn is y.node
    assert y.grad_fn.name() == "multiply"
    assert pb.tensor(1.0).is_leaf


def test_two_leaves_that_receive_one_cotangent_do_not_share_their_gradients() -> None:
    """A sum hands both its arguments the same array; the second backward adds to each apart."""
    x, y = (pb.tensor(np.ones(3), requires_grad=True) for _ in range(2))
    for _ in range(2):
        pb.sum((x + y) * pb.tensor([1.0, 2.0, 3.0])).backward()
    assert x.grad.tolist() == y.grad.tolist() == [2.0, 4.0, 6.0]
    assert not np.shares_memory(x.grad.data, y.grad.data)
