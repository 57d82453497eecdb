"""Errors of the door: they name the operation, the registered gradient, and the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback.tf.v1 as tf
from pullback.errors import RuleError, RuleTypeError, UnknownNameError


@tf.RegisterGradient("Errors.Two")
def two(op: Any, grad: Any) -> Any:
    return grad, grad


@tf.RegisterGradient("Errors.Number")
def number(op: Any, grad: Any) -> Any:
    return 0


@pytest.mark.parametrize(
    ("name", "error"),
    [("Errors.Two", RuleError), ("Errors.Number", RuleTypeError), ("Errors.No", UnknownNameError)],
)
def test_a_wrong_gradient_is_named_with_its_operation(name: str, error: type) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        with graph.gradient_override_map({"Sign": name}):
            y = tf.sign(x, name="step")
        with pytest.raises(error) as caught:
            tf.gradients(y, x)
    assert "operation 'step' (Sign)" in str(caught.value)
    assert repr(name) in str(caught.value)


BUILT: dict[str, tuple[Callable[[], Any], str]] = {
    "matmul": (lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]), name="bad"), "bad"),
    "operator": (lambda: tf.placeholder(tf.float32, [None, 3]) + tf.zeros([4]), "AddV2"),
    "concat": (lambda: tf.concat([tf.zeros([2, 3]), tf.zeros([4, 5])], 0, name="both"), "'both'"),
}


@pytest.mark.parametrize(("build", "name"), BUILT.values(), ids=BUILT)
def test_a_shape_error_is_raised_where_it_is_built(build: Callable[[], Any], name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="expected") as caught:
        build()
    note = "\n".join(caught.value.__notes__)
    assert name in note
    assert "built at" in note
    assert "test_errors.py:" in note
