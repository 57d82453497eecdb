"""Every misuse of `backward`, `autograd.grad` and `requires_grad`, and the error it meets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.autograd import backward, grad
from pullback.tools.check.finding import failed


def leaf(*values: complex, dtype: Any = None) -> pb.Tensor:
    return pb.Tensor(np.array(values, dtype), requires_grad=True)


def same(tensor: Any, wanted: Any) -> None:
    np.testing.assert_allclose(tensor.data, wanted, rtol=1e-14)


def test_a_target_that_is_no_scalar() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(errors.ArgumentError, match=r"backward\(\) of a target of shape \(2,\)"):
        (x * 2.0).backward()
    with pytest.raises(errors.ArgumentError, match=r"grad\(\) of a target of shape \(2,\)"):
        grad(x * 2.0, x)
    assert x.grad is None


def test_a_complex_target() -> None:
    z = leaf(1.0 + 2.0j)
    with pytest.raises(errors.ArgumentError, match="a complex target"):
        (z * z).backward()
    (z * z).backward(np.array([1.0 + 0j]))
    same(z.grad, np.conj(2 * z.data))


@pytest.mark.parametrize("shape", [(3,), (2, 1), (), (1, 2)])
def test_a_gradient_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(errors.RuleError) as caught:
        (x * 2.0).backward(np.ones(shape))
    assert "the target's shape (2,)" in str(caught.value)
    assert f"shape {shape}" in str(caught.value)


def test_a_wrong_number_of_gradients() -> None:
    x = leaf(1.0)
    with pytest.raises(errors.ArgumentError, match="2 gradients, one a target"):
        backward([x * 1.0, x * 2.0], [pb.tensor([1.0])])
    with pytest.raises(errors.ArgumentError, match="1 gradients, one a target"):
        grad(x * 1.0, x, [pb.tensor([1.0]), pb.tensor([1.0])])


def test_targets_without_history() -> None:
    x = leaf(1.0)
    with pb.no_grad():
        y = x * 2.0
    for target in (pb.tensor(1.0), y, (x * 2.0).detach(), x > 0):
        with pytest.raises(errors.DisconnectedError, match="no history"):
            target.backward()


def test_inputs_without_history() -> None:
    x = leaf(1.0)
    for given, got in ((pb.tensor(1.0), "one that does not"), (np.ones(1), "a ndarray")):
        with pytest.raises(errors.DisconnectedError, match=got):
            grad(x * 2.0, [x, given])
    with pytest.raises(errors.ArgumentError, match="at least one tensor"):
        (x * 2.0).backward(inputs=[])


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_integers_cannot_require_a_gradient(dtype: str) -> None:
    array = np.array([1, 0]).astype(dtype)
    for make in (
        lambda: pb.Tensor(array, requires_grad=True), lambda: pb.Tensor(array).requires_grad_(),
        lambda: pb.tensor(array, requires_grad=True),
    ):
        with pytest.raises(errors.DtypeError, match=f"dtype {dtype}") as caught:
            make()
        assert "astype" in str(caught.value)


def test_requires_grad_on_and_off() -> None:
    x = pb.tensor([1.0])
    assert x.requires_grad_() is x
    assert x.requires_grad
    node = x.node
    assert x.requires_grad_(True).node is node
    y = x * 2.0
    assert y.requires_grad_() is y
    with pytest.raises(errors.ArgumentError, match="requires_grad = False") as caught:
        y.requires_grad_(False)
    assert "x.detach()" in str(caught.value)
    x.requires_grad = False
    assert not x.requires_grad
    assert x.node is None


def test_a_grad_of_another_kind_is_refused() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(errors.ArgumentTypeError, match=r"x\.grad"):
        x.grad = np.ones(2)
    with pytest.raises(errors.ArgumentError, match=r"shape \(3,\)"):
        x.grad = pb.tensor([1.0, 2.0, 3.0])
    with pytest.raises(errors.ArgumentError, match="requires_grad_"):
        pb.tensor([1.0]).grad = pb.tensor([1.0])
    x.grad = pb.tensor([5.0, 5.0])
    pb.sum(x).backward()
    same(x.grad, [6.0, 6.0])


def test_the_given_grad_is_not_shared_with_its_giver() -> None:
    """`backward` adds to the Tensor that was assigned, as PyTorch does: it is the grad."""
    x = leaf(1.0)
    mine = pb.tensor([5.0])
    x.grad = mine
    (x * 2.0).backward()
    assert x.grad is mine
    same(mine, [7.0])


def test_the_former_name_of_an_error_s_subject_works() -> None:
    error = errors.ArgumentError("argument `x` of `f`", "a tensor", "a str")
    with pytest.warns(DeprecationWarning, match=r"error\.subject"):
        assert error.who == error.subject == "argument `x` of `f`"
    found = failed("gradient of `f`", "2.0", "1.0", "multiply by two")
    with pytest.warns(DeprecationWarning, match=r"finding\.subject"):
        assert found.who == found.subject
