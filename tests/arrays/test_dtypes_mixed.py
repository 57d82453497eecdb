"""Dtypes that meet: promotion, numbers, integers, booleans; a gradient has its source's dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import raw

ml_dtypes = pytest.importorskip("ml_dtypes")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64")]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]


def joined(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """What two floating dtypes are together: the smallest that holds both."""
    if a == b:
        return a
    real = [pb.finfo(d).bits for d in (a, b)]
    bits = max(32, *real)
    return np.dtype(f"complex{2 * bits}" if "c" in (a.kind, b.kind) else f"float{bits}")


@pytest.mark.parametrize("one", FLOATS + COMPLEX, ids=str)
@pytest.mark.parametrize("two", FLOATS + COMPLEX, ids=str)
@pytest.mark.parametrize("f", [
    lambda x, w: x * w, lambda x, w: x + w, lambda x, w: x / w, lambda x, w: pb.sum(x @ w),
    lambda x, w: pb.where(pb.asarray(np.eye(3, dtype=bool)), x, w),
    lambda x, w: pb.concat([x, w]), lambda x, w: pb.linalg.solve(x, w), pb.matmul,
    lambda x, w: pb.einsum("ij,jk->ik", x, w),
], ids=["mul", "add", "div", "sum", "where", "concat", "solve", "matmul", "einsum"])
def test_two_dtypes(
    f: Callable[..., Any], one: np.dtype[Any], two: np.dtype[Any], rng: np.random.Generator
) -> None:
    """The result is of the dtype that holds both; each gradient of that of its own source."""
    x = pb.tensor((rng.standard_normal((3, 3)) + 4 * np.eye(3)).astype(one), requires_grad=True)
    w = pb.tensor((rng.standard_normal((3, 3)) + 2).astype(two), requires_grad=True)
    out = f(x, w)
    assert out.dtype == joined(one, two) == pb.result_type(one, two)
    cotangent = rng.standard_normal(out.shape).astype(out.dtype)
    for g, source in zip(pb.autograd.grad(out, (x, w), cotangent), (x, w), strict=True):
        assert (g.shape, g.dtype) == (source.shape, source.dtype)
        assert np.any(np.asarray(g))


def test_float32_weights_on_float64_data(rng: np.random.Generator) -> None:
    """The usual accident: the data decide the precision, the weights keep theirs."""
    data, weights = rng.standard_normal((5, 3)), rng.standard_normal(3).astype("float32")
    w = pb.tensor(weights, requires_grad=True)
    pb.mean((pb.tensor(data) @ w - 1) ** 2).backward()
    assert w.grad.dtype == pb.float32
    wanted = 2 * data.T @ (data @ weights - 1) / 5
    np.testing.assert_allclose(w.grad.numpy(), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=str)
@pytest.mark.parametrize("number", [2, 2.5, True], ids=str)
def test_numbers_are_weak(dtype: np.dtype[Any], number: Any) -> None:
    """Python's numbers take on the dtype that they meet, also that of an array with no axes."""
    for shape in ((2,), ()):
        x = pb.tensor(np.full(shape, 1.5, dtype), requires_grad=True)
        for out in (x * number, number + x, x / number, x**number, pb.maximum(x, number)
                    if dtype.kind != "c" else number - x):
            assert out.dtype == dtype
            (g,) = pb.autograd.grad(out, x, pb.ones_like(out))
            assert (g.dtype, g.shape) == (dtype, shape)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_complex_numbers_make_complex(dtype: np.dtype[Any]) -> None:
    x = pb.tensor(np.ones(2, dtype), requires_grad=True)
    out = x * 2j
    assert out.dtype == pb.result_type(dtype, 1j)
    assert out.dtype == (pb.complex128 if dtype == np.float64 else pb.complex64)
    (g,) = pb.autograd.grad(out, x, pb.ones_like(out) * 3j)
    assert g.dtype == dtype
    np.testing.assert_array_equal(g.numpy().astype(float), [6, 6])


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=str)
def test_an_array_without_axes_counts_as_others_do(dtype: np.dtype[Any]) -> None:
    """As the standard says: only Python's numbers are weak."""
    x = pb.tensor(np.ones(2, dtype), requires_grad=True)
    s = pb.tensor(np.array(2.0), requires_grad=True)
    out = x * s
    assert out.dtype == joined(dtype, np.dtype("float64"))
    g, h = pb.autograd.grad(out, (x, s), pb.ones_like(out))
    assert (g.dtype, h.dtype, h.shape) == (dtype, pb.float64, ())


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("floating", FLOATS, ids=str)
def test_integers_and_booleans_pass_through(dtype: str, floating: np.dtype[Any]) -> None:
    """They are factors like others, with no gradient."""
    n = pb.tensor(np.array([0, 1, 1]).astype(dtype))
    x = pb.tensor(np.array([1.0, 2.0, 3.0]).astype(floating), requires_grad=True)
    out = n * x
    beside = np.result_type(dtype, floating if floating == np.float64 else "float32")
    assert out.dtype == (floating if beside == np.float32 else beside)
    (g,) = pb.autograd.grad(out, x, pb.ones_like(out))
    assert g.dtype == floating
    np.testing.assert_array_equal(g.numpy().astype(float), [0, 1, 1])
    assert not n.requires_grad
    assert not pb.astype(x, dtype).requires_grad


