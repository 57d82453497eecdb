"""Operators, and the standard's methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import Tensor, errors

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


def drawn(rng: np.random.Generator, name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in BITS:
        return rng.integers(0, 8, (3, 3)), rng.integers(0, 3, (3, 3))
    if name in COMPARISONS:
        return rng.integers(0, 3, (3, 3)) * 1.0, rng.integers(0, 3, (3, 3)) * 1.0
    return rng.uniform(1, 3, (3, 3)), rng.uniform(1, 3, (3, 3))


@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS + BITS)
def test_operators_are_numpy_s_on_either_side(name: str, rng: np.random.Generator) -> None:
    a, b = drawn(rng, name)
    f = getattr(operator, name)
    wanted = f(a, b)
    for x, y in ((Tensor(a), Tensor(b)), (Tensor(a), b), (a, Tensor(b))):
        found = f(x, y)
        assert type(found) is Tensor
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.data, wanted)


@pytest.mark.parametrize("name", [n for n in ARITHMETIC + COMPARISONS + BITS if n != "matmul"])
@pytest.mark.parametrize("number", [2, np.int64(2), np.array(2)], ids=["int", "scalar", "0-d"])
def test_numbers_on_either_side(name: str, number: Any, rng: np.random.Generator) -> None:
    a, _ = drawn(rng, name)
    f = getattr(operator, name)
    t = Tensor(a)
    for found, wanted in ((f(t, number), f(a, number)), (f(number, t), f(number, a))):
        assert type(found) is Tensor
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.data, wanted)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "mod"])
def test_reflected_operators_have_gradients(name: str) -> None:
    f = getattr(operator, name)
    x = pb.tensor([1.6, 2.5], requires_grad=True)
    for left in (3.0, np.array([3.0, 4.0])):
        (got,) = pb.autograd.grad(f(left, x), x, np.array([1.0, 2.0]))
        h = 1e-6
        wanted = (f(left, x.data + h) - f(left, x.data - h)) / (2 * h) * [1.0, 2.0]
        np.testing.assert_allclose(got.data, wanted, rtol=1e-6)


def test_unary_operators() -> None:
    x = Tensor(np.array([-1.5, 2.0]))
    for f in (operator.neg, operator.pos, operator.abs):
        np.testing.assert_array_equal(f(x).data, f(x.data))
    n = Tensor(np.array([3, -4]))
    np.testing.assert_array_equal((~n).data, ~n.data)


def test_a_square_is_a_square() -> None:
    x = pb.tensor([3.0], requires_grad=True)
    y = x**2
    assert y.node.name() == "square"
    assert (x**2.5).node.name() == "pow"
    np.testing.assert_array_equal(pb.autograd.grad(y, x)[0].data, [6.0])


def test_equality_may_be_asked_of_anything() -> None:
    x = Tensor(np.array([1.0, 2.0]))
    assert (x == None) is False  # noqa: E711  # asked on purpose
    assert (x != "text") is True
    assert x in [None, x]
    assert {x: 1}[x] == 1
    np.testing.assert_array_equal((x == [1.0, 3.0]).data, [True, False])


@pytest.mark.parametrize("call", [lambda x: x + "a", lambda x: None * x, lambda x: x @ object()])
def test_an_operand_that_is_no_array_is_a_type_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        call(Tensor(np.ones(2)))


# The standard's methods ---------------------------------------------------------------------


def test_transposes_are_views() -> None:
    x = pb.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    np.testing.assert_array_equal(x.T.data, x.data.T)
    assert np.shares_memory(x.T.data, x.data)
    stack = Tensor(np.ones((4, 2, 3)))
    assert stack.mT.shape == (4, 3, 2)
    with pytest.raises(errors.ShapeError, match=r"use x\.mT"):
        stack.T  # noqa: B018
    (g,) = pb.autograd.grad(x.T, x, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(g.data, np.arange(6.0).reshape(3, 2).T)


def test_the_namespace_is_the_package() -> None:
    x = Tensor(np.ones(2))
    assert x.__array_namespace__() is pb
    assert x.__array_namespace__(api_version="2024.12") is pb
    with pytest.raises(errors.ArgumentError, match="api_version"):
        x.__array_namespace__(api_version="1999.01")


def test_devices_and_dlpack() -> None:
    x = Tensor(np.arange(3.0))
    assert x.to_device(x.device) is x
    with pytest.raises(errors.ArgumentError, match="to_device"):
        x.to_device("gpu")
    taken = np.from_dlpack(x)
    assert np.shares_memory(taken, x.data)
    assert np.from_dlpack(pb.sum(x)) == 3
