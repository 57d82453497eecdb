"""Optimizers step for step as TensorFlow's, losses, step sizes, averages and saving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback.tf.v1 as door

OPTIMIZERS = {
    "descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "descent of a tensor": lambda tf: tf.train.GradientDescentOptimizer(tf.constant(0.1) * 2.0),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "adam with others": lambda tf: tf.train.AdamOptimizer(0.05, 0.8, 0.99, 1e-3),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "rmsprop momentum": lambda tf: tf.train.RMSPropOptimizer(0.05, 0.8, 0.7, 1e-4),
    "rmsprop centered": lambda tf: tf.train.RMSPropOptimizer(0.05, 0.8, 0.7, 1e-4, centered=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1, 0.2),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.5, 0.9, 1e-5),
}


def trained(tf: Any, make: Any) -> list[Any]:
    """Variables after each of some steps, their names, and the optimizer's own."""
    rng = np.random.default_rng(3)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.Variable(rng.normal(size=(3, 2)).astype(np.float32), name="w")
        b = tf.Variable([0.5, -0.5], name="b")
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.3))
        step = tf.train.get_or_create_global_step()
        optimizer = make(tf)
        train = optimizer.minimize(loss, global_step=step)
        names = [v.name for v in tf.global_variables()]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = []
            for _ in range(6):
                assert sess.run(train, {x: rng.normal(size=(5, 3))}) is None
                found += sess.run([w, b])
            assert sess.run(step) == 6
        return [names, train.name, optimizer.get_slot_names(), found]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_tensorflows(name: str, peer: Any) -> None:
    ours, theirs = (trained(tf, OPTIMIZERS[name]) for tf in (door, peer))
    assert ours[:3] == theirs[:3]
    for mine, other in zip(ours[3], theirs[3], strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=2e-6)


def test_gradients_between(tf: Any) -> None:
    v, w, lone = tf.Variable([3.0, 4.0]), tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(v) * w)
    assert [p[1] is x for p, x in zip(pairs, (v, w, lone), strict=True)] == [True] * 3
    assert pairs[2][0] is None
    train = optimizer.apply_gradients([
        (None if g is None else tf.clip_by_norm(g, 1.0), x) for g, x in pairs
    ])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(v), [3 - 0.5 ** 0.5, 4 - 0.5 ** 0.5], rtol=1e-6)
        assert sess.run([w, lone]) == [0.0, 1.0]


def test_only_some_variables(tf: Any) -> None:
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(v * w, var_list=[w], name="half")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run([v, w]) == [1.0, 0.5]
    assert (train.name, train.type) == ("half", "NoOp")


