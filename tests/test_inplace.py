"""In-place operators and assignment: values, gradients through views, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import Tensor, errors
from pullback.core import state


def leaf(*values: Any) -> Any:
    return pb.tensor(np.array(values, float), requires_grad=True)


def grad(y: Any, *leaves: Any, g: Any = None) -> list[np.ndarray]:
    g = pb.tensor(np.ones(y.shape)) if g is None else pb.tensor(g)
    return [d.numpy() for d in pb.autograd.grad(y, leaves, g, materialize_grads=True)]


def assert_equal(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(getattr(got, "data", got), wanted, rtol=1e-13, atol=1e-13)


# Random programs ----------------------------------------------------------------------------
#
# The same program twice: in place, on tensors and views of them; and on a base that is replaced
# by a new one at every write, where a view is the positions of its entries.


class InPlace:
    """A tensor to be written to and viewed."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def read(self) -> Any:
        return self.tensor

    def view(self, take: Callable[[Any], Any]) -> InPlace:
        return InPlace(take(self.tensor))

    def add(self, value: Any) -> None:
        self.tensor += value

    def multiply(self, value: Any) -> None:
        self.tensor *= value

    def assign(self, index: Any, value: Any) -> None:
        self.tensor[index] = value


class Replaced:
    """Positions in a base that is never written to."""

    def __init__(self, base: list[Any], positions: np.ndarray) -> None:
        self.base, self.positions = base, positions

    def read(self) -> Any:
        return pb.getitem(self.base[0], self.positions)

    def view(self, take: Callable[[Any], Any]) -> Replaced:
        return Replaced(self.base, np.asarray(take(self.positions)))

    def write(self, positions: np.ndarray, value: Any) -> None:
        value = pb.broadcast_to(pb.asarray(value), positions.shape)
        self.base[0] = pb.set_at(self.base[0], value, positions)

    def add(self, value: Any) -> None:
        self.write(self.positions, self.read() + value)

    def multiply(self, value: Any) -> None:
        self.write(self.positions, self.read() * value)

    def assign(self, index: Any, value: Any) -> None:
        self.write(np.asarray(self.positions[index]), value)


def row_at(k: int) -> Callable[[Any], Any]:
    return lambda x: pb.getitem(x, k % x.shape[0])


def tail(k: int) -> Callable[[Any], Any]:
    return lambda x: pb.getitem(x, slice(k % x.shape[0], None))


VIEWS: list[Callable[[int], Callable[[Any], Any]]] = [
    row_at, tail,
    lambda k: lambda x: pb.getitem(x, (..., None)),
    lambda k: lambda x: pb.flip(x, axis=0),
    lambda k: lambda x: pb.permute_dims(x, tuple(range(len(x.shape)))[::-1]),
    lambda k: lambda x: pb.reshape(x, (1, *x.shape, 1)),
]


def run(rng: np.random.Generator, start: Any, w: Any) -> list[Any]:
    """A random program: views are taken of views, and written to, in any order."""
    pool = [start]
    for _ in range(rng.integers(3, 9)):
        target = pool[rng.integers(len(pool))]
        shape = tuple(target.read().shape)
        k = int(rng.integers(100))
        kind = rng.integers(6) if shape else rng.integers(2, 5)
        if kind < 2:
            pool.append(target.view(VIEWS[k % len(VIEWS)](k)))
        elif kind == 2:
            target.add(w[0])
        elif kind == 3:
            target.multiply(w[1])
        elif kind == 4:
            target.multiply(target.read())
        elif k % 2:
            target.assign(k % shape[0], w[2] * 2)
        else:
            target.assign(rng.random(shape) < 0.5, w[1])
    return [part.read() for part in pool]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "buffer"])
