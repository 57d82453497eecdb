"""Every function gives what TensorFlow gives, also of tensors whose lengths are not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback.tf.v1 as door
from tests.tf_v1.functions import CASES

KNOWN = {"known": lambda shape: shape, "open": lambda shape: [None] * len(shape)}


def answers(tf: Any, call: Any, arrays: list[np.ndarray], shape: Any) -> list[Any]:
    """The outputs of a call, and the gradients for random cotangents of the floating ones."""
    rng = np.random.default_rng(7)
    with tf.Graph().as_default():
        xs = [tf.placeholder(a.dtype, shape(a.shape)) for a in arrays]
        outs = call(tf, *xs)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        with tf.Session() as sess:
            feed = dict(zip(xs, arrays, strict=True))
            values = sess.run(outs, feed)
            for out, value in zip(outs, values, strict=True):
                assert out.dtype.name == value.dtype.name
                assert out.shape.is_compatible_with(value.shape)
            exact = [(y, v) for y, v in zip(outs, values, strict=True) if y.dtype.is_floating]
            cotangents = [tf.constant(rng.normal(size=v.shape), y.dtype) for y, v in exact]
            slopes = tf.gradients([y for y, _ in exact], xs, cotangents) if exact else []
            slopes = [None if g is None else sess.run(tf.convert_to_tensor(g), feed)
                      for g in slopes]
    return [*values, *slopes]


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("shape", KNOWN)
@pytest.mark.parametrize(("call", "samples"), [pytest.param(c, s, id=n) for n, c, s in CASES])
def test_values_and_gradients_are_tensorflows(
    call: Any, samples: Any, shape: str, peer: Any, rng: np.random.Generator
) -> None:
    arrays = [sample(rng).astype(np.float32) for sample in samples]
    mine, theirs = (answers(tf, call, arrays, KNOWN[shape]) for tf in (door, peer))
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        if a is None or b is None:
            # What is flat has zeros here where TensorFlow may say None, and never the reverse.
            assert b is None
            assert a is None or not np.any(a)
            continue
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        limit = 2e-5 * (1 + np.max(np.abs(b), initial=0))
        np.testing.assert_allclose(a, b, rtol=0, atol=limit)