def test_slots(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(tf.reduce_sum(v * v))
    slot = optimizer.get_slot(v, "momentum")
    assert slot.name == "v/Momentum:0"
    assert slot not in tf.trainable_variables()
    assert optimizer.get_slot(v, "none") is None
    assert [x is slot for x in optimizer.variables()] == [True]


def test_no_gradients(tf: Any) -> None:
    v = tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.minimize(tf.constant(1.0), var_list=[v])
    with pytest.raises(ValueError, match="No variables"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.apply_gradients([(None, v)])


def test_all_gradients_are_of_the_values_before(tf: Any) -> None:
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(a * b)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run([a, b]) == [-1.0, 1.0]


SCHEDULES = {
    "exponential": lambda tf, n: tf.train.exponential_decay(0.1, n, 4, 0.5),
    "staircase": lambda tf, n: tf.train.exponential_decay(0.1, n, 4, 0.5, staircase=True),
    "natural": lambda tf, n: tf.train.natural_exp_decay(0.1, n, 4, 0.5),
    "inverse": lambda tf, n: tf.train.inverse_time_decay(0.1, n, 4, 0.5),
    "polynomial": lambda tf, n: tf.train.polynomial_decay(0.1, n, 6, 0.01, 2.0),
    "cycle": lambda tf, n: tf.train.polynomial_decay(0.1, n, 3, 0.01, cycle=True),
    "cosine": lambda tf, n: tf.train.cosine_decay(0.1, n, 6, 0.1),
    "piecewise": lambda tf, n: tf.train.piecewise_constant(n, [2, 5], [1.0, 0.5, 0.1]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_step_sizes_are_tensorflows(name: str, peer: Any) -> None:
    found = []
    for tf in (door, peer):
        with tf.Graph().as_default(), tf.Session() as sess:
            n = tf.placeholder(tf.int32, [])
            rate = SCHEDULES[name](tf, n)
            assert rate.dtype == tf.float32
            found.append([sess.run(rate, {n: i}) for i in (1, 2, 3, 5, 6, 9)])
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert len(set(map(float, found[0]))) > 2


def test_moving_averages(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    n = tf.Variable(3)
    ema = tf.train.ExponentialMovingAverage(0.9)
    fast = tf.train.ExponentialMovingAverage(0.9, num_updates=n, name="fast")
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        update = tf.group(ema.apply([v]), fast.apply([v]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(update)
        np.testing.assert_allclose(sess.run(ema.average(v)), [1.1, 2.1], rtol=1e-6)
        np.testing.assert_allclose(sess.run(fast.average(v)), [1 + 9 / 13, 2 + 9 / 13], rtol=1e-6)
    assert ema.average(v).op.name == ema.average_name(v) == "v/ExponentialMovingAverage"
    assert ema.variables_to_restore()["v/ExponentialMovingAverage"] is v


LOSSES = {
    "squared": lambda tf, x, y: tf.losses.mean_squared_error(y, x),
    "absolute": lambda tf, x, y: tf.losses.absolute_difference(y, x, weights=0.5),
    "huber": lambda tf, x, y: tf.losses.huber_loss(y, x, delta=0.7),
    "log": lambda tf, x, y: tf.losses.log_loss(tf.sigmoid(y), tf.sigmoid(x)),
    "hinge": lambda tf, x, y: tf.losses.hinge_loss(tf.cast(y > 0.0, tf.float32), x),
    "sigmoid": lambda tf, x, y: tf.losses.sigmoid_cross_entropy(
        tf.sigmoid(y), x, label_smoothing=0.1),
    "softmax": lambda tf, x, y: tf.losses.softmax_cross_entropy(
        tf.nn.softmax(y), x, label_smoothing=0.2),
    "sparse": lambda tf, x, y: tf.losses.sparse_softmax_cross_entropy([0, 3, 1], x),
    "weighted": lambda tf, x, y: tf.losses.mean_squared_error(y, x, [[1.0], [0.0], [3.0]]),
    "no weight": lambda tf, x, y: tf.losses.mean_squared_error(y, x, 0.0),
    "sum": lambda tf, x, y: tf.losses.mean_squared_error(y, x, reduction=tf.losses.Reduction.SUM),
    "none": lambda tf, x, y: tf.losses.mean_squared_error(
        y, x, reduction=tf.losses.Reduction.NONE),
    "mean": lambda tf, x, y: tf.losses.mean_squared_error(
        y, x, [[1.0], [0.0], [3.0]], reduction=tf.losses.Reduction.MEAN),
    "batch": lambda tf, x, y: tf.losses.mean_squared_error(
        y, x, [[1.0], [0.0], [3.0]], reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_tensorflows(name: str, peer: Any, rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=(3, 4)).astype(np.float32) for _ in range(2)]
    found = []
    for tf in (door, peer):
        with tf.Graph().as_default(), tf.Session() as sess:
            x, y = (tf.placeholder(tf.float32, [None, 4]) for _ in range(2))
            loss = LOSSES[name](tf, x, y)
            assert tf.losses.get_losses() == [loss]
            (slope,) = tf.gradients(loss, x)
            feed = {x: arrays[0], y: arrays[1]}
            found.append([*sess.run([loss, slope], feed), loss.name])
    assert found[0][2].lower() == found[1][2].lower()
    for mine, other in zip(found[0][:2], found[1][:2], strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-6)


def test_the_total_loss(tf: Any) -> None:
    tf.losses.add_loss(tf.constant(1.0))
    tf.get_variable("w", initializer=2.0, regularizer=lambda w: w * 10.0)
    total, only = tf.losses.get_total_loss(), tf.losses.get_total_loss(False)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([total, only, tf.losses.get_regularization_loss()]) == [21.0, 1.0, 20.0]


def test_saving(tf: Any, tmp_path: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.get_variable("deep/w", initializer=tf.constant([[3]]))
    saver, partly = tf.train.Saver(max_to_keep=2), tf.train.Saver({"v": v})
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        sess.run(init)
        sess.run(v.assign([5.0, 6.0]))
        paths = [saver.save(sess, str(tmp_path / "model"), global_step=i) for i in (1, 2, 3)]
    assert paths[-1] == str(tmp_path / "model-3")
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[-1]
    assert [tf.train.checkpoint_exists(p) for p in paths] == [False, True, True]
    assert saver.last_checkpoints == paths[1:]
    assert dict(tf.train.list_variables(str(tmp_path))) == {"v": [2], "deep/w": [1, 1]}
    with tf.Session() as sess:
        saver.restore(sess, paths[-1])
        assert np.array_equal(sess.run(v), [5.0, 6.0])
        assert sess.run(w) == [[3]]
    with tf.Session() as sess:
        sess.run(init)
        partly.restore(sess, paths[-1])
        assert np.array_equal(sess.run(v), [5.0, 6.0])
        with pytest.raises(ValueError, match="checkpoint"):
            saver.restore(sess, str(tmp_path / "nothing"))
        with pytest.raises(tf.errors.NotFoundError, match="other"):
            tf.train.Saver({"other": v}).restore(sess, paths[-1])


def test_a_network_learns(tf: Any) -> None:
    tf.set_random_seed(1)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 2)).astype(np.float32)
    marks = (data[:, 0] * data[:, 1] > 0).astype(np.int32)
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    with tf.variable_scope("hidden"):
        w, b = tf.get_variable("w", [2, 16]), tf.get_variable("b", [16])
        h = tf.nn.relu(tf.matmul(x, w) + b)
    with tf.variable_scope("out"):
        logits = tf.nn.xw_plus_b(h, tf.get_variable("w", [16, 2]), tf.get_variable("b", [2]))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y),
                                   tf.float32))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: data, y: marks}
        for _ in range(200):
            sess.run(train, feed)
        assert sess.run(right, feed) > 0.93
