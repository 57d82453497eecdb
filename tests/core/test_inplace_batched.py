"""Writing in place inside vmap: as a loop over the examples does, or one clear error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import Tensor, errors, torch
from pullback.arrays import adapters
from pullback.arrays.batched import Batched

R = np.random.default_rng(0)
X, Y = R.normal(size=(3, 4)), R.normal(size=(3, 4))
WHICH = np.array([2, 0, 3])


def entry(x: Any, y: Any, i: Any) -> Any:
    z = x * y
    z[i] = y[0] * y[1]
    return z


def entries(x: Any, y: Any, i: Any) -> Any:
    z = x * y
    z[[i, 1]] = x[2:]
    z[i // 2 + pb.arange(2)] = 3.0
    return z


def operators(x: Any, y: Any, i: Any) -> Any:
    z = x * 2.0
    z += y
    z *= x
    z -= 1.0
    z /= 2.0 + y * y
    return z


def views(x: Any, y: Any, i: Any) -> Any:
    z = x * 1.0
    head, every = z[:2], z[::2]
    head *= y[2:]
    every[i // 2] = y[3] * x[0]
    rows = pb.reshape(z, (2, 2))
    rows[1] += head
    rows[:, 0] *= every
    return z * z + pb.sum(head)


def views_of_new_axes(x: Any, y: Any, i: Any) -> Any:
    z = pb.stack([x, y])
    turned = pb.permute_dims(z, (1, 0))
    turned[i] = pb.stack([y[0], x[0]])
    turned[1:3, 0] *= x[:2]
    return z


def number(x: Any, y: Any, i: Any) -> Any:
    z = pb.sum(x * y)
    z += x[i]
    z[...] = x[1] * y[2]
    z *= y[0]
    return z


def apart(x: Any, y: Any, i: Any) -> Any:
    z = pb.reshape(pb.concat([x, y, x * y, y]), (2, 2, 4)) * 1.0
    z[i // 2, :, [0, i]] = pb.reshape(x, (2, 2))
    z[:, i // 2, 1:3] *= y[:2]
    return z


def nested(x: Any, y: Any, i: Any) -> Any:
    def inner(u: Any, k: Any) -> Any:
        z = u * x
        z[k] = y[0] * u
        z[i] += u
        return z

    return pb.vmap(inner)(y, pb.arange(4))


def nested_write_outside(x: Any, y: Any, i: Any) -> Any:
    z = x * y

    def inner(u: Any) -> Any:
        z[i] = x[1] * 3.0  # the same for all of the inner vmap
        return u * z[0]

    return pb.sum(pb.vmap(inner)(y)) + z


PROGRAMS = [entry, entries, operators, views, views_of_new_axes, number, apart, nested,
            nested_write_outside]
each_program = pytest.mark.parametrize("program", PROGRAMS)


def by_loop(program: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: pb.stack([program(x[k], y[k], int(WHICH[k])) for k in range(3)])


def at_once(program: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: pb.vmap(program)(x, y, WHICH)


def close(got: Any, wanted: Any) -> None:
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)


@each_program
def test_values(program: Callable[..., Any]) -> None:
    x = X.copy()
    close(at_once(program)(x, Y), by_loop(program)(Tensor(X), Tensor(Y)))
    np.testing.assert_array_equal(x, X)


@each_program
def test_gradients_outside_and_inside(program: Callable[..., Any]) -> None:
    x, y = Tensor(X), Tensor(Y)
    g = np.random.default_rng(1).normal(size=by_loop(program)(x, y).shape)

    def slope(way: Any) -> Callable[..., Any]:
        return pb.grad(lambda x, y: pb.sum(way(program)(x, y) * g), (0, 1))

    wanted = slope(by_loop)(x, y)
    inside = pb.vmap(pb.grad(lambda x, y, i, g: pb.sum(program(x, y, i) * g), (0, 1)))
    for found in (slope(at_once)(x, y), inside(x, y, WHICH, g)):
        for got, w in zip(found, wanted, strict=True):
            close(got, w)


@each_program
def test_tangents_outside_and_inside(program: Callable[..., Any]) -> None:
    x, y = Tensor(X), Tensor(Y)
    t = Tensor(np.random.default_rng(2).normal(size=X.shape))
    wanted = pb.jvp(by_loop(program), (x, y), (t, None))[1]
    close(pb.jvp(at_once(program), (x, y), (t, None))[1], wanted)
    inside = pb.vmap(lambda x, y, i, t: pb.jvp(lambda x: program(x, y, i), (x,), (t,))[1])
    close(inside(x, y, WHICH, t), wanted)


@each_program
def test_second_order(program: Callable[..., Any]) -> None:
    x, y = Tensor(X), Tensor(Y)
    t = Tensor(np.random.default_rng(3).normal(size=X.shape))

    def along(way: Any) -> Any:
        return pb.hvp(lambda x, y: pb.sum(pb.sin(way(program)(x, y))), (x, y), (t, t))

    close(along(at_once), along(by_loop))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_adapter_accumulates_where_positions_repeat(shape: tuple[int, ...]) -> None:
    """`accumulate` with positions and values of each example, of some or of all."""
    array, value = R.normal(size=(3, 4)), R.normal(size=(3, *shape))
    at = R.integers(0, 4, size=(3, *shape))
    wanted = array.copy()
    for k in range(3):
        np.add.at(wanted[k], at[k], value[k])
    found = adapters[Batched].accumulate(Batched(array, 7), Batched(at, 7), Batched(value, 7))
    np.testing.assert_allclose(found.value, wanted)
    same = np.zeros((3, 4))
    adapters[Batched].accumulate(Batched(same, 7), at[0], value[0])
    single = np.zeros(4)
    np.add.at(single, at[0], value[0])
    np.testing.assert_allclose(same, np.stack([single] * 3))


# What cannot be -----------------------------------------------------------------------------

OUTSIDE = pb.zeros(4)
VARIABLE = pb.Variable(np.zeros(4))


def set_entry(x: Any) -> Any:
    x[0] = 1.0
    return x


def add(x: Any) -> Any:
    x += 1.0
    return x


def add_to_view(x: Any) -> Any:
    tail = x[1:]
    tail *= 2.0
    return x


def write_to_repeated(x: Any) -> Any:
    many = pb.broadcast_to(x[0], (3,))
    many[0] = 1.0
    return many


@pytest.mark.parametrize("program", [set_entry, add, add_to_view, write_to_repeated])
@pytest.mark.parametrize("axes", [0, 1])
def test_a_mapped_argument_is_not_written_to(program: Callable[..., Any], axes: int) -> None:
    x = X.copy()
    with pytest.raises(errors.InplaceError, match=r"(?s)vmap.*copy=True"):
        pb.vmap(program, axes)(x)
    np.testing.assert_array_equal(x, X)


def test_a_copy_of_a_mapped_argument_is_written_to() -> None:
    x = X.copy()
    found = pb.vmap(lambda x: add(pb.asarray(x, copy=True)))(x)
    np.testing.assert_array_equal(found.numpy(), X + 1.0)
    np.testing.assert_array_equal(x, X)


def set_outside(x: Any) -> None:
    OUTSIDE[0] = x[0]


def set_outside_somewhere(x: Any) -> None:
    OUTSIDE[pb.argmax(x)] = 1.0


def add_outside(x: Any) -> None:
    y = OUTSIDE
    y += x


def add_to_view_outside(x: Any) -> None:
    y = OUTSIDE[1:]
    y += x[1:]


def assign_variable(x: Any) -> None:
    VARIABLE.assign(x)


def add_to_variable(x: Any) -> None:
    VARIABLE.assign_add(x)


def set_in_variable(x: Any) -> None:
    VARIABLE[0] = x[0]


@pytest.mark.parametrize("write", [
    set_outside, set_outside_somewhere, add_outside, add_to_view_outside, assign_variable,
    add_to_variable, set_in_variable,
])
def test_what_is_one_for_all_does_not_get_a_value_for_each(write: Callable[..., Any]) -> None:
    with pytest.raises(errors.BatchedValueError, match=r"(?s)the same for all.*zeros_like"):
        pb.vmap(lambda x: (write(x), x)[1])(X)
    assert not OUTSIDE.numpy().any()
    assert not VARIABLE.numpy().any()
    assert not isinstance(OUTSIDE.data, Batched)


def test_zeros_like_a_mapped_tensor_are_one_for_each() -> None:
    def counted(x: Any, i: Any) -> Any:
        y = pb.zeros_like(x)
        y[i] = 1.0
        y += x
        return y

    close(pb.vmap(counted)(X, WHICH), Tensor(X + np.eye(4)[WHICH]))


@pytest.mark.parametrize("start", [
    torch.zeros_like, lambda x: x.new_zeros(4), lambda x: torch.full_like(x, 0.0),
])
def test_what_the_torch_door_makes_like_a_mapped_tensor_is_one_for_each(start: Any) -> None:
    def counted(x: Any, i: Any) -> Any:
        y = start(x)
        y[i] = 1.0
        return y.add_(x)

    close(pb.vmap(counted)(torch.tensor(X), WHICH), torch.tensor(X + np.eye(4)[WHICH]))


def test_a_shared_tensor_may_be_written_alike_for_all() -> None:
    y = pb.zeros(4)

    def write(x: Any) -> Any:
        y[1] = 5.0
        return x + y

    close(pb.vmap(write)(X), Tensor(X + np.array([0.0, 5.0, 0.0, 0.0])))


def test_a_gradient_that_needs_what_was_overwritten_is_an_error() -> None:
    def stale(x: Any) -> Any:
        z = x * 2.0
        y = z * z
        z += 1.0
        return pb.sum(y)

    with pytest.raises(errors.InplaceError, match="changed in place"):
        pb.vmap(pb.grad(stale))(X)


def test_values_that_do_not_fit_one_example_do_not_fit() -> None:
    def write(x: Any) -> Any:
        y = x * 1.0
        y[:2] = pb.ones((3, 2))  # 3 is the number of examples, which is nobody's business
        return y

    with pytest.raises(errors.ShapeError, match="setitem"):
        pb.vmap(write)(X)
