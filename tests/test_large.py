"""Large arrays: pooled, threaded, and otherwise like any other."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_.large import POOL, SMALLEST, Large, adopt

N = SMALLEST // 4 * 3  # float32: three times the smallest size


@pytest.fixture
def array(rng):
    return rng.normal(size=N).astype(np.float32)


def test_the_kind_is_chosen_by_size_and_never_shown(array):
    t = pb.tensor(array)
    assert type(t._data) is Large
    assert type(t.data) is np.ndarray
    assert type(t.numpy()) is np.ndarray
    assert np.shares_memory(t.data, array)
    assert type(pb.tensor(array[:10])._data) is np.ndarray
    assert type(t[:10]._data) is np.ndarray


@pytest.mark.parametrize("shape", [(N,), (3, N // 3), (1, N), (N // 8, 2, 4)])
def test_values_are_numpys_to_the_bit(array, shape):
    a = array.reshape(shape)
    x = adopt(a)
    row = a[:1] if shape[0] > 1 else a[..., :1]
    for f in (np.tanh, np.negative, lambda v: v * v, lambda v: v + 2.0, lambda v: v > 0,
              lambda v: 1 - v, lambda v: v * row, lambda v: np.where(v > 0, v, 0),
              lambda v: v.astype(np.float64) * v, lambda v: (v > 0) & True):
        got, expected = f(x), f(a)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(got), expected)
    flipped = x[::-1]
    np.testing.assert_array_equal(np.asarray(flipped * x), a[::-1] * a)
    np.testing.assert_allclose(np.sum(x), a.sum(dtype=np.float64), rtol=1e-5, atol=1e-2)
    np.testing.assert_allclose(np.sum(x, axis=0), a.sum(axis=0), rtol=1e-5)


def test_memory_is_reused_only_when_nobody_sees_it(array):
    x = adopt(array)
    kept = x * 2
    before = np.array(kept)
    results = [x * k for k in range(6)]
    for k, result in enumerate(results):
        np.testing.assert_array_equal(np.asarray(result), array * np.float32(k))
    np.testing.assert_array_equal(np.asarray(kept), before)
    view = (x * 7)[5:N // 2]
    addresses = {(x * 3).__array_interface__["data"][0] for _ in range(5)}
    assert len(addresses) == 1, "freed memory is handed out again"
    np.testing.assert_array_equal(np.asarray(view), array[5 : N // 2] * np.float32(7))


def test_gradients_equal_those_of_small_pieces(array):
    def loss(x):
        return pb.sum(pb.tanh(x) * pb.exp(-x * x) + pb.relu(x))

    whole = pb.tensor(array, requires_grad=True)
    loss(whole).backward()
    piece = pb.tensor(array[:1000].copy(), requires_grad=True)
    loss(piece).backward()
    np.testing.assert_allclose(whole.grad.numpy()[:1000], piece.grad.numpy(), rtol=1e-6)


def test_grads_never_share_memory(array):
    x, y = pb.tensor(array, requires_grad=True), pb.tensor(array.copy(), requires_grad=True)
    pb.sum((x + y) * pb.tensor(array)).backward()
    assert not np.shares_memory(x.grad.data, y.grad.data)
    first = x.grad.numpy().copy()
    for _ in range(3):
        pb.sum(x * x * y).backward(inputs=[y])
    np.testing.assert_array_equal(x.grad.numpy(), first)


def test_the_pool_lets_go():
    x = adopt(np.ones(N, np.float32))
    y = x * 2
    POOL.clear()
    z = x * 3
    assert float(np.max(y)) == 2.0
    assert float(np.max(z)) == 3.0


def test_a_thread_that_fails_is_heard(array):
    with pytest.raises(TypeError):
        np.bitwise_and(adopt(array), adopt(array))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.divide(adopt(array), np.float32(0))


def test_gates_and_relus_go_block_by_block(array):
    x = adopt(array)
    np.testing.assert_array_equal(np.asarray(pb.relu(x)), np.maximum(array, 0))
    assert type(pb.relu(x)) is Large
    upstream = np.broadcast_to(np.float32(2.0), array.shape)
    t = pb.tensor(array, requires_grad=True)
    pb.relu(t).backward(pb.tensor(upstream))
    np.testing.assert_array_equal(t.grad.numpy(), np.where(array > 0, np.float32(2), 0))
    t.grad = None
    pb.relu(t[::2]).backward(pb.tensor(array[::2]))
    np.testing.assert_array_equal(t.grad.numpy()[::2], np.where(array[::2] > 0, array[::2], 0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [pb.maximum, pb.minimum])
def test_shares_of_maxima_are_exact_at_any_size(op, dtype, rng):
    """Half at ties, all at NaN, nothing (not 0 · ∞) for the other; a constant on either side."""
    for n in (40, 3000, N + 5):
        a, b, g = (rng.normal(size=n).round(1).astype(dtype) for _ in range(3))
        a[3], g[5], a[7] = np.nan, np.inf, b[7]
        for x1, x2 in ((a, b), (a, 0.5), (0.5, a), (a, b[3:4]), (b[3], a)):
            first, second = np.asarray(x1, dtype), np.asarray(x2, dtype)
            if op is pb.minimum:
                first, second = -first, -second
            expected = np.where(first < second, 0, np.where(first == second, g / 2, g))
            other = np.where(second < first, 0, np.where(first == second, g / 2, g))
            leaves = [pb.tensor(v, requires_grad=True) if np.ndim(v) else v for v in (x1, x2)]
            op(*leaves).backward(pb.tensor(g))
            for leaf, whole in zip(leaves, (expected, other), strict=True):
                if isinstance(leaf, pb.Tensor) and leaf.shape == (n,):
                    np.testing.assert_array_equal(leaf.grad.numpy(), whole.astype(dtype))
