"""Making tensors and asking about dtypes: against NumPy, what is copied, what stays tracked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors

CALLS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "zeros": (lambda: pb.zeros((2, 0, 3)), lambda: np.zeros((2, 0, 3))),
    "zeros of an integer": (lambda: pb.zeros(3, dtype=pb.int8), lambda: np.zeros(3, "int8")),
    "ones": (lambda: pb.ones(()), lambda: np.ones(())),
    "ones complex": (lambda: pb.ones(2, dtype=pb.complex64), lambda: np.ones(2, "complex64")),
    "full": (lambda: pb.full((2, 2), 1.5), lambda: np.full((2, 2), 1.5)),
    "full of integers": (lambda: pb.full(2, 3), lambda: np.full(2, 3)),
    "full of truth": (lambda: pb.full(2, True), lambda: np.full(2, True)),
    "full complex": (lambda: pb.full(2, 1j), lambda: np.full(2, 1j)),
    "arange to": (lambda: pb.arange(4), lambda: np.arange(4)),
    "arange from to": (lambda: pb.arange(1.5, 4), lambda: np.arange(1.5, 4)),
    "arange down": (lambda: pb.arange(4, 0, -2), lambda: np.arange(4, 0, -2)),
    "arange to a dtype": (lambda: pb.arange(3, dtype=pb.float32), lambda: np.arange(3, dtype="f")),
    "arange of nothing": (lambda: pb.arange(3, 1), lambda: np.arange(3, 1)),
    "linspace": (lambda: pb.linspace(-1.0, 2.0, 7), lambda: np.linspace(-1, 2, 7)),
    "linspace without end": (lambda: pb.linspace(0, 1, 4, endpoint=False),
                             lambda: np.linspace(0, 1, 4, endpoint=False)),
    "linspace of one": (lambda: pb.linspace(2.0, 3.0, 1), lambda: np.linspace(2, 3, 1)),
    "eye": (lambda: pb.eye(3), lambda: np.eye(3)),
    "eye wide": (lambda: pb.eye(2, 4, k=-1, dtype=pb.int32), lambda: np.eye(2, 4, -1, "int32")),
    "asarray of numbers": (lambda: pb.asarray([[1], [3]]), lambda: np.asarray([[1], [3]])),
    "asarray of a number": (lambda: pb.asarray(2.5), lambda: np.asarray(2.5)),
    "asarray to": (lambda: pb.asarray([1, 2], dtype=pb.float32), lambda: np.asarray([1, 2], "f")),
    "tensor of truths": (lambda: pb.tensor([True, False]), lambda: np.array([True, False])),
    "tensor of tensors": (lambda: pb.tensor([[pb.tensor(1.0)], [2.0]]),
                          lambda: np.array([[1.0], [2.0]])),
    "tensor to": (lambda: pb.tensor([1, 2], pb.complex64), lambda: np.array([1, 2], "F")),
    "dlpack": (lambda: pb.from_dlpack(np.arange(3.0)), lambda: np.arange(3.0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_tensors_are_numpy_s_arrays(name: str) -> None:
    ours, theirs = CALLS[name]
    got, wanted = ours(), theirs()
    assert type(got) is pb.Tensor
    assert got.node is None
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got.data, wanted, strict=True)


def test_empty_is_only_a_shape() -> None:
    assert pb.empty((2, 3)).shape == (2, 3)
    assert pb.empty(4, dtype=pb.int16).dtype == pb.int16


def test_tensor_keeps_arrays_and_begins_anew() -> None:
    array = np.ones(2)
    made = pb.tensor(array, requires_grad=True)
    assert made.data is array
    assert pb.tensor(array, pb.float32).data is not array
    assert pb.tensor(made * 2).node is None


def test_asarray_shares_unless_told() -> None:
    array = np.ones(2)
    assert pb.asarray(array).data is array
    assert not np.shares_memory(pb.asarray(array, copy=True).data, array)
    t = pb.tensor([1.0, 2.0], requires_grad=True)
    assert pb.asarray(t) is t
    assert not np.shares_memory(pb.asarray(t, copy=True).data, t.data)


def test_asarray_stays_tracked() -> None:
    t = pb.tensor([2.0, 3.0], requires_grad=True)
    pb.sum(pb.asarray(t, copy=True) * np.array([1.0, 4.0])).backward()
    assert t.grad.tolist() == [1, 4]
    table = pb.asarray([[t[0], 1.0], (5.0, t[1] * t[0])])
    np.testing.assert_array_equal(table.data, [[2, 1], [5, 6]])
    (g,) = pb.autograd.grad(pb.sum(table * np.array([[1.0, 2.0], [3.0, 4.0]])), t)
    assert g.tolist() == [1 + 4 * 3, 4 * 2]
    assert pb.asarray(t, dtype=pb.float32).requires_grad


def test_filling_with_a_tensor_stays_tracked() -> None:
    t = pb.tensor(2.0, requires_grad=True)
    for made in (pb.full((2, 3), t), pb.full_like(np.ones((2, 3)), t)):
        made = made * 1.0
        (g,) = pb.autograd.grad(pb.sum(made), t)
        assert (g.item(), made.data.max()) == (6, 2)
    ends = pb.linspace(t, 4.0, 5)
    np.testing.assert_allclose(ends.data, np.linspace(2, 4, 5))
    (g,) = pb.autograd.grad(ends, t, pb.tensor([1.0, 1, 1, 1, 1]))
    assert g.item() == pytest.approx(1 + 0.75 + 0.5 + 0.25)


def test_what_is_filled_with_a_tensor_can_be_written() -> None:
    made = pb.full((2,), pb.tensor(2.0))
    made[0] = 1.0
    assert made.tolist() == [1, 2]


@pytest.mark.parametrize("obj", [
    [pb.tensor(1.0), 2.0], pb.tensor([1]),
], ids=["a sequence", "another dtype"])
def test_asarray_says_why_it_must_copy(obj: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="needs no copy"):
        pb.asarray(obj, dtype=pb.float64, copy=False)


def test_integers_cannot_require_gradients() -> None:
    with pytest.raises(errors.DtypeError, match="int64"):
        pb.tensor([1, 2], requires_grad=True)


# Dtypes -------------------------------------------------------------------------------------


def test_names_are_the_dtypes_that_arrays_carry() -> None:
    for name in ("float32", "float64", "complex64", "complex128", "int8", "int16", "int32",
                 "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        assert getattr(pb, name) is np.zeros(1, name).dtype


def test_questions_take_tensors_arrays_and_dtypes() -> None:
    t = pb.ones(2, dtype=pb.float32)
    for what in (t, t.data, pb.float32, np.float32):
        assert pb.finfo(what).eps == np.finfo("float32").eps
        assert pb.can_cast(what, pb.float64)
        assert not pb.can_cast(what, pb.int32)
    assert pb.finfo(pb.complex128).bits == 64
    assert pb.iinfo(pb.tensor([1], dtype=pb.int16)).max == 2**15 - 1


def test_result_types_promote_as_arithmetic_does() -> None:
    t = pb.ones(2, dtype=pb.float32)
    for other in (1, 2.5, 1j, pb.int8, pb.float64, np.ones(1, "int64"), pb.ones(1)):
        value = other.data if isinstance(other, pb.Tensor) else other
        one = np.ones(1, value) if isinstance(value, np.dtype) else value
        assert pb.result_type(t, other) == (t.data * one).dtype


@pytest.mark.parametrize(("dtype", "kinds"), [
    ("bool", {"bool"}), ("int16", {"signed integer", "integral", "numeric"}),
    ("uint16", {"unsigned integer", "integral", "numeric"}),
    ("float32", {"real floating", "numeric"}), ("complex64", {"complex floating", "numeric"}),
])
def test_kinds_of_dtypes(dtype: str, kinds: set[str]) -> None:
    named = {"bool", "signed integer", "unsigned integer", "integral", "real floating",
             "complex floating", "numeric"}
    assert {kind for kind in named if pb.isdtype(getattr(pb, dtype), kind)} == kinds
    assert pb.isdtype(getattr(pb, dtype), (pb.float64, getattr(pb, dtype)))
    assert not pb.isdtype(getattr(pb, dtype), pb.float64)
