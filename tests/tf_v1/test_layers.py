"""Layers and what programs say about how to run; TensorFlow has these layers no more."""

from __future__ import annotations

import io
import logging

import numpy as np
import pytest

import pullback.tf.v1 as tf


def test_layers_share_by_name() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 4, 4, 2])
        h = tf.layers.conv2d(x, 3, 3, padding="same", activation=tf.nn.relu, name="conv")
        flat = tf.layers.flatten(h)
        y = tf.layers.dense(flat, 5, kernel_regularizer=tf.nn.l2_loss)
        again = tf.layers.dense(flat, 5, name="dense", reuse=True)
        other = tf.layers.dense(flat, 5, use_bias=False)
        assert [v.name for v in tf.trainable_variables()] == [
            "conv/kernel:0", "conv/bias:0", "dense/kernel:0", "dense/bias:0", "dense_1/kernel:0",
        ]
        assert flat.shape.as_list() == [None, 48]
        assert other.shape.as_list() == [None, 5]
        sess.run(tf.global_variables_initializer())
        feed = {x: np.random.default_rng(0).normal(size=(2, 4, 4, 2))}
        one, two = sess.run([y, again], feed)
        assert np.array_equal(one, two)
        (penalty,) = tf.losses.get_regularization_losses()
        kernel = sess.run("dense/kernel:0")
        assert sess.run(penalty) == pytest.approx((kernel**2).sum() / 2, rel=1e-5)
        (slope,) = tf.gradients(tf.reduce_sum(y), x)
        assert sess.run(slope, feed).shape == (2, 4, 4, 2)
        dropped = tf.layers.dropout(flat, 0.5, training=True)
        assert np.mean(sess.run(dropped, feed) == 0) > 0.4
        assert tf.layers.dropout(flat, 0.5) is flat


def test_a_dense_layer_on_more_axes_needs_its_last_length() -> None:
    with tf.Graph().as_default():
        y = tf.layers.dense(tf.placeholder(tf.float32, [None, None, 3]), 4)
        assert y.shape.as_list() == [None, None, 4]
        with pytest.raises(ValueError, match="set_shape"):
            tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 4)


def test_messages_have_a_level() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("pullback.tf.v1")
    logger.addHandler(handler)
    try:
        tf.logging.set_verbosity(tf.logging.ERROR)
        tf.logging.info("no")
        tf.logging.error("yes %d", 3)
        assert tf.logging.get_verbosity() == tf.logging.ERROR
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert stream.getvalue() == "yes 3\n"


def test_variables_and_draws_inside_a_choice_belong_to_the_graph() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        flag = tf.placeholder(tf.bool, [])

        def yes() -> object:
            with tf.variable_scope("inside"):
                w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
            return w * tf.random_uniform([2], 1.0, 2.0)

        y = tf.cond(flag, yes, lambda: tf.zeros([2]))
        (w,) = tf.global_variables()
        assert w.graph is graph
        (dw,) = tf.gradients(tf.reduce_sum(y), w)
        sess.run(tf.global_variables_initializer())
        value, slope = sess.run([y, dw], {flag: True})
        np.testing.assert_allclose(value, slope)
        assert np.all(value >= 1.0)
        assert not np.any(sess.run(dw, {flag: False}))
