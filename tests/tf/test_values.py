"""What tensors are made of and how they look; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(("value", "dtype"), [
    (3, "int32"), (3.0, "float32"), (True, "bool"), (2**40, "int64"), (1j, "complex128"),
    ([1, 2.5], "float32"), ([], "float32"), (np.array(3.0), "float64"), (np.arange(3), "int64"),
    ([np.float64(3)], "float64"), ([np.float32(3), 2.0], "float32"), (np.int8(1), "int8"),
], ids=str)
def test_dtypes_of_constants(tf: Any, value: Any, dtype: str) -> None:
    made = tf.constant(value)
    assert made.dtype == dtype == made.dtype.name
    assert made.shape == np.shape(value)
    assert np.array_equal(made.numpy(), value)


def test_nobody_writes_to_a_constant(tf: Any) -> None:
    for x in (tf.constant([1.0, 2.0]), tf.ones(2) * tf.constant([1.0, 2.0])):
        with pytest.raises(TypeError):
            np.add(x, x, out=x)
        with pytest.raises(TypeError):
            x[0] = 3.0
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(x)[0] = 3.0
        for copy in (np.array(x), x.numpy()):
            copy[0] = 3.0
        x_ = x
        x_ += 1.0
        assert np.array_equal(x.numpy(), [1.0, 2.0])
    out = np.zeros(2, "float32")
    assert np.add(tf.constant([1.0, 2.0]), 1.0, out=out) is out


def test_constants_in_a_dtype_and_shape(tf: Any) -> None:
    assert tf.constant([1], dtype=tf.float32).dtype == np.float32
    assert tf.constant(np.array([1.7]), dtype="int32").numpy() == [1]
    assert np.array_equal(tf.constant(3, shape=(2, 2)).numpy(), [[3, 3], [3, 3]])
    assert tf.constant([1, 2, 3, 4], shape=[2, 2]).shape == [2, 2]
    array = np.ones(2)
    made = tf.constant(array)
    array[0] = 5.0
    assert np.array_equal(made.numpy(), [1.0, 1.0])


def test_constants_that_cannot_be(tf: Any) -> None:
    x = tf.constant([1.0])
    for wrong in (lambda: tf.constant([1.5], dtype=tf.int32),
                  lambda: tf.constant([1, 2], shape=(2, 2)),
                  lambda: tf.constant(x, dtype=tf.float64)):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: tf.constant([[1], [1, 2]]), lambda: tf.constant(None),
                  lambda: tf.convert_to_tensor(x, dtype=tf.float64)):
        with pytest.raises(ValueError, match=r"."):
            wrong()


def test_integers_that_overflow_are_refused() -> None:
    from pullback import tf  # TensorFlow wraps them around

    with pytest.raises(TypeError, match="int32"):
        tf.constant(2**40, dtype=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1]) + 2**40


def test_convert_to_tensor(tf: Any) -> None:
    x = tf.constant([1.0])
    assert tf.convert_to_tensor(x) is x
    assert tf.convert_to_tensor(np.array([1.0]), dtype=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(1, dtype_hint=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(1.5, dtype_hint=tf.int32).dtype == tf.float32
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.convert_to_tensor([x[0], 3.0 * x[0]])
    assert y.shape == (2,)
    assert float(tape.gradient(y, x)[0]) == 4.0


def test_text(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    assert repr(x) == "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    assert str(x) == "tf.Tensor([1. 2.], shape=(2,), dtype=float32)"
    assert str(tf.constant(0.1)) == "tf.Tensor(0.1, shape=(), dtype=float32)"
    assert repr(tf.constant(3)) == "<tf.Tensor: shape=(), dtype=int32, numpy=3>"
    assert repr(tf.ones([1, 1])).endswith("numpy=array([[1.]], dtype=float32)>")
    assert repr(tf.ones([2, 1])).endswith("numpy=\narray([[1.],\n       [1.]], dtype=float32)>")


def test_numpy(tf: Any) -> None:
    assert type(tf.constant(1.0).numpy()) is np.float32
    assert np.asarray(tf.constant([1.0])).dtype == np.float32
    assert type(tf.constant([1.0]).numpy()) is np.ndarray


def test_dtype_objects(tf: Any) -> None:
    assert repr(tf.float32) == "tf.float32"
    assert str(tf.float32) == "<dtype: 'float32'>"
    assert tf.float32 == np.float32 == tf.float32
    assert tf.float32 == "float32" != tf.float64
    assert tf.float32 != None  # noqa: E711
    assert tf.as_dtype("int32") is tf.as_dtype(np.int32) is tf.int32
    assert tf.as_dtype(float) is tf.float32
    assert (tf.double, tf.half) == (tf.float64, tf.float16)
    assert tf.float32.as_numpy_dtype is np.float32
    assert (tf.float32.is_floating, tf.int8.is_integer, tf.bool.is_bool) == (True, True, True)
    assert (tf.complex64.is_complex, tf.complex64.real_dtype) == (True, tf.float32)
    assert (tf.uint8.is_unsigned, tf.uint8.max, tf.int8.min) == (True, 255, -128)
    assert tf.float64.size == 8
    assert len({tf.float32, tf.as_dtype("float32"), tf.float64}) == 2
    assert tf.float32.base_dtype.is_compatible_with("float32")
    with pytest.raises(TypeError):
        tf.as_dtype("float31")


def test_shapes(tf: Any) -> None:
    shape = tf.ones([2, 3]).shape
    assert isinstance(shape, tf.TensorShape)
    assert (shape == (2, 3), shape == [2, 3], shape != (2, 2)) == (True, True, True)
    assert (shape.as_list(), shape.rank, shape.ndims, len(shape)) == ([2, 3], 2, 2, 2)
    assert shape.num_elements() == 6
    assert shape[-1] == 3
    assert shape[1:] == [3]
    assert isinstance(shape[:1], tf.TensorShape)
    assert (repr(shape), str(shape)) == ("TensorShape([2, 3])", "(2, 3)")
    assert shape.concatenate([4]) == shape + shape[:0] + (4,) == [2, 3, 4]
    assert shape.is_fully_defined()
    assert shape.is_compatible_with([None, 3])
    assert not shape.is_compatible_with([2])
    with pytest.raises(ValueError, match="2"):
        tf.ones([2, 3]).set_shape([3, 3])


def test_makers(tf: Any) -> None:
    assert np.array_equal(tf.range(3).numpy(), [0, 1, 2])
    assert (tf.range(3).dtype, tf.range(3.0).dtype) == (tf.int32, tf.float32)
    assert np.array_equal(tf.range(1, 7, 2).numpy(), [1, 3, 5])
    assert tf.linspace(0, 1, 3).dtype == tf.float64
    assert np.array_equal(tf.fill([2], 1.5).numpy(), [1.5, 1.5])
    assert np.array_equal(tf.eye(2, 3, batch_shape=[2]).numpy(), np.stack([np.eye(2, 3)] * 2))
    assert tf.zeros(3).shape == tf.ones([3], tf.int32).shape == (3,)
    hot = tf.one_hot([0, 2, -1], 3, on_value=5, off_value=1, axis=0)
    assert np.array_equal(hot.numpy(), [[5, 1, 1], [1, 1, 1], [1, 5, 1]])
    assert tf.one_hot([0], 2).dtype == tf.float32


def test_integers_stay_what_they_are(tf: Any) -> None:
    n = tf.constant([[1, -2], [3, -5]])
    assert tf.reduce_sum(n).dtype == tf.reduce_prod(n, 0).dtype == tf.cumsum(n).dtype == tf.int32
    assert np.array_equal(tf.reduce_mean(n, axis=0).numpy(), [2, -3])
    assert int(tf.reduce_mean(tf.constant([-1, -2]))) == -1
    assert tf.square(3).dtype == tf.int32
    assert tf.matmul(n, n).dtype == tf.int32


def test_nests(tf: Any) -> None:
    tree = {"b": 1, "a": [2, (3,)]}
    assert tf.nest.flatten(tree) == [2, 3, 1]
    assert tf.nest.map_structure(lambda a, b: a + b, tree, tree) == {"b": 2, "a": [4, (6,)]}
    assert tf.nest.pack_sequence_as(tree, [7, 8, 9]) == {"b": 9, "a": [7, (8,)]}
    assert (tf.nest.is_nested([1]), tf.nest.is_nested(1)) == (True, False)
    with pytest.raises(ValueError, match=r"."):
        tf.nest.assert_same_structure([1, 2], [1, [2]])
    with pytest.raises(ValueError, match=r"."):
        tf.nest.pack_sequence_as(tree, [1])


def test_dropout(tf: Any) -> None:
    tf.random.set_seed(3)
    x = tf.constant(np.ones((200, 10)), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.dropout(x, 0.75)
    assert set(np.unique(y.numpy())) == {0.0, 4.0}
    assert np.array_equal(tape.gradient(y, x).numpy(), y.numpy())
    rows = tf.nn.dropout(x, 0.5, noise_shape=[200, 1]).numpy()
    assert np.array_equal(rows, np.repeat(rows[:, :1], 10, axis=1))
    with pytest.raises(ValueError, match="rate"):
        tf.nn.dropout(x, 1.5)


def test_random(tf: Any) -> None:
    tf.random.set_seed(1)
    x = tf.random.normal([2000], mean=3.0, stddev=2.0).numpy()
    assert abs(x.mean() - 3) < 0.3
    assert abs(x.std() - 2) < 0.3
    tf.random.set_seed(1)
    assert np.array_equal(tf.random.normal([2000], mean=3.0, stddev=2.0).numpy(), x)
    u = tf.random.uniform([500], 2, 5, dtype=tf.float64)
    assert u.dtype == tf.float64
    assert np.all((u.numpy() >= 2) & (u.numpy() < 5))
    n = tf.random.uniform([500], maxval=4, dtype=tf.int32)
    assert set(n.numpy().tolist()) == {0, 1, 2, 3}
    assert np.abs(tf.random.truncated_normal([500]).numpy()).max() <= 2
    g, h = (tf.random.Generator.from_seed(5) for _ in range(2))
    assert np.array_equal(g.normal([3]).numpy(), h.normal([3]).numpy())
    assert np.all(g.uniform([9], 1, 2).numpy() >= 1)
    assert np.abs(g.truncated_normal([100], stddev=0.5).numpy()).max() <= 1
    a, b = (tf.random.stateless_normal([3], seed=[1, s]).numpy() for s in (2, 3))
    assert not np.array_equal(a, b)
    assert np.array_equal(tf.random.stateless_normal([3], seed=[1, 2]).numpy(), a)
    assert tf.random.stateless_uniform([2], [1, 2]).shape == (2,)
    with pytest.raises(ValueError, match=r"(?i)maxval"):
        tf.random.uniform([2], dtype=tf.int32)
    assert sorted(tf.random.shuffle(tf.range(5)).numpy().tolist()) == [0, 1, 2, 3, 4]


def test_random_numbers_carry_gradients_to_their_parameters(tf: Any) -> None:
    mean, deviation = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.random.normal([4], mean, deviation))
    gm, gd = tape.gradient(y, [mean, deviation])
    assert float(gm) == 4.0
    assert float(gd) == pytest.approx((float(y) - 4.0) / 2.0, abs=1e-5)


def test_bfloat16_is_a_dtype_like_others() -> None:
    pytest.importorskip("ml_dtypes")
    from pullback import tf

    x = tf.Variable(tf.constant([1.5, -2.0], tf.bfloat16))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.relu(x) * x * 3 + tf.cast(7, tf.bfloat16))
    assert loss.dtype == tf.bfloat16
    assert tape.gradient(loss, x).numpy().tolist() == [9.0, 0.0]
    assert (tf.bfloat16.is_floating, tf.bfloat16.size, repr(tf.bfloat16)) == (
        True, 2, "tf.bfloat16")
    assert tf.as_dtype("bfloat16") is tf.bfloat16
    assert float(tf.bfloat16.max) > 3e38
    huge = tf.saturate_cast(tf.constant([1e300], tf.float64), tf.bfloat16)
    assert huge.numpy().tolist() == [float(tf.bfloat16.max)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.cast\(x, tf\.bfloat16\)"):
        x + tf.constant([1.0, 2.0])
