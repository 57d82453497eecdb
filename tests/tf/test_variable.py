"""Variables as TensorFlow has them; each test runs on TensorFlow too."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest


def test_dtypes_of_initial_values(tf: Any) -> None:
    assert tf.Variable(1.0).dtype == tf.float32
    assert tf.Variable(1).dtype == tf.int32
    assert tf.Variable([True]).dtype == tf.bool
    assert tf.Variable(np.ones(2)).dtype == tf.float64
    assert tf.Variable([1, 2], dtype=tf.float32).dtype == tf.float32
    assert tf.Variable(lambda: tf.ones([2])).shape == (2,)


def test_initial_values_are_copied(tf: Any) -> None:
    array = np.ones(2, np.float32)
    v = tf.Variable(array)
    array[0] = 5.0
    v.numpy()[1] = 7.0
    assert np.array_equal(v.numpy(), [1.0, 1.0])


def test_names_and_text(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    assert v.name == "w:0"
    text = "<tf.Variable 'w:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    assert repr(v) == str(v) == text
    assert tf.Variable(0).name == "Variable:0"
    assert repr(tf.Variable(3)) == "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=3>"


def test_assignments(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    v.assign_add([1, 1])
    assert np.array_equal(v.assign_sub(tf.constant([0.5, 0.5])).numpy(), [3.5, 4.5])
    assert np.array_equal(v.numpy(), [3.5, 4.5])
    v[0].assign(9.0)
    assert np.array_equal(v.numpy(), [9.0, 4.5])


def test_assignments_that_do_not_fit(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    for wrong in (tf.constant([1, 2]), tf.constant([1.0, 2.0], tf.float64), [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=r"float32|\(2,\)"):
            v.assign(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError):
        v.assign_add([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"(?i)dtype"):
        v.assign_add(tf.constant([1, 2]))
    assert np.array_equal(v.numpy(), [1.0, 2.0])


def test_construction_that_does_not_fit(tf: Any) -> None:
    with pytest.raises(ValueError, match=r"(?i)initial"):
        tf.Variable()
    with pytest.raises(ValueError, match="shape"):
        tf.Variable(1.0, shape=(2,))
    with pytest.raises((ValueError, TypeError)):
        tf.Variable(1.5, dtype=tf.int32)


def test_a_read_value_stays(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    before, copied, part = v.value(), v.read_value(), v[0]
    v.assign([5.0, 6.0])
    assert np.array_equal(before.numpy(), [1.0, 2.0])
    assert np.array_equal(copied.numpy(), [1.0, 2.0])
    assert float(part) == 1.0
    assert isinstance(before, tf.Tensor)
    assert not isinstance(v, tf.Tensor)
    assert tf.is_tensor(v)


def test_reads_carry_gradients(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = v.read_value()[1] * v[0] + tf.reduce_sum(tf.convert_to_tensor(v))
    assert np.array_equal(tf.convert_to_tensor(tape.gradient(y, v)).numpy(), [3.0, 2.0])


def test_assignment_inside_a_tape_keeps_gradients(tf: Any) -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        v.assign(10.0)
    assert float(tape.gradient(y, v)) == 6.0


def test_operators(tf: Any) -> None:
    v, w = tf.Variable([1.0, 4.0]), tf.Variable([2.0, 2.0])
    assert np.array_equal((v + w - 1 * w).numpy(), [1.0, 4.0])
    assert np.array_equal((2.0 / v).numpy(), [2.0, 0.5])
    assert np.array_equal((v**w).numpy(), [1.0, 16.0])
    assert np.array_equal((-v % 3.0).numpy(), [2.0, 2.0])
    assert np.array_equal((v > w).numpy(), [False, True])
    assert isinstance(v + w, tf.Tensor)


def test_in_place_operators_are_refused(tf: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1.0
    with pytest.raises(RuntimeError, match="assign"):
        v *= 2.0
    assert np.array_equal(v.numpy(), [1.0, 2.0])


def test_references_and_copies(tf: Any) -> None:
    v = tf.Variable(1.0)
    assert v.ref() == v.ref()
    assert {v.ref(): "v"}[v.ref()] == "v"
    assert v.ref().deref() is v
    twin = copy.deepcopy(v)
    twin.assign(5.0)
    assert float(v) == 1.0


def test_modules_find_their_variables(tf: Any) -> None:
    class Inner(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="inner")
            self.w = tf.Variable(1.0)
            self.frozen = tf.Variable(2.0, trainable=False)

    class Outer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Inner(), Inner()]
            self.b = tf.Variable(3.0)

        @tf.Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return x * self.b

    outer = Outer()
    assert [float(v) for v in outer.trainable_variables] == [3.0, 1.0, 1.0]
    assert [float(v) for v in outer.variables] == [3.0, 2.0, 1.0, 2.0, 1.0]
    assert [float(v) for v in outer.non_trainable_variables] == [2.0, 2.0]
    assert [m.name for m in outer.submodules] == ["inner", "inner"]
    assert outer.name == "outer"
    assert float(outer(tf.constant(2.0))) == 6.0
