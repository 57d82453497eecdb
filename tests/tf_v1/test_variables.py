"""Variables, the scopes they are shared in, and what they start with; on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_variables_and_their_names(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(3, name="v")
    u = tf.Variable(tf.ones([2, 2]), trainable=False, dtype=tf.float32)
    with tf.name_scope("scope"):
        s = tf.Variable(lambda: tf.zeros([1]), name="s")
    assert [x.name for x in (v, w, u, s)] == ["v:0", "v_1:0", "Variable:0", "scope/s:0"]
    assert [x.op.name for x in (v, s)] == ["v", "scope/s"]
    assert v.op.type == "VarHandleOp"
    assert v.initializer.name == "v/Assign"
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
    assert w.dtype == tf.int32
    assert tf.global_variables() == [v, w, u, s]
    assert tf.trainable_variables() == [v, w, s]
    assert tf.global_variables(scope="scope") == [s]
    assert v.graph is tf.get_default_graph()
    assert v.shape == (2,)
    assert {v: 1}[v] == 1


def test_values_live_in_sessions(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    more = v.assign_add([1.0, 1.0])
    less = tf.assign_sub(v, [0.5, 0.5])
    put = tf.assign(v, [9.0, 8.0])
    init = tf.global_variables_initializer()
    one, two = tf.Session(), tf.Session()
    with one, two:
        one.run(init)
        two.run(init)
        assert np.array_equal(one.run(more), [2.0, 3.0])
        assert np.array_equal(two.run(v), [1.0, 2.0])
        assert np.array_equal(two.run(less), [0.5, 1.5])
        assert np.array_equal(one.run(put), [9.0, 8.0])
        v.load([7.0, 7.0], one)
        assert np.array_equal(v.eval(one), [7.0, 7.0])
        one.run(v.initializer)
        assert np.array_equal(one.run(v), [1.0, 2.0])
        assert one.run(tf.is_variable_initialized(v))


def test_what_has_no_value(tf: Any) -> None:
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(2.0, name="w")
    missing = tf.report_uninitialized_variables()
    with tf.Session() as sess:
        assert list(sess.run(missing)) == [b"v", b"w"]
        sess.run(v.initializer)
        assert list(sess.run(missing)) == [b"w"]
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run(v + w)
        sess.run(tf.variables_initializer([w]))
        assert sess.run(v + w) == 3.0


def test_variables_from_variables(tf: Any, ours: bool) -> None:
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable((v.initialized_value() if ours else v.initial_value) * 2.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert np.array_equal(sess.run(w), [2.0, 4.0])


def test_operators(tf: Any) -> None:
    v, x = tf.Variable(3.0), tf.constant(2.0)
    made = [v + x, x - v, v * 2, 2 / v, -v, v ** 2, abs(v), v > x, 1 + v, v - 1]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got = sess.run(made)
    assert got[7]
    np.testing.assert_allclose(got[:7] + got[8:], [5, -1, 6, 2 / 3, -3, 9, 3, 4, 2], rtol=1e-6)


def test_wrong_assignments(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"(?i)shape"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises((TypeError, ValueError)):
        v.assign(tf.constant([1, 2]))
    with pytest.raises((TypeError, ValueError)):
        tf.Variable()


def test_get_variable(tf: Any) -> None:
    with tf.variable_scope("a") as scope:
        w = tf.get_variable("w", [2, 3])
        c = tf.constant(1.0)
        assert scope.name == "a"
        assert scope.original_name_scope == "a/"
        assert not scope.reuse
        with tf.variable_scope("b"):
            deep = tf.get_variable("w", [1])
            plain = tf.Variable(1.0, name="u")
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w", [2, 3]) is w
        assert tf.get_variable("w") is w
        assert tf.get_variable_scope().reuse
        with tf.variable_scope("b"):
            assert tf.get_variable("w") is deep
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("w") is w
    with tf.variable_scope("other"), tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w") is w
        assert tf.get_variable("fresh", []).name == "a/fresh:0"
    for name in ("x:0", "x_1:0"):
        with tf.variable_scope(None, default_name="layer"):
            made = tf.get_variable(name[0], [])
        assert made.name.startswith("layer")
    assert made.name == "layer_1/x:0"
    with tf.name_scope("names"):
        assert tf.get_variable("y", []).name == "y:0"
    assert [v.name for v in (w, deep, plain)] == ["a/w:0", "a/b/w:0", "a/b/u:0"]
    assert c.name.startswith("a/")
    assert [v.name for v in tf.trainable_variables("a/b")] == ["a/b/w:0", "a/b/u:0"]


def test_reuse_of_a_function(tf: Any) -> None:
    def layer(x: Any) -> Any:
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            return x * tf.get_variable("w", initializer=2.0)

    x = tf.placeholder(tf.float32, [])
    y = layer(layer(x))
    (w,) = tf.trainable_variables()
    (dw,) = tf.gradients(y, w)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([y, dw], {x: 3.0}) == [12.0, 12.0]


def test_reuse_that_is_wrong(tf: Any) -> None:
    with tf.variable_scope("a"):
        tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="exist"):
            tf.get_variable("w", [2])
    with tf.variable_scope("a", reuse=True):
        for wrong, match in (
            (("nobody", [2]), "a/nobody"), (("w", [3]), "shape"),
            (("w", [2], tf.float64), "dtype"),
        ):
            with pytest.raises(ValueError, match=match):
                tf.get_variable(*wrong)
    with pytest.raises(ValueError, match="q"):
        tf.get_variable("q")
    with pytest.raises(ValueError, match=r"(?i)shape"):
        tf.get_variable("q", [None])
    with pytest.raises((TypeError, ValueError), match=r"default.name"):
        tf.variable_scope(None).__enter__()


def test_scopes_set_what_is_left_out(tf: Any) -> None:
    def penalty(w: Any) -> Any:
        return 0.5 * tf.reduce_sum(w * w)

    start = tf.constant_initializer(3.0)
    with tf.variable_scope("a", initializer=start, regularizer=penalty, dtype=tf.float64):
        w = tf.get_variable("w", [2])
        zeros = tf.zeros_initializer
        b = tf.get_variable("b", [2], regularizer=tf.no_regularizer, initializer=zeros)
    assert w.dtype == b.dtype == tf.float64
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert np.array_equal(sess.run(w), [3.0, 3.0])
        assert np.array_equal(sess.run(b), [0.0, 0.0])
        assert sess.run(loss) == 9.0


def values(tf: Any, initializer: Any, shape: Any) -> Any:
    v = tf.get_variable(f"v{len(tf.global_variables())}", shape, initializer=initializer)
    with tf.Session() as sess:
        sess.run(v.initializer)
        return sess.run(v)


def test_initializers(tf: Any) -> None:
    assert np.array_equal(values(tf, tf.zeros_initializer(), [2]), [0.0, 0.0])
    assert np.array_equal(values(tf, tf.ones_initializer(), [2]), [1.0, 1.0])
    assert np.array_equal(values(tf, tf.constant_initializer([1.0, 2.0]), [2]), [1.0, 2.0])
    wide = {
        "normal": (tf.random_normal_initializer(1.0, 2.0), 1.0, 2.0),
        "uniform": (tf.random_uniform_initializer(-1.0, 3.0), 1.0, 4 / np.sqrt(12)),
        "truncated": (tf.truncated_normal_initializer(0.0, 1.0), 0.0, 0.8796),
        "glorot": (tf.glorot_uniform_initializer(), 0.0, np.sqrt(2 / 300)),
        "glorot_normal": (tf.glorot_normal_initializer(), 0.0, np.sqrt(2 / 300)),
        "scaled": (tf.variance_scaling_initializer(2.0), 0.0, np.sqrt(2 / 200)),
        "he": (tf.initializers.he_normal(), 0.0, np.sqrt(2 / 200)),
        "lecun": (tf.initializers.lecun_uniform(), 0.0, np.sqrt(1 / 200)),
    }
    for name, (initializer, mean, deviation) in wide.items():
        got = values(tf, initializer, [200, 100])
        assert abs(got.mean() - mean) < 0.1 * deviation, name
        assert abs(got.std() / deviation - 1) < 0.05, name
    q = values(tf, tf.orthogonal_initializer(2.0), [5, 3])
    np.testing.assert_allclose(q.T @ q, 4.0 * np.eye(3), atol=1e-5)
    q = values(tf, tf.orthogonal_initializer(), [2, 2, 7])
    np.testing.assert_allclose(q.reshape(4, 7) @ q.reshape(4, 7).T, np.eye(4), atol=1e-5)


def test_seeds_of_initializers(tf: Any) -> None:
    one, two = (values(tf, tf.glorot_uniform_initializer(seed=1), [3]) for _ in range(2))
    assert np.array_equal(one, two)
