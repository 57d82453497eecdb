"""`Tensor`: what it holds, how it shows, what it becomes, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors


def test_an_array_is_kept_without_a_copy() -> None:
    array = np.array([1.0, 2.0])
    assert pb.Tensor(array).data is array
    assert pb.Tensor(pb.Tensor(array)).data is array
    assert pb.Tensor(array).numpy() is array
    assert np.asarray(pb.Tensor(array)) is array


def test_tensor_keeps_an_array_unless_it_is_converted() -> None:
    array = np.array([1.0, 2.0])
    assert pb.tensor(array).data is array
    assert not np.shares_memory(pb.tensor(array, dtype="float32").data, array)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.0, "float64", ()), (2, "int64", ()), (True, "bool", ()), (1j, "complex128", ()),
        ([1.0, 2], "float64", (2,)), ([[1], [2]], "int64", (2, 1)), ((), "float64", (0,)),
        (np.float32(3), "float32", ()),
    ],
)
def test_numbers_and_sequences(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    x = pb.Tensor(data)
    assert (x.dtype, x.shape) == (dtype, shape)
    assert x.ndim == len(shape)
    assert x.size == int(np.prod(shape))
    assert pb.tensor(data).dtype == dtype


def test_attributes() -> None:
    x = pb.Tensor(np.zeros((2, 3), "float32"))
    assert x.device == "cpu"
    assert (x.node, x.grad, x.grad_fn) == (None, None, None)
    assert len(x) == 2
    with pytest.raises(errors.ArgumentTypeError, match="at least one axis"):
        len(pb.tensor(1.0))
    with pytest.raises(AttributeError):
        x.flavour = "sweet"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (pb.Tensor([1.0, 2.0]), "Tensor([1., 2.])"),
        (pb.Tensor([1, 2]), "Tensor([1, 2])"),
        (pb.Tensor(True), "Tensor(True)"),
        (pb.Tensor(np.float32([1.5])), "Tensor([1.5], dtype=float32)"),
        (pb.Tensor([1.0], requires_grad=True), "Tensor([1.], requires_grad=True)"),
        (pb.Tensor([1.0], requires_grad=True) * 2.0, "Tensor([2.], from=multiply)"),
        (pb.Tensor(np.zeros((0, 2))), "Tensor([], shape=(0, 2))"),
        (
            pb.Tensor([[1.0, 2.0], [3.0, 4.0]]),
            "Tensor([[1., 2.],\n        [3., 4.]])",
        ),
    ],
)
def test_repr(tensor: pb.Tensor, text: str) -> None:
    assert repr(tensor) == text


def test_a_large_tensor_has_a_short_repr() -> None:
    assert len(repr(pb.Tensor(np.zeros(100_000)))) < 100


def test_conversions() -> None:
    assert float(pb.tensor(2.5)) == 2.5
    assert int(pb.tensor(2)) == 2
    assert complex(pb.tensor(1 + 2j)) == 1 + 2j
    assert bool(pb.tensor(True))
    assert not bool(pb.tensor([0.0]))
    assert pb.tensor([[7.0]]).item() == 7.0
    assert type(pb.tensor(7.0).item()) is float
    assert pb.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert [10, 20, 30][pb.tensor(1)] == 20
    assert np.arange(5)[pb.tensor([1, 2])].tolist() == [1, 2]
    assert f"{pb.tensor(2.5):.2f}" == "2.50"
    assert f"{pb.tensor([2.5])}" == "Tensor([2.5])"


def test_numpy_conversions_of_dtype_and_copy() -> None:
    x = pb.tensor([1.0, 2.0])
    assert np.asarray(x, dtype="float32").dtype == "float32"
    copied = np.array(x)
    copied[0] = 9.0
    assert x.tolist() == [1.0, 2.0]
    assert np.asarray(x, copy=False) is x.data
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype="float32", copy=False)


@pytest.mark.parametrize(
    "convert",
    [float, int, complex, lambda x: x.item()],
    ids=["float", "int", "complex", "item"],
)
def test_numbers_come_from_one_entry_only(convert: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        convert(pb.tensor([1.0, 2.0]))


def test_truth_is_of_one_entry_only() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(pb.tensor([1.0, 2.0]))


@pytest.mark.parametrize("tensor", [pb.tensor(1.5), pb.tensor([1, 2]), pb.tensor(True)])
def test_only_an_integer_is_an_index(tensor: pb.Tensor) -> None:
    with pytest.raises(TypeError):
        [10, 20].__getitem__(tensor)


@pytest.mark.parametrize("data", ["text", None, object(), {"a": 1.0}])
def test_what_is_no_array_is_refused(data: Any) -> None:
    with pytest.raises(errors.PullbackError):
        pb.Tensor(data)
    with pytest.raises(errors.PullbackError):
        pb.tensor(1.0) + data


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        pb.Tensor([[1.0], [1.0, 2.0]])


def test_it_is_hashed_by_identity() -> None:
    x, y = pb.tensor(1.0), pb.tensor(1.0)
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y}) == 2


def test_copies() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    twin = copy.deepcopy(x)
    assert twin.requires_grad
    assert twin.node is not x.node
    assert not np.shares_memory(twin.data, x.data)
    both = copy.deepcopy([x, x])
    assert both[0] is both[1]
    with pytest.raises(errors.ArgumentError, match=r"x\.detach\(\)"):
        copy.deepcopy(x * 2.0)


def test_copies_of_variables_are_variables() -> None:
    v = pb.Variable([1.0, 2.0], trainable=False, name="v")
    for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(twin) is pb.Variable
        assert (twin.tolist(), twin.name, twin.trainable) == ([1.0, 2.0], "v", False)
        twin.assign([3.0, 4.0])
        assert v.tolist() == [1.0, 2.0]


def test_a_tape_watches_a_copy_as_it_watches_the_original() -> None:
    twin = copy.deepcopy(pb.tensor([1.0, 2.0], requires_grad=True))
    with pb.GradientTape() as tape:
        y = pb.sum(twin * twin)
    assert tape.gradient(y, twin).tolist() == [2.0, 4.0]


def test_pickling() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    twin = pickle.loads(pickle.dumps(x))
    assert twin.tolist() == [1.0, 2.0]
    assert twin.requires_grad
    assert not pickle.loads(pickle.dumps(x.detach())).requires_grad
    with pytest.raises(errors.ArgumentError, match=r"x\.detach\(\)"):
        pickle.dumps(x * 2.0)


def test_a_file_pickled_under_the_earlier_name_is_read() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    text = pickle.dumps(x, protocol=0)
    earlier = text.replace(b"core.tensor\nunpickled\n", b"core.tensor\n_unpickled\n")
    assert earlier != text
    assert pickle.loads(earlier).tolist() == [1.0, 2.0]


def test_a_method_bound_from_above_is_named_as_the_tensor_s() -> None:
    for name in ("item", "numpy", "register_hook", "__repr__"):
        assert getattr(pb.Tensor, name).__qualname__ == f"Tensor.{name}"


def test_a_shallow_copy_is_another_name_for_the_same_values() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    twin = copy.copy(y)
    assert twin is not y
    pb.sum(twin * y).backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_iteration_is_differentiable() -> None:
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x
    pb.sum(first * second).backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]
    with pytest.raises(TypeError):
        iter(pb.tensor(1.0)).__next__()


def test_numpy_operands_on_the_left_give_tensors() -> None:
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for y in (np.array([3.0, 4.0]) * x, np.float64(3.0) * x, 3.0 * x, [3.0, 4.0] * x):
        assert type(y) is pb.Tensor
        assert y.requires_grad


def test_operators_are_the_operations() -> None:
    x, y = np.array([7.0, -2.0]), np.array([2.0, 3.0])
    a, b = pb.Tensor(x), pb.Tensor(y)
    pairs: list[tuple[Any, Any]] = [
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (a // b, x // y),
        (a % b, x % y), (a**2, x**2), (2.0**b, 2.0**y), (-a, -x), (+a, x), (abs(a), abs(x)),
        (a < b, x < y), (a <= b, x <= y), (a > b, x > y), (a >= b, x >= y), (a == b, x == y),
        (a != b, x != y), (a @ b, x @ y), (1.0 - a, 1.0 - x), (1.0 / a, 1.0 / x),
        (5.0 % b, 5.0 % y), (5.0 // b, 5.0 // y), (a[1], x[1]), (divmod(7, 2)[0], 3),
    ]
    for got, wanted in pairs:
        np.testing.assert_array_equal(got, wanted)


def test_integer_operators() -> None:
    x, y = np.array([6, 3]), np.array([1, 2])
    a, b = pb.Tensor(x), pb.Tensor(y)
    for got, wanted in [
        (a & b, x & y), (a | b, x | y), (a ^ b, x ^ y), (~a, ~x), (1 & a, 1 & x), (a & 1, x & 1),
        (a << b, x << y), (a >> b, x >> y),
    ]:
        np.testing.assert_array_equal(got, wanted)


def test_shapes_that_do_not_broadcast_are_an_error() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        pb.tensor([1.0, 2.0]) + pb.tensor([1.0, 2.0, 3.0])
