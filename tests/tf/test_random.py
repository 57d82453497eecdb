"""Random tensors: distributions and seeds, and texts that a tape ignores; on TensorFlow too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest


def test_seeds_say_what_is_drawn(tf: Any) -> None:
    r = tf.random
    for draw in (
        lambda seed: r.stateless_normal([3], seed), lambda seed: r.stateless_uniform([3], seed),
        lambda seed: r.stateless_truncated_normal([3], seed),
        lambda seed: r.stateless_categorical(tf.zeros([2, 50]), 9, seed),
    ):
        assert np.array_equal(draw([1, 2]).numpy(), draw([1, 2]).numpy())
        assert not np.array_equal(draw([1, 2]).numpy(), draw([1, 3]).numpy())


def test_seeds_are_made_of_seeds(tf: Any) -> None:
    split, fold_in = tf.random.split, tf.random.fold_in
    seeds = split([1, 2], num=3)
    assert tuple(seeds.shape) == (3, 2)
    assert seeds.dtype == tf.int32
    assert len({tuple(row) for row in seeds.numpy()}) == 3
    assert np.array_equal(seeds.numpy(), split([1, 2], num=3).numpy())
    assert tuple(fold_in(seeds[0], 5).shape) == (2,)
    assert not np.array_equal(fold_in(seeds[0], 5).numpy(), fold_in(seeds[0], 6).numpy())


def test_classes_have_their_probabilities(tf: Any) -> None:
    p = np.array([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]], "float32")
    tf.random.set_seed(3)
    drawn = tf.random.categorical(tf.math.log(p), 20000)
    assert drawn.dtype == tf.int64
    found = np.stack([np.bincount(row, minlength=3) / 20000 for row in drawn.numpy()])
    np.testing.assert_allclose(found, p, atol=0.02)
    assert tf.random.categorical(tf.math.log(p), 4, dtype=tf.int32).dtype == tf.int32


def test_the_generator_of_all(tf: Any) -> None:
    before = tf.random.get_global_generator()
    try:
        tf.random.set_global_generator(tf.random.Generator.from_seed(7))
        first = tf.random.get_global_generator().normal([3])
        assert np.array_equal(first.numpy(), tf.random.Generator.from_seed(7).normal([3]).numpy())
    finally:
        tf.random.set_global_generator(before)


def test_functions_draw_anew(tf: Any) -> None:
    draw = tf.function(lambda: tf.random.normal([4]))
    assert not np.array_equal(draw().numpy(), draw().numpy())


def test_texts(tf: Any) -> None:
    s, words = tf.constant("abc"), tf.constant([["a", "b"], ["c", "d"]])
    assert s.dtype == tf.string
    assert s.dtype.name == "string"
    assert s.numpy() == b"abc"
    assert words.shape == (2, 2)
    assert words[1].numpy().tolist() == [b"c", b"d"]
    assert (words == tf.constant([["a", "x"], ["c", "y"]])).numpy().tolist() == [
        [True, False], [True, False]]
    assert bool(s == "abc")
    assert bool(s != b"abd")
    assert repr(s) == "<tf.Tensor: shape=(), dtype=string, numpy=b'abc'>"
    with pytest.raises((TypeError, ValueError)):
        tf.constant("abc", dtype=tf.float32)


def test_tapes_ignore_texts(tf: Any) -> None:
    x, s = tf.constant(2.0), tf.constant("text")
    with tf.GradientTape() as tape, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.watch([x, s])
        y = x * x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gx, gs = tape.gradient(y, [x, s])
    assert float(gx) == 4.0
    assert gs is None
