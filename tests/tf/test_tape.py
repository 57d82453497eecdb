"""Tapes as TensorFlow has them; each test runs on TensorFlow too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_unconnected_is_none_or_zeros(tf: Any) -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = y * y
    assert tape.gradient(z, x) is None
    zero = tape.gradient(z, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert np.array_equal(zero[0].numpy(), [0.0, 0.0])
    assert float(zero[1]) == 6.0
    assert tape.gradient(z, x, unconnected_gradients="zero").dtype == tf.float32


def test_a_target_that_is_no_scalar_is_summed(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = [x * x, 3.0 * x]
    assert np.array_equal(tape.gradient(y, x).numpy(), [5.0, 7.0])


def test_output_gradients_weigh(tf: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    g = tape.gradient(y, x, output_gradients=tf.constant([10.0, -1.0]))
    assert np.array_equal(g.numpy(), [20.0, -4.0])


def test_sources_keep_their_structure(tf: Any) -> None:
    a, b = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = a * a * b
    found = tape.gradient(y, {"a": a, "rest": (b, [a])})
    assert float(found["a"]) == 12.0
    assert float(found["rest"][0]) == 4.0
    assert float(found["rest"][1][0]) == 12.0


def test_a_second_question_needs_persistence(tf: Any) -> None:
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_only_tensors_are_watched(tf: Any) -> None:
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="float"):
        tape.watch(3.0)


def test_stop_recording_leaves_out(tf: Any) -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * x
        w = y * z
    assert float(tape.gradient(w, x)) == 32.0


def test_reset_forgets(tf: Any) -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
    assert tape.gradient(y, x) is None


def test_watched_variables(tf: Any) -> None:
    a, b, frozen = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        b + frozen + a + b
    assert [float(v) for v in tape.watched_variables()] == [1.0, 2.0]


def test_jacobian_and_batch_jacobian(tf: Any) -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    full = tape.jacobian(y, x, experimental_use_pfor=False).numpy()
    assert full.shape == (2, 2, 2, 2)
    assert np.array_equal(full.reshape(4, 4), np.diag([2.0, 4.0, 6.0, 8.0]))
    batch = tape.batch_jacobian(y, x, experimental_use_pfor=False).numpy()
    assert np.array_equal(batch[1], np.diag([6.0, 8.0]))


def test_third_order(tf: Any) -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as t3:
        t3.watch(x)
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t1:
                t1.watch(x)
                y = tf.exp(x) * x**3
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    d3 = t3.gradient(d2, x)
    assert isinstance(d3, tf.Tensor)
    assert float(d3) == pytest.approx(np.exp(2.0) * (8 + 36 + 36 + 6), rel=1e-5)


def test_gradients_have_their_sources_dtype(tf: Any) -> None:
    x, w = tf.constant([1.0, 2.0], dtype=tf.float64), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.cast(x, tf.float32) * w)
    gx, gw = tape.gradient(y, [x, w])
    assert gx.dtype == tf.float64
    assert gw.dtype == tf.float32
    assert isinstance(gx, tf.Tensor)


def test_complex_gradients_go_uphill(tf: Any) -> None:
    z = tf.constant(1.0 + 2.0j)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.abs(z) ** 2
    assert tape.gradient(y, z).numpy() == pytest.approx(2.0 + 4.0j)


@pytest.mark.filterwarnings("ignore:The dtype of the")
def test_integers_have_no_gradient(tf: Any) -> None:
    x, n = tf.constant(2.0), tf.constant(3)
    with tf.GradientTape() as tape:
        tape.watch([x, n])
        y = x * tf.cast(n, tf.float32)
    gx, gn = tape.gradient(y, [x, n])
    assert float(gx) == 3.0
    assert gn is None


def test_watching_integers_warns() -> None:
    from pullback import tf

    with tf.GradientTape() as tape, pytest.warns(UserWarning, match="int32"):
        tape.watch(tf.constant(3))


def test_overrides_after_the_fact_take_tensorflows_types() -> None:
    from pullback import tf

    x = tf.constant([-0.5, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sign(x) + tf.math.add(x, x)

    @tf.RegisterGradient("Test.Door.Straight")
    def straight(op: Any, g: Any) -> Any:
        assert isinstance(op.inputs[0], tf.Tensor)
        return 5.0 * g

    assert np.array_equal(tape.gradient(y, x).numpy(), [2.0, 2.0])
    overridden = tape.gradient(y, x, overrides={"Sign": "Test.Door.Straight"})
    assert np.array_equal(overridden.numpy(), [7.0, 7.0])
    with pytest.raises(LookupError, match="did you mean"):
        tape.gradient(y, x, overrides={"Sgin": "Test.Door.Straight"})
    with pytest.raises(KeyError):
        tf.RegisterGradient("Test.Door.Straight")(straight)


@pytest.mark.parametrize("key", ["Sign", "sign"])
def test_override_in_a_scope(key: str) -> None:
    from pullback import tf

    x = tf.constant([-0.5, 2.0])
    with tf.GradientTape() as tape, tf.override_gradient({key: lambda op, g: g * op.inputs[0]}):
        tape.watch(x)
        y = tf.sign(x)
    assert np.array_equal(tape.gradient(y, x).numpy(), [-0.5, 2.0])


def test_every_type_names_an_operation() -> None:
    from pullback.core.op import OPS
    from pullback.tf.tape import _TYPES

    assert [name for name in _TYPES.values() if name not in OPS] == []
