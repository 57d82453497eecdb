"""Where a length must be known: what the door says, and that `set_shape` helps."""

from __future__ import annotations

import numpy as np
import pytest

import pullback.tf.v1 as tf
from pullback.errors import SymbolError


def test_unstack_needs_its_length() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2])
        with pytest.raises(SymbolError, match="set_shape"):
            tf.unstack(x)
        x.set_shape([3, None])
        parts = tf.unstack(x)
        assert len(parts) == 3
        assert np.array_equal(sess.run(parts[2], {x: np.arange(6.0).reshape(3, 2)}), [4.0, 5.0])


def test_scattered_values_need_a_length() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x, u = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [2])
        y = tf.tensor_scatter_nd_update(x, [[0], [2]], u)
        (du,) = tf.gradients(tf.reduce_sum(y * [1.0, 2.0, 3.0]), u)
        got = sess.run([y, du], {x: [1.0, 1.0, 1.0], u: [5.0, 7.0]})
    assert np.array_equal(got[0], [5.0, 1.0, 7.0])
    assert np.array_equal(got[1], [1.0, 3.0])


def test_operations_of_no_gradient_here_cannot_be_overridden() -> None:
    scope = tf.Graph().gradient_override_map({"Softmx": "Name"})
    with pytest.raises(LookupError, match=r"'Softmax'"), scope:
        pass