def test_what_is_asked_about_half_precision() -> None:
    assert pb.isdtype(BFLOAT16, "real floating")
    assert pb.isdtype(BFLOAT16, (pb.int8, BFLOAT16))
    assert not pb.isdtype(BFLOAT16, "integral")
    assert pb.isdtype(pb.float16, "real floating")
    assert pb.finfo(BFLOAT16).eps == 2**-7
    assert pb.finfo(pb.tensor(np.ones(1, BFLOAT16))).bits == 16
    assert pb.result_type(BFLOAT16, 1.0, pb.int8) == BFLOAT16
    assert pb.result_type(BFLOAT16, pb.float16) == pb.float32
    assert pb.result_type(pb.float16, 1.0) == pb.float16


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_half_precision_can_be_asked_for(dtype: np.dtype[Any]) -> None:
    x = pb.tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    for made in (
        pb.astype(x, dtype), pb.sum(x, dtype=dtype), pb.prod(x, dtype=dtype),
        pb.cumulative_sum(x, dtype=dtype), pb.zeros_like(x, dtype=dtype), pb.ones(3, dtype=dtype),
        pb.full_like(x, 2.0, dtype=dtype), pb.tensor([1.0], dtype=dtype),
        pb.asarray([1.0], dtype=dtype),
    ):
        assert made.dtype == dtype
        assert (made * 2.0).dtype == dtype  # NumPy makes float32 of bfloat16
        assert pb.special.erf(made).dtype == dtype


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_sums_are_rounded_once(dtype: np.dtype[Any], rng: np.random.Generator) -> None:
    """Of ten thousand small numbers, of which half precision would lose most on its way."""
    x = rng.random(10_000).astype(dtype)
    exact = float(np.sum(x.astype("float64")))
    eps = float(ml_dtypes.finfo(dtype).eps)
    for found in (pb.sum(pb.tensor(x)), pb.tensor(x) @ pb.tensor(np.ones(10_000, dtype))):
        assert abs(float(found) - exact) <= eps / 2 * exact


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_writes_keep_the_dtype(dtype: np.dtype[Any]) -> None:
    x = pb.tensor(np.array([1.0, 2.0, 3.0]).astype(dtype), requires_grad=True)
    y = x * 1
    y[0] = x[1] * 2.5
    y += 1.5
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy().astype(float), [6.5, 3.5, 4.5])
    pb.sum(y * y).backward()
    assert x.grad.dtype == dtype
    np.testing.assert_array_equal(x.grad.numpy().astype(float), [0, 39.5, 9])


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_a_raw_array_beside_a_tensor_leaves_the_gradient_in_place(dtype: np.dtype[Any]) -> None:
    raw_array = np.array([2.0, 3.0]).astype(dtype)
    x = pb.tensor(np.ones(2, dtype), requires_grad=True)
    for out in (raw_array * x, x * raw_array, raw(x * 1) * x):
        (g,) = pb.autograd.grad(pb.sum(out), x)
        assert g.dtype == out.dtype == dtype
        assert out.requires_grad