def test_programs_in_place_are_programs_on_new_arrays(seed: int, tracked: bool) -> None:
    found = []
    for in_place in (True, False):
        rng = np.random.default_rng(seed)
        x = pb.tensor(rng.random((3, 4)), requires_grad=True)
        w = pb.tensor(rng.random(3), requires_grad=True)
        y = x * 1.5 if tracked else pb.tensor(x.numpy() * 1.5)
        start = InPlace(y) if in_place else Replaced(
            [pb.reshape(y, (-1,))], np.arange(12).reshape(3, 4)
        )
        parts = run(rng, start, w)
        loss = sum((pb.sum(pb.sin(part) * (i + 1)) for i, part in enumerate(parts)), pb.sum(w))
        found.append([*(p.numpy() for p in parts), *grad(loss, x, w)])
    for got, wanted in zip(*found, strict=True):
        assert_equal(got, wanted)


# Views --------------------------------------------------------------------------------------


def test_writing_to_a_slice_reaches_the_base() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y[0:2] *= 2
    assert_equal(y, [2, 4, 3])
    assert_equal(grad(y, x, g=[5.0, 6.0, 7.0])[0], [10, 12, 7])


def test_writing_to_a_view_reaches_the_base_and_its_other_views() -> None:
    x, w = leaf(1, 2, 3), leaf(10, 20)
    y = x + 0
    v, sibling = y[1:], y[:2]
    v += w
    assert_equal(y, [1, 12, 23])
    assert_equal(sibling, [1, 12])
    assert_equal(grad(y, x, w, g=[5.0, 6.0, 7.0])[1], [6, 7])
    gx, gw = grad(sibling * sibling, x, w)
    assert_equal(gx, [2, 24, 0])
    assert_equal(gw, [24, 0])


def test_writing_to_a_single_entry_taken_out_reaches_the_base() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    v = y[1]
    v *= 10
    assert_equal(y, [1, 20, 3])
    assert_equal(grad(y, x)[0], [1, 10, 1])


def test_writing_to_the_base_reaches_a_stretched_view() -> None:
    x = leaf(1, 2)
    y = x * 1
    wide = pb.broadcast_to(y, (3, 2))
    y *= 2
    assert_equal(wide, [[2, 4]] * 3)
    assert_equal(grad(wide, x)[0], [6, 6])
    with pytest.raises(errors.PullbackError, match="read-only"):
        wide[0] = 1.0


def test_a_view_of_memory_in_another_order() -> None:
    data = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    x = pb.tensor(1.0, requires_grad=True)
    y = pb.Tensor(data)
    v = pb.reshape(y.T, (6,))  # a view here, though it would not be one of rows
    v[1:3] = x * 3
    assert_equal(y, [[0, 3, 2], [3, 4, 5]])
    assert_equal(grad(y, x, g=np.arange(6.0).reshape(2, 3))[0], 3 * (3 + 1))


def test_a_view_outlives_the_name_of_its_base() -> None:
    x = leaf(1, 2, 3)
    v = (x * 2)[1:]
    v += 1
    assert_equal(grad(v * v, x)[0], [0, 20, 28])


# Assignment ---------------------------------------------------------------------------------


def test_a_buffer_filled_row_by_row() -> None:
    w = leaf(1, 2)
    rows = pb.zeros((3, 2))
    for i in range(3):
        rows[i] = w * (i + 1)
    assert rows.requires_grad
    assert_equal(rows, [[1, 2], [2, 4], [3, 6]])
    assert_equal(grad(rows, w, g=np.array([[1.0, 2], [3, 4], [5, 6]]))[0], [22, 28])


def test_a_mask_set_to_zero_has_no_gradient_there() -> None:
    x = leaf(-1, 2, -3)
    y = x * 2
    y[y < 0] = 0
    assert_equal(y, [0, 4, 0])
    assert_equal(grad(y, x)[0], [0, 2, 0])


def test_of_an_entry_assigned_twice_the_last_value_counts() -> None:
    w = leaf(1, 2, 3)
    y = pb.zeros(2)
    y[np.array([0, 1, 0])] = w
    assert_equal(y, [3, 2])
    assert_equal(grad(y, w, g=[5.0, 7.0])[0], [0, 7, 5])


