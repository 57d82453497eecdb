"""Causes in each spelling: PyTorch's, TensorFlow's, its graphs; and where numbers go wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import pullback as pb
import pullback.tf as tf
import pullback.tf.v1 as v1
import pullback.torch as torch
from pullback import lost_paths
from pullback.tools.explain import Explanation, explain
from tests.tools.explain.test_causes import is_left_open, marked_line, silent, two

Program = Callable[[], Explanation]
PROGRAMS: dict[str, tuple[Program, str, str]] = {}

NOT_KEPT = {
    "tensorflow_step_that_makes_a_new_tensor", "through_integers", "recording_stopped",
    "torch_step_in_no_grad",
}
"""Programs of whose causes nothing is kept outside `debug()`: operations cost nothing there."""


def program(cause: str, operation: str = "") -> Callable[[Program], Program]:
    def take(function: Program) -> Program:
        PROGRAMS[function.__name__] = function, cause, operation
        return function

    return take


@pb.custom_gradient
def root(x: Any) -> Any:
    y = pb.sqrt(x)
    return y, lambda g: g * 0.5 / y


@program("where", "root")
def unused_branch() -> Explanation:
    x = two(0.0, 4.0)
    y = root(x)  # HERE
    with silent():
        return explain(pb.sum(pb.where(x > 0, y, pb.zeros(2))), x)


@program("where", "root")
def unused_branch_of_torch_arrays() -> Explanation:
    real = pytest.importorskip("torch")
    x = pb.tensor(real.tensor([0.0, 4.0], dtype=real.float64)).requires_grad_()
    y = root(x)  # HERE
    return explain(pb.sum(pb.where(x > 0, y, x * 0.0)), x)


@program("where", "root")
def mask_after_the_root() -> Explanation:
    x = two(0.0, 4.0)
    y = root(x)  # HERE
    with silent():
        return explain(pb.sum(y[x > 0]), x)


@program("sqrt(0)", "sqrt")
def written_out_norm() -> Explanation:
    x = two(0.0, 0.0)
    y = pb.sqrt(pb.sum(x * x))  # HERE
    with silent():
        return explain(y, x)


@program("norm(0)", "vector_norm")
def norm_at_zero() -> Explanation:
    x = two(0.0, 0.0)
    y = pb.linalg.vector_norm(x)  # HERE
    return explain(y, x)


@program("not finite", "multiply")
def infinite_constant() -> Explanation:
    x = two(0.0, 1.0)
    with silent():
        y = x * pb.tensor([numpy.inf, 1.0])  # HERE
        return explain(pb.sum(y), x)


@program("not finite", "multiply")
def infinite_source() -> Explanation:
    x = two(numpy.nan, 1.0)
    y = x * x  # HERE
    return explain(pb.sum(y), x)


@program("masked", "getitem")
def empty_selection() -> Explanation:
    x = two()
    y = (x * x)[pb.tensor([False, False])]  # HERE
    return explain(pb.sum(y), x)


@program("dead", "relu")
def some_units_are_asked() -> Explanation:
    x = two(-1.0, -2.0, 3.0)
    y = pb.relu(x)  # HERE
    found = explain(y[0] + y[1], x)
    assert "2 of 3, 67%" in found.text
    return found


@program("saturated", "sigmoid")
def some_sigmoids_are_asked() -> Explanation:
    x = two(-1000.0, 1000.0, 0.0)
    y = pb.sigmoid(x)  # HERE
    found = explain(pb.sum(y[:2]), x)
    assert "2 of 3, 67%" in found.text
    return found


@program("overwritten", "set_at")
def assigned() -> Explanation:
    x = two()
    y = x * 1.0
    y[:] = pb.ones(2)  # HERE
    return explain(pb.sum(y), x)


@program("integer", "astype")
def through_integers() -> Explanation:
    x = two()
    whole = pb.astype(x, pb.int64)  # HERE
    return explain(pb.astype(whole, pb.float64), x)


@program("outside", "multiply")
def recording_stopped() -> Explanation:
    x = pb.tensor([1.0, 2.0])
    with pb.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x  # HERE
        z = pb.sum(y)
    return tape.explain(z, x)


@program("fine")
def persistent_tape_asked_twice() -> Explanation:
    x = pb.tensor([1.0, 2.0])
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = pb.sum(x * x)
    tape.gradient(z, x)
    return tape.explain(z, x)


@program("replaced", "subtract")
def torch_step_that_makes_a_new_tensor() -> Explanation:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w = w - 0.1 * w.grad  # HERE
    y = (w * w).sum()
    y.backward()
    assert w.grad is None
    return explain(y, w)


@program("replaced", "subtract")
def torch_step_in_no_grad() -> Explanation:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad  # HERE
    return explain((w * w).sum(), w)


@program("left", ".numpy()")
def torch_numpy() -> Explanation:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor(numpy.sin((w * 2.0).detach().numpy()))
    y = torch.tensor(float((w * w).sum()))
    found = explain(y, w)
    assert found.operation == "float()"
    tracked = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(tf.constant(numpy.sin(tracked.numpy())) * 2.0)  # HERE
    return tape.explain(z, tracked)


@program("replaced", "subtract")
def tensorflow_step_that_makes_a_new_tensor() -> Explanation:
    w: Any = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w)
    w = w - 0.1 * tape.gradient(y, w)  # HERE
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w)
    return tape.explain(y, w)


@program("stopped", "stop_gradient")
def tensorflow_stop_gradient() -> Explanation:
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.stop_gradient(w * w) * 2.0)  # HERE
    return tape.explain(y, w)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_and_its_line_are_named(name: str, debug: bool) -> None:
    function, cause, operation = PROGRAMS[name]
    lost_paths.forget()
    with pb.debug() if debug else contextlib.nullcontext():
        found = function()
    if name in NOT_KEPT and not debug:
        assert is_left_open(found), str(found)
        return
    assert (found.cause, found.operation) == (cause, operation), str(found)
    if found.line or debug:
        assert found.line == marked_line(function), str(found)


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_symbols_of_a_graph_are_explained(debug: bool) -> None:
    with pb.debug() if debug else contextlib.nullcontext(), v1.Graph().as_default():
        x = v1.placeholder(v1.float32, [None])
        assert explain(v1.reduce_sum(x * x), x).cause == "unknown"
        stopped = explain(v1.reduce_sum(v1.stop_gradient(x * x)), x)
        assert stopped.cause == "stopped"
        lost_paths.forget()
        best = explain(v1.cast(v1.argmax(x * 2.0, 0), v1.float32), x)
        assert best.cause == "no derivative" if debug else is_left_open(best)
        other = v1.placeholder(v1.float32, [None])
        assert explain(v1.reduce_sum(x * x), other).cause == "unused"
