"""Decided edges of reductions, shaping and joining: ties, NaN, zeros, sharing, tracking, misuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors


def slope(function: Callable[[Any], Any], x: Any, **how: Any) -> np.ndarray:
    """The gradient of a function of one tensor at x, contracted with 1, 2, 3, …"""
    t = pb.tensor(x, requires_grad=True, **how)
    out = function(t)
    cotangent = np.reshape(np.arange(1.0, out.size + 1), out.shape)
    (g,) = pb.autograd.grad(out, t, pb.tensor(cotangent))
    return np.asarray(g)


# Ties and NaN -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "x"), [("max", [1.0, 3, 3, 2, 3, 3]), ("min", [4.0, 3, 3, 9, 3, 3])]
)
def test_entries_that_tie_share_equally(name: str, x: list[float]) -> None:
    np.testing.assert_array_equal(slope(getattr(pb, name), x), [0, 0.25, 0.25, 0, 0.25, 0.25])


def test_ties_are_counted_along_each_line() -> None:
    got = slope(lambda x: pb.max(x, axis=1), [[1.0, 1], [0, 2], [5, 5]])
    np.testing.assert_array_equal(got, [[0.5, 0.5], [0, 2], [1.5, 1.5]])


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_nan_takes_the_cotangent_with_it(name: str) -> None:
    got = slope(lambda x: getattr(pb, name)(x, axis=-1), [[1.0, math.nan, 3], [2, 4, 9]])
    np.testing.assert_array_equal(got[0], [0, 1, 0])
    assert got[1].sum() == 2


# Zeros --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 0.3, -1e10 / 3])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_deviation_of_equal_entries_has_no_slope(value: float, n: int) -> None:
    np.testing.assert_array_equal(slope(pb.std, [value] * n), np.zeros(n))


def test_the_deviation_of_equal_entries_has_no_second_derivative() -> None:
    t = pb.tensor([2.0, 2.0], requires_grad=True)
    (g,) = pb.autograd.grad(pb.std(t), t, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(g * np.array([1.0, 3.0])), t)
    np.testing.assert_array_equal(h, [0, 0])


@pytest.mark.parametrize("order", [0, 1, 2, 3, 2.5, 1.5, 0.5, -1, math.inf, -math.inf])
def test_the_norm_of_nothing_but_zeros_has_no_slope(order: float) -> None:
    np.testing.assert_array_equal(slope(lambda x: pb.vector_norm(x, ord=order), [0.0, 0]), [0, 0])


@pytest.mark.parametrize("order", [1, 1.5, 2, 2.5, 3, 4, math.inf])
def test_an_entry_that_is_zero_has_no_slope_in_a_norm(order: float) -> None:
    x = np.array([0.0, 3.0, -4.0])
    got = slope(lambda x: pb.vector_norm(x, ord=order), x)
    rest = slope(lambda x: pb.vector_norm(x, ord=order), x[1:])
    np.testing.assert_allclose(got, [0, *rest], rtol=1e-15)


@pytest.mark.parametrize(("x", "wanted"), [
    ([2.0, 3, 4], [12, 8, 6]), ([0.0, 3, 4], [12, 0, 0]), ([0.0, 3, 0], [0, 0, 0]),
    ([1e200, 1e-200, 0], [0, 0, 1]),
])
def test_a_product_divides_by_nothing(x: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(slope(pb.prod, x), wanted, rtol=1e-15)


def test_running_products_divide_by_nothing() -> None:
    # out = (a, ab, abc, abcd) at (2, 0, 3, 4), with cotangents 1, 2, 3, 4
    got = slope(pb.cumulative_prod, [2.0, 0, 3, 4])
    np.testing.assert_allclose(got, [1, 2 * 2 + 3 * 6 + 4 * 24, 0, 0])


def test_too_few_degrees_of_freedom_are_nan_in_value_and_slope() -> None:
    t = pb.tensor([3.0], requires_grad=True)
    with pytest.warns(RuntimeWarning):
        out = pb.var(t, correction=1)
    out.backward()
    assert math.isnan(out.item())
    assert np.isnan(t.grad.numpy()).all()


# Dtypes and tracking ------------------------------------------------------------------------


def test_what_became_an_integer_is_not_tracked() -> None:
    t = pb.tensor([1.5, 2.5], requires_grad=True)
    for out in (pb.astype(t, pb.int64), pb.astype(t, pb.bool), pb.sum(t, dtype=pb.int32),
                pb.cumulative_sum(t, dtype=pb.int64), pb.count_nonzero(t), pb.all(t)):
        assert out.node is None
    assert pb.astype(t, "float32").requires_grad
    assert pb.sum(t, dtype=pb.complex128).requires_grad


@pytest.mark.parametrize(("dtype", "summed"), [
    ("int8", "int64"), ("uint8", "uint64"), ("bool", "int64"), ("float32", "float32"),
    ("complex64", "complex64"),
])
def test_sums_and_products_have_the_standard_s_dtype(dtype: str, summed: str) -> None:
    x = pb.ones((3,), dtype=getattr(pb, dtype))
    assert pb.sum(x).dtype == pb.prod(x).dtype == pb.cumulative_sum(x).dtype == summed


def test_a_sum_in_another_dtype_has_a_gradient_in_its_own() -> None:
    got = slope(lambda x: pb.sum(x, dtype=pb.float64), [1.0, 2.0], dtype=pb.float32)
    assert got.dtype == np.float32


def test_a_cast_without_a_copy_shares_memory() -> None:
    x = np.ones(3)
    assert pb.astype(x, pb.float64, copy=False) is x
    assert not np.shares_memory(pb.astype(x, pb.float64), x)
    t = pb.tensor(x, requires_grad=True)
    assert pb.astype(t, t.dtype, copy=False).data is t.data


def test_views_share_memory_and_see_writes() -> None:
    base = pb.tensor(np.arange(6.0))
    table = pb.reshape(base, (2, 3))
    views = [pb.permute_dims(table, (1, 0)), pb.matrix_transpose(table), pb.flip(table),
             pb.expand_dims(table, axis=0), pb.moveaxis(table, 0, 1),
             pb.squeeze(pb.reshape(base, (1, 6)), axis=0), pb.broadcast_to(table, (2, 2, 3))]
    base[5] = -1.0
    assert all(np.min(v.data) == -1 for v in views)
    assert pb.reshape(base, (2, 3), copy=True).data.base is not base.data


def test_what_was_broadcast_cannot_be_written() -> None:
    for x in (pb.tensor(1.0), pb.tensor([1.0])):
        with pytest.raises(ValueError, match="read-only"):
            pb.broadcast_to(x, (2,))[0] = 3.0
        spread = pb.broadcast_to(x, (2,))
        with pytest.raises(pb.errors.InplaceError, match="read-only"):
            spread += 1.0


def test_several_results_are_a_tuple_of_tensors_or_of_arrays() -> None:
    a, b = np.ones(2), np.ones(3)
    for several in (pb.meshgrid, lambda *xs: pb.broadcast_arrays(xs[0][:, None], xs[1])):
        for found in (several(a, b), several(pb.tensor(a), b)):
            assert isinstance(found, tuple)
            assert [x.shape for x in found] in ([(2, 3)] * 2, [(3, 2)] * 2)
        assert all(isinstance(x, pb.Tensor) for x in found)
        assert all(type(x) is np.ndarray for x in several(a, b))
    assert pb.broadcast_shapes((4, 1), (3,), ()) == (4, 3)
    assert pb.broadcast_shapes() == ()


def test_joining_many_is_not_quadratic() -> None:
    t = pb.tensor([1.0], requires_grad=True)
    pb.sum(pb.concat([t] * 20_000)).backward()
    assert t.grad.item() == 20_000


# Misuse -------------------------------------------------------------------------------------

TABLE = np.ones((2, 3))


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: pb.concat([]), ValueError, "at least one array"),
    (lambda: pb.concat([TABLE, TABLE.T]), ValueError, "axis 0 only"),
    (lambda: pb.concat([TABLE], axis=2), IndexError, "`concat`"),
    (lambda: pb.stack([]), ValueError, "at least one array"),
    (lambda: pb.stack([TABLE, TABLE[0]]), ValueError, "one shape"),
    (lambda: pb.stack([TABLE], axis=3), IndexError, "`stack`"),
    (lambda: pb.unstack(np.float64(1.0)), IndexError, "`unstack`"),
    (lambda: pb.split(TABLE, 2, axis=1), ValueError, "a divisor of 3"),
    (lambda: pb.split(TABLE, (1, 1), axis=1), ValueError, "sum to 3"),
    (lambda: pb.split(TABLE, (4, -1), axis=1), ValueError, "sum to 3"),
    (lambda: pb.meshgrid(TABLE[0], indexing="yx"), ValueError, "'xy' or 'ij'"),
    (lambda: pb.pad(TABLE, ((1, 1),)), ValueError, "2 axes"),
    (lambda: pb.pad(TABLE, -1), ValueError, "widths ≥ 0"),
    (lambda: pb.moveaxis(TABLE, (0, 1), 0), ValueError, "2 destinations"),
    (lambda: pb.moveaxis(TABLE, (0, 0), (0, 1)), ValueError, "each axis once"),
    (lambda: pb.moveaxis(TABLE, 2, 0), IndexError, "`moveaxis`"),
    (lambda: pb.swapaxes(TABLE, 0, 2), IndexError, "`swapaxes`"),
    (lambda: pb.matrix_transpose(TABLE[0]), ValueError, "at least two axes"),
    (lambda: pb.broadcast_arrays(TABLE, TABLE.T), ValueError, "(2, 3) and (3, 2)"),
    (lambda: pb.broadcast_shapes((2, 3), [3, 2]), ValueError, "(2, 3) and (3, 2)"),
    (lambda: pb.repeat(TABLE, [1, 2], axis=1), ValueError, "3 of them"),
    (lambda: pb.repeat(TABLE, 2, axis=2), IndexError, "`repeat`"),
    (lambda: pb.diff(TABLE, axis=2), IndexError, "`diff`"),
    (lambda: pb.result_type(1, 2.0), TypeError, "add a dtype"),
])
def test_misuse_is_named(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(errors.PullbackError) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert words in str(caught.value)