def test_values_are_cast_and_broadcast() -> None:
    w = leaf(1, 2, 3)
    y = pb.zeros((2, 3), dtype=pb.float32)
    y[...] = w
    assert y.dtype == pb.float32
    (g,) = grad(y, w)
    assert g.dtype == np.float64
    assert_equal(g, [2, 2, 2])
    y[:, 0] = 7
    assert_equal(y[:, 0], [7, 7])


def test_an_overlapping_assignment() -> None:
    x = leaf(1, 2, 3)
    y = x * 1
    y[1:] = y[:-1]
    assert_equal(y, [1, 1, 2])
    assert_equal(grad(y, x, g=[1.0, 10.0, 100.0])[0], [11, 100, 0])


def test_indices_written_later_do_not_matter() -> None:
    x = leaf(1, 2, 3)
    index = pb.tensor(np.array([0, 2]))
    y = x[index]
    z = x * 1
    z[index] = 0.0
    index[0] = 1
    assert_equal(grad(y, x)[0], [1, 0, 1])
    assert_equal(grad(z, x)[0], [0, 1, 0])


def test_second_derivatives_go_through_assignments() -> None:
    x = leaf(1, 2, 3)
    y = x * x
    y[1] = x[0] * x[2]
    y[1:] *= x[0]
    (g,) = pb.autograd.grad(pb.sum(y * y), x, create_graph=True)
    # loss = a^4 + a^4 c^2 + c^4 a^2
    a, c = 1.0, 3.0
    assert_equal(g, [4 * a**3 + 4 * a**3 * c**2 + 2 * c**4 * a, 0, 2 * a**4 * c + 4 * c**3 * a**2])
    assert_equal(grad(g[0], x)[0], [12 + 12 * c**2 + 2 * c**4, 0, 8 * c + 8 * c**3])


# In-place operators -------------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b, "pow": lambda a, b: a**b, "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b, "matmul": lambda a, b: a @ b,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_in_place_is_the_operator(name: str, rng: np.random.Generator) -> None:
    a, b = rng.uniform(1, 3, (2, 3, 3))
    found = []
    for in_place in (False, True):
        x, w = (pb.tensor(v, requires_grad=True) for v in (a, b))
        y = x * 2
        same = y
        if in_place:
            y = getattr(y, f"__i{name}__")(w)
            assert y is same
        else:
            y = OPERATORS[name](y, w)
        found.append([y.numpy(), *grad(y * y, x, w)])
    for got, wanted in zip(*found, strict=True):
        assert_equal(got, wanted)


@pytest.mark.parametrize("name", ["and", "or", "xor", "lshift", "rshift"])
def test_bits_in_place(name: str) -> None:
    x, y = np.array([5, 6, 7]), np.array([3, 1, 2])
    t = Tensor(x.copy())
    getattr(t, f"__i{name}__")(y)
    np.testing.assert_array_equal(t.data, getattr(x, f"__{name}__")(y))


def test_the_operator_keeps_what_its_own_gradient_needs() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = x * 1
    y *= w
    y *= w
    assert_equal(grad(y, x, w)[0], [9, 16])
    y = x * 1
    y *= y
    y *= y[0:1]
    assert_equal(grad(y, x)[0], [4 + 2 * 4, 4])


def test_a_number_without_axes_in_place() -> None:
    x = leaf(1, 2)
    y = pb.sum(x)
    y += 1
    y *= y
    assert_equal(y, 16)
    assert_equal(grad(y, x)[0], [8, 8])


# What a gradient needs and lost --------------------------------------------------------------


def test_a_value_that_was_saved_and_written_names_who_saved_it() -> None:
    x = leaf(1, 2)
    y = pb.exp(x)
    y += 1
    with pytest.raises(errors.InplaceError, match="inplace") as caught:
        pb.sum(y).backward()
    assert "`exp`" in str(caught.value)
    assert "`iadd`" in str(caught.value)
    assert "test_inplace.py" in str(caught.value)


