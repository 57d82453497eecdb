"""`IndexedSlices`, and variables changed in places; each test runs on TensorFlow too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import tf as door

TABLE = np.arange(6.0, dtype="float32").reshape(3, 2)

ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "twice the same": lambda tf, v: tf.gather(v, [0, 2, 0]) ** 2,
    "two lookups": lambda tf, v: tf.gather(v, [[0], [1]]) * tf.gather(v, [1]),
    "one row": lambda tf, v: tf.gather(v, 1) * 3.0,
    "embedding": lambda tf, v: tf.nn.embedding_lookup(v, [[1, 1], [0, 2]]) ** 2,
    "sparse_read": lambda tf, v: v.sparse_read([2, 1]) ** 3,
    "and the whole": lambda tf, v: tf.gather(v, [0]) + tf.reduce_sum(v * v),
    "computed": lambda tf, v: tf.gather(v * 2.0, [0]) ** 2,
    "another axis": lambda tf, v: tf.gather(v, [1, 1], axis=1) ** 2,
}


def gradient(tf: Any, ask: Callable[[Any, Any], Any]) -> Any:
    v = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = ask(tf, v)
    weights = np.random.default_rng(3).normal(size=tuple(y.shape)).astype("float32")
    return tape.gradient(y, v, output_gradients=tf.constant(weights))


@pytest.mark.parametrize("name", ASKED)
def test_gradients_of_lookups(name: str, peer: Any) -> None:
    ours, theirs = gradient(door, ASKED[name]), gradient(peer, ASKED[name])
    np.testing.assert_allclose(
        door.convert_to_tensor(ours).numpy(), peer.convert_to_tensor(theirs).numpy(), rtol=1e-5)
    assert isinstance(ours, door.IndexedSlices) == isinstance(theirs, peer.IndexedSlices)
    if isinstance(ours, door.IndexedSlices):
        np.testing.assert_allclose(ours.values.numpy(), theirs.values.numpy(), rtol=1e-5)
        assert np.array_equal(ours.indices.numpy(), theirs.indices.numpy())
        assert np.array_equal(ours.dense_shape.numpy(), theirs.dense_shape.numpy())
        assert ours.shape == tuple(theirs.shape)


def test_slices(tf: Any) -> None:
    s = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([0, 2, 0]),
                         tf.constant([3, 1]))
    assert s.dtype == tf.float32
    assert tuple(s.shape) == (3, 1)
    dense = [[5.0], [0.0], [2.0]]
    assert np.array_equal(tf.convert_to_tensor(s).numpy(), dense)
    assert np.array_equal(tf.convert_to_tensor(-s).numpy(), -np.array(dense))
    assert np.array_equal((tf.ones([3, 1]) + s).numpy(), np.array(dense) + 1)
    assert np.array_equal(tf.add(s, s).numpy(), 2 * np.array(dense))
    assert np.array_equal(tf.add_n([s, s]).numpy(), 2 * np.array(dense))
    half = tf.math.scalar_mul(0.5, s)
    assert isinstance(half, tf.IndexedSlices)
    assert np.array_equal(half.values.numpy(), [[0.5], [1.0], [2.0]])
    bare = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert bare.dense_shape is None
    with pytest.raises(ValueError):  # noqa: PT011
        tf.convert_to_tensor(bare)


def test_slices_are_clipped(tf: Any) -> None:
    s = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    by_norm = tf.clip_by_norm(s, 1.0)
    assert isinstance(by_norm, tf.IndexedSlices)
    np.testing.assert_allclose(by_norm.values.numpy(), [[0.6], [0.8]], rtol=1e-6)
    (one, other), norm = tf.clip_by_global_norm([s, tf.constant([12.0])], 6.5)
    assert isinstance(one, tf.IndexedSlices)
    np.testing.assert_allclose(one.values.numpy(), [[1.5], [2.0]], rtol=1e-6)
    np.testing.assert_allclose(other.numpy(), [6.0], rtol=1e-6)
    assert float(norm) == 13.0
    np.testing.assert_allclose(tf.clip_by_value(s, -1.0, 3.5).values.numpy(), [[3.0], [3.5]])


def test_second_derivatives_of_lookups(tf: Any) -> None:
    v = tf.Variable(TABLE)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.gather(v, [0, 2, 0]) ** 3
        g = inner.gradient(y, v)
        z = tf.reduce_sum(tf.convert_to_tensor(g) ** 2)
    expected = np.zeros((3, 2))
    expected[0], expected[2] = 2 * 6 * TABLE[0] ** 2 * 12 * TABLE[0], 3 * TABLE[2] ** 2 * 12 * (
        TABLE[2])
    found = tf.convert_to_tensor(outer.gradient(z, v)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_overrides_and_dense_gradients() -> None:
    v = door.Variable(TABLE)
    with door.GradientTape(persistent=True) as tape:
        y = door.gather(v, [1, 1])
        z = door.sign(y)
    dense = tape.gradient(y, v, dense=True)
    assert isinstance(dense, door.Tensor)
    assert np.array_equal(dense.numpy(), [[0, 0], [2, 2], [0, 0]])
    through = tape.gradient(z, v, overrides={"Sign": lambda op, g: 5.0 * g})
    assert isinstance(through, door.IndexedSlices)
    assert np.array_equal(through.values.numpy(), np.full((2, 2), 5.0))
    taken = tape.gradient(y, v, overrides={"take": lambda op, g: (None, None)})
    assert taken is None
    jacobian = tape.jacobian(y, v)
    assert jacobian.shape == (2, 2, 3, 2)
    assert jacobian.numpy().sum() == 4.0


UPDATES = [
    "scatter_add", "scatter_sub", "scatter_mul", "scatter_div", "scatter_max", "scatter_min",
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", [*UPDATES, "scatter_update"])
def test_variables_changed_in_slices(name: str, traced: bool, peer: Any) -> None:
    found = []
    rows = [1, 2] if name == "scatter_update" else [1, 2, 1]
    for tf in (door, peer):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

        def change(values: Any, tf: Any = tf, v: Any = v) -> Any:
            getattr(v, name)(tf.IndexedSlices(values, tf.constant(rows)))
            return v.read_value()

        f = tf.function(change) if traced else change
        out = f(tf.constant([[10.0, 0.5], [2.0, 20.0], [0.25, 4.0]][: len(rows)]))
        assert np.array_equal(out.numpy(), v.numpy())
        found.append(v.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert not np.array_equal(found[0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_variables_changed_at_positions(tf: Any) -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v.scatter_nd_add([[0, 1], [0, 1]], [10.0, 20.0])
    v.scatter_nd_sub([[1]], [[1.0, 2.0]])
    v.scatter_nd_update([[0, 0]], [7.0])
    assert np.array_equal(v.numpy(), [[7.0, 32.0], [2.0, 2.0]])
    assert np.array_equal(v.gather_nd([[0, 1], [1, 0]]).numpy(), [32.0, 2.0])
    w = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    w.batch_scatter_update(tf.IndexedSlices([[10.0], [20.0]], [[2], [0]]))
    assert np.array_equal(w.numpy(), [[1.0, 2.0, 10.0], [20.0, 5.0, 6.0]])


def test_changes_that_do_not_fit(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(TypeError):
        v.scatter_add([1.0])
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        v.scatter_nd_update([[5]], [1.0])
    assert np.array_equal(v.numpy(), [1.0, 2.0])


def test_no_tape_sees_a_change() -> None:
    v = door.Variable([1.0, 2.0])
    with door.GradientTape() as tape:
        v.scatter_add(door.IndexedSlices(door.constant([1.0]), door.constant([0])))
        assert tape.watched_variables() == ()


def test_counting(tf: Any) -> None:
    n = tf.Variable(0)
    assert [int(n.count_up_to(2)) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError):
        n.count_up_to(2)
    assert int(n) == 2


def test_what_copies_do(tf: Any) -> None:
    v = tf.Variable(1.0)
    assert v.aggregation == tf.VariableAggregation.NONE
    assert v.synchronization == tf.VariableSynchronization.AUTO
