"""Optimizers as Keras has them; each test runs on TensorFlow too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import tf as door

MADE: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda o: o.SGD(0.1),
    "SGD momentum": lambda o: o.SGD(0.1, momentum=0.9),
    "SGD nesterov": lambda o: o.SGD(0.1, momentum=0.9, nesterov=True),
    "SGD decay": lambda o: o.SGD(0.1, weight_decay=0.02),
    "SGD clipnorm": lambda o: o.SGD(0.1, clipnorm=0.5),
    "SGD clipvalue": lambda o: o.SGD(0.1, clipvalue=0.5),
    "SGD global_clipnorm": lambda o: o.SGD(0.1, global_clipnorm=0.5),
    "Adam": lambda o: o.Adam(0.1),
    "Adam amsgrad": lambda o: o.Adam(0.1, beta_1=0.8, beta_2=0.7, amsgrad=True),
    "AdamW": lambda o: o.AdamW(0.1, weight_decay=0.1),
    "Adamax": lambda o: o.Adamax(0.1),
    "Nadam": lambda o: o.Nadam(0.1),
    "RMSprop": lambda o: o.RMSprop(0.1),
    "RMSprop momentum": lambda o: o.RMSprop(0.1, momentum=0.5, centered=True),
    "Adagrad": lambda o: o.Adagrad(0.1),
    "Adadelta": lambda o: o.Adadelta(1.0),
    "Lion": lambda o: o.Lion(0.1),
    "exponential": lambda o: o.SGD(o.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "staircase": lambda o: o.Adam(o.schedules.ExponentialDecay(0.1, 2, 0.5, staircase=True)),
    "inverse": lambda o: o.SGD(o.schedules.InverseTimeDecay(0.1, 2, 0.5)),
    "piecewise": lambda o: o.SGD(o.schedules.PiecewiseConstantDecay([1, 3], [0.1, 0.2, 0.3])),
    "polynomial": lambda o: o.SGD(o.schedules.PolynomialDecay(0.1, 3, 0.01, power=2.0)),
    "cycle": lambda o: o.SGD(o.schedules.PolynomialDecay(0.1, 3, 0.01, cycle=True)),
    "cosine": lambda o: o.SGD(o.schedules.CosineDecay(
        0.1, 3, alpha=0.1, warmup_target=0.4, warmup_steps=2)),
}


def trained(tf: Any, make: Callable[[Any], Any], wrap: Callable[..., Any]) -> list[np.ndarray]:
    """What five steps make of two variables."""
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=s).astype("float32") for s in ((3, 2), (2,)))
    x = tf.constant(rng.normal(size=(4, 3)).astype("float32"))
    w, v = tf.Variable(a), tf.Variable(b)
    optimizer = make(tf.optimizers)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.matmul(x, w) * v) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, v]), [w, v], strict=True))
        return loss

    step = wrap(step)
    losses = [step().numpy() for _ in range(5)]
    assert int(optimizer.iterations) == 5
    return [w.numpy(), v.numpy(), np.array(losses)]


@pytest.mark.parametrize("name", MADE)
def test_steps_are_keras(name: str, peer: Any) -> None:
    ours = trained(door, MADE[name], lambda f: f)
    theirs = trained(peer, MADE[name], lambda f: f)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["SGD momentum", "Adam amsgrad", "Nadam", "RMSprop", "cosine"])
def test_steps_inside_a_function(name: str, tf: Any) -> None:
    inside, outside = (trained(tf, MADE[name], w) for w in (tf.function, lambda f: f))
    for mine, other in zip(inside, outside, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "SGD momentum"])
@pytest.mark.parametrize("rows", [[0, 2], [0, 2, 0]], ids=["once", "twice"])
def test_slices_change_what_they_name(name: str, rows: list[int], tf: Any) -> None:
    if name == "Adam" and len(rows) == 3:
        tf = door  # Keras's Adam squares the parts of a row that is there twice, not their sum
    table, dense = tf.Variable(tf.ones([4, 2])), tf.Variable(tf.ones([4, 2]))
    one, other = MADE[name](tf.optimizers), MADE[name](tf.optimizers)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_sum(tf.gather(table, rows) ** 2)
            same = tf.reduce_sum(tf.gather(dense, rows) ** 2)
        slices = tape.gradient(loss, table)
        assert isinstance(slices, tf.IndexedSlices)
        one.apply_gradients([(slices, table)])
        other.apply_gradients([(tf.convert_to_tensor(tape.gradient(same, dense)), dense)])
    np.testing.assert_allclose(table.numpy(), dense.numpy(), rtol=1e-6)
    assert np.array_equal(table.numpy()[1], [1.0, 1.0])


def test_the_learning_rate_can_be_changed(tf: Any) -> None:
    v = tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(learning_rate=0.5)
    optimizer.learning_rate = 0.25
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    optimizer.learning_rate.assign(0.125)
    optimizer.apply_gradients([(tf.constant(2.0), v)])
    assert float(v) == 0.5
    assert float(optimizer.learning_rate) == 0.125


def test_missing_gradients(tf: Any) -> None:
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(0.5)
    optimizer.build([v, w])
    with pytest.raises(ValueError, match=r"(?i)gradient"):
        optimizer.apply_gradients([(None, w)])
    assert float(w) == 1.0


def test_constraints_are_applied(tf: Any) -> None:
    v = tf.Variable([1.0, -3.0], constraint=lambda x: tf.clip_by_value(x, -1.0, 1.0))
    tf.optimizers.SGD(1.0).apply_gradients([(tf.constant([-5.0, 0.0]), v)])
    assert np.array_equal(v.numpy(), [1.0, -1.0])


def test_minimize_and_slots() -> None:
    v = door.Variable([2.0, -1.0], name="w")
    optimizer = door.optimizers.Adam(0.25)
    for _ in range(40):
        optimizer.minimize(lambda: door.reduce_sum(v * v), [v])
    assert np.abs(v.numpy()).max() < 0.2
    with door.GradientTape() as tape:
        loss = door.reduce_sum(v * v)
    optimizer.minimize(loss, [v], tape=tape)
    assert [x.name for x in optimizer.variables] == [
        "iteration:0", "learning_rate:0", "w_momentum:0", "w_velocity:0"]
    with pytest.raises(ValueError, match="tape"):
        optimizer.minimize(loss, [v])