@pytest.mark.parametrize("write", [
    lambda y: y[0:1].__imul__(2), lambda y: y.__setitem__(0, 1.0), lambda y: y.T.__iadd__(1),
], ids=["slice", "assignment", "transpose"])
def test_a_write_through_a_view_counts(write: Callable[[Any], Any]) -> None:
    x = pb.tensor(np.ones((2, 2)), requires_grad=True)
    y = pb.exp(x)
    z = y * 2
    write(y)
    with pytest.raises(errors.InplaceError, match="`exp`"):
        pb.sum(z).backward()


def test_a_value_that_nobody_needs_may_be_written() -> None:
    x = leaf(1, 2)
    y = x + 1
    z = y + 1
    y *= 5
    assert_equal(grad(z, x)[0], [1, 1])


# What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("write", [
    lambda x: x.__iadd__(1), lambda x: x.__setitem__(0, 9.0), lambda x: x[0:1].__imul__(2),
], ids=["operator", "assignment", "view"])
def test_a_leaf_is_not_written_while_recording(write: Callable[[Any], Any]) -> None:
    x = leaf(1, 2)
    with pytest.raises(errors.InplaceError, match="leaf tensor"):
        write(x)
    assert_equal(x, [1, 2])
    with pb.no_grad():
        write(x)
    assert x.is_leaf
    assert x.requires_grad
    assert not np.array_equal(x.numpy(), [1, 2])


def test_with_recording_off_values_change_and_histories_do_not() -> None:
    x = leaf(1, 2)
    y = x * 3
    node = y.node
    with pb.no_grad():
        y += 1
        y[0] = 100.0
    assert y.node is node
    assert_equal(y, [100, 7])
    assert_equal(grad(y, x)[0], [3, 3])


def test_writing_to_a_variable_assigns_it_and_graphs_keep_what_they_read() -> None:
    v = pb.Variable([1.0, 2.0])
    same = v
    with pb.GradientTape() as tape:
        y = pb.sum(v * v)
        v += 1
        v[0] = 9.0
    assert v is same
    assert_equal(v, [9, 3])
    assert_equal(tape.gradient(y, v), [2, 4])
    with pb.GradientTape(), pytest.raises(errors.InplaceError, match="a view of a leaf"):
        v[1:].__iadd__(1)
    assert_equal(v, [9, 3])


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "a larger result": (lambda y: y.__iadd__(np.ones((2, 3))), ValueError),
    "a value that does not fit": (lambda y: y.__setitem__(slice(0, 2), np.ones(3)), ValueError),
    "an index out of range": (lambda y: y.__setitem__(3, 1.0), IndexError),
    "a complex value": (lambda y: y.__setitem__(0, 1j), TypeError),
    "a complex result": (lambda y: y.__imul__(1j), TypeError),
    "no index": (lambda y: y.__setitem__("a", 1.0), TypeError),
    "no value": (lambda y: y.__setitem__(0, "a"), TypeError),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_is_one_error_and_leaves_everything_as_it_was(wrong: str) -> None:
    call, builtin = WRONG[wrong]
    x = leaf(1, 2, 3)
    y = pb.exp(x)
    values, node, before = y.numpy().copy(), y.node, state.state()
    with pytest.raises(errors.PullbackError) as caught:
        call(y)
    assert isinstance(caught.value, builtin)
    assert caught.value.__cause__ is None
    assert state.state() == before
    assert y.node is node
    assert_equal(y, values)
    assert_equal(grad(y, x)[0], values)


def test_a_derivative_is_not_lost_in_integers() -> None:
    n = pb.tensor(np.array([1, 2]))
    with pytest.raises(errors.DtypeError, match="float"):
        n[0] = pb.sum(leaf(1))
    with pytest.raises(errors.DtypeError, match="itruediv"):
        n /= 2
    n[0] = 7.9
    np.testing.assert_array_equal(n.data, [7, 2])
