"""Programs on the stand-in for CuPy: memory, writes, devices, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays import adapters
from pullback.errors import (
    ArgumentError,
    ArgumentTypeError,
    BatchedValueError,
    ConvergenceError,
    InplaceError,
    MixedLibrariesError,
    PullbackError,
    SingularMatrixError,
)
from tests.arrays.stand_in import standing_in

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.fixture(scope="module", name="cupy")
def stand_in() -> Iterator[Any]:
    with standing_in() as cupy:
        yield cupy


@pytest.fixture
def x(cupy: Any) -> Any:
    return pb.tensor(cupy.asarray(X), requires_grad=True)


# Memory -------------------------------------------------------------------------------------


def test_nothing_is_copied(cupy: Any) -> None:
    a = cupy.asarray(X)
    for make in (pb.tensor, pb.asarray, pb.Tensor):
        assert make(a).data is a
    assert pb.tensor(a)[0].data.base is a


def test_gradients_are_nobody_elses(cupy: Any, x: Any) -> None:
    seed = cupy.asarray(X)
    y = pb.tensor(cupy.asarray(X), requires_grad=True)
    first, second = pb.autograd.grad(x + y, [x, y], pb.tensor(seed))
    arrays = [seed, first.data, second.data]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a._host, b._host) for b in arrays[:i])
    (whole,) = pb.autograd.grad(pb.sum(x), [x])  # which is a broadcast view on its way
    whole.data[0, 0] = 7.0
    assert whole.tolist() == [[7.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


def test_memory_of_another_library_is_not_taken_for_ones_own(cupy: Any) -> None:
    adapter, a = adapters[cupy.ndarray], cupy.asarray(X)
    assert adapter.own(a) is a
    for foreign in (cupy.from_dlpack(a), a[:1], a.T, cupy.broadcast_to(a, (2, 2, 3))):
        own = adapter.own(foreign)
        assert not np.shares_memory(own._host, a._host)
        assert own.flags.c_contiguous


def test_a_sealed_view_is_known_as_long_as_it_lives(cupy: Any) -> None:
    adapter, a = adapters[cupy.ndarray], cupy.asarray(X)
    view = adapter.sealed(a)
    assert adapter.is_sealed(view)
    assert not adapter.is_sealed(a)
    assert adapter.is_sealed(cupy.broadcast_to(a, (2, 2, 3)))
    table = adapters[cupy.ndarray].is_sealed.__func__.__globals__["_sealed"]
    assert id(view) in table
    gc.collect()  # of others, from before
    before = len(table)
    del view
    gc.collect()
    assert len(table) == before - 1


def test_copies_and_pickles(x: Any) -> None:
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again.tolist() == X.tolist()
        assert again.requires_grad
        assert again.data.base is None


# Writing ------------------------------------------------------------------------------------


def test_a_write_through_a_view_has_a_history(x: Any) -> None:
    y = x * 2
    row = y[1]
    row *= 10
    pb.sum(y).backward()
    assert y.tolist() == [[2.0, 4.0, 6.0], [80.0, 100.0, 120.0]]
    assert x.grad.tolist() == [[2.0] * 3, [20.0] * 3]


def test_a_write_to_what_a_gradient_needs_is_noticed(x: Any) -> None:
    y = pb.exp(x)
    z = y * 3
    y[0] += 1
    with pytest.raises(InplaceError, match="exp"):
        pb.sum(z + y).backward()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "uint64", "int8"])
def test_the_last_value_stays_and_all_are_added(cupy: Any, dtype: str) -> None:
    adapter, at = adapters[cupy.ndarray], (cupy.asarray([0, 1, 0, 1, 1]), slice(None))
    values = np.arange(1, 16).reshape(5, 3).astype(dtype)
    values = values * (1 + 2j) if dtype == "complex128" else values
    values = values * values.dtype.type(2**40) if "int64" in dtype else values
    zeros = adapter.zeros((2, 3), dtype)
    written = adapter.assign(zeros, at, cupy.asarray(values))
    np.testing.assert_array_equal(written.get(), values[[2, 4]])
    added = adapter.accumulate(adapter.zeros((2, 3), dtype), at, cupy.asarray(values))
    assert added.dtype == dtype
    np.testing.assert_array_equal(added.get(), [values[[0, 2]].sum(0), values[[1, 3, 4]].sum(0)])


def test_values_take_on_the_dtype_and_lose_axes_in_front(cupy: Any) -> None:
    adapter, zeros = adapters[cupy.ndarray], cupy.zeros(3, "float32")
    adapter.assign(zeros, slice(None), cupy.asarray([[1 + 5j, 2, 3]]))
    adapter.accumulate(zeros, cupy.asarray([2, 2]), cupy.asarray([[10.0, 20.0]]))
    adapter.write(zeros[:1], 9)
    assert zeros.tolist() == [9.0, 2.0, 33.0]


def test_arguments_of_vmap_cannot_be_written_to(x: Any) -> None:
    def writes(row: Any) -> Any:
        row[0] = 5.0
        return row

    with pytest.raises(PullbackError, match="vmap"):
        pb.vmap(writes)(x.detach())
    with pytest.raises(BatchedValueError):
        pb.vmap(lambda row: row[row > 2])(x.detach())


# Devices and other libraries ----------------------------------------------------------------


def test_devices(cupy: Any, x: Any) -> None:
    assert x.device == cupy.cuda.Device(0)
    for same in (x.device, 0, "cuda", "cuda:0", cupy.cuda.Device(0)):
        assert x.to(same).data is x.data
    there = x.to("cuda:1")
    assert there.device == cupy.cuda.Device(1)
    pb.sum(there * there).backward()
    assert x.grad.device == cupy.cuda.Device(0)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X)
    assert pb.zeros((2,), device=cupy.cuda.Device(1)).device == cupy.cuda.Device(1)
    assert pb.asarray([1.0], like=there).device == cupy.cuda.Device(1)
    assert pb.zeros_like(x).device == cupy.cuda.Device(0)
    for wrong in ("cpu", "tpu", -1, "cuda:x"):
        with pytest.raises(ArgumentError, match="like="):
            x.to(wrong)


def test_arrays_go_there_and_back_and_cotangents_too(cupy: Any) -> None:
    x = pb.tensor(X, requires_grad=True)
    there = pb.asarray(x, like=cupy.zeros(1))
    assert type(there.data) is cupy.ndarray
    back = pb.asarray(pb.exp(there), like=X)
    assert type(back.data) is np.ndarray
    pb.sum(back).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(X), rtol=1e-15)
    assert x.grad.device == "cpu"


def test_numbers_take_on_the_precision(cupy: Any) -> None:
    x = pb.tensor(cupy.asarray(X, "float32"))
    assert (x * 2.5).dtype == pb.add(x, [1.0, 2.0, 3.0]).dtype == "float32"
    assert (x * cupy.asarray(2.5)).dtype == "float64"
    assert pb.asarray([1.0, 1j], like=x).dtype == "complex64"
    assert pb.stack([x[0, 0], 1.5]).dtype == "float32"


@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x + X, lambda x: X * x, lambda x: pb.where(x > 1, X, x),
        lambda x: x.detach().__setitem__(0, X[0]), lambda x: pb.set_at(x, X, ...),
        lambda x: pb.matmul(x, X.T),
    ],
)
def test_mixing_libraries_is_an_error_that_names_both(x: Any, mix: Any) -> None:
    with pytest.raises(MixedLibrariesError, match=r"(?s)cupy.*numpy|numpy.*cupy"):
        mix(x)


def test_numbers_and_words(x: Any) -> None:
    assert repr(x[0]).startswith("Tensor([1., 2., 3.]")
    assert float(x[1, 2]) == x[1, 2].item() == 6.0
    assert bool(x[0, 0] > 0)
    assert pb.arange(10)[pb.argmax(x[1])].item() == 2
    assert x[pb.argmax(x[:, 0])].tolist() == [4.0, 5.0, 6.0]
    assert x[[1, 0]][:, 0].tolist() == [4.0, 1.0]


# What is refused ----------------------------------------------------------------------------


def test_matrices_without_an_inverse_are_an_error(cupy: Any) -> None:
    zero = pb.tensor(cupy.zeros((2, 2)))
    for call in (
        pb.linalg.inv, lambda a: pb.linalg.solve(a, a), lambda a: pb.linalg.cholesky(a - 1),
        lambda a: pb.linalg.triangular_solve(a, a),
    ):
        with pytest.raises(SingularMatrixError):
            call(zero)
    with pytest.raises(ConvergenceError, match="NaN"):
        pb.linalg.svd(pb.tensor(cupy.full((2, 2), np.nan)))


def test_solvers_broadcast_and_promote(cupy: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 3)), rng.standard_normal((4, 3, 2)) * 1j
    got = pb.linalg.solve(pb.tensor(cupy.asarray(a)), pb.tensor(cupy.asarray(b)))
    np.testing.assert_allclose(got.numpy(), np.linalg.solve(a, b), rtol=1e-12)
    low = np.tril(a)
    left, right = pb.tensor(cupy.asarray(low)), pb.tensor(cupy.asarray(b))
    got = pb.linalg.triangular_solve(left, right, lower=True)
    np.testing.assert_allclose(got.numpy(), np.linalg.solve(low, b), rtol=1e-10)


def test_what_cupy_has_not_is_refused_and_not_computed_on_the_host(cupy: Any) -> None:
    x = pb.tensor(cupy.asarray([0.5, 1.5]), requires_grad=True)
    y = pb.special.gammainc(2.0, x)
    pb.sum(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.array([0.5, 1.5]) * np.exp([-0.5, -1.5]))
    with pytest.raises(ArgumentTypeError, match=r"(?s)`gammainc_by_a`.*cupy"):
        pb.sum(pb.special.gammainc(x, 2.0)).backward()
    with pytest.raises(ArgumentError, match=r"(?s)order of `jv`.*0\.5"):
        pb.special.jv(0.5, x)


def test_bessel_functions_of_whole_orders(cupy: Any) -> None:
    from scipy import special

    x = np.array([0.01, 0.5, 2.0, 2.9, 3.1, 8.9, 9.1, 30.0])
    for name in ("iv", "ive", "jv", "kv", "kve", "yv", "spherical_jn"):
        for n in (0, 1, 2, 5, 8, *(() if name == "spherical_jn" else (-1, -2, -3))):
            got = getattr(pb.special, name)(n, pb.tensor(cupy.asarray(x)))
            wanted = getattr(special, name)(n, x)
            np.testing.assert_allclose(
                got.numpy(), wanted, rtol=1e-9, atol=1e-14, err_msg=f"{name} {n}"
            )


def test_of_several_maxima_the_first_has_the_gradient(cupy: Any) -> None:
    x = np.ones((1, 2, 4, 6))
    cotangent = np.random.default_rng(1).standard_normal((1, 2, 2, 3))

    def gradient(make: Any) -> Any:
        t = pb.tensor(make(x), requires_grad=True)
        pb.max_pool2d(t, 2).backward(pb.tensor(make(cotangent)))
        return t.grad.numpy()

    np.testing.assert_array_equal(gradient(cupy.asarray), gradient(np.asarray))
