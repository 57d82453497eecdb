"""Shapes, axes and indices that nobody thought of, against NumPy and a scatter oracle.

The oracle knows nothing of derivatives: it follows where each entry went by sending numbered
positions along, and adds the cotangents that come back to each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pullback as pb
from tests.laws.checks import check_pullback, pulled

settings.register_profile("laws", derandomize=True, deadline=None, max_examples=50, database=None)
quick = settings(settings.get_profile("laws"))

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
full_shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)
seeds = st.integers(0, 2**32 - 1)


def drawn(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(0.5, 2.0, shape))


def scattered(positions: np.ndarray, cotangent: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros, and each entry of the cotangent added at its position."""
    total = np.zeros(int(np.prod(shape)))
    np.add.at(total, positions.ravel(), cotangent.ravel())
    return total.reshape(shape)


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """An array of the shape that holds the positions of its entries."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def check_moves(call: Callable[[Any], Any], reference: Callable[[Any], Any], x: np.ndarray) -> None:
    """An operation that only moves entries moves cotangents back."""
    out = call(x)
    np.testing.assert_array_equal(out, reference(x))
    cotangent = np.asarray(np.random.default_rng(x.size).standard_normal(np.shape(out)))
    (got,) = pulled(call, [x], [cotangent])
    wanted = scattered(np.asarray(reference(numbered(x.shape))), cotangent, x.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-13)


@quick
@given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3), seeds,
    st.sampled_from(["add", "subtract", "multiply", "divide", "maximum", "hypot"]),
)
def test_broadcasting_of_two(pair: Any, seed: int, name: str) -> None:
    (left, right), result = pair.input_shapes, pair.result_shape
    x, y = drawn(left, seed), drawn(right, seed + 1)
    call = getattr(pb, name)
    np.testing.assert_allclose(call(x, y), getattr(np, name)(x, y), rtol=1e-15)
    cotangent = np.asarray(np.random.default_rng(seed).standard_normal(result))
    got = pulled(call, [x, y], [cotangent])
    # Without broadcasting it is tested by its row; here only how the parts are added up.
    whole = pulled(call, [np.array(np.broadcast_to(a, result)) for a in (x, y)], [cotangent])
    for g, w, a in zip(got, whole, (x, y), strict=True):
        positions = np.broadcast_to(numbered(a.shape), result)
        np.testing.assert_allclose(g, scattered(positions, w, a.shape), rtol=1e-12, atol=1e-12)


@quick
@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3), seeds)
def test_broadcasting_of_three(three: Any, seed: int) -> None:
    condition, left, right = three.input_shapes
    chosen = np.random.default_rng(seed).random(condition) < 0.5
    x, y = drawn(left, seed + 1), drawn(right, seed + 2)
    check_pullback(
        lambda a, b: pb.where(chosen, a, b), [x, y], np.random.default_rng(seed),
        lambda a, b: np.where(chosen, a, b),
    )


REDUCTIONS = ["sum", "mean", "max", "min", "prod", "var", "std"]


@st.composite
def shapes_and_axes(draw: Any) -> tuple[tuple[int, ...], Any]:
    shape = draw(full_shapes)
    n = len(shape)
    one = st.integers(-n, n - 1)
    some = st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True).map(tuple)
    return shape, draw(st.one_of(st.none(), one, some))


@quick
@given(shapes_and_axes(), st.booleans(), st.sampled_from(REDUCTIONS), seeds)
def test_reductions(case: Any, keepdims: bool, name: str, seed: int) -> None:
    shape, axis = case
    rng = np.random.default_rng(seed)
    x = rng.permutation(np.linspace(0.5, 2.0, int(np.prod(shape)) + 1)[1:]).reshape(shape)
    call = getattr(pb, name)
    out = call(x, axis=axis, keepdims=keepdims)
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert np.shape(out) == wanted.shape
    np.testing.assert_allclose(out, wanted, rtol=1e-13, atol=1e-15)
    if np.all(np.std(x, axis=axis)) or name != "std":  # it has a kink where all are equal
        check_pullback(lambda a: call(a, axis=axis, keepdims=keepdims), [x], rng)


@quick
@given(shapes, st.data())
def test_basic_indices(shape: tuple[int, ...], data: Any) -> None:
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    check_moves(lambda x: x[index] if isinstance(x, pb.Tensor) else pb.getitem(x, index),
                lambda x: x[index], drawn(shape, 1))


@quick
@given(full_shapes, st.data())
def test_integer_arrays_as_indices(shape: tuple[int, ...], data: Any) -> None:
    index = data.draw(
        hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4))
    )
    check_moves(lambda x: pb.getitem(x, index), lambda x: x[index], drawn(shape, 2))


@quick
@given(shapes, st.data())
def test_masks_as_indices(shape: tuple[int, ...], data: Any) -> None:
    axes = data.draw(st.integers(0, len(shape)))
    mask = data.draw(hnp.arrays(np.bool_, shape[:axes]))
    check_moves(lambda x: pb.getitem(x, mask), lambda x: x[mask], drawn(shape, 3))


@st.composite
def mixed_indices(draw: Any) -> tuple[tuple[int, ...], Any]:
    """Slices, integers and integer arrays side by side."""
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    count = draw(st.integers(1, 3))
    index = []
    for n in shape:
        position = st.integers(-n, n - 1)
        index.append(draw(st.one_of(
            st.slices(n), position,
            st.lists(position, min_size=count, max_size=count).map(np.array),
        )))
    return shape, tuple(index)


@quick
@given(mixed_indices())
def test_mixed_indices(case: Any) -> None:
    shape, index = case
    check_moves(lambda x: pb.getitem(x, index), lambda x: x[index], drawn(shape, 4))


@quick
@given(mixed_indices(), st.booleans(), seeds)
def test_setting_at_an_index(case: Any, one: bool, seed: int) -> None:
    """What is overwritten has no gradient; of values that meet in one entry, the last has it."""
    shape, index = case
    x = drawn(shape, seed)
    v = drawn(() if one else np.shape(x[index]), seed + 1)
    wanted = np.array(x)
    wanted[index] = v
    np.testing.assert_array_equal(pb.set_at(x, v, index), wanted)

    owner = np.full(shape, -1)
    owner[index] = numbered(v.shape)
    cotangent = np.random.default_rng(seed).standard_normal(shape)
    to_x, to_v = pulled(lambda a, b: pb.set_at(a, b, index), [x, v], [cotangent])
    np.testing.assert_array_equal(to_x, np.where(owner < 0, cotangent, 0))
    mine = owner >= 0
    np.testing.assert_allclose(
        to_v, scattered(owner[mine], cotangent[mine], v.shape), rtol=1e-13, atol=1e-13
    )


@quick
@given(full_shapes, st.data())
def test_take_along_any_axis(shape: tuple[int, ...], data: Any) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis]
    indices = data.draw(hnp.arrays(np.int64, st.integers(0, 4), elements=st.integers(0, n - 1)))
    check_moves(
        lambda x: pb.take(x, indices, axis=axis), lambda x: np.take(x, indices, axis=axis),
        drawn(shape, 5),
    )


@quick
@given(shapes, st.data())
def test_moving_axes_and_reshaping(shape: tuple[int, ...], data: Any) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    flipped = data.draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
    size = int(np.prod(shape))
    check_moves(
        lambda x: pb.reshape(pb.flip(pb.permute_dims(x, order), axis=tuple(flipped)), (size,)),
        lambda x: np.flip(np.transpose(x, order), axis=tuple(flipped)).reshape(size),
        drawn(shape, 6),
    )


@quick
@given(hnp.mutually_broadcastable_shapes(signature="(n,k),(k,m)->(n,m)", max_dims=2, max_side=3),
       seeds)
def test_matmul_of_stacks(pair: Any, seed: int) -> None:
    x, y = (drawn(shape, seed + i) for i, shape in enumerate(pair.input_shapes))
    assert pb.matmul(x, y).shape == pair.result_shape
    check_pullback(pb.matmul, [x, y], np.random.default_rng(seed), np.matmul)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_reductions_of_nothing(name: str, axis: Any) -> None:
    x = np.zeros((0, 3))
    call = getattr(pb, name)
    np.testing.assert_array_equal(call(x, axis=axis), getattr(np, name)(x, axis=axis))
    check_pullback(lambda a: call(a, axis=axis), [x], np.random.default_rng(0))
